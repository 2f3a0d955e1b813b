"""The main paper's astrophysics data: 454 bright sources of 4FGL-DR1, 100 splits (its table 9).

The data are three files in ``DATA/astro454``: ``features.csv`` (Flux1000 and its uncertainty, ln Signif_Avg,
ln Pivot_Energy, LP_Index and its uncertainty, LP_beta and its uncertainty, ln LP_SigCurv), ``sources.csv`` (names and
classes) and ``splits.txt.gz`` (a permutation of the rows a line: 408 train, 46 test).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import BenchmarkError

if TYPE_CHECKING:
    from fermiclass.estimators import NIMGPClassifier

NUM_TRAIN = 408
NUM_SPLITS = 100
PAPER_NLL = {"mgp": 0.377, "nimgp": 0.246, "nimgp-nn": 0.261, "nimgp-fo": 0.292}

_VALUES, _ERRORS = (0, 2, 3, 4, 6, 8), (1, None, None, 5, 7, None)  # columns of features.csv
_CLIP = 1e-5  # of probabilities, before the logarithm


class Astro454(NamedTuple):
    """Inputs and variances (454, 6), classes (454,), and splits (100, 454)."""

    X: NDArray[np.float64]
    X_var: NDArray[np.float64]
    y: NDArray[np.str_]
    splits: NDArray[np.int64]


def load(folder: Path) -> Astro454:
    """Read the data from ``folder/astro454``.

    Raises
    ------
    BenchmarkError
        When a file is missing or damaged.
    """
    home = folder / "astro454"
    try:
        columns = np.loadtxt(home / "features.csv", delimiter=",", skiprows=1)
        y = np.loadtxt(home / "sources.csv", delimiter=",", skiprows=1, usecols=3, dtype=str)
        splits = np.loadtxt(home / "splits.txt.gz", dtype=np.int64)
    except (OSError, ValueError, IndexError) as error:
        raise BenchmarkError(
            f"the data of the benchmark 'astro454' cannot be read from '{home}' ({error}). Give the folder that holds "
            "astro454/ with --data."
        ) from error
    zeros = np.zeros(len(columns))
    X_var = np.stack([zeros if k is None else columns[:, k] ** 2 for k in _ERRORS], axis=1)
    return Astro454(columns[:, _VALUES], X_var, y, splits)


def parse_methods(methods: str, likelihood: str) -> Callable[[], dict[str, NIMGPClassifier]]:
    """Parse ``mgp,nimgp,default``; the estimators are made when the result is called, since that needs scikit-learn.

    Raises
    ------
    BenchmarkError
        When a method is unknown.
    """
    names = [name.strip() for name in methods.split(",")]
    for name in names:
        if name not in ("mgp", "nimgp", "default"):
            raise BenchmarkError(f"the method '{name}' is unknown: choose among mgp, nimgp, default (--methods)")

    def make() -> dict[str, NIMGPClassifier]:
        from fermiclass.estimators import NIMGPClassifier

        return {
            name: NIMGPClassifier() if name == "default" else NIMGPClassifier(name, likelihood=likelihood)
            for name in names
        }

    return make


def run(
    data: Astro454,
    methods: Mapping[str, NIMGPClassifier],
    *,
    num_splits: int = NUM_SPLITS,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Train and test every method on the first splits.

    Returns
    -------
    dict
        ``{"benchmark": "astro454", "splits": …, "methods": {NAME: {"nll", "nll_se", "error", "error_se", "seconds",
        "settings"}}}``; standard errors are those of the mean over splits, seconds those of one split.
    """
    results = {}
    for number, (name, estimator) in enumerate(methods.items()):
        scores, started = [], time.perf_counter()
        for k in range(num_splits):
            scores.append(_score_split(estimator, data, data.splits[k]))
            if progress is not None:
                progress(number * num_splits + k + 1, len(methods) * num_splits)
        results[name] = _summary(scores, time.perf_counter() - started, estimator)
    return {"benchmark": "astro454", "splits": num_splits, "methods": results}


def _score_split(estimator: NIMGPClassifier, data: Astro454, split: NDArray[np.int64]) -> tuple[float, float]:
    from sklearn.base import clone

    train, test = split[:NUM_TRAIN], split[NUM_TRAIN:]
    fitted = clone(estimator).fit(data.X[train], data.y[train], X_var=data.X_var[train])
    probabilities = fitted.predict_proba(data.X[test], X_var=data.X_var[test])
    truth = np.searchsorted(fitted.classes_, data.y[test])
    p_true = probabilities[np.arange(len(truth)), truth]
    return float(-np.mean(np.log(np.maximum(p_true, _CLIP)))), float(np.mean(probabilities.argmax(axis=1) != truth))


def _summary(scores: Sequence[tuple[float, float]], seconds: float, estimator: NIMGPClassifier) -> dict[str, Any]:
    nll, error = np.array(scores).T
    root = np.sqrt(max(len(scores) - 1, 1))
    return {
        "nll": float(nll.mean()),
        "nll_se": float(nll.std() / root),
        "error": float(error.mean()),
        "error_se": float(error.std() / root),
        "seconds": seconds / len(scores),
        "settings": estimator.get_params(),
    }
