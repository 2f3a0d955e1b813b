"""Arrays and data frames: columns by name, no masked or missing values, means and scales, and outliers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.nimgp.errors import TrainingWarning
from fermiclass.nimgp.names import UNCERTAINTY_PREFIX

FloatArray = NDArray[np.float64]

_MOST_SPREAD = 1e100  # largest spread of inputs; its square is finite
_REACH = 50.0  # values nearer to the median, in robust standard deviations, are no outliers
_GAP = 30.0  # values nearer than so many times the farthest of these are none either: a long tail is not wild
_MOST_USUAL = 0.9  # share of values that are no outliers, where there are any


def check_arrays(found: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise ValueError when arrays have other names or shapes than a model's weights."""
    if odd := sorted(shapes.keys() ^ found.keys()):
        raise ValueError(f"the weights do not fit such a model: {', '.join(odd)} differ")
    for name, shape in shapes.items():
        if found[name].shape != shape:
            raise ValueError(
                f"the weights {name} have shape {found[name].shape}, a model with these inducing points needs {shape}"
            )


def mean_and_scale(values: np.ndarray, name: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return means and scales of one or more columns; see :func:`scale_of`."""
    mean_of, std_of = (np.nanmean, np.nanstd) if np.isnan(values).any() else (np.mean, np.std)
    with np.errstate(over="ignore", invalid="ignore"):  # `scale_of` refuses infinite values
        mean, spread = mean_of(values, axis=0), std_of(values, axis=0)
    return mean, scale_of(mean, spread, name)


def scale_of(mean: np.ndarray, spread: np.ndarray, name: str | None = None) -> np.ndarray:
    """Return the spread ``(D,)``, or ``()`` of one column, with 1 for constant columns.

    Raises ValueError, with the name, when its square overflows or becomes 0.
    """
    constant = spread <= 1e-12 * np.abs(mean)
    large = ~((spread < _MOST_SPREAD) & (np.abs(mean) < _MOST_SPREAD))
    small = ~constant & (spread < 1.0 / _MOST_SPREAD)
    odd = np.flatnonzero(large | small)
    if odd.size:
        name = name or f"feature {odd[0]} (counted from 0)"
        limit = "more" if large.flat[odd[0]] else "less"
        raise ValueError(
            f"the numbers of {name} spread over {spread.flat[odd[0]]:.1g}, {limit} than double precision can square: "
            "give it in other units, or take its logarithm"
        )
    return np.where(constant, 1.0, spread)


def usual_range(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest value of each column of ``X`` (N, D) without outliers, and limits, ``(2, D)``.

    An outlier is farther from the median than 50 times the standard deviation that a Gaussian with these quartiles has,
    and than 30 times the farthest value that is nearer. A column has none, and infinite limits, where half of the
    values are equal, or where a tenth or more would be outliers.
    """
    first, median, third = np.nanpercentile(X, (25, 50, 75), axis=0)
    reach = _REACH * (third - first) / 1.349
    distance = np.abs(X - median)
    cut = np.maximum(reach, _GAP * np.where(distance <= reach, distance, 0.0).max(axis=0))
    cut[(reach == 0) | (np.mean(distance <= cut, axis=0) <= _MOST_USUAL)] = np.inf
    low, high = median - cut, median + cut
    usual = (low <= X) & (high >= X)
    least, largest = np.where(usual, X, np.inf).min(axis=0), np.where(usual, X, -np.inf).max(axis=0)
    return np.stack([least, largest]), np.stack([low, high])


def without_outliers(X: np.ndarray, names: Sequence[str] | None = None) -> np.ndarray:
    """Clip outliers in ``X`` (N, D) to :func:`usual_range`, and warn; ValueError when a feature has no value."""
    if np.any(nowhere := np.isnan(X).all(axis=0)):
        raise ValueError(f"feature {np.argmax(nowhere)} (counted from 0) is NaN in every row: leave it out")
    (low, high), _ = usual_range(X)
    outside = (low > X) | (high < X)
    if not np.any(outside):
        return X
    warn_of_outliers(np.sum(outside, axis=0), low, high, names)
    return np.clip(X, low, high)


def warn_of_outliers(count: np.ndarray, low: np.ndarray, high: np.ndarray, names: Sequence[str] | None = None) -> None:
    """Warn of the numbers ``(D,)`` of rows outside of the range of each feature."""
    column = int(np.argmax(count > 0))
    name = f"feature {column} (counted from 0)" if names is None else f"the feature {names[column]}"
    others = np.sum(count > 0) - 1
    warnings.warn(
        f"{name} is far outside of {low[column]:.3g} to {high[column]:.3g}, where all others are, in {count[column]} "
        f"row(s){f', and {others} more feature(s) have such rows' if others else ''}: training takes the nearest of "
        "the others instead. Check these rows, or leave them out.",
        TrainingWarning,
        stacklevel=3,
    )


def part_frame(X: Any, X_var: Any = None) -> tuple[Any, Any, list[str]]:
    """Return the values of a frame, the squares of its columns Unc_x as variances, and the names of these columns.

    Without such columns X and `X_var` are returned as they are. Raises ValueError when there is Unc_x without x, a
    standard deviation is negative, or `X_var` is given too.
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
    """Return the variances of X with their columns in the order of X's: by name where both have names.

    `features` are the names where X, an array or a frame of pandas or Polars, has none; `beside` are other values by
    row, such as y. Raises ValueError when a value is masked or has a unit, an object among `beside` is missing, or
    names of columns or rows (index) differ.
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
