"""Outputs of training rows: what a model has to know of them, and which outputs a likelihood allows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fermiclass.nimgp.arrays import FloatArray, mean_and_scale

#: Likelihoods of numbers with arbitrary units. Their outputs are standardised.
STANDARDISED = ("gaussian", "student-t", "heteroskedastic")

_MOST_GRADES = 1000  # each grade has its own probability


class Outputs(NamedTuple):
    """Where outputs lie. Those in arbitrary units are standardised."""

    #: Mean and scale by which outputs are standardised; 0 and 1 if they are not.
    mean: float
    scale: float
    #: Mean and scale of the outputs that a model learns from.
    centre: float
    spread: float
    #: Share of each grade or binary output, ``(K,)``, where one without a row has a place too; else empty.
    shares: FloatArray

    @classmethod
    def of(cls, likelihood: Any, y: FloatArray) -> Outputs:
        """Measure outputs ``y`` (N,) for a likelihood: a name, or an object of GPflow.

        Raises ValueError as :func:`check_outputs`, when all grades are 0, and when the square of y overflows.
        """
        mean, scale = map(float, mean_and_scale(y, "y"))
        shares = np.empty(0)
        if isinstance(likelihood, str):
            check_outputs(likelihood, y)
            if likelihood == "ordinal" and y.max() < 1:
                raise ValueError(
                    "the likelihood 'ordinal' needs outputs of at least two grades; found only the grade 0"
                )
            if likelihood in STANDARDISED:
                return cls(mean, scale, 0.0, 1.0, shares)
            if likelihood in ("bernoulli", "ordinal"):
                shares = (np.bincount(y.astype(int)) + 1.0) / (len(y) + y.max() + 1.0)
        return cls(0.0, 1.0, mean, scale, shares)

    @classmethod
    def from_arrays(cls, *arrays: FloatArray) -> Outputs:
        """Return the outputs with these fields. Raises ValueError when they have values that are not possible."""
        *numbers, shares = arrays
        mean, scale, centre, spread = (float(a) if a.shape == () else np.nan for a in numbers)
        if not (scale > 0 and spread > 0 and np.isfinite(mean + centre) and shares.ndim == 1 and np.all(shares > 0)):
            raise ValueError("the arrays of outputs are not means, positive scales and positive shares")
        return cls(mean, scale, centre, spread, shares)


def check_outputs(likelihood: str, y: FloatArray) -> None:
    """Check that outputs are valid for a likelihood by name.

    Raises ValueError when counts or grades are not integers of 0 or more, there are too many grades, or a binary y is
    not 0 or 1.
    """
    if likelihood in STANDARDISED:
        return
    odd = np.flatnonzero((y < 0) | (y != np.floor(y)) | ((y > 1) if likelihood == "bernoulli" else False))
    if odd.size:
        expected = "0 or 1" if likelihood == "bernoulli" else "whole numbers of 0 or more"
        raise ValueError(f"y is {y[odd[0]]:g} in row {odd[0]}: the likelihood '{likelihood}' needs {expected}")
    if likelihood == "ordinal" and np.any(y >= _MOST_GRADES):
        raise ValueError(
            f"y is {y.max():g}: the likelihood 'ordinal' has at most {_MOST_GRADES:,} grades, from 0 on; use 'poisson' "
            "for counts"
        )
