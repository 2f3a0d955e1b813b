"""The main paper's astrophysics data: 454 bright sources of 4FGL-DR1, 100 splits (its table 9).

The data are three files in ``DATA/astro454``: ``features.csv`` (Flux1000 and its uncertainty, ln Signif_Avg,
ln Pivot_Energy, LP_Index and its uncertainty, LP_beta and its uncertainty, ln LP_SigCurv), ``sources.csv`` (names and
classes) and ``splits.txt.gz`` (a permutation of the rows a line: 408 train, 46 test).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import BenchmarkError
from fermiclass.evaluation.peers import PeerClassifier, available_peers

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


def parse_methods(methods: str, likelihood: str) -> Callable[[], dict[str, Any]]:
    """Parse ``mgp,nimgp,default,logistic``; the estimators are made when the result is called, which imports much.

    Raises
    ------
    BenchmarkError
        When a method is unknown.
    """
    names = [name.strip() for name in methods.split(",")]
    known = ("default", "mgp", "nimgp", *available_peers())
    for name in names:
        if name not in known:
            raise BenchmarkError(f"the method '{name}' is unknown: choose among {', '.join(known)} (--methods)")

    def make() -> dict[str, Any]:
        from fermiclass.estimators import NIMGPClassifier

        def estimator(name: str) -> Any:
            if name == "default":
                return NIMGPClassifier()
            return PeerClassifier(name) if name in available_peers() else NIMGPClassifier(name, likelihood=likelihood)

        return {name: estimator(name) for name in names}

    return make


def run(
    data: Astro454,
    methods: Mapping[str, Any],
    *,
    num_splits: int = NUM_SPLITS,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Train and test every method on the first splits.

    Returns
    -------
    dict
        ``{"benchmark": "astro454", "splits": …, "methods": {NAME: {"nll", "nll_se", "error", "error_se", "seconds",
        "settings"}}}``; standard errors are those of the mean over splits, seconds those of one split. Methods after
        the first also have ``"nll_above_first"`` and ``"nll_above_first_se"``, over the same splits.
    """
    results: dict[str, dict[str, Any]] = {}
    of_first: NDArray[np.float64] = np.empty(0)
    for number, (name, estimator) in enumerate(methods.items()):
        scores, started = [], time.perf_counter()
        for k in range(num_splits):
            scores.append(_score_split(estimator, data, data.splits[k]))
            if progress is not None:
                progress(number * num_splits + k + 1, len(methods) * num_splits)
        results[name] = _summary(scores, time.perf_counter() - started, estimator)
        nll = np.array(scores)[:, 0]
        if number == 0:
            of_first = nll
        else:
            above = nll - of_first
            results[name] |= {"nll_above_first": float(above.mean()), "nll_above_first_se": _standard_error(above)}
    return {"benchmark": "astro454", "splits": num_splits, "methods": results}


def _score_split(estimator: Any, data: Astro454, split: NDArray[np.int64]) -> tuple[float, float]:
    from sklearn.base import clone

    train, test = split[:NUM_TRAIN], split[NUM_TRAIN:]
    fitted = clone(estimator).fit(data.X[train], data.y[train], X_var=data.X_var[train])
    probabilities = fitted.predict_proba(data.X[test], X_var=data.X_var[test])
    truth = np.searchsorted(fitted.classes_, data.y[test])
    p_true = probabilities[np.arange(len(truth)), truth]
    return float(-np.mean(np.log(np.maximum(p_true, _CLIP)))), float(np.mean(probabilities.argmax(axis=1) != truth))


def _standard_error(values: NDArray[np.float64]) -> float:
    """Of the mean over splits."""
    return float(values.std() / np.sqrt(max(len(values) - 1, 1)))


def _summary(scores: Sequence[tuple[float, float]], seconds: float, estimator: Any) -> dict[str, Any]:
    nll, error = np.array(scores).T
    return {
        "nll": float(nll.mean()),
        "nll_se": _standard_error(nll),
        "error": float(error.mean()),
        "error_se": _standard_error(error),
        "seconds": seconds / len(scores),
        "settings": estimator.get_params(),
    }
