"""Search for wrong labels: labels of 4FGL-DR4 that were replaced by another class.

    python docs/development/benchmarks/wrong_labels.py
    python docs/development/benchmarks/wrong_labels.py --seeds 1

Held-out predictions rank all labels, in the same stratified folds for every method. ``outliers`` ranks by P_WRONG of
``fermiclass outliers``, the baselines by one minus the probability of the label. The table has average precisions.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score

import fermiclass as fc
from fermiclass.analysis.outliers import default_recipe, hold_out
from fermiclass.catalog.classes import THREE_CLASSES
from fermiclass.evaluation.baselines import BaselineClassifier
from fermiclass.labelling.recipe import Recipe
from fermiclass.nimgp.estimators.folds import stratified_folds

METHODS = ("outliers", "forest", "boosting", "logistic")
SHARES, FOLDS, SEED = (0.02, 0.05), 5, 23


def suspicion(method: str, table: fc.FeatureTable, seed: int) -> np.ndarray:
    """Return how probably each label is wrong."""
    if method == "outliers":
        return hold_out(table, default_recipe(), FOLDS, seed)[2]
    right = np.empty(len(table))
    for train, test in stratified_folds(table.y, FOLDS, seed):
        fitted = BaselineClassifier(method, seed=seed).fit(table.X[train], table.y[train])
        p = fitted.predict_proba(table.X[test])
        right[test] = p[np.arange(len(test)), np.searchsorted(fitted.classes_, table.y[test])]
    return 1.0 - right


def replaced(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return labels in which a random share is replaced by another class. All other classes are equally likely."""
    names, labels = np.unique(y), y.copy()
    for row in rng.choice(len(y), round(share * len(y)), replace=False):
        labels[row] = rng.choice(names[names != y[row]])
    return labels


def planted(table: fc.FeatureTable, share: float, num_seeds: int) -> pd.DataFrame:
    """Return average precisions, a row for each seed."""
    rows = []
    for seed in range(num_seeds):
        y = replaced(table.y, share, np.random.default_rng((SEED, seed, round(1000 * share))))
        ranked = replace(table, y=y)
        rows.append({m: average_precision_score(y != table.y, suspicion(m, ranked, seed)) for m in METHODS})
    return pd.DataFrame(rows)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--seeds", type=int, default=10)
num_seeds = parser.parse_args().seeds
catalog = fc.read_catalog("catalogs/4FGL-DR4.fits.gz")
table = Recipe(features="extended", classes=THREE_CLASSES).check(catalog).of_one_class
for share in SHARES:
    scores = planted(table, share, num_seeds)
    ahead = scores[["outliers"]].to_numpy() - scores
    print(f"{100 * share:g} % replaced, {num_seeds} seeds: average precision, and how far outliers are ahead")
    print(pd.concat([scores.agg(["mean", "sem"]), ahead.agg(["mean", "sem"])]).round(3).to_string(), flush=True)
