"""Kernels that depend on the scalar product of two points."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from fermiclass.nimgp.kernels.base import positive, positive_softplus
from fermiclass.nimgp.modules import Module, Prior
from fermiclass.nimgp.products import matmul


class Linear(Module):
    """``σ² x · x'``: latent functions that are linear in the inputs, also far from the training inputs.

    Parameters
    ----------
    shape
        ``(..., C)``: leading axes and the number of latent functions.
    variance
        Initial σ², the same for every class. It is the prior variance of each of the D slopes.
    prior
        Prior of σ²; None for maximum likelihood.
    """

    def __init__(
        self, shape: Sequence[int], *, variance: float = 0.1, prior: Prior | None = None, dtype: tf.DType = tf.float64
    ) -> None:
        super().__init__()
        self.variance = positive(shape, variance, prior, dtype)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances."""
        return self.variance[..., None, None] * matmul(X, X if X2 is None else X2, transpose_b=True)

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances σ² |x|²."""
        return self.variance[..., None] * tf.reduce_sum(tf.square(X), axis=-1)

    def mean_gradient(self, X: tf.Tensor, Z: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """``σ² Σ_m w_m z_m``, the same at every x."""
        slope = self.variance[..., None] * tf.linalg.matvec(Z, weights, transpose_a=True)
        return tf.repeat(slope[..., None, :], tf.shape(X)[-2], axis=-2)


class Polynomial(Module):
    """ARD polynomial, ``σ² (1 + Σ_j x_j x'_j / ℓ_j²)^p``.

    Parameters
    ----------
    shape
        ``(..., C)``: leading axes and the number of latent functions.
    input_dim
        D.
    degree
        p, a positive integer.
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
        degree: int = 3,
        variance: float = 1.0,
        lengthscales: float = 1.0,
        variance_prior: Prior | None = None,
        lengthscales_prior: Prior | None = None,
        dtype: tf.DType = tf.float64,
    ) -> None:
        super().__init__()
        self.degree = degree
        self.variance = positive(shape, variance, variance_prior, dtype)
        self.lengthscales = positive_softplus([*shape, input_dim], lengthscales, lengthscales_prior, dtype)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances."""
        return self.variance[..., None, None] * self._base(X, X if X2 is None else X2) ** self.degree

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances ``σ² (1 + Σ_j x_j² / ℓ_j²)^p``."""
        square = tf.reduce_sum(tf.square(X / self.lengthscales[..., None, :]), axis=-1)
        return self.variance[..., None] * (1.0 + square) ** self.degree

    def mean_gradient(self, X: tf.Tensor, Z: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """``p σ² Σ_m w_m (1 + x · z_m)^(p − 1) z_m / ℓ²``, with the scalar product of the kernel."""
        outer = self.degree * self.variance[..., None, None] * self._base(X, Z) ** (self.degree - 1)
        return matmul(outer * weights[..., None, :], Z) / tf.square(self.lengthscales)[..., None, :]

    def _base(self, X: tf.Tensor, X2: tf.Tensor) -> tf.Tensor:
        return 1.0 + matmul(X / tf.square(self.lengthscales)[..., None, :], X2, transpose_b=True)
