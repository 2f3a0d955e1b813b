"""Compare the intervals of the census with the numbers found later, in the open world.

    python docs/development/open-world/numbers_found.py LATER.fits [--cells even] [--releases DR1 DR4]

LATER is FL16Y (gll_psc_16year). The groups are the unassociated sources of a release that LATER gives a class, below
and above 10 degrees of latitude. The class priors of `classify` are used.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import fermiclass as fc
from fermiclass.evaluation import open_world

AGN = ("bll", "fsrq")
RELEASES = ("DR1", "DR2", "DR3", "DR4")


def main() -> None:
    """Take the censuses, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("later", type=Path, metavar="LATER.fits")
    parser.add_argument("--cells", default="even", choices=["all", "even", "odd"])
    parser.add_argument("--releases", nargs="+", default=RELEASES, choices=RELEASES)
    arguments = parser.parse_args()
    later = fc.read_catalog(arguments.later)
    print("| | AGN | pulsars and other |\n| --- | ---: | ---: |")
    inside = []
    for release in arguments.releases:
        catalog = fc.read_catalog(f"catalogs/4FGL-{release}.fits.gz")
        targets = open_world(catalog, later, cells=arguments.cells)
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


if __name__ == "__main__":
    main()
