"""Test whether OOD_SCORE is higher for sources of classes that the training did not have.

    python docs/development/benchmarks/unknown_classes.py [--releases DR1 DR4] [--features six extended]

The sources of the trained classes are divided into five stratified folds. The training sources of the other folds score
each fold, so that no source is compared with itself. The sources of other certain classes (not bcu, not unk) are novel;
their score is the mean over the folds. The script prints the area under the ROC curve of novel against trained sources:
of all, of all at equal significance (the mean over bins of Signif_Avg, by numbers of novel sources), of each novel
class against all trained sources, and of all novel sources against each trained class.
"""

from __future__ import annotations

import argparse
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

import fermiclass as fc
from fermiclass.catalog import THREE_CLASSES, UNCERTAIN_CLASSES, ClassGrouping
from fermiclass.io import FloatArray
from fermiclass.nimgp.domain import TrainingDomain

RELEASES = ("DR1", "DR2", "DR3", "DR4")
EDGES = (0.0, 7.0, 12.0, 20.0, 40.0, np.inf)
FOLDS, RESAMPLES = 5, 300


def scores(
    catalog: fc.Catalog, features: str, classes: str
) -> tuple[FloatArray, NDArray[np.str_], NDArray[np.str_], FloatArray]:
    """Return score, trained class ('' for novel sources), code and significance of the sources, ``(n,)`` each."""
    grouping = ClassGrouping.parse(classes)
    table = fc.extract_features(catalog, features, grouping)
    is_trained = np.isin(table.y, grouping.names)
    rows = np.flatnonzero(is_trained | (~np.isin(catalog.classes, ("", *UNCERTAIN_CLASSES)) & ~table.labelled))
    table = table[rows]
    trained, novel = np.flatnonzero(is_trained[rows]), np.flatnonzero(~is_trained[rows])
    score = np.zeros(len(rows))
    for learn, held_out in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(trained, table.y[trained]):
        known, tested = trained[learn], trained[held_out]
        domain = TrainingDomain.fit(table.X[known], table.X_var[known], table.y[known])
        score[tested] = domain.score(table.X[tested], table.X_var[tested])
        score[novel] += domain.score(table.X[novel], table.X_var[novel]) / FOLDS
    significance = np.asarray(catalog.table["Signif_Avg"], float)[rows]
    return score, np.where(is_trained[rows], table.y, ""), catalog.classes[rows], significance


def auc(score: FloatArray, is_novel: NDArray[np.bool_]) -> str:
    """Return the area under the ROC curve, with its standard error by resampling, and the number of novel sources."""
    novel, trained = score[is_novel], score[~is_novel]
    larger = (novel[:, None] > trained) + 0.5 * (novel[:, None] == trained)
    rng = np.random.default_rng(0)
    times = [rng.multinomial(n, np.full(n, 1.0 / n), RESAMPLES) for n in larger.shape]  # how often each source is drawn
    areas = np.sum((times[0] @ larger) * times[1], axis=1) / larger.size
    return f"{larger.mean():.3f} ± {areas.std():.3f} | {len(novel)}"


def lines(catalog: fc.Catalog, features: str, classes: str) -> dict[str, str]:
    """Return the areas by what they compare."""
    score, y, code, significance = scores(catalog, features, classes)
    is_novel = y == ""
    found = {"all": auc(score, is_novel)}
    areas, numbers = [], []
    for low, high in pairwise(EDGES):
        chosen = (significance >= low) & (significance < high)
        if 0 < is_novel[chosen].sum() < chosen.sum():
            areas.append(roc_auc_score(is_novel[chosen], score[chosen]))
            numbers.append(is_novel[chosen].sum())
    found["all, at equal significance"] = f"{np.average(areas, weights=numbers):.3f} | {sum(numbers)}"
    for name, number in zip(*np.unique(code[is_novel], return_counts=True), strict=True):
        if number >= 2:
            chosen = ~is_novel | (code == name)
            found[str(name)] = auc(score[chosen], is_novel[chosen])
    for name in np.unique(y[~is_novel]):
        chosen = is_novel | (y == name)
        found[f"all, against {name}"] = auc(score[chosen], is_novel[chosen])
    return found


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--releases", nargs="+", default=["DR4"], choices=RELEASES)
parser.add_argument("--features", nargs="+", default=["six", "extended"])
parser.add_argument("--classes", default=THREE_CLASSES)
arguments = parser.parse_args()
for release in arguments.releases:
    catalog = fc.read_catalog(f"catalogs/4FGL-{release}.fits.gz")
    for features in arguments.features:
        print(f"| {release}, {features} | AUC | novel sources |\n| --- | ---: | ---: |")
        for what, text in lines(catalog, features, arguments.classes).items():
            print(f"| {what} | {text} |")
        print(flush=True)
