"""Covariance functions of all latent functions at once, one set of hyper-parameters a class.

A kernel here is its parameters, batched over the C latent functions, plus a few formulae. Inputs are
``(..., C, n, D)``, or ``(..., 1, n, D)`` where the latent functions share them; covariances are ``(..., C, n, n')``.
The leading axes are those of models that are trained at once, or of inputs that are predicted each by itself, and may
be none. Any GPflow kernel can take part through :class:`PerClass`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Protocol

import gpflow
import tensorflow as tf
import tensorflow_probability as tfp


class Kernel(Protocol):
    """What the sparse posterior needs of a covariance function."""

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances ``(..., C, n, n')``; without ``X2`` of the points with themselves, white noise included."""

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances ``(..., C, n)``, white noise included."""

    def mean_gradient(self, X: tf.Tensor, Z: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """``∂/∂x Σ_m w_m k(x, z_m)`` at each x, ``(..., C, n, D)``, for weights ``(..., C, M)``."""


class White(gpflow.Module):
    """White noise, ``σ₀² [x = x']``: x = x' means the same point, not merely the same place."""

    def __init__(
        self, shape: Sequence[int], *, variance: float = 0.01, prior: object = None, dtype: tf.DType = tf.float64
    ) -> None:
        super().__init__()
        self.variance = positive(shape, variance, prior, dtype)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """``σ₀² I`` for a set of points with itself, zeros between two sets."""
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


class Sum(gpflow.Module):
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


class PerClass(gpflow.Module):
    """One GPflow kernel for each latent function: any kernel works, at the price of a loop over the classes.

    Of one model, as GPflow's kernels have the parameters of one.
    """

    def __init__(self, kernels: Sequence[gpflow.kernels.Kernel]) -> None:
        super().__init__()
        self.kernels = list(kernels)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances, shape ``(..., C, n, n')``."""
        return tf.stack(
            [
                kernel(_of_class(X, c), None if X2 is None else _of_class(X2, c))
                for c, kernel in enumerate(self.kernels)
            ],
            axis=-3,
        )

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances, shape ``(..., C, n)``."""
        return tf.stack([kernel(_of_class(X, c), full_cov=False) for c, kernel in enumerate(self.kernels)], axis=-2)

    def mean_gradient(self, X: tf.Tensor, Z: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """Gradients, shape ``(..., C, n, D)``, by automatic differentiation."""
        gradients = []
        for c, kernel in enumerate(self.kernels):
            x = tf.identity(_of_class(X, c))
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(x)
                # The mean at a point depends on that point alone: the sum's gradient is each one's own.
                total = tf.reduce_sum(tf.linalg.matvec(kernel(x, _of_class(Z, c)), weights[c]))
            gradients.append(tape.gradient(total, x))
        return tf.stack(gradients, axis=-3)


def positive(shape: Sequence[int], value: float, prior: object, dtype: tf.DType) -> gpflow.Parameter:
    """Return a positive parameter that is trained in its logarithm, which suits one that may come close to 0."""
    start = tf.fill([*shape], tf.cast(value, dtype))
    return gpflow.Parameter(start, dtype=dtype, transform=tfp.bijectors.Exp(), prior=prior)


def _of_class(X: tf.Tensor, c: int) -> tf.Tensor:
    return X[..., min(c, X.shape[-3] - 1), :, :]
