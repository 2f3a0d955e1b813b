"""Covariance functions of all latent functions at once, with one set of hyper-parameters per class.

Inputs have the shape ``(C, n, D)``, or ``(1, n, D)`` if the C latent functions share them; covariances ``(C, n, n')``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.modules import EXP, SOFTPLUS, LogNormal, Module, Parameter, Transform

# Medians of the log-normal priors, for standardised inputs, whose distances grow with √D: latent functions some units
# high, as log odds are, that vary slowly. Length-scales and slopes have the narrower priors: rows with small errors
# would make the functions vary faster than suits rows with large errors. Priors are densities of the parameters
# themselves: training is drawn to their modes, at median · exp(−width²).
_SLOPE_VARIANCE, WHITE = 0.1, 0.01
WIDE, _NARROW = 1.0, 0.5  # standard deviations of logarithms


class Kernel(Protocol):
    """Interface of a covariance function for the sparse posterior."""

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances ``(C, n, n')`` of X with X2, or of X with itself including white noise."""

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances ``(C, n)``, white noise included."""

    def K_and_gradient(self, Z: tf.Tensor, X: tf.Tensor, weights: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Covariances k of Z with X ``(1, n, D)``; ``∇_x Σ_m w_m k(z_m, x)``, (C, D, n) or (C, D, 1), w (C, M)."""


