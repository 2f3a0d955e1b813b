"""Blocks, the units of work of a benchmark: one method on consecutive splits of a cell, with a record for each."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.benchmarks.problem import Benchmark, Problem
from fermiclass.evaluation.metrics import nll_per_source
from fermiclass.io.arrays import FloatArray

Record = dict[str, Any]

_RANKED = 1.25  # number of rows that are inspected per wrong label


@dataclass(frozen=True, eq=False)
class Block:
    """A part of the work, with everything that another process needs to do it.

    Attributes
    ----------
    benchmark
        Source of the problems.
    cell, method
        Cell and method of the table. The name of the method is for the record only.
    estimator
        Unfitted estimator.
    splits
        Numbers of the splits.
    """

    benchmark: Benchmark
    cell: str
    method: str
    estimator: Any
    splits: tuple[int, ...]


def settings_of(estimator: Any) -> dict[str, Any]:
    """Return the parameters of the estimator as values that JSON can hold."""
    plain = (str, int, float, bool, type(None))
    return {key: value if isinstance(value, plain) else str(value) for key, value in estimator.get_params().items()}


def run_block(block: Block) -> list[Record]:
    """Train and test on every split of a block.

    A benchmark with a method ``run(cell, method, estimator, splits)`` does this itself.

    Returns
    -------
    list of dict
        A record for each split, with

        - ``"cell"``, ``"method"``, ``"split"``, ``"settings"``;
        - ``"nll"``, ``"error"``, ``"n_test"``, ``"classes"``, and ``"confusion"``: numbers of test rows, predicted
          classes by true classes, as in the paper's table 10;
        - ``"seconds"``, ``"fit_seconds"``, ``"predict_seconds"``: seconds of the block divided by its splits;
        - ``"bayes_nll"``, the NLL of the Bayes classifier, and ``"excess"``, the NLL above it, if it is known;
        - ``"noise"``, the noise variance of each feature, if the method learned it;
        - the last ``"elbo"``, and whether training ``"converged"``, if the estimator has them;
        - for wrong labels their number ``"wrong"`` and the balanced class rate ``"bcr"``. Also ``"found"``, the number
          of wrong labels among the first 1.25 × ``"wrong"`` training rows, if the method ranks them.
    """
    run = getattr(block.benchmark, "run", None)
    if run is not None:
        own: list[Record] = run(block.cell, block.method, block.estimator, block.splits)
        return own
    problems = [block.benchmark.problem(block.cell, split) for split in block.splits]
    started = time.perf_counter()
    fitted = _fit(block.estimator, problems)
    trained = time.perf_counter()
    probabilities = [f.predict_proba(p.X_test, X_var=p.X_var_test) for f, p in zip(fitted, problems, strict=True)]
    fit, predict = (trained - started) / len(problems), (time.perf_counter() - trained) / len(problems)
    seconds = {"seconds": fit + predict, "fit_seconds": fit, "predict_seconds": predict}
    settings = settings_of(block.estimator)
    return [
        {
            "cell": block.cell,
            "method": block.method,
            "split": split,
            **_scores(problem, p, estimator.classes_),
            **_wrong_labels(problem, p, estimator),
            **_learned(estimator),
            **seconds,
            "settings": settings,
        }
        for split, problem, p, estimator in zip(block.splits, problems, probabilities, fitted, strict=True)
    ]


def _fit(estimator: Any, problems: Sequence[Problem]) -> list[Any]:
    """Fit the estimator to each problem. NIMGPClassifier trains on all at once, each as if alone."""
    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning

    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    data = [(p.X, p.y, p.X_var) for p in problems]
    if isinstance(estimator, NIMGPClassifier):
        return estimator.fit_many(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the record has "converged"
        return [clone(estimator).fit(X, y, X_var=X_var) for X, y, X_var in data]


def score_labels(y: NDArray[Any], of_known: FloatArray, known: NDArray[Any]) -> Record:
    """Score probabilities ``(n, C)`` of the known classes against labels ``(n,)``. Other classes have probability 0.

    Returns
    -------
    dict
        ``"nll"``, ``"error"``, ``"n_test"``, ``"classes"`` and ``"confusion"``; see :func:`run_block`.
    """
    classes = np.union1d(known, y)
    truth = np.searchsorted(classes, y)
    p = np.zeros((len(truth), len(classes)))
    p[:, np.searchsorted(classes, known)] = of_known
    best = p.argmax(axis=1)
    confusion = np.zeros((len(classes), len(classes)), int)
    np.add.at(confusion, (best, truth), 1)
    return {
        "nll": _nll(p, truth),
        "error": float(np.mean(best != truth)),
        "n_test": len(truth),
        "classes": [str(name) for name in classes],
        "confusion": confusion.tolist(),
    }


def _scores(problem: Problem, p: FloatArray, known: NDArray[Any]) -> Record:
    scores = score_labels(problem.y_test, p, known)
    if problem.bayes is None:
        return scores
    # Generated data number the classes from 0, though a class may have no row.
    bayes_nll = _nll(problem.bayes, problem.y_test.astype(int))
    return scores | {"bayes_nll": bayes_nll, "excess": scores["nll"] - bayes_nll}


def _wrong_labels(problem: Problem, p: FloatArray, estimator: Any) -> Record:
    if problem.wrong is None:
        return {}
    best = estimator.classes_[p.argmax(axis=1)]
    recall = [np.mean(best[problem.y_test == name] == name) for name in np.unique(problem.y_test)]
    wrong = int(problem.wrong.sum())
    scores: Record = {"bcr": float(np.mean(recall)), "wrong": wrong}
    ranking = getattr(estimator, "outlier_probability_", None)
    if ranking is not None:
        first = np.argsort(-ranking, kind="stable")[: math.ceil(_RANKED * wrong)]
        scores["found"] = int(problem.wrong[first].sum())
    return scores


def _nll(p: FloatArray, truth: NDArray[np.intp]) -> float:
    return float(np.mean(nll_per_source(p, np.eye(p.shape[1], dtype=bool)[truth])))


def _learned(estimator: Any) -> Record:
    learned: Record = {}
    if getattr(estimator, "noise_variance_", None) is not None:
        learned["noise"] = [float(v) for v in estimator.noise_variance_]
    if hasattr(estimator, "elbo_"):
        learned["elbo"] = float(estimator.elbo_[-1])
    if hasattr(estimator, "converged_"):
        learned["converged"] = bool(estimator.converged_)
    return learned
