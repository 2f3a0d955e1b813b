"""Covariance functions of all latent functions at once, with one set of hyper-parameters per class.

A kernel consists of its parameters, batched over the C latent functions, and two formulae. Inputs have the shape
``(C, n, D)``, or ``(1, n, D)`` if the latent functions share them. Covariances have ``(C, n, n')``. Gradients are
automatic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, Protocol

import tensorflow as tf

from fermiclass.nimgp.modules import Module, Parameter


class Kernel(Protocol):
    """Interface of a covariance function for the sparse posterior."""

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances ``(C, n, n')`` of X with X2, or of X with itself including white noise."""

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances ``(C, n)``, white noise included."""


@dataclass(frozen=True)
class Scales:
    """Scales of latent functions. The defaults suit log odds."""

    #: Median of the prior of σ², and initial σ².
    variance: float = 10.0
    initial_variance: float = 5.0
    #: Median of the prior of the length-scales divided by √D, and standard deviation of their logarithms.
    lengthscale_over_root_d: float = 3.0
    width: float = 0.5


class Distances(NamedTuple):
    """The points ``A`` and ``B`` in units of the length-scales, ``(C, n, D)`` and ``(C, n', D)``."""

    A: tf.Tensor
    B: tf.Tensor

    def squared(self, factor: float, offset: tf.Tensor | None = None) -> tf.Tensor:
        """``factor · r² + offset``, ``(C, n, n')``, with an offset ``(C,)``."""
        # |a − b|² = [−2a, |a|², 1] · [b, 1, |b|²]: one matrix product includes factor and offset.
        A, B = self.A, self.B
        A_squares = factor * tf.reduce_sum(tf.square(A), -1, keepdims=True)
        if offset is not None:
            A_squares += offset[:, None, None]
        B_squares = factor * tf.reduce_sum(tf.square(B), -1, keepdims=True)
        A = tf.concat([-2.0 * factor * A, A_squares, tf.ones_like(A_squares)], axis=-1)
        B = tf.concat([B, tf.ones_like(B_squares), B_squares], axis=-1)
        return tf.matmul(A, B, transpose_b=True)

    def scaled(self, factor: float) -> tf.Tensor:
        """``√(factor · r²)``, kept away from 0, where it has no derivative."""
        square = self.squared(factor)
        return tf.sqrt(tf.maximum(square, tf.cast(factor * 1e-12, square.dtype)))


#: Covariances σ² κ(r²) as a function of the distances and σ² ``(C,)``.
RadialProfile = Callable[[Distances, tf.Tensor], tf.Tensor]


def squared_exponential(distances: Distances, variance: tf.Tensor) -> tf.Tensor:
    """``σ² exp(−r²/2)``."""
    return tf.exp(distances.squared(-0.5, tf.math.log(variance)))


def matern32(distances: Distances, variance: tf.Tensor) -> tf.Tensor:
    """``σ² (1 + √3 r) exp(−√3 r)``."""
    r = distances.scaled(3.0)
    return variance[:, None, None] * (1.0 + r) * tf.exp(-r)


def matern52(distances: Distances, variance: tf.Tensor) -> tf.Tensor:
    """``σ² (1 + √5 r + 5/3 r²) exp(−√5 r)``."""
    r = distances.scaled(5.0)
    return variance[:, None, None] * (1.0 + r + tf.square(r) / 3.0) * tf.exp(-r)


#: Profiles by the name of the kernel; :data:`fermiclass.nimgp.names.KERNELS` lists the names for commands.
PROFILES: Mapping[str, RadialProfile] = {"se": squared_exponential, "matern32": matern32, "matern52": matern52}


@dataclass(eq=False)
class Stationary(Module):
    """``σ² κ(r²)``, ``r² = Σ_j (x_j − x'_j)² / ℓ_j²``, with one of the profiles.

    Standardise the inputs: in single precision, distances are lost a thousand length-scales from the origin. ℓ is the
    length-scale of GPflow; the ℓ_j of Villacampa-Calvo et al. (2021), section 2, is its square.

    The variances σ² are ``(C,)``, the length-scales ℓ ``(C, D)``.
    """

    profile: RadialProfile
    variance: Parameter
    lengthscales: Parameter

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances."""
        A = X / self.lengthscales[:, None, :]
        return self.profile(Distances(A, A if X2 is None else X2 / self.lengthscales[:, None, :]), self.variance)

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances σ²."""
        return tf.repeat(self.variance[:, None], tf.shape(X)[1], axis=1)


@dataclass(eq=False)
class Linear(Module):
    """``σ² x · x'``: latent functions that are linear in the inputs. σ² is the prior variance of each slope."""

    variance: Parameter

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances."""
        return self.variance[:, None, None] * tf.matmul(X, X if X2 is None else X2, transpose_b=True)

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances σ² |x|²."""
        return self.variance[:, None] * tf.reduce_sum(tf.square(X), axis=-1)


@dataclass(eq=False)
class Polynomial(Module):
    """ARD polynomial, ``σ² (1 + Σ_j x_j x'_j / ℓ_j²)^p``, with the parameters of :class:`Stationary` and a degree p."""

    degree: int
    variance: Parameter
    lengthscales: Parameter

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances."""
        product = tf.matmul(X / tf.square(self.lengthscales)[:, None, :], X if X2 is None else X2, transpose_b=True)
        return self.variance[:, None, None] * (1.0 + product) ** self.degree

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances ``σ² (1 + Σ_j x_j² / ℓ_j²)^p``."""
        square = tf.reduce_sum(tf.square(X / self.lengthscales[:, None, :]), axis=-1)
        return self.variance[:, None] * (1.0 + square) ** self.degree


@dataclass(eq=False)
class Sum(Module):
    """The sum of kernels, and white noise ``σ₀² [x = x']``: x = x' means the same point, not only the same position.

    The variances σ₀² are ``(C,)``.
    """

    kernels: Sequence[Kernel]
    white: Parameter

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Sum of the covariances, with ``σ₀² I`` for a set of points with itself."""
        total = reduce(tf.add, (kernel.K(X, X2) for kernel in self.kernels))
        return total if X2 is not None else tf.linalg.set_diag(total, tf.linalg.diag_part(total) + self.white[:, None])

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Sum of the variances."""
        return reduce(tf.add, (kernel.K_diag(X) for kernel in self.kernels)) + self.white[:, None]
