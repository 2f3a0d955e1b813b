"""What facts beside the spectrum change: gas clumps, H II regions and claimed blazars, on later classes.

    python docs/development/open-world/facts.py LATER RELEASE...

HIIN is the surface density of large H II regions in place of the distance to the nearest: ln (0.05 + Σ exp(−d² / 2s²) /
s²) with s = 0.5°. Later classes count as in ``evaluate --open``, for FL16Y those in even cells. The loss with each
fact, less that of the set galactic with CLASS2 alone: all sources, those below 10°, and summed over AGN, pulsars and
others.
"""

import sys
from pathlib import Path

import numpy as np
from astropy.coordinates import SkyCoord
from astropy.table import Table

import fermiclass as fc
from fermiclass.evaluation import open_world
from fermiclass.evaluation.metrics import nll_per_source

WITHOUT = {"features": "galactic", "evidence": "class2"}
FACTS = {
    "BIT6": WITHOUT | {"features": "galactic,BIT6"},
    "HIID": WITHOUT | {"features": "galactic,HIID"},
    "BIT6 and HIID": WITHOUT | {"features": "gas"},
    "BIT6 and HIIN": WITHOUT | {"features": "galactic,BIT6,HIIN"},
    "claims": WITHOUT | {"evidence": "class2,claims"},
    "all three": {},
}


def with_density(catalog):
    """Return the catalogue with a column HIIN."""
    regions = Table.read(Path(fc.__file__).parent / "catalog" / "hii_regions.csv", comment="#")
    there = SkyCoord(regions["glon"], regions["glat"], unit="deg", frame="galactic")
    d = catalog.positions.galactic[:, None].separation(there).deg
    density = np.log(0.05 + np.exp(-np.square(d / 0.5) / 2.0).sum(axis=1) / 0.25)
    return fc.join(catalog, Table({"Source_Name": catalog.names, "HIIN": density}))


def losses(catalog, targets, of_default):
    """Return the losses of the scored sources, ``(n,)``."""
    labels = fc.classify(catalog, targets="unassociated", **of_default)
    row = {name: k for k, name in enumerate(np.asarray(labels["Source_Name"]).tolist())}
    rows = [row[name] for name in targets.names[targets.scored].tolist()]
    of_pulsar = np.asarray(labels["Sum_P_pulsar"] if "Sum_P_pulsar" in labels.colnames else labels["P_psr"], float)
    p = np.stack([np.asarray(labels["Sum_P_agn"], float), of_pulsar, np.asarray(labels["P_other"], float)], axis=1)[
        rows
    ]
    return nll_per_source(np.clip(p, targets.floor, 1.0), targets.truth_of("all")[targets.scored])


later = fc.read_catalog(sys.argv[1])
for catalog in map(with_density, map(fc.read_catalog, sys.argv[2:])):
    targets = open_world(catalog, later, cells="even" if later.release.name == "FL16Y" else "all")
    truth = targets.truth_of("all")[targets.scored]
    is_low = dict(zip(catalog.names.tolist(), np.abs(catalog.column("GLAT")) < 10, strict=True))
    low = np.array([is_low[name] for name in targets.names[targets.scored].tolist()])
    before = losses(catalog, targets, WITHOUT)
    print(f"{catalog.release.name}: {len(before)} sources, loss {before.mean():.4f}")
    for name, of_default in FACTS.items():
        d = losses(catalog, targets, of_default) - before
        parts = [f"{part.mean():+.4f} ± {part.std(ddof=1) / len(part) ** 0.5:.4f}" for part in (d, d[low])]
        sums = ", ".join(f"{d[(truth[:, k] == 1) & (truth.sum(axis=1) == 1)].sum():+.2f}" for k in range(3))
        print(f"  {name:14} {parts[0]}; below 10°: {parts[1]}; sums {sums}", flush=True)
