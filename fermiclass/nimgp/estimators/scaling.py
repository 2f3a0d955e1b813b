"""Standardised inputs and outputs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fermiclass.nimgp.settings import Settings

_MOST_SPREAD = 1e100  # largest spread of inputs; its square is finite


class Scaling(NamedTuple):
    """Mean and scale by which inputs are standardised, ``(D,)`` each."""

    mean: np.ndarray
    scale: np.ndarray

    def apply(self, X: np.ndarray, X_var: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
        """Return standardised inputs and variances, within the limits of the settings."""
        X, X_var = (X - self.mean) / self.scale, X_var / self.scale**2
        if settings.inputs.clip is not None:
            X = np.clip(X, -settings.inputs.clip, settings.inputs.clip)
        if settings.inputs.max_noise is not None:
            X_var = np.minimum(X_var, settings.inputs.max_noise)
        return X, X_var


def mean_and_scale(values: np.ndarray, name: str | None = None) -> Scaling:
    """Return means and scales of one or more columns; see :func:`scale_of`."""
    with np.errstate(over="ignore", invalid="ignore"):  # `scale_of` refuses infinite values
        mean, spread = values.mean(axis=0), values.std(axis=0)
    return Scaling(mean, scale_of(mean, spread, name))


def scale_of(mean: np.ndarray, spread: np.ndarray, name: str | None = None) -> np.ndarray:
    """Return the scales of columns: their standard deviations, and 1 for constant columns.

    Parameters
    ----------
    mean, spread
        Mean and standard deviation of each feature, ``(D,)``, or of one column, ``()``.
    name
        Name of the column in messages; by default the number of the feature.

    Raises
    ------
    ValueError
        When the square of a spread overflows, or becomes 0.
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
