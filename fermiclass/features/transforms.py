"""Transformations of catalogue quantities into features, each with its gradient.

A transformation g maps K quantities q_1 ... q_K of a source to one number. With independent errors σ_k on the
quantities, first-order error propagation gives the feature's variance

    var g(q) = Σ_k (∂g/∂q_k)² σ_k²

so a transformation has two formulae: the value and the gradient. Quantities outside the domain of a transformation,
such as a flux of zero for the logarithm, give NaN. `fermiclass.features.imputation` treats NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from fermiclass.io.arrays import FloatArray


class Transform(Protocol):
    """A transformation: a value and its gradient."""

    @property
    def reach(self) -> float:
        """Largest distance of a value from the median, as a multiple of that of the 1st or 99th percentile."""
        ...

    def value(self, q: FloatArray) -> FloatArray:
        """Return g(q), shape (N,), for quantities `q` of shape (K, N); NaN outside the domain."""
        ...

    def gradient(self, q: FloatArray) -> FloatArray:
        """Return ∂g/∂q, shape (K, N), for quantities `q` of shape (K, N)."""
        ...


#: The flux density of Vela is 8600 times as far from the median as the 99th percentile. Logarithms of possible values
#: stay within 3 times the distance of the percentile.
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
    """g(q) = ln q, for one quantity; dg/dq = 1/q. The variance of ln q is the squared relative error (σ/q)²."""

    reach: ClassVar[float] = REACH_OF_LOGARITHM

    def value(self, q: FloatArray) -> FloatArray:
        """Return ln q, NaN where q is not positive."""
        return np.log(_positive(q[0]))

    def gradient(self, q: FloatArray) -> FloatArray:
        """Return 1/q, NaN where q is not positive."""
        return 1.0 / _positive(q)


@dataclass(frozen=True)
class Asinh:
    """g(q) = asinh q, for one quantity: q near 0 and ln 2q for large q; dg/dq = 1/√(1 + q²)."""

    reach: ClassVar[float] = REACH_OF_LOGARITHM

    def value(self, q: FloatArray) -> FloatArray:
        """Return asinh q."""
        return np.arcsinh(q[0])

    def gradient(self, q: FloatArray) -> FloatArray:
        """Return 1/√(1 + q²)."""
        return 1.0 / np.sqrt(1.0 + q**2)


@dataclass(frozen=True)
class AsinhDistance:
    """g(q) = asinh(|q| / scale), for one quantity: distance from 0, fine near it and coarse far from it.

    dg/dq = sign(q) / √(scale² + q²).
    """

    scale: float
    reach: ClassVar[float] = REACH_OF_LOGARITHM

    def value(self, q: FloatArray) -> FloatArray:
        """Return asinh(|q| / scale)."""
        return np.arcsinh(np.abs(q[0]) / self.scale)

    def gradient(self, q: FloatArray) -> FloatArray:
        """Return sign(q) / √(scale² + q²)."""
        return np.sign(q) / np.sqrt(self.scale**2 + q**2)


@dataclass(frozen=True)
class RoundedLog:
    """g(q) = ln r(q), where r rounds to `decimals` and replaces 0 by `zero`, as the main paper does with LP_SigCurv.

    The gradient is that of ln q at the rounded quantity. It ignores the steps of the rounding.
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
        # Two divisions, not one by the square: the square of a band flux of 1e-17 is too small for float32.
        total = _positive(a + b)
        gradient: FloatArray = np.stack([-2.0 * (b / total) / total, 2.0 * (a / total) / total])
        return gradient


def _positive(values: FloatArray) -> FloatArray:
    """Replace values that are not positive by NaN, so that logarithms and quotients give no warnings."""
    return np.where(values > 0.0, values, np.nan)
