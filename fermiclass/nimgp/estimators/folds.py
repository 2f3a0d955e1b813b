"""Stratified folds, and classifiers that are trained without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from fermiclass.nimgp.arrays import FloatArray

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
    """Return a copy of the estimator for each fold, trained on the other rows; `progress` gets how many of how many."""
    fitted = []
    for train, _ in splits:
        weights = {} if weight is None else {"sample_weight": weight[train]}
        fitted.append(clone(estimator).fit(X[train], y[train], X_var=X_var[train], **weights))
        if progress is not None:
            progress(len(fitted), len(splits))
    return fitted
