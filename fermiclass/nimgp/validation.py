"""Validation of arrays and data frames: columns by name, rows by index, no masked or missing values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fermiclass.nimgp.names import UNCERTAINTY_PREFIX


def part_frame(X: Any, X_var: Any = None) -> tuple[Any, Any, list[str]]:
    """Return the values of a frame, their variances, and the names of its columns of standard deviations.

    Column Unc_x has the standard deviations of column x; a column without such a one is exact. What has no such columns
    is returned as it is, with `X_var`.

    Raises ValueError when there is Unc_x without x, a standard deviation is negative, or `X_var` is given too.
    """
    columns = list(getattr(X, "columns", ()))
    errors = [name for name in columns if isinstance(name, str) and name.startswith(UNCERTAINTY_PREFIX)]
    if not errors:
        return X, X_var, errors
    names = [name for name in columns if name not in errors]
    lost = [name for name in errors if name.removeprefix(UNCERTAINTY_PREFIX) not in names]
    if lost:
        raise ValueError(f"X has a column {lost[0]} of standard deviations, but not their column of values: rename it")
    if X_var is not None:
        raise ValueError(f"X has standard deviations ({errors[0]}), and X_var is given: give errors once")
    variances = np.zeros((len(X), len(names)))
    for name in errors:
        deviations = np.asarray(X[name], np.float64)
        if np.any(deviations < 0):
            raise ValueError(
                f"{name} is negative in row {np.argmax(deviations < 0)}, and is a standard deviation: does a step "
                "before rescale the columns? The estimator standardises values and errors itself, leave such a step out"
            )
        variances[:, names.index(name.removeprefix(UNCERTAINTY_PREFIX))] = deviations**2
    return X[names], variances, errors


def align_columns(X: Any, X_var: Any = None, *, features: Iterable[str] | None = None, **beside: Any) -> Any:
    """Return the variances of X with their columns in the order of X's.

    Columns go by their names where both have names, else by position. Rows go by position: they must have the same
    names (index) where both have them.

    `X`: inputs, ``(N, D)``: an array, or a frame of pandas or Polars.
    `X_var`: their variances, or None.
    `features`: names of X's columns where X itself has none.
    `beside`: other values by row, such as y.

    Raises ValueError when a value is masked or has a unit, an object among `beside` is missing, or names of columns or
    rows differ.
    """
    for name, values in {"X": X, "X_var": X_var, **beside}.items():
        _check_values(name, values, X, complete=values is not X and values is not X_var)
    theirs = getattr(X_var, "columns", None)
    names = getattr(X, "columns", features)
    if theirs is None or names is None or list(theirs) == list(names):
        return X_var
    if len(set(names)) < len(list(names)) or sorted(map(repr, theirs)) != sorted(map(repr, names)):
        raise ValueError(
            f"X_var has the columns {', '.join(map(str, theirs))}, X has {', '.join(map(str, names))}: give the same "
            "names, or X_var as an array with columns in the order of X's"
        )
    return X_var[list(names)]


def _check_values(name: str, values: Any, X: Any, *, complete: bool) -> None:
    """Raise ValueError where values are masked, have units or names of rows that X has not, or are missing."""
    parts = values if isinstance(values, list | tuple) else (values,)
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    masked = sum(int(np.sum(mask)) for part in arrays if isinstance(mask := getattr(part, "mask", None), np.ndarray))
    if masked:  # conversion to an array would take what is behind the mask
        raise ValueError(
            f"{name} has {masked} masked value(s), and what is behind a mask is no measurement: leave these rows out, "
            "or fill in a value (in X with a large variance, in y '' for no label)"
        )
    found = [getattr(part, "unit", None) for part in arrays]
    units = [str(unit) for unit in found if unit is not None and str(unit)]
    if units:  # nothing here converts it: another one later would be a number
        raise ValueError(
            f"{name} is in {units[0]}, and units are not converted: give its numbers, such as {name}.to_value(unit), "
            "in the same unit in training and prediction"
        )
    if getattr(values, "ndim", 0) == 2 and hasattr(values, "sparse"):  # pandas: each column is sparse
        raise ValueError(f"{name} has only sparse columns: give {name}.sparse.to_dense()")
    ours: Any = getattr(X, "index", None)
    theirs: Any = getattr(values, "index", None)  # lists have an index, too
    indexed = hasattr(ours, "equals") and hasattr(theirs, "equals") and len(X) == len(values)
    if indexed and not ours.equals(theirs):
        row = next((k for k, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b), 0)
        raise ValueError(
            f"the rows of {name} have other names (index) than those of X: row {row} is {theirs[row]}, in X "
            f"{ours[row]}. Give {name}.loc[X.index], or, if the rows are in the same order, {name}.to_numpy()"
        )
    objects = np.asarray(values if complete else ())
    for row, value in enumerate(objects if objects.dtype.kind == "O" and objects.ndim else ()):
        if value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value):
            raise ValueError(  # scikit-learn's messages do not name it
                f"{name} has no value in row {row} ({value}): leave the row out, or give '' to a source without a label"
            )
