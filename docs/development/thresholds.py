"""Sets of classes, and limits of candidate lists, for a stated fraction of errors, and how well they hold.

    python docs/development/thresholds.py

Models of DR1 to DR3 label their unassociated sources, and DR4 says what those are. Two ways make sets and limits:

- posterior: the fewest classes whose probabilities sum to 1 - error or more; the longest list of candidates whose mean
  probability is 1 - error or more.
- held out: the same, with the level at which they hold for sources with a class, held out in folds. Each counts with
  the odds of the selection prior at its place and brightness, so that they are as the unassociated sources.
"""

import dataclasses

import numpy as np

import fermiclass as fc
from fermiclass.catalog import NATURES
from fermiclass.evaluation import default_method, evaluate, folds, open_world
from fermiclass.evaluation.methods import open_classes
from fermiclass.evaluation.protocols import OPEN_GROUPS

ERRORS = (0.05, 0.1, 0.2)
FOLDS = 4


def main() -> None:
    """Print coverage and size of the sets, and errors of the candidates, for each release."""
    later = fc.read_catalog("catalogs/4FGL-DR4.fits.gz")
    for release in ("DR1", "DR2", "DR3"):
        catalog = fc.read_catalog(f"catalogs/4FGL-{release}.fits.gz")
        targets = open_world(catalog, later)
        model = fc.train(catalog)
        rows = targets.splits[0][0].rows
        labels = model.label(catalog[rows], "all")
        P = np.stack([np.asarray(labels[f"P_{name}"], float) for name in model.grouping.names], axis=1)
        may = (targets.truth @ (open_classes(model.grouping) > 0).T) > 0
        bare = targets.populations["all"].mask
        known = bare & ~targets.truth_of("all").all(axis=1)
        Q, weight, of_class = held_out(catalog, model)
        for error in ERRORS:
            for way, level in (("posterior", 1 - error), ("held out", calibrated(Q, of_class, weight, error))):
                sets = smallest_sets(P[known], level)
                right = np.any(sets & may[known], axis=1)
                low = targets.low[known]
                print(
                    f"{release} sets, error {error:.2f}, {way:9} level {level:.3f}: right {right.mean():.3f}"
                    f" ({right[low].mean():.3f} below 10 deg, {right[~low].mean():.3f} from it on) of {len(right)}, "
                    f"{sets.sum(axis=1).mean():.2f} classes; of all unassociated {mean_size(P[bare], level):.2f}",
                    flush=True,
                )
            grouping, names = model.grouping, model.grouping.names
            of_agn, of_psr = grouping.of_agn(names), grouping.within("psr", names)
            for group, inside in {"agn": of_agn, "psr": of_psr, "other": ~of_agn & ~of_psr}.items():
                p, q = P[:, inside].sum(axis=1), Q[:, inside].sum(axis=1)
                is_one = of_class[:, inside].any(axis=1)
                possible = np.any(targets.truth[:, np.isin(NATURES, OPEN_GROUPS[group])], axis=1)
                limits = {"posterior": limit_of(p[bare], p[bare], np.ones(bare.sum()), error)}
                limits["held out"] = limit_of(q, is_one.astype(float), weight, error)
                for way, limit in limits.items():
                    chosen = known & (p >= limit)
                    wrong = np.sum(~possible[chosen])
                    number = np.sum(p[bare] >= limit)
                    print(
                        f"{release} {group:5} error {error:.2f}, {way:9} P >= {limit:.3f}: {number:4} candidates, "
                        f"{chosen.sum():3} with a later class, {wrong:2} wrong "
                        f"({wrong / max(chosen.sum(), 1):.3f})",
                        flush=True,
                    )


def held_out(catalog: fc.Catalog, model: fc.CatalogModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return probabilities of sources with a class as if they had none, their weights, and their class."""
    targets = folds(catalog, FOLDS)
    p = evaluate(targets, [default_method()]).results["default"].p
    row = {name: k for k, name in enumerate(catalog.names.tolist())}
    sources = catalog[[row[name] for name in targets.names.tolist()]]
    table = sources.table.copy()
    table["CLASS1"] = ""
    ratios = model.selection.ratios(dataclasses.replace(sources, table=table), model.grouping, model.grouping.names)
    q = p * ratios
    weight = (ratios * targets.truth).sum(axis=1)
    return q / q.sum(axis=1, keepdims=True), weight, targets.truth


def smallest_sets(P: np.ndarray, level: float) -> np.ndarray:
    """Return the fewest classes whose probabilities sum to `level`, as a mask."""
    order = np.argsort(-P, axis=1)
    before = np.cumsum(np.take_along_axis(P, order, axis=1), axis=1) - np.take_along_axis(P, order, axis=1)
    sets = np.zeros(P.shape, bool)
    np.put_along_axis(sets, order, before < level, axis=1)
    return sets


def mean_size(P: np.ndarray, level: float) -> float:
    """Return the mean number of classes in the sets."""
    return float(smallest_sets(P, level).sum(axis=1).mean())


def calibrated(P: np.ndarray, truth: np.ndarray, weight: np.ndarray, error: float) -> float:
    """Return the level from which on a fraction 1 - error of the weighted sources has its class in the set."""
    own = (P * truth).sum(axis=1)
    before = (P * (own[:, None] < P)).sum(axis=1)  # in the set if level > before
    order = np.argsort(before)
    share = np.cumsum(weight[order]) / weight.sum()
    return float(np.nextafter(before[order][np.searchsorted(share, 1 - error)], 1.0))


def limit_of(p: np.ndarray, right: np.ndarray, weight: np.ndarray, error: float) -> float:
    """Return the smallest limit whose candidates, p from it on, are right but for a fraction `error`."""
    order = np.argsort(-p)
    share = np.cumsum((weight * right)[order]) / np.cumsum(weight[order])
    good = np.flatnonzero(share >= 1 - error)
    return float(p[order][good[-1]]) if len(good) else np.inf


if __name__ == "__main__":
    main()
