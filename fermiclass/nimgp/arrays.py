"""Type of arrays, their means and scales, and outliers among the values of training rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fermiclass.nimgp.errors import TrainingWarning

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
    """Return the scales of columns: their standard deviations, and 1 for constant columns.

    They are given by mean and spread ``(D,)``, or ``()`` of one column, whose name is for messages.

    Raises ValueError when the square of a spread overflows, or becomes 0.
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
    """Return the least and the largest value of each column of ``X`` (N, D) without its outliers, and their limits.

    Both are ``(2, D)``. An outlier is farther from the median than 50 times the standard deviation that a Gaussian with
    these quartiles has, and than 30 times the farthest value that is nearer. The features of the LAT catalogues have
    none, and the fluxes themselves, with Vela in them, have none either. A column has none, and infinite limits, where
    half of the values are equal, or where a tenth or more would be outliers.
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
    """Return training rows ``X`` (N, D) with the nearest value of :func:`usual_range` instead of outliers, and warn."""
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
