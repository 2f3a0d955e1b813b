"""The sparse variational posterior of the latent functions.

Each latent function f^c has its own inducing points ``Z_c`` (M, D) and values ``u_c = L v_c``,
``L = chol K(Z_c, Z_c)``, with ``q(v_c) = N(m_c, S_c)`` and prior ``p(v_c) = N(0, I)`` (whitened). For a point x, with
``a = L⁻¹ k(Z_c, x)``::

    mean_c(x) = aᵀ m_c
    var_c(x)  = k(x, x) − aᵀ a + aᵀ S_c a

This is the posterior of Villacampa-Calvo et al. (2021), equation (13). Its equations (5) and (15) print wrong signs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.expected.psi import expected_moments
from fermiclass.nimgp.kernels import Kernel
from fermiclass.nimgp.modules import Module, Parameter


class LatentMoments(NamedTuple):
    """Mean and variance of every latent function at every point, each of shape ``(C, n)``."""

    mean: tf.Tensor
    var: tf.Tensor


class Functions(Protocol):
    """Latent functions that can be evaluated anywhere."""

    def moments(self, X: tf.Tensor) -> LatentMoments:
        """Mean and variance at ``X`` (n, D)."""

    def moments_and_gradient(self, X: tf.Tensor) -> tuple[LatentMoments, tf.Tensor]:
        """Mean and variance at ``X`` (n, D), and ``∇ mean_c``, ``(C, n, D)``."""

    def expected_moments(self, mean: tf.Tensor, var: tf.Tensor) -> LatentMoments:
        """Mean and variance over x of N(mean, diag var), both (n, D); see :mod:`fermiclass.nimgp.expected.psi`."""


class SparsePosterior(Module):
    """``q(v_c) = N(m_c, S_c)`` for C latent functions, with trainable inducing points.

    `Z`: initial inducing points, ``(C, M, D)``.
    `jitter`: number that is added to the diagonal of K(Z, Z), relative to the mean of the diagonal. Training may raise
    it.
    """

    def __init__(self, Z: np.ndarray, *, jitter: float, dtype: tf.DType = tf.float64) -> None:
        super().__init__()
        num_functions, num_inducing, _ = Z.shape
        self.Z = Parameter(Z, dtype=dtype)
        self.q_mu = Parameter(np.zeros([num_functions, num_inducing]), dtype=dtype)
        # Only the lower triangle is used. The upper triangle has no gradient and does not change.
        self.q_sqrt = Parameter(tf.eye(num_inducing, batch_shape=[num_functions], dtype=dtype), dtype=dtype)
        # A parameter, so that prediction uses the jitter with which training ended.
        self.jitter = Parameter(jitter, dtype=dtype, trainable=False)

    def _cholesky(self, kernel: Kernel, dtype: tf.DType | None = None) -> tf.Tensor:
        K = tf.cast(kernel.K(self.Z), dtype or self.q_mu.dtype)
        diagonal = tf.linalg.diag_part(K)
        jitter = tf.cast(self.jitter, K.dtype) * tf.reduce_mean(diagonal, axis=-1, keepdims=True)
        return tf.linalg.cholesky(tf.linalg.set_diag(K, diagonal + jitter))

    def functions(self, kernel: Kernel) -> TrainingFunctions:
        """Return the latent functions for training. All that the points share is computed once."""
        S_sqrt = tf.linalg.band_part(self.q_sqrt, -1, 0)
        return TrainingFunctions(kernel, tf.convert_to_tensor(self.Z), self._cholesky(kernel), self.q_mu, S_sqrt)

    def kl_divergence(self) -> tf.Tensor:
        """``Σ_c KL(q(v_c) ‖ N(0, I)) = ½ Σ_c [tr S_c + m_cᵀ m_c − M − log |S_c|]``."""
        S_sqrt = tf.linalg.band_part(self.q_sqrt, -1, 0)
        log_det = tf.reduce_sum(tf.math.log(tf.square(tf.linalg.diag_part(S_sqrt))))
        squares = tf.reduce_sum(tf.square(S_sqrt)) + tf.reduce_sum(tf.square(self.q_mu))
        return 0.5 * (squares - self.q_mu.shape.num_elements() - log_det)

    def predictor(self, kernel: Kernel) -> PredictiveFunctions:
        """Return the latent functions for prediction. Terms of the inducing points alone are computed once."""
        L = self._cholesky(kernel, tf.float64)
        S_sqrt = tf.linalg.band_part(self.q_sqrt, -1, 0)
        weights, precision = _weights_and_precision(L, self.q_mu, S_sqrt)
        dtype = self.q_mu.dtype
        return PredictiveFunctions(
            kernel, tf.convert_to_tensor(self.Z), tf.cast(weights, dtype), tf.cast(precision, dtype)
        )


class TrainingFunctions(NamedTuple):
    """Latent functions by triangular solves with ``L = chol K(Z, Z)``. Their gradients are stable."""

    kernel: Kernel
    Z: tf.Tensor
    L: tf.Tensor
    q_mu: tf.Tensor
    S_sqrt: tf.Tensor

    def moments(self, X: tf.Tensor) -> LatentMoments:
        """Mean and variance at ``X`` (n, D)."""
        X = X[None]
        return self._moments(X, self.kernel.K(self.Z, X))

    def _moments(self, X: tf.Tensor, k: tf.Tensor) -> LatentMoments:
        A = tf.linalg.triangular_solve(self.L, k)  # (C, M, n)
        mean = tf.linalg.matvec(A, self.q_mu, transpose_a=True)
        var = (
            self.kernel.K_diag(X)
            - tf.reduce_sum(tf.square(A), axis=-2)
            + tf.reduce_sum(tf.square(tf.matmul(self.S_sqrt, A, transpose_a=True)), axis=-2)
        )
        return LatentMoments(mean, _positive(var))

    def moments_and_gradient(self, X: tf.Tensor) -> tuple[LatentMoments, tf.Tensor]:
        """Mean and variance at ``X`` (n, D), and ``∇ mean_c``, ``(C, n, D)``."""
        weights = tf.linalg.triangular_solve(self.L, self.q_mu[:, :, None], adjoint=True)  # (C, M, 1)
        X = X[None]
        k, gradient = _with_gradient(lambda x: self.kernel.K(self.Z, x), X, weights)
        return self._moments(X, k), gradient

    def expected_moments(self, mean: tf.Tensor, var: tf.Tensor) -> LatentMoments:
        """Mean and variance over x of N(mean, diag var), both (n, D)."""
        weights, precision = _weights_and_precision(self.L, self.q_mu, self.S_sqrt)
        first, variance = expected_moments(self.kernel, self.Z, weights, precision, mean, var)
        return LatentMoments(first, _positive(variance))


class PredictiveFunctions(NamedTuple):
    """``mean = kᵀ α`` and ``var = k(x, x) − kᵀ P k`` with α = L⁻ᵀ m (C, M), P = L⁻ᵀ (I − S) L⁻¹ (C, M, M)."""

    kernel: Kernel
    Z: tf.Tensor
    weights: tf.Tensor
    precision: tf.Tensor

    def moments(self, X: tf.Tensor) -> LatentMoments:
        """Mean and variance at ``X`` (n, D)."""
        X = X[None]
        return self._moments(X, self.kernel.K(X, self.Z))

    def _moments(self, X: tf.Tensor, k: tf.Tensor) -> LatentMoments:
        mean = tf.linalg.matvec(k, self.weights)
        var = self.kernel.K_diag(X) - tf.reduce_sum(k * tf.matmul(k, self.precision), axis=-1)
        return LatentMoments(mean, _positive(var))

    def moments_and_gradient(self, X: tf.Tensor) -> tuple[LatentMoments, tf.Tensor]:
        """Mean and variance at ``X`` (n, D), and ``∇ mean_c``, ``(C, n, D)``."""
        X = X[None]
        k, gradient = _with_gradient(lambda x: self.kernel.K(x, self.Z), X, self.weights[:, None, :])
        return self._moments(X, k), gradient

    def expected_moments(self, mean: tf.Tensor, var: tf.Tensor) -> LatentMoments:
        """Mean and variance over x of N(mean, diag var), both (n, D)."""
        first, variance = expected_moments(self.kernel, self.Z, self.weights, self.precision, mean, var)
        return LatentMoments(first, _positive(variance))


def _with_gradient(
    covariances: Callable[[tf.Tensor], tf.Tensor], X: tf.Tensor, weights: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return covariances with M points, and ``∂/∂x Σ_m w_m k(x, z_m)`` at each x, ``(C, n, D)``.

    The sum at a point depends on that point alone: one backward pass gives the gradients at all points.

    `covariances` is a function of points ``(C, n, D)``, the points are ``(1, n, D)``, and w has a first axis of length
    C and can be broadcast to the covariances.
    """
    of_each = tf.tile(X, [weights.shape[0], 1, 1])
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(of_each)
        k = covariances(of_each)
    w = tf.broadcast_to(weights, tf.shape(k))
    return k, tape.gradient(k, of_each, output_gradients=w, unconnected_gradients=tf.UnconnectedGradients.ZERO)


def _weights_and_precision(L: tf.Tensor, q_mu: tf.Tensor, S_sqrt: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return ``L⁻ᵀ m`` and ``L⁻ᵀ (I − S) L⁻¹``, in double precision because of the inverses."""
    L, m, S_sqrt = (tf.cast(a, tf.float64) for a in (L, q_mu, S_sqrt))
    identity = tf.eye(tf.shape(L)[-1], batch_shape=tf.shape(L)[:-2], dtype=tf.float64)
    L_inverse = tf.linalg.triangular_solve(L, identity)
    shrink = identity - tf.matmul(S_sqrt, S_sqrt, transpose_b=True)
    weights = tf.linalg.matvec(L_inverse, m, transpose_a=True)
    return weights, tf.matmul(L_inverse, tf.matmul(shrink, L_inverse), transpose_a=True)


def _positive(var: tf.Tensor) -> tf.Tensor:
    """Raise a variance that rounding has made negative."""
    return tf.maximum(var, tf.cast(1e-8, var.dtype))
