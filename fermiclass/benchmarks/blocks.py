"""The unit of a benchmark's work: a method on consecutive splits of a cell, trained together, a record for each."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fermiclass.benchmarks.problem import Benchmark, FloatArray, Problem

Record = dict[str, Any]

_CLIP = 1e-5  # of probabilities, before the logarithm
_RANKED = 1.25  # rows that are looked through for each wrong label


@dataclass(frozen=True, eq=False)
class Block:
    """Everything that another process needs to do a part of the work.

    Attributes
    ----------
    benchmark
        Where the problems come from.
    cell, method
        Of the table; the method's name is for the record only.
    estimator
        Unfitted.
    splits
        Which ones.
    """

    benchmark: Benchmark
    cell: str
    method: str
    estimator: Any
    splits: tuple[int, ...]


def settings_of(estimator: Any) -> dict[str, Any]:
    """Return the estimator's parameters as JSON can hold them."""
    plain = (str, int, float, bool, type(None))
    return {key: value if isinstance(value, plain) else str(value) for key, value in estimator.get_params().items()}


def run_block(block: Block) -> list[Record]:
    """Train and test on every split of a block; a benchmark that has ``run(cell, method, estimator, splits)`` does it.

    Returns
    -------
    list of dict
        For each split ``"cell"``, ``"method"``, ``"split"``, ``"nll"``, ``"error"``, ``"n_test"``, ``"classes"`` and
        ``"confusion"`` (numbers of test rows; predicted classes by true ones, as in the paper's table 10), the block's
        seconds over its splits (``"seconds"``, ``"fit_seconds"``, ``"predict_seconds"``) and ``"settings"``. Where
        they are known ``"bayes_nll"`` and ``"excess"``, what the NLL is above it; where it was learned the
        ``"noise"`` variance of each feature; where there is one the last ``"elbo"``, and whether training
        ``"converged"``. Where labels were made wrong, their number ``"wrong"``, the balanced class rate ``"bcr"``, and
        of a method that ranks training rows by how likely their label is wrong how many it ``"found"`` among the first
        1.25 × ``"wrong"``.
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
    """Ours train on all splits at once, each as if alone; others one after another."""
    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning

    from fermiclass.estimators import NIMGPClassifier

    data = [(p.X, p.y, p.X_var) for p in problems]
    if isinstance(estimator, NIMGPClassifier):
        from fermiclass.fitting import fit_many

        return fit_many(estimator, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the record says so
        return [clone(estimator).fit(X, y, X_var=X_var) for X, y, X_var in data]


def _scores(problem: Problem, of_known: FloatArray, known: Any) -> Record:
    """Score probabilities ``(n, C)`` of the classes that were learned; a class that was not has none."""
    classes = np.union1d(problem.y, problem.y_test)
    truth = np.searchsorted(classes, problem.y_test)
    p = np.zeros((len(truth), len(classes)))
    p[:, np.searchsorted(classes, known)] = of_known
    best = p.argmax(axis=1)
    confusion = np.zeros((len(classes), len(classes)), int)
    np.add.at(confusion, (best, truth), 1)
    nll = _nll(p, truth)
    scores: Record = {
        "nll": nll,
        "error": float(np.mean(best != truth)),
        "n_test": len(truth),
        "classes": [str(name) for name in classes],
        "confusion": confusion.tolist(),
    }
    if problem.bayes is None:
        return scores
    # Whoever generated the data numbers the classes from 0, though some may have no row.
    bayes_nll = _nll(problem.bayes, problem.y_test.astype(int))
    return scores | {"bayes_nll": bayes_nll, "excess": nll - bayes_nll}


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


def _nll(p: FloatArray, truth: Any) -> float:
    return float(-np.mean(np.log(np.maximum(p[np.arange(len(truth)), truth], _CLIP))))


def _learned(estimator: Any) -> Record:
    learned: Record = {}
    if getattr(estimator, "noise_variance_", None) is not None:
        learned["noise"] = [float(v) for v in estimator.noise_variance_]
    if hasattr(estimator, "elbo_"):
        learned["elbo"] = float(estimator.elbo_[-1])
    if hasattr(estimator, "converged_"):
        learned["converged"] = bool(estimator.converged_)
    return learned
