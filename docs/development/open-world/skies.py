"""Simulated skies, whose completeness is known: what is found, and whether the posterior is calibrated.

    python docs/development/open-world/skies.py [DRAWS]

The unassociated sources of 4FGL-DR4 with their ellipses; their kinds are drawn from the shipped probabilities, and
40 % of the AGN have a counterpart, 30 % a bright and 10 % a faint one. Objects by chance are uniform unless a sky says
otherwise. For each sky, over its draws: the c that is found and its scatter; z, the rms of (c - truth) / error; the sum
of P_CPT in five bins and the number of real counterparts there; the gain of mean ln P of the kinds.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from astropy.table import Table, vstack

from fermiclass.brought.candidates import Candidates
from fermiclass.errors import CatalogError
from fermiclass.labelling.counterparts import weigh

sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.labelling.test_counterparts import directions, drawn_within, in_ellipses, in_the_plane

warnings.simplefilter("ignore")
labels = Table.read("catalogs/4FGL-DR4-labels.fits.gz")
labels = labels[np.asarray(labels["STATUS"]).astype(str) == "unassociated"]
names = ("Source_Name", "RAJ2000", "DEJ2000", "Conf_95_SemiMajor", "Conf_95_SemiMinor", "Conf_95_PosAng")
sources = Table({name: np.asarray(labels[name]) for name in names})
sources = sources[(ok := np.isfinite(sources["Conf_95_SemiMajor"]))]
P = np.stack([np.asarray(labels[name], float)[ok] for name in ("Sum_P_agn", "Sum_P_pulsar", "P_other")], axis=1)
P, n = P / P.sum(axis=1, keepdims=True), len(sources)
UNIFORM, SEARCHED = {"number": 100_000}, {"covers": "ellipses", "mean": 1.5}
SKIES = {
    "the whole sky": UNIFORM,
    "…, objects with errors of 60″": UNIFORM | {"error": 60.0},
    "…, clumped": UNIFORM | {"clumps": 2000},
    "…, in the plane": {"number": 20_000, "plane": True},
    "…, ellipses too small by a quarter": UNIFORM | {"wider": 4 / 3},
    "…, a flux": UNIFORM | {"flux": 0.0},
    "…, a flux with errors of 40 %": UNIFORM | {"flux": 0.4},
    "ellipses, searched ones known, 0.1 by chance": SEARCHED | {"mean": 0.1},
    "…, 1.5 by chance": SEARCHED,
    "…, 6 by chance": SEARCHED | {"mean": 6.0},
    "ellipses, searched ones not known, 4 by chance": SEARCHED | {"mean": 4.0, "known": False},
    "…, 8 by chance": SEARCHED | {"mean": 8.0, "known": False},
    "…, 20 by chance": SEARCHED | {"mean": 20.0, "known": False},
    "claims, one in six wrong": {"covers": "claims", "mean": 0.05},
}


def scattered(rng, around, number):
    """Return places of `number` objects in clumps of 0.5°."""
    ra, dec = directions(rng, around)
    k = rng.integers(0, around, number)
    north = np.clip(dec[k] + rng.normal(0, 0.5, number), -90, 90)
    return (ra[k] + rng.normal(0, 0.5, number) / np.maximum(np.cos(np.radians(north)), 0.01)) % 360, north


def drawn(rng, covers="all", number=0, mean=0.0, error=0.0, clumps=0, plane=False, wider=1.0, flux=None, known=True):
    """Return a table of counterparts, kinds of the sources, and the source of each object, -1 by chance."""
    kind = (rng.uniform(size=n)[:, None] > P.cumsum(axis=1)).sum(axis=1)
    true = sources.copy()
    for axis in ("Conf_95_SemiMajor", "Conf_95_SemiMinor"):
        true[axis] = np.hypot(true[axis] * wider, error * np.sqrt(-2 * np.log(0.05)) / 3600.0)
    draw, real = rng.uniform(size=n), drawn_within(rng, true)
    has = (kind == 0) & (draw < 0.4)
    if covers == "all":
        make = in_the_plane if plane else (lambda r, m: scattered(r, clumps, m)) if clumps else directions
        chance, rows = make(rng, number), np.zeros(number, int)
    else:
        *chance, rows = in_ellipses(rng, sources, mean)
        if covers == "claims":  # one of a source at most
            rows, first = np.unique(rows, return_index=True)
            free = ~has[rows]
            rows, chance = rows[free], [x[first[free]] for x in chance]
        else:
            inside = Candidates.of(Table({"ra": real[0], "dec": real[1]})).around(sources)
            has &= np.isin(np.arange(n), inside.source[(inside.source == inside.candidate) & (inside.u <= 1)])
    ra, dec = (np.append(x[has], y) for x, y in zip(real, chance, strict=True))
    bright = np.append(draw[has] < 0.3, rng.uniform(size=len(rows)) < 0.2)
    table = Table({"ra": ra, "dec": dec, "category": np.where(bright, "bright", "faint")})
    if flux is not None:
        del table["category"]
        s = np.where(bright, rng.uniform(3, 9, len(ra)), rng.uniform(1, 3, len(ra)))
        table["flux"] = s * (1 + flux * rng.normal(size=len(ra)))
        table["flux_err"] = flux * s + 1e-6
    if error:
        table["pos_err_arcsec"] = error
    if covers != "all":
        table["Source_Name"] = np.append(sources["Source_Name"][has], sources["Source_Name"][rows])
        vain = Table({"Source_Name": np.setdiff1d(sources["Source_Name"], table["Source_Name"])})
        table = vstack([table, vain]) if known else table
    return Candidates.of(table, covers=covers), kind, np.append(np.flatnonzero(has), np.full(len(rows), -1))


print("| sky | c | z | gain of ln P | P_CPT 0 to 0.2 | to 0.4 | to 0.6 | to 0.8 | to 1 |\n" + "| --- " * 9 + "|")
for sky, how in SKIES.items():
    found, z, gains, bins = [], [], [], np.zeros((2, 5))
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 10):
        candidates, kind, host = drawn(np.random.default_rng(seed), **how)
        try:
            factors, (strength,) = weigh([candidates], sources, P, np.full(n, "unassociated"))
        except CatalogError:
            break
        after = P * factors
        after /= after.sum(axis=1, keepdims=True)
        rows = np.arange(n)
        gains.append(np.mean(np.log(after[rows, kind] / P[rows, kind])))
        c, error = (np.array(x.get("agn", [np.nan])) for x in (strength.completeness, strength.errors))
        truth = 0.4 * (0.95 if candidates.covers == "ellipses" else 1.0)
        found.append(c.sum())
        z.append((c.sum() - truth) / np.sqrt(np.sum(error**2)))
        near = candidates.parted(strength.cuts).around(sources)
        p = strength.posterior(near, after, strength.factors(near, n, capped=False))
        real = host[near.candidate] == near.source
        which = np.minimum((5 * p).astype(int), 4)
        bins += [np.bincount(which, p, 5), np.bincount(which, real, 5)]
    if not found:
        print(f"| {sky} | refused |" + " |" * 7)
        continue
    cells = " | ".join(f"{a:.0f} / {b:.0f}" for a, b in bins.T)
    c, scatter, rms = np.nanmean(found), np.nanstd(found), np.sqrt(np.nanmean(np.square(z)))
    print(f"| {sky} | {c:.3f} ± {scatter:.3f} | {rms:.1f} | {np.mean(gains):+.4f} | {cells} |", flush=True)
