"""Transformations of catalogue quantities into features, each with its gradient.

A transformation g maps K quantities q_1 ... q_K of a source to one number. With independent errors σ_k on the
quantities, first-order error propagation gives the feature's variance

    var g(q) = Σ_k (∂g/∂q_k)² σ_k²

so a formula takes the quantities ``(K, N)`` and returns g ``(N,)`` and its gradient ``(K, N)``. Quantities outside the
domain of a transformation, such as a flux of zero for the logarithm, give NaN. `fermiclass.features.imputation` treats
NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fermiclass.catalog.catalog import DISC
from fermiclass.io import FloatArray

#: The flux density of Vela is 8600 times as far from the median as the 99th percentile. Logarithms of possible values
#: stay within 3 times the distance of the percentile.
REACH, REACH_OF_LOGARITHM = 1e5, 10.0

ValueAndGradient = tuple[FloatArray, FloatArray]


class Transform(NamedTuple):
    """A transformation of quantities ``q`` (K, N): one for all but the hardness ratio, which has two."""

    formula: Callable[[FloatArray], ValueAndGradient]  #: g(q), (N,), NaN outside the domain; and ∂g/∂q, (K, N).
    #: Largest distance of a value from the median, as a multiple of that of the 1st or 99th percentile.
    reach: float = REACH_OF_LOGARITHM


def _identity(q: FloatArray) -> ValueAndGradient:
    return np.array(q[0]), np.ones_like(q)


def _log(q: FloatArray) -> ValueAndGradient:
    positive = np.where(q > 0.0, q, np.nan)  # without warnings
    return np.log(positive[0]), 1.0 / positive


def _log_of_rounded(q: FloatArray) -> ValueAndGradient:
    rounded = np.round(q, 2)
    return _log(np.where(rounded == 0.0, 0.1, rounded))


def _asinh(q: FloatArray) -> ValueAndGradient:
    return np.arcsinh(q[0]), 1.0 / np.sqrt(1.0 + q**2)


def _asinh_distance(q: FloatArray) -> ValueAndGradient:
    return np.arcsinh(np.abs(q[0]) / DISC), np.sign(q) / np.sqrt(DISC**2 + q**2)


def _hardness_ratio(q: FloatArray) -> ValueAndGradient:
    a, b = q
    total = np.where(a + b > 0.0, a + b, np.nan)
    # Two divisions, not one by the square: the square of a band flux of 1e-17 is too small for float32.
    return (b - a) / total, np.stack([-2.0 * (b / total) / total, 2.0 * (a / total) / total])


IDENTITY = Transform(_identity, REACH)  #: g(q) = q.
LOG = Transform(_log)  #: g(q) = ln q; dg/dq = 1/q. The variance of ln q is the squared relative error (σ/q)².
ASINH = Transform(_asinh)  #: g(q) = asinh q: q near 0 and ln 2q for large q; dg/dq = 1/√(1 + q²).
#: g(q) = ln r(q), where r rounds to 0.01 and replaces 0 by 0.1, as the main paper does with LP_SigCurv. The gradient is
#: that of ln q at the rounded quantity. It ignores the steps of the rounding.
ROUNDED_LOG = Transform(_log_of_rounded)
#: g(a, b) = (b − a)/(b + a), for two fluxes a (softer) and b (harder), in −1 ... 1; ∂g/∂a = −2b/(a + b)² and
#: ∂g/∂b = 2a/(a + b)².
HARDNESS_RATIO = Transform(_hardness_ratio, REACH)
#: g(q) = asinh(|q| / h), a distance from 0, fine near it, with the height h of the disc; dg/dq = sign(q) / √(h² + q²).
ASINH_DISTANCE = Transform(_asinh_distance)
