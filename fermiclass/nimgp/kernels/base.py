"""Covariance functions of all latent functions at once, with one set of hyper-parameters per class.

A kernel consists of its parameters, batched over the C latent functions, and a few formulae. Inputs have the shape
``(..., C, n, D)``, or ``(..., 1, n, D)`` if the latent functions share them. Covariances have ``(..., C, n, n')``. The
leading axes run over models that are trained at once, or over inputs that are predicted separately. There may be none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Protocol

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.modules import EXP, SOFTPLUS, Module, Parameter, Prior


class Kernel(Protocol):
    """Interface of a covariance function for the sparse posterior."""

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances ``(..., C, n, n')`` of X with X2, or of X with itself including white noise."""

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances ``(..., C, n)``, white noise included."""

    def mean_gradient(self, X: tf.Tensor, Z: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """``∂/∂x Σ_m w_m k(x, z_m)`` at each x, ``(..., C, n, D)``, for weights ``(..., C, M)``."""


class White(Module):
    """White noise, ``σ₀² [x = x']``: x = x' means the same point, not only the same position."""

    def __init__(
        self, shape: Sequence[int], *, variance: float = 0.01, prior: Prior | None = None, dtype: tf.DType = tf.float64
    ) -> None:
        super().__init__()
        self.variance = positive(shape, variance, prior, dtype)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """``σ₀² I`` for a set of points with itself; zeros between two sets."""
        if X2 is None:
            return tf.linalg.diag(self.K_diag(X))
        leading = tf.broadcast_dynamic_shape(tf.shape(X)[:-2], self.variance.shape)
        return tf.zeros(tf.concat([leading, [tf.shape(X)[-2], tf.shape(X2)[-2]]], axis=0), X.dtype)

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances σ₀²."""
        return tf.repeat(self.variance[..., None], tf.shape(X)[-2], axis=-1)

    def mean_gradient(self, X: tf.Tensor, Z: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """Zero."""
        return tf.zeros([*self.variance.shape, tf.shape(X)[-2], X.shape[-1]], X.dtype)


class Sum(Module):
    """The sum of kernels."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        super().__init__()
        self.kernels = list(kernels)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Sum of the covariances."""
        return reduce(tf.add, (kernel.K(X, X2) for kernel in self.kernels))

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Sum of the variances."""
        return reduce(tf.add, (kernel.K_diag(X) for kernel in self.kernels))

    def mean_gradient(self, X: tf.Tensor, Z: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """Sum of the gradients."""
        return reduce(tf.add, (kernel.mean_gradient(X, Z, weights) for kernel in self.kernels))


def positive(shape: Sequence[int], value: float, prior: Prior | None, dtype: tf.DType) -> Parameter:
    """Return a positive parameter that is trained in its logarithm. It may come close to 0."""
    return Parameter(np.full([*shape], value), dtype=dtype, transform=EXP, prior=prior)


def positive_softplus(shape: Sequence[int], value: float, prior: Prior | None, dtype: tf.DType) -> Parameter:
    """Return a positive parameter that is trained in the inverse of its softplus."""
    return Parameter(np.full([*shape], value), dtype=dtype, transform=SOFTPLUS, prior=prior)
