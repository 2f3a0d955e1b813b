"""Kernels of the distance between two points, with ARD length-scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import gpflow
import tensorflow as tf

from fermiclass.nimgp.products import matmul
from fermiclass.nimgp.transforms import Softplus


class Form(NamedTuple):
    """How covariances σ² κ(r²) fall with the square of the scaled distance, and their slopes −2 σ² κ'(r²).

    Both are functions of σ² and of :class:`Distances`, which multiplies and adds at no cost.
    """

    value: Callable[[Distances, tf.Tensor], tf.Tensor]
    slope: Callable[[Distances, tf.Tensor], tf.Tensor]


class Distances(NamedTuple):
    """The points ``A`` and ``B`` in length-scales, ``(..., C, n, D)`` and ``(..., C, n', D)``."""

    A: tf.Tensor
    B: tf.Tensor

    def scaled(self, factor: float, offset: tf.Tensor | None = None) -> tf.Tensor:
        """``factor · r² + offset``, ``(..., C, n, n')``, with an offset ``(..., C)``."""
        # |a − b|² = [−2a, |a|², 1] · [b, 1, |b|²]: one matrix product for all, factor and offset included.
        A, B = self.A, self.B
        A_squares = factor * tf.reduce_sum(tf.square(A), -1, keepdims=True)
        if offset is not None:
            A_squares += offset[..., None, None]
        B_squares = factor * tf.reduce_sum(tf.square(B), -1, keepdims=True)
        A = tf.concat([-2.0 * factor * A, A_squares, tf.ones_like(A_squares)], axis=-1)
        B = tf.concat([B, tf.ones_like(B_squares), B_squares], axis=-1)
        return matmul(A, B, transpose_b=True)

    def root(self, factor: float) -> tf.Tensor:
        """``√(factor · r²)``, kept off 0, where it has no derivative."""
        square = self.scaled(factor)
        return tf.sqrt(tf.maximum(square, tf.cast(factor * 1e-12, square.dtype)))


def _exponential(distances: Distances, variance: tf.Tensor) -> tf.Tensor:
    return tf.exp(distances.scaled(-0.5, tf.math.log(variance)))


def _matern32(distances: Distances, variance: tf.Tensor) -> tf.Tensor:
    r = distances.root(3.0)
    return variance[..., None, None] * (1.0 + r) * tf.exp(-r)


def _matern32_slope(distances: Distances, variance: tf.Tensor) -> tf.Tensor:
    return 3.0 * variance[..., None, None] * tf.exp(-distances.root(3.0))


def _matern52(distances: Distances, variance: tf.Tensor) -> tf.Tensor:
    r = distances.root(5.0)
    return variance[..., None, None] * (1.0 + r + tf.square(r) / 3.0) * tf.exp(-r)


def _matern52_slope(distances: Distances, variance: tf.Tensor) -> tf.Tensor:
    r = distances.root(5.0)
    return 5.0 / 3.0 * variance[..., None, None] * (1.0 + r) * tf.exp(-r)


#: ``σ² exp(−r²/2)``.
SQUARED_EXPONENTIAL = Form(_exponential, _exponential)
#: ``σ² (1 + √3 r) exp(−√3 r)``.
MATERN32 = Form(_matern32, _matern32_slope)
#: ``σ² (1 + √5 r + 5/3 r²) exp(−√5 r)``.
MATERN52 = Form(_matern52, _matern52_slope)


class Stationary(gpflow.Module):
    """``σ² κ(r²)``, ``r² = Σ_j (x_j − x'_j)² / ℓ_j²``, with one of the forms of κ in this module.

    Inputs are best standardised: a thousand length-scales from the origin single precision loses the distances.
    The length-scales follow GPflow's convention: the ℓ_j of Villacampa-Calvo et al. (2021), section 2, is their square.

    Parameters
    ----------
    shape
        ``(..., C)``: leading axes and the number of latent functions.
    input_dim
        D.
    form
        κ.
    variance, lengthscales
        Initial σ² and ℓ, the same everywhere.
    variance_prior, lengthscales_prior
        TensorFlow Probability distributions, or None for maximum likelihood.
    """

    def __init__(
        self,
        shape: Sequence[int],
        input_dim: int,
        *,
        form: Form = SQUARED_EXPONENTIAL,
        variance: float = 1.0,
        lengthscales: float = 1.0,
        variance_prior: object = None,
        lengthscales_prior: object = None,
        dtype: tf.DType = tf.float64,
    ) -> None:
        super().__init__()
        self.form = form
        self.variance = gpflow.Parameter(
            tf.fill([*shape], tf.cast(variance, dtype)), dtype=dtype, transform=Softplus(), prior=variance_prior
        )
        self.lengthscales = gpflow.Parameter(
            tf.fill([*shape, input_dim], tf.cast(lengthscales, dtype)),
            dtype=dtype,
            transform=Softplus(),
            prior=lengthscales_prior,
        )

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances."""
        return self.form.value(self._distances(X, X2), self.variance)

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances σ²."""
        return tf.repeat(self.variance[..., None], tf.shape(X)[-2], axis=-1)

    def mean_gradient(self, X: tf.Tensor, Z: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """``σ² Σ_m w_m s(r²) (z_m − x) / ℓ²`` with the form's slope s."""
        ws = self.form.slope(self._distances(Z, X), self.variance) * weights[..., None]
        pull = matmul(ws, Z, transpose_a=True) - tf.reduce_sum(ws, axis=-2)[..., None] * X
        return pull / tf.square(self.lengthscales)[..., None, :]

    def _distances(self, X: tf.Tensor, X2: tf.Tensor | None) -> Distances:
        A = X / self.lengthscales[..., None, :]
        return Distances(A, A if X2 is None else X2 / self.lengthscales[..., None, :])
