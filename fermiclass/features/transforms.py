"""Transformations of catalogue quantities into features, each with its gradient.

A transformation g maps K quantities q_1 ... q_K of a source to one number. With independent errors σ_k on the
quantities, first-order error propagation gives the feature's variance

    var g(q) = Σ_k (∂g/∂q_k)² σ_k²

so a transformation is two formulae: the value and the gradient. Quantities outside a transformation's domain (the
logarithm of a flux of zero, say) give NaN; what happens to NaN is the business of `fermiclass.features.imputation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Transform(Protocol):
    """What every transformation offers: a value and its gradient."""

    @property
    def reach(self) -> float:
        """How far from the median a value can be, as a multiple of the distance of the 1st or 99th percentile."""
        ...

    def value(self, q: FloatArray) -> FloatArray:
        """Return g(q), shape (N,), for quantities `q` of shape (K, N); NaN outside the domain."""
        ...

    def gradient(self, q: FloatArray) -> FloatArray:
        """Return ∂g/∂q, shape (K, N), for quantities `q` of shape (K, N)."""
        ...


#: Vela is 8600 times as far from the median flux density as the 99th percentile, and the logarithms of what
#: sources can have end within 3 times its distance.
REACH, REACH_OF_LOGARITHM = 1e5, 10.0


@dataclass(frozen=True)
class Identity:
    """g(q) = q, for one quantity."""

    reach: ClassVar[float] = REACH

    def value(self, q: FloatArray) -> FloatArray:
        """Return q."""
        return np.array(q[0])

    def gradient(self, q: FloatArray) -> FloatArray:
        """Return 1."""
        return np.ones_like(q)


@dataclass(frozen=True)
class Log:
    """g(q) = ln(q + offset), for one quantity; dg/dq = 1/(q + offset).

    With no offset the variance of ln q is the squared relative error (σ/q)².
    """

    offset: float = 0.0
    reach: ClassVar[float] = REACH_OF_LOGARITHM

    def value(self, q: FloatArray) -> FloatArray:
        """Return ln(q + offset), NaN where the argument is not positive."""
        return np.log(_positive(q[0] + self.offset))

    def gradient(self, q: FloatArray) -> FloatArray:
        """Return 1/(q + offset), NaN where the argument is not positive."""
        return 1.0 / _positive(q + self.offset)


@dataclass(frozen=True)
class Asinh:
    """g(q) = asinh q, for one quantity: q itself near 0, ln 2q far from it; dg/dq = 1/√(1 + q²)."""

    reach: ClassVar[float] = REACH_OF_LOGARITHM

    def value(self, q: FloatArray) -> FloatArray:
        """Return asinh q."""
        return np.arcsinh(q[0])

    def gradient(self, q: FloatArray) -> FloatArray:
        """Return 1/√(1 + q²)."""
        return 1.0 / np.sqrt(1.0 + q**2)


@dataclass(frozen=True)
class RoundedLog:
    """g(q) = ln r(q), where r rounds to `decimals` and replaces 0 by `zero`: how the main paper treats LP_SigCurv.

    The gradient is that of ln q at the rounded quantity: the steps of the rounding are not differentiated.
    """

    decimals: int = 2
    zero: float = 0.1
    reach: ClassVar[float] = REACH_OF_LOGARITHM

    def _rounded(self, q: FloatArray) -> FloatArray:
        rounded = np.round(q, self.decimals)
        return np.where(rounded == 0.0, self.zero, rounded)

    def value(self, q: FloatArray) -> FloatArray:
        """Return ln r(q), NaN where q is negative."""
        return np.log(_positive(self._rounded(q[0])))

    def gradient(self, q: FloatArray) -> FloatArray:
        """Return 1/r(q), NaN where q is negative."""
        return 1.0 / _positive(self._rounded(q))


@dataclass(frozen=True)
class HardnessRatio:
    """g(a, b) = (b − a)/(b + a), for two fluxes a (softer) and b (harder), in −1 ... 1.

    ∂g/∂a = −2b/(a + b)² and ∂g/∂b = 2a/(a + b)².
    """

    reach: ClassVar[float] = REACH

    def value(self, q: FloatArray) -> FloatArray:
        """Return (b − a)/(b + a), NaN where the sum is not positive."""
        a, b = q
        ratio: FloatArray = (b - a) / _positive(a + b)
        return ratio

    def gradient(self, q: FloatArray) -> FloatArray:
        """Return the two partial derivatives, shape (2, N)."""
        a, b = q
        # Divided twice rather than by the square: band fluxes of 1e-17 squared are no longer normal numbers in float32.
        total = _positive(a + b)
        gradient: FloatArray = np.stack([-2.0 * (b / total) / total, 2.0 * (a / total) / total])
        return gradient


def _positive(values: FloatArray) -> FloatArray:
    """Replace what is not positive by NaN, so that logarithms and quotients need no warnings filter."""
    return np.where(values > 0.0, values, np.nan)
