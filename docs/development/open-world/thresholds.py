"""Sets of classes, and limits of candidate lists, for a stated fraction of errors, and how well they hold.

    python docs/development/open-world/thresholds.py

Models of DR1 to DR3 label their unassociated sources, and DR4 says what those are. A set has the fewest classes whose
probabilities sum to 1 - error or more; a list of candidates is the longest whose mean probability is 1 - error or more.
"""

import numpy as np

import fermiclass as fc
from fermiclass.catalog import NATURES
from fermiclass.evaluation import open_world
from fermiclass.evaluation.methods import open_classes
from fermiclass.evaluation.protocols import OPEN_GROUPS

ERRORS = (0.05, 0.1, 0.2)


def smallest_sets(P: np.ndarray, level: float) -> np.ndarray:
    """Return the fewest classes whose probabilities sum to `level`, as a mask."""
    order = np.argsort(-P, axis=1)
    before = np.cumsum(np.take_along_axis(P, order, axis=1), axis=1) - np.take_along_axis(P, order, axis=1)
    sets = np.zeros(P.shape, bool)
    np.put_along_axis(sets, order, before < level, axis=1)
    return sets


def limit_of(p: np.ndarray, error: float) -> float:
    """Return the smallest limit whose candidates, p from it on, have the mean 1 - error or more."""
    ordered = np.sort(p)[::-1]
    good = np.flatnonzero(np.cumsum(ordered) / np.arange(1, len(p) + 1) >= 1 - error)
    return float(ordered[good[-1]]) if len(good) else np.inf


later = fc.read_catalog("catalogs/4FGL-DR4.fits.gz")
for release in ("DR1", "DR2", "DR3"):
    catalog = fc.read_catalog(f"catalogs/4FGL-{release}.fits.gz")
    targets = open_world(catalog, later)
    model = fc.train(catalog)
    labels = model.label(catalog[targets.splits[0][0].rows], "all")
    grouping, names = model.grouping, model.grouping.names
    P = np.stack([np.asarray(labels[f"P_{name}"], float) for name in names], axis=1)
    may = (targets.truth @ (open_classes(grouping) > 0).T) > 0
    bare = targets.populations["all"].mask
    known = bare & ~targets.truth_of("all").all(axis=1)
    of_agn, of_psr = grouping.of_agn(names), grouping.within("pulsar", names)
    for error in ERRORS:
        sets = smallest_sets(P[known], 1 - error)
        right, size = np.any(sets & may[known], axis=1), sets.sum(axis=1).mean()
        print(f"{release} sets, error {error:.2f}: right {right.mean():.3f} of {len(right)}, {size:.2f} classes")
        for group, inside in {"agn": of_agn, "pulsar": of_psr, "other": ~of_agn & ~of_psr}.items():
            p = P[:, inside].sum(axis=1)
            limit = limit_of(p[bare], error)
            possible = np.any(targets.truth[:, np.isin(NATURES, OPEN_GROUPS[group])], axis=1)
            chosen = known & (p >= limit)
            print(
                f"    {group:5} P >= {limit:.3f}: {np.sum(p[bare] >= limit):4} candidates, {chosen.sum():3} with "
                f"a later class, {np.sum(~possible[chosen]):2} wrong",
                flush=True,
            )
