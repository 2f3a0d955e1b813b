"""Stratified folds, and classifiers that are trained without one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from fermiclass.nimgp.arrays import FloatArray

#: Rows to train on, and rows that are held out.
Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def stratified_folds(y: NDArray[Any], number: int, seed: int) -> list[Split]:
    """Return training and test rows of each fold; there are no more folds than rows of the rarest label."""
    least = int(np.unique(y, return_counts=True)[1].min())
    splitter = StratifiedKFold(min(number, least), shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(len(y)), y))


def fit_folds(
    fit_many: Callable[[Sequence[tuple[FloatArray, NDArray[Any], FloatArray]]], Sequence[Any]],
    splits: Sequence[Split],
    X: FloatArray,
    y: NDArray[Any],
    X_var: FloatArray,
) -> list[Any]:
    """Return a classifier for each fold, trained on the other rows by `fit_many`."""
    return list(fit_many([(X[train], y[train], X_var[train]) for train, _ in splits]))
