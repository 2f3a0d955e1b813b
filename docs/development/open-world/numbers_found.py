"""Compare the intervals of the census with the numbers found later, in the open world.

    python docs/development/open-world/numbers_found.py LATER.fits [--cells even] [--releases DR1 DR4]

LATER is FL16Y (gll_psc_16year). The groups are the unassociated sources of a release that LATER gives a class, below
and above 10 degrees of latitude. The class priors of `classify` are used.
"""

from __future__ import annotations

import numpy as np
from halves import arguments

import fermiclass as fc
from fermiclass.evaluation import open_world

AGN = ("bll", "fsrq")


given = arguments(__doc__, "later", cells="even", releases=["DR1", "DR2", "DR3", "DR4"])
later = fc.read_catalog(given.later)
print("| | AGN | pulsars and other |\n| --- | ---: | ---: |")
inside = []
for release in given.releases:
    catalog = fc.read_catalog(f"catalogs/4FGL-{release}.fits.gz")
    targets = open_world(catalog, later, cells=given.cells)
    truth = targets.truth_of("all")
    known = np.isin(np.arange(len(truth)), targets.scored)
    groups = {"below 10°": known & targets.low, "10° and more": known & ~targets.low}
    masks = {name: np.isin(catalog.names, targets.names[chosen]) for name, chosen in groups.items()}
    census = fc.take_census(catalog, groups=masks)
    for name, chosen in groups.items():
        cells = []
        is_agn = truth[chosen, 0]
        rest = tuple(name for name in census.classes if name not in AGN)
        for classes, found in ((AGN, is_agn.sum()), (rest, np.sum(~is_agn))):
            _, low, high = census.interval(name, classes)
            inside.append(low <= found <= high)
            cells.append(f"{low:.0f}–{high:.0f} / {found}")
        print(f"| {release}, {name} | " + " | ".join(cells) + " |", flush=True)
print(f"\n{sum(inside)} of {len(inside)} numbers are inside")
