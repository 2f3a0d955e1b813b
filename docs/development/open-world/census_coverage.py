"""Coverage of the intervals of `take_census`, in simulations with a known truth and a fitted classifier.

    python docs/development/open-world/census_coverage.py [--replicates 16] [--output FILE.json to continue and write]

The sources are those of 4FGL-DR4 with a class. Each replicate draws training sources, the brighter the more probably,
and counts the rest. The default of classify is fitted to all training sources, and to all but one of five parts. Its
probabilities are used as they are, and with their logarithms multiplied by 0.7 and by 1.4. The class priors are those
of training. The table has the coverage of 90 % intervals.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from halves import arguments
from scipy.stats import norm
from sklearn.model_selection import StratifiedKFold

import fermiclass as fc
from fermiclass.analysis.census import FLOOR, Predictions, draw_numbers
from fermiclass.io import FloatArray
from fermiclass.labelling.recipe import Recipe
from fermiclass.labelling.training import estimator_of

FOLDS, DRAWS, LEVEL = 5, 200, 0.9
SHARPNESS = (1.0, 0.7, 1.4)
BRIGHT = (0.3, 1.0)  # log odds to be a training source: constant, and slope in standardised ln significance
PLACES = ("all latitudes", "below 10°", "10° and more")
WAYS = ("√Σ p(1 − p)", "intervals of the census")


def place_of(table: fc.FeatureTable) -> FloatArray:
    """Return ln Signif_Avg and asinh(|b|/3°), ``(n, 2)``."""
    names = [feature.name for feature in table.features]
    return table.X[:, [names.index("ln_Signif_Avg"), names.index("asinh_GLAT")]]


def sharpened(p: FloatArray, factor: float) -> FloatArray:
    """Return the probabilities with their logarithms multiplied by a factor."""
    q = np.maximum(p, FLOOR) ** factor
    return q / q.sum(axis=-1, keepdims=True)


def replicate(table: fc.FeatureTable, seed: int) -> list[dict[str, Any]]:
    """Return truth and intervals, one entry for each sharpness."""
    rng = np.random.default_rng(seed)
    z = place_of(table)[:, 0]
    logit = BRIGHT[0] + BRIGHT[1] * (z - z.mean()) / z.std()
    is_train = rng.random(len(table)) < 1.0 / (1.0 + np.exp(-logit))
    train, count = table[is_train], table[~is_train]
    classes, known = np.unique(train.y, return_inverse=True)

    def fitted(rows: Any) -> Any:
        return estimator_of(Recipe()).fit(train.X[rows], train.y[rows], X_var=train.X_var[rows])

    held, refits = np.empty((len(train), len(classes))), []
    for rest, rows in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(train.X, train.y):
        one = fitted(rest)
        held[rows] = one.predict_proba(train.X[rows], X_var=train.X_var[rows])
        refits.append(one.predict_proba(count.X, X_var=count.X_var))
    p = fitted(slice(None)).predict_proba(count.X, X_var=count.X_var)
    far = place_of(count)[:, 1] >= np.arcsinh(10.0 / 3.0)
    groups = [np.ones(len(count), bool), ~far, far]
    truth = [[int(np.sum(count.y[rows] == name)) for name in classes] for rows in groups]
    found = []
    for factor in SHARPNESS:
        q, of_train = sharpened(p, factor), Predictions(sharpened(held, factor), place_of(train))
        of_count, moves = Predictions(q, place_of(count)), sharpened(np.array(refits), factor)
        drawn = draw_numbers(of_train, known, of_count, groups, rng, refits=moves, num_draws=DRAWS)
        sums = np.array([q[rows].sum(axis=0) for rows in groups])
        half = norm.ppf(0.5 + LEVEL / 2) * np.sqrt([np.sum(q[rows] * (1.0 - q[rows]), axis=0) for rows in groups])
        ends = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        of_way = ((sums, sums - half, sums + half), (drawn.mean(axis=0), *ends))
        ways = {way: [x.tolist() for x in values] for way, values in zip(WAYS, of_way, strict=True)}
        found.append({"seed": seed, "sharpness": factor, "truth": truth, "ways": ways})
    return found


def coverage(found: list[dict[str, Any]], way: str) -> str:
    """Return cells of coverage in each place, the mean width of an interval, and the root mean square error."""
    truth = np.array([one["truth"] for one in found])  # (replicates, places, classes)
    centre, low, high = (np.array([one["ways"][way][k] for one in found]) for k in range(3))
    inside = (low <= truth) & (truth <= high)
    cells = [f"{inside.mean():.3f}", *(f"{inside[:, k].mean():.3f}" for k in range(len(PLACES)))]
    error = np.sqrt(np.mean((centre - truth)[:, 0] ** 2))
    return " | ".join([*cells, f"{np.mean((high - low)[:, 0]):.0f}", f"{error:.0f}"])


given = arguments(__doc__, replicates=16, output=None)
table = fc.Recipe().check(fc.read_catalog("catalogs/4FGL-DR4.fits.gz")).of_one_class
path = None if given.output is None else Path(given.output)
found = json.loads(path.read_text(encoding="utf-8")) if path is not None and path.exists() else []
done = {one["seed"] for one in found}
for seed in range(given.replicates):
    if seed not in done:
        found += replicate(table, seed)
        if path is not None:
            path.write_text(json.dumps(found) + "\n", encoding="utf-8")
head = ["sharpness", f"{len(found) // len(SHARPNESS)} replicates", "coverage", *PLACES, "mean width", "error"]
print("| " + " | ".join(head) + " |\n| ---: | --- |" + " ---: |" * (len(head) - 2))
for factor in SHARPNESS:
    for way in WAYS:
        print(f"| {factor} | {way} | {coverage([one for one in found if one['sharpness'] == factor], way)} |")
