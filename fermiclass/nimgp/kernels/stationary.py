"""Kernels that depend on the distance between two points, with ARD length-scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from fermiclass.nimgp.kernels.base import positive_softplus
from fermiclass.nimgp.modules import Module, Prior
from fermiclass.nimgp.products import matmul


class Form(NamedTuple):
    """Covariances σ² κ(r²) as a function of the squared scaled distance, and their slopes −2 σ² κ'(r²).

    Both are functions of :class:`Distances` and σ². :class:`Distances` can scale and shift r² at no cost.
    """

    value: Callable[[Distances, tf.Tensor], tf.Tensor]
    slope: Callable[[Distances, tf.Tensor], tf.Tensor]


class Distances(NamedTuple):
    """The points ``A`` and ``B`` in units of the length-scales, ``(..., C, n, D)`` and ``(..., C, n', D)``."""

    A: tf.Tensor
    B: tf.Tensor

    def scaled(self, factor: float, offset: tf.Tensor | None = None) -> tf.Tensor:
        """``factor · r² + offset``, ``(..., C, n, n')``, with an offset ``(..., C)``."""
        # |a − b|² = [−2a, |a|², 1] · [b, 1, |b|²]: one matrix product includes factor and offset.
        A, B = self.A, self.B
        A_squares = factor * tf.reduce_sum(tf.square(A), -1, keepdims=True)
        if offset is not None:
            A_squares += offset[..., None, None]
        B_squares = factor * tf.reduce_sum(tf.square(B), -1, keepdims=True)
        A = tf.concat([-2.0 * factor * A, A_squares, tf.ones_like(A_squares)], axis=-1)
        B = tf.concat([B, tf.ones_like(B_squares), B_squares], axis=-1)
        return matmul(A, B, transpose_b=True)

    def root(self, factor: float) -> tf.Tensor:
        """``√(factor · r²)``, kept away from 0, where it has no derivative."""
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

#: Forms by the name of the kernel in :data:`fermiclass.nimgp.names.KERNELS`.
FORMS = {"se": SQUARED_EXPONENTIAL, "matern32": MATERN32, "matern52": MATERN52}


class Stationary(Module):
    """``σ² κ(r²)``, ``r² = Σ_j (x_j − x'_j)² / ℓ_j²``, with one of the forms of κ in this module.

    Standardise the inputs: in single precision, distances are lost a thousand length-scales from the origin. ℓ is the
    length-scale of GPflow; the ℓ_j of Villacampa-Calvo et al. (2021), section 2, is its square.

    Parameters
    ----------
    shape
        ``(..., C)``: leading axes and the number of latent functions.
    input_dim
        D.
    form
        κ.
    variance, lengthscales
        Initial σ² and ℓ, the same for all classes and inputs.
    variance_prior, lengthscales_prior
        Priors; None for maximum likelihood.
    """

    def __init__(
        self,
        shape: Sequence[int],
        input_dim: int,
        *,
        form: Form = SQUARED_EXPONENTIAL,
        variance: float = 1.0,
        lengthscales: float = 1.0,
        variance_prior: Prior | None = None,
        lengthscales_prior: Prior | None = None,
        dtype: tf.DType = tf.float64,
    ) -> None:
        super().__init__()
        self.form = form
        self.variance = positive_softplus(shape, variance, variance_prior, dtype)
        self.lengthscales = positive_softplus([*shape, input_dim], lengthscales, lengthscales_prior, dtype)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances."""
        return self.form.value(self._distances(X, X2), self.variance)

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances σ²."""
        return tf.repeat(self.variance[..., None], tf.shape(X)[-2], axis=-1)

    def mean_gradient(self, X: tf.Tensor, Z: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """``σ² Σ_m w_m s(r²) (z_m − x) / ℓ²`` with the slope s of the form."""
        ws = self.form.slope(self._distances(Z, X), self.variance) * weights[..., None]
        pull = matmul(ws, Z, transpose_a=True) - tf.reduce_sum(ws, axis=-2)[..., None] * X
        return pull / tf.square(self.lengthscales)[..., None, :]

    def _distances(self, X: tf.Tensor, X2: tf.Tensor | None) -> Distances:
        A = X / self.lengthscales[..., None, :]
        return Distances(A, A if X2 is None else X2 / self.lengthscales[..., None, :])
