"""Transformations of catalogue quantities into features, each with its gradient.

A transformation g maps K quantities q_1 ... q_K of a source to one number. With independent errors σ_k on the
quantities, first-order error propagation gives the feature's variance

    var g(q) = Σ_k (∂g/∂q_k)² σ_k²

so a transformation has two formulae: the value and the gradient. Quantities outside the domain of a transformation,
such as a flux of zero for the logarithm, give NaN. `fermiclass.features.imputation` treats NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from fermiclass.io.arrays import FloatArray

#: The flux density of Vela is 8600 times as far from the median as the 99th percentile. Logarithms of possible values
#: stay within 3 times the distance of the percentile.
REACH, REACH_OF_LOGARITHM = 1e5, 10.0


class Transform(NamedTuple):
    """A transformation of quantities ``q`` (K, N): one for all but the hardness ratio, which has two."""

    value: Callable[[FloatArray], FloatArray]  #: g(q), (N,); NaN outside the domain.
    gradient: Callable[[FloatArray], FloatArray]  #: ∂g/∂q, (K, N).
    #: Largest distance of a value from the median, as a multiple of that of the 1st or 99th percentile.
    reach: float = REACH_OF_LOGARITHM


def _positive(values: FloatArray) -> FloatArray:
    """Replace values that are not positive by NaN, so that logarithms and quotients give no warnings."""
    return np.where(values > 0.0, values, np.nan)


def _first(q: FloatArray) -> FloatArray:
    return np.array(q[0])


def _log(q: FloatArray) -> FloatArray:
    return np.log(_positive(q[0]))


def _inverse(q: FloatArray) -> FloatArray:
    return 1.0 / _positive(q)


def _asinh(q: FloatArray) -> FloatArray:
    return np.arcsinh(q[0])


def _slope_of_asinh(q: FloatArray) -> FloatArray:
    return 1.0 / np.sqrt(1.0 + q**2)


def _asinh_distance(scale: float, q: FloatArray) -> FloatArray:
    return np.arcsinh(np.abs(q[0]) / scale)


def _slope_of_distance(scale: float, q: FloatArray) -> FloatArray:
    return np.sign(q) / np.sqrt(scale**2 + q**2)


def _rounded(q: FloatArray) -> FloatArray:
    rounded = np.round(q, 2)
    return np.where(rounded == 0.0, 0.1, rounded)


def _log_rounded(q: FloatArray) -> FloatArray:
    return _log(_rounded(q))


def _inverse_rounded(q: FloatArray) -> FloatArray:
    return _inverse(_rounded(q))


def _ratio(q: FloatArray) -> FloatArray:
    a, b = q
    return np.asarray((b - a) / _positive(a + b))


def _slopes_of_ratio(q: FloatArray) -> FloatArray:
    a, b = q
    # Two divisions, not one by the square: the square of a band flux of 1e-17 is too small for float32.
    total = _positive(a + b)
    return np.stack([-2.0 * (b / total) / total, 2.0 * (a / total) / total])


IDENTITY = Transform(_first, np.ones_like, REACH)  #: g(q) = q.
LOG = Transform(_log, _inverse)  #: g(q) = ln q; dg/dq = 1/q. The variance of ln q is the squared relative error (σ/q)².
ASINH = Transform(_asinh, _slope_of_asinh)  #: g(q) = asinh q: q near 0 and ln 2q for large q; dg/dq = 1/√(1 + q²).
#: g(q) = ln r(q), where r rounds to 0.01 and replaces 0 by 0.1, as the main paper does with LP_SigCurv. The gradient is
#: that of ln q at the rounded quantity. It ignores the steps of the rounding.
ROUNDED_LOG = Transform(_log_rounded, _inverse_rounded)
#: g(a, b) = (b − a)/(b + a), for two fluxes a (softer) and b (harder), in −1 ... 1; ∂g/∂a = −2b/(a + b)² and
#: ∂g/∂b = 2a/(a + b)².
HARDNESS_RATIO = Transform(_ratio, _slopes_of_ratio, REACH)


def asinh_distance(scale: float) -> Transform:
    """Return g(q) = asinh(|q| / scale), a distance from 0, fine near it; dg/dq = sign(q) / √(scale² + q²)."""
    return Transform(partial(_asinh_distance, scale), partial(_slope_of_distance, scale))
