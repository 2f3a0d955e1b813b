"""Search for wrong labels: labels of 4FGL-DR4 that were replaced, and labels of 4FGL-DR1 that DR4 has changed.

    python docs/development/benchmarks/wrong_labels.py
    python docs/development/benchmarks/wrong_labels.py --seeds 1

Held-out predictions rank all labels, in the same stratified folds for every method. ``outliers`` ranks by P_WRONG of
``fermiclass outliers``, the baselines by one minus the probability of the label. The methods use nothing of the later
release; its classes only define which labels are wrong. The first table has average precisions, with the labels of DR4
replaced by another class. The second has sources of DR1 with another class in DR4, and their percentiles among all that
were ranked from DR1 alone; 100 is the most suspicious.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score

import fermiclass as fc
from fermiclass.analysis.outliers import default_estimator, hold_out
from fermiclass.catalog.classes import THREE_CLASSES
from fermiclass.evaluation.baselines import BaselineClassifier
from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources
from fermiclass.labelling.training import training_table
from fermiclass.nimgp.estimators.folds import stratified_folds

METHODS = ("outliers", "forest", "boosting", "logistic")
SHARES, FOLDS, SEED = (0.02, 0.05), 5, 23


def suspicion(method: str, table: fc.FeatureTable, seed: int) -> np.ndarray:
    """Return how probably each label is wrong."""
    if method == "outliers":
        return hold_out(table, default_estimator(), FOLDS, seed)[2]
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


def changed(earlier: fc.Catalog, later: fc.Catalog, table: fc.FeatureTable) -> pd.DataFrame:
    """Return percentiles in the rankings of sources whose class differs in a later release."""
    counterpart = match_sources(earlier, later)[0][table.rows]
    # A source counts as changed if its later class is not among the learned ones, or if it has no class any more.
    same = fc.ClassGrouping.parse(THREE_CLASSES).assign(later.classes)[counterpart] == table.y
    rows = np.flatnonzero((counterpart != UNMATCHED) & ~same)
    found = {}
    for method in METHODS:
        ranks = pd.Series(suspicion(method, table, 0)).rank(method="first").to_numpy()
        found[method] = 100.0 * (ranks[rows] - 0.5) / len(table)
    names = [f"{table.names[k]} {table.y[k]} → {later.classes[counterpart[k]] or 'none'}" for k in rows]
    return pd.DataFrame(found, names)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    num_seeds = parser.parse_args().seeds
    earlier, later = (fc.read_catalog(f"catalogs/4FGL-{release}.fits.gz") for release in ("DR1", "DR4"))
    first, last = (training_table(c, features="extended", classes=THREE_CLASSES) for c in (earlier, later))
    for share in SHARES:
        scores = planted(last, share, num_seeds)
        ahead = scores[["outliers"]].to_numpy() - scores
        print(f"{100 * share:g} % replaced, {num_seeds} seeds: average precision, and how far outliers are ahead")
        print(pd.concat([scores.agg(["mean", "sem"]), ahead.agg(["mean", "sem"])]).round(3).to_string(), flush=True)
    percentiles = changed(earlier, later, first)
    print(f"percentiles among {len(first)} sources")
    print(pd.concat([percentiles, percentiles.mean().to_frame("mean").T]).round(1).to_string())


if __name__ == "__main__":
    main()
