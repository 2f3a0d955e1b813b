"""Kernels of the distance between two points, with ARD length-scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import gpflow
import tensorflow as tf
from gpflow.utilities import positive


class Form(NamedTuple):
    """How a correlation falls with the square of the scaled distance: κ(r²), and its slope −2 κ'(r²)."""

    value: Callable[[tf.Tensor], tf.Tensor]
    slope: Callable[[tf.Tensor], tf.Tensor]


def _root(square: tf.Tensor, factor: float) -> tf.Tensor:
    """``√(factor · square)``, kept off 0, where it has no derivative."""
    return tf.sqrt(factor * tf.maximum(square, tf.cast(1e-12, square.dtype)))


def _half_exponential(square: tf.Tensor) -> tf.Tensor:
    return tf.exp(-0.5 * square)


def _matern32(square: tf.Tensor) -> tf.Tensor:
    r = _root(square, 3.0)
    return (1.0 + r) * tf.exp(-r)


def _matern32_slope(square: tf.Tensor) -> tf.Tensor:
    return 3.0 * tf.exp(-_root(square, 3.0))


def _matern52(square: tf.Tensor) -> tf.Tensor:
    r = _root(square, 5.0)
    return (1.0 + r + tf.square(r) / 3.0) * tf.exp(-r)


def _matern52_slope(square: tf.Tensor) -> tf.Tensor:
    r = _root(square, 5.0)
    return 5.0 / 3.0 * (1.0 + r) * tf.exp(-r)


#: ``exp(−r²/2)``.
SQUARED_EXPONENTIAL = Form(_half_exponential, _half_exponential)
#: ``(1 + √3 r) exp(−√3 r)``.
MATERN32 = Form(_matern32, _matern32_slope)
#: ``(1 + √5 r + 5/3 r²) exp(−√5 r)``.
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
        self._form = form
        self.variance = gpflow.Parameter(
            tf.fill([*shape], tf.cast(variance, dtype)), dtype=dtype, transform=positive(), prior=variance_prior
        )
        self.lengthscales = gpflow.Parameter(
            tf.fill([*shape, input_dim], tf.cast(lengthscales, dtype)),
            dtype=dtype,
            transform=positive(),
            prior=lengthscales_prior,
        )

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances."""
        return self.variance[..., None, None] * self._form.value(self._square_distances(X, X2))

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances σ²."""
        return tf.repeat(self.variance[..., None], tf.shape(X)[-2], axis=-1)

    def mean_gradient(self, X: tf.Tensor, Z: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """``σ² Σ_m w_m s(r²) (z_m − x) / ℓ²`` with the form's slope s."""
        ws = self._form.slope(self._square_distances(Z, X)) * (self.variance[..., None] * weights)[..., None]
        pull = tf.matmul(ws, Z, transpose_a=True) - tf.reduce_sum(ws, axis=-2)[..., None] * X
        return pull / tf.square(self.lengthscales)[..., None, :]

    def _square_distances(self, X: tf.Tensor, X2: tf.Tensor | None) -> tf.Tensor:
        A = X / self.lengthscales[..., None, :]
        B = A if X2 is None else X2 / self.lengthscales[..., None, :]
        # |a − b|² = [−2a, |a|², 1] · [b, 1, |b|²]: all in one matrix product.
        ones_A, ones_B = tf.ones_like(A[..., :1]), tf.ones_like(B[..., :1])
        A = tf.concat([-2.0 * A, tf.reduce_sum(tf.square(A), -1, keepdims=True), ones_A], axis=-1)
        B = tf.concat([B, ones_B, tf.reduce_sum(tf.square(B), -1, keepdims=True)], axis=-1)
        return tf.matmul(A, B, transpose_b=True)