class Differentiated(Module):
    """A kernel that TensorFlow differentiates."""

    K: Any

    def K_and_gradient(self, Z: tf.Tensor, X: tf.Tensor, weights: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Covariances and gradient: the sum at a point depends on that point alone, so one backward pass gives all."""
        of_each = tf.tile(X, [weights.shape[0], 1, 1])
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(of_each)
            k = self.K(Z, of_each)
        weights, none = tf.broadcast_to(weights[:, :, None], tf.shape(k)), tf.UnconnectedGradients.ZERO
        gradient = tape.gradient(k, of_each, output_gradients=weights, unconnected_gradients=none)
        return k, tf.linalg.matrix_transpose(gradient)


def times_shared(A: tf.Tensor, X: tf.Tensor) -> tf.Tensor:
    """Return the products of ``A`` (C, M, D) with a matrix ``X`` (D, n) that all latent functions share, (C, M, n)."""
    C, M, D = tf.unstack(tf.shape(A))
    return tf.reshape(tf.matmul(tf.reshape(A, [C * M, D]), X), [C, M, tf.shape(X)[1]])  # one product, not C of them


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


class Starts(NamedTuple):
    """What a kernel makes its parameters of: initial values and priors, for all latent functions."""

    hyper: Any  #: :class:`fermiclass.nimgp.settings.HyperOptions`.
    num_functions: int
    input_dim: int
    scales: Scales = Scales()
    dtype: tf.DType = tf.float64

    def positive(
        self,
        value: float,
        median: float,
        width: float = WIDE,
        transform: Transform = EXP,
        shape: Sequence[int] | None = None,
    ) -> Parameter:
        """Return a parameter above 0, by default of each latent function, ``(C,)``, with a log-normal prior if any."""
        shape, prior = shape or [self.num_functions], LogNormal(median, width) if self.hyper.priors else None
        return Parameter(np.full(shape, value), dtype=self.dtype, transform=transform, prior=prior)

    def variance_and_lengthscales(self, transform: Transform) -> tuple[Parameter, Parameter]:
        """Return variances σ², ``(C,)``, and length-scales ℓ, ``(C, D)``."""
        scales, shape = self.scales, [self.num_functions, self.input_dim]
        variance = self.hyper.variance or scales.initial_variance
        median = scales.lengthscale_over_root_d * np.sqrt(self.input_dim)
        return (
            self.positive(variance, scales.variance, transform=transform),
            self.positive(self.hyper.lengthscale or median, median, scales.width, SOFTPLUS, shape),
        )


class Stationary(Differentiated):
    """``σ² κ(r²)``, ``r² = Σ_j (x_j − x'_j)² / ℓ_j²``, with variances σ² ``(C,)`` and length-scales ℓ ``(C, D)``.

    A subclass has the formula, ``at``. ℓ² is the ℓ_j of Villacampa-Calvo et al. (2021), section 2.
    """

    at: Callable[[Distances], tf.Tensor]

    def __init__(self, starts: Starts) -> None:
        super().__init__()
        self.variance, self.lengthscales = starts.variance_and_lengthscales(SOFTPLUS)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        A = X / self.lengthscales[:, None, :]
        return self.at(Distances(A, A if X2 is None else X2 / self.lengthscales[:, None, :]))

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        return tf.repeat(self.variance[:, None], tf.shape(X)[1], axis=1)


class SquaredExponential(Stationary):
    """``σ² exp(−r²/2)``."""

    def at(self, distances: Distances) -> tf.Tensor:
        return tf.exp(distances.squared(-0.5, tf.math.log(self.variance)))

    def K_and_gradient(self, Z: tf.Tensor, X: tf.Tensor, weights: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Covariances, and ``Σ_m w_m k_m (z_m − x) / ℓ²``."""
        # ln k = [z/ℓ², ln σ² − |z/ℓ|²/2, −1/(2 ℓ²)] · [x, 1, x²]: what is learned stands in small arrays.
        X, inverse = tf.linalg.matrix_transpose(X[0]), tf.square(1.0 / self.lengthscales)[:, None, :]
        A = inverse * Z
        offset = tf.math.log(self.variance)[:, None, None] - 0.5 * tf.reduce_sum(A * Z, -1, keepdims=True)
        of_Z = tf.concat([A, offset, tf.broadcast_to(-0.5 * inverse, tf.shape(A))], axis=-1)
        k = tf.exp(times_shared(of_Z, tf.concat([X, tf.ones_like(X[:1]), tf.square(X)], axis=0)))
        weighted = weights[:, :, None] * k
        total = tf.reduce_sum(weighted, axis=1, keepdims=True)
        return k, tf.matmul(A, weighted, transpose_a=True) - tf.linalg.matrix_transpose(inverse) * X * total


class Matern32(Stationary):
    """``σ² (1 + √3 r) exp(−√3 r)``."""

    def at(self, distances: Distances) -> tf.Tensor:
        r = distances.scaled(3.0)
        return self.variance[:, None, None] * (1.0 + r) * tf.exp(-r)


class Matern52(Stationary):
    """``σ² (1 + √5 r + 5/3 r²) exp(−√5 r)``."""

    def at(self, distances: Distances) -> tf.Tensor:
        r = distances.scaled(5.0)
        return self.variance[:, None, None] * (1.0 + r + tf.square(r) / 3.0) * tf.exp(-r)


class Linear(Differentiated):
    """``σ² x · x'``: latent functions that are linear in the inputs. σ² is the prior variance of each slope."""

    def __init__(self, starts: Starts) -> None:
        super().__init__()
        self.variance = starts.positive(_SLOPE_VARIANCE, _SLOPE_VARIANCE, _NARROW)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        return self.variance[:, None, None] * tf.matmul(X, X if X2 is None else X2, transpose_b=True)

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        return self.variance[:, None] * tf.reduce_sum(tf.square(X), axis=-1)

    def K_and_gradient(self, Z: tf.Tensor, X: tf.Tensor, weights: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Covariances, and ``σ² Σ_m w_m z_m`` (C, D, 1), the same everywhere."""
        slopes = self.variance[:, None, None] * Z
        gradient = tf.linalg.matvec(slopes, weights, transpose_a=True)
        return times_shared(slopes, tf.linalg.matrix_transpose(X[0])), gradient[:, :, None]


class Polynomial(Differentiated):
    """ARD polynomial, ``σ² (1 + Σ_j x_j x'_j / ℓ_j²)^p``, with the parameters of :class:`Stationary` and a degree p."""

    def __init__(self, starts: Starts) -> None:
        super().__init__()
        self.degree, (self.variance, self.lengthscales) = starts.hyper.degree, starts.variance_and_lengthscales(EXP)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        product = tf.matmul(X / tf.square(self.lengthscales)[:, None, :], X if X2 is None else X2, transpose_b=True)
        return self.variance[:, None, None] * (1.0 + product) ** self.degree

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        square = tf.reduce_sum(tf.square(X / self.lengthscales[:, None, :]), axis=-1)
        return self.variance[:, None] * (1.0 + square) ** self.degree


#: Kernels by name; :data:`fermiclass.nimgp.names.KERNELS` lists the names for commands.
NAMED: Mapping[str, Callable[[Starts], Kernel]] = {
    "se": SquaredExponential,
    "linear": Linear,
    "polynomial": Polynomial,
    "matern32": Matern32,
    "matern52": Matern52,
}


@dataclass(eq=False)
class Sum(Module):
    """The sum of kernels and of white noise ``σ₀² [x = x']`` ``(C,)``, where x = x' means the same point."""

    kernels: Sequence[Kernel]
    white: Parameter

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        total = reduce(tf.add, (kernel.K(X, X2) for kernel in self.kernels))
        return total if X2 is not None else tf.linalg.set_diag(total, tf.linalg.diag_part(total) + self.white[:, None])

    def K_and_gradient(self, Z: tf.Tensor, X: tf.Tensor, weights: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        found = [kernel.K_and_gradient(Z, X, weights) for kernel in self.kernels]
        k, gradient = (reduce(tf.add, each) for each in zip(*found, strict=True))
        return k, gradient

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        return reduce(tf.add, (kernel.K_diag(X) for kernel in self.kernels)) + self.white[:, None]
