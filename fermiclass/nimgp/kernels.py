"""Covariance functions of all latent functions at once, one set of hyper-parameters a class.

A kernel here is its parameters, batched over the C latent functions, plus one formula. Inputs are ``(n, D)``, shared by
the latent functions, or ``(C, n, D)``, such as each function's own inducing points; covariances are ``(C, n, n')``.
Any GPflow kernel can take part through :class:`PerClass`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import gpflow
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.utilities import positive


class Kernel(Protocol):
    """What the sparse posterior needs of a covariance function."""

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances ``(C, n, n')``; without ``X2`` of the points with themselves, white noise included."""

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances ``(C, n)``, white noise included."""


class SquaredExponential(gpflow.Module):
    """ARD squared exponential, ``σ² exp(−½ Σ_j (x_j − x'_j)² / ℓ_j²)``.

    Inputs are best standardised: a thousand length-scales from the origin single precision loses the distances.
    The length-scales follow GPflow's convention: the ℓ_j of Villacampa-Calvo et al. (2021), section 2, is their square.

    Parameters
    ----------
    num_latent, input_dim
        C and D.
    variance, lengthscales
        Initial σ² and ℓ, the same for every class.
    variance_prior, lengthscales_prior
        TensorFlow Probability distributions, or None for maximum likelihood.
    """

    def __init__(
        self,
        num_latent: int,
        input_dim: int,
        *,
        variance: float = 1.0,
        lengthscales: float = 1.0,
        variance_prior: object = None,
        lengthscales_prior: object = None,
        dtype: tf.DType = tf.float64,
    ) -> None:
        super().__init__()
        self.variance = gpflow.Parameter(
            tf.fill([num_latent], tf.cast(variance, dtype)), dtype=dtype, transform=positive(), prior=variance_prior
        )
        self.lengthscales = gpflow.Parameter(
            tf.fill([num_latent, input_dim], tf.cast(lengthscales, dtype)),
            dtype=dtype,
            transform=positive(),
            prior=lengthscales_prior,
        )

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances, shape ``(C, n, n')``."""
        A = X / self.lengthscales[:, None, :]
        B = A if X2 is None else X2 / self.lengthscales[:, None, :]
        # log σ² − ½|a − b|² = [a, −½|a|², 1] · [b, 1, log σ² − ½|b|²]: all in one matrix product, and one exponential.
        log_var = tf.math.log(self.variance)[:, None, None]
        ones_A, ones_B = tf.ones_like(A[..., :1]), tf.ones_like(B[..., :1])
        A = tf.concat([A, -0.5 * tf.reduce_sum(tf.square(A), -1, keepdims=True), ones_A], axis=-1)
        B = tf.concat([B, ones_B, log_var - 0.5 * tf.reduce_sum(tf.square(B), -1, keepdims=True)], axis=-1)
        return tf.exp(tf.matmul(A, B, transpose_b=True))

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances σ², shape ``(C, n)``."""
        return tf.repeat(self.variance[:, None], tf.shape(X)[-2], axis=1)


class Linear(gpflow.Module):
    """``σ² x · x'``: latent functions that are linear in the inputs, far from the training inputs too.

    Parameters
    ----------
    num_latent
        C.
    variance
        Initial σ², the same for every class: the prior variance of each of the D slopes.
    variance_prior
        TensorFlow Probability distribution, or None for maximum likelihood.
    """

    def __init__(
        self, num_latent: int, *, variance: float = 0.1, variance_prior: object = None, dtype: tf.DType = tf.float64
    ) -> None:
        super().__init__()
        self.variance = _positive_by_exp(num_latent, variance, variance_prior, dtype)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances, shape ``(C, n, n')``."""
        return self.variance[:, None, None] * tf.matmul(X, X if X2 is None else X2, transpose_b=True)

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances σ² |x|², shape ``(C, n)``."""
        return self.variance[:, None] * tf.reduce_sum(tf.square(X), axis=-1)


class White(gpflow.Module):
    """White noise, ``σ₀² [x = x']``: x = x' means the same point, not merely the same place."""

    def __init__(
        self, num_latent: int, *, variance: float = 0.01, variance_prior: object = None, dtype: tf.DType = tf.float64
    ) -> None:
        super().__init__()
        self.variance = _positive_by_exp(num_latent, variance, variance_prior, dtype)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """``σ₀² I`` for a set of points with itself, zeros between two sets; shape ``(C, n, n')``."""
        if X2 is None:
            return tf.linalg.diag(self.K_diag(X))
        return tf.zeros([tf.shape(self.variance)[0], tf.shape(X)[-2], tf.shape(X2)[-2]], X.dtype)

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances σ₀², shape ``(C, n)``."""
        return tf.repeat(self.variance[:, None], tf.shape(X)[-2], axis=1)


class Sum(gpflow.Module):
    """The sum of kernels."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        super().__init__()
        self.kernels = list(kernels)

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Sum of the covariances, shape ``(C, n, n')``."""
        return tf.add_n([kernel.K(X, X2) for kernel in self.kernels])

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Sum of the variances, shape ``(C, n)``."""
        return tf.add_n([kernel.K_diag(X) for kernel in self.kernels])


class PerClass(gpflow.Module):
    """One GPflow kernel for each latent function: any kernel works, at the price of a loop over the classes."""

    def __init__(self, kernels: Sequence[gpflow.kernels.Kernel]) -> None:
        super().__init__()
        self.kernels = list(kernels)

    def _of_class(self, X: tf.Tensor, c: int) -> tf.Tensor:
        return X[c] if len(X.shape) == 3 else X

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        """Covariances, shape ``(C, n, n')``."""
        return tf.stack(
            [
                kernel(self._of_class(X, c), None if X2 is None else self._of_class(X2, c))
                for c, kernel in enumerate(self.kernels)
            ]
        )

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        """Variances, shape ``(C, n)``."""
        return tf.stack([kernel(self._of_class(X, c), full_cov=False) for c, kernel in enumerate(self.kernels)])


def _positive_by_exp(num_latent: int, value: float, prior: object, dtype: tf.DType) -> gpflow.Parameter:
    """Return a positive parameter (C,) that is trained in its logarithm, which suits one that may come close to 0."""
    start = tf.fill([num_latent], tf.cast(value, dtype))
    return gpflow.Parameter(start, dtype=dtype, transform=tfp.bijectors.Exp(), prior=prior)
