"""Stratified folds: classifiers that are trained without one, and the temperature that suits held-out sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from fermiclass.nimgp.arrays import FloatArray
from fermiclass.nimgp.estimators.fitted import Fitted
from fermiclass.nimgp.prediction.prediction import join

Split = tuple[NDArray[np.intp], NDArray[np.intp]]  #: Rows to train on, and rows that are held out.


def stratified_folds(y: NDArray[Any], number: int, seed: int) -> list[Split]:
    """Return training and test rows of each fold; there are no more folds than rows of the rarest label."""
    least = int(np.unique(y, return_counts=True)[1].min())
    splitter = StratifiedKFold(min(number, least), shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(len(y)), y))


def fit_folds(
    estimator: Any,
    splits: Sequence[Split],
    X: FloatArray,
    y: NDArray[Any],
    X_var: FloatArray,
    weight: FloatArray | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Any]:
    """Return a copy of the estimator for each fold, trained on the other rows, which may have weights ``(N,)``.

    `progress` is called with the numbers of copies that are trained, and of all.
    """
    fitted = []
    for train, _ in splits:
        weights = {} if weight is None else {"sample_weight": weight[train]}
        fitted.append(clone(estimator).fit(X[train], y[train], X_var=X_var[train], **weights))
        if progress is not None:
            progress(len(fitted), len(splits))
    return fitted


_MAX_FOLDS = 5
_LN_RANGE = np.log(4.0)  # temperatures from 1/4 to 4
_LN_TOLERANCE = 0.01
_LEAST = 1e-5  # least probability, so that its logarithm is finite

NUM_DRAWS = 64  #: Number of draws of each noisy input. It is enough for a mean over all sources.


def fold_temperature(
    fit: Callable[..., Fitted], X: FloatArray, X_var: FloatArray, y: np.ndarray, weight: FloatArray, *, seed: int
) -> float:
    """Return the temperature T that suits sources outside the training set.

    `fit` trains on inputs, variances, labels and weights. T minimises the weighted NLL of ``E_x E_f softmax(f/T)`` over
    stratified folds, which models of the other folds predict (Guo, Pleiss, Sun & Weinberger 2017, ICML, section 4.2,
    here inside the expectations).

    Raises ValueError when a class has a single source.
    """
    from scipy.optimize import minimize_scalar

    labels, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"temperature='folds' needs at least two sources of every class, '{labels[counts.argmin()]}' has one: "
            "leave the class out, or give a number"
        )
    splits = stratified_folds(y, _MAX_FOLDS, seed)
    fitted = [fit(X[train], X_var[train], y[train], weight[train]) for train, _ in splits]
    # Labels that stand for a set of classes are used for training, but not for the NLL.
    tests = [test[np.isin(y[test], fold.target.classes)] for fold, (_, test) in zip(fitted, splits, strict=True)]
    held_out_weight = sum(float(weight[test].sum()) for test in tests)

    def nll(ln_temperature: float) -> float:
        total = 0.0
        for fold, test in zip(fitted, tests, strict=True):
            scaled = replace(fold, temperature=float(np.exp(ln_temperature)))
            p = join(list(scaled.blocks(X[test], X_var[test]))).probabilities
            of_truth = p[np.arange(len(test)), np.searchsorted(fold.target.classes, y[test])]
            total -= float(np.sum(weight[test] * np.log(np.maximum(of_truth, _LEAST))))
        return total / held_out_weight

    found = minimize_scalar(nll, bounds=(-_LN_RANGE, _LN_RANGE), method="bounded", options={"xatol": _LN_TOLERANCE})
    return float(np.exp(found.x))
