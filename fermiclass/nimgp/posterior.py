"""The sparse variational posterior of the latent functions.

Each latent function f^c has its own inducing points ``Z_c`` (M, D) and values ``u_c = L v_c``,
``L = chol K(Z_c, Z_c)``, with ``q(v_c) = N(m_c, S_c)`` and prior ``p(v_c) = N(0, I)`` (whitened). For a point x, with
``a = L⁻¹ k(Z_c, x)``::

    mean_c(x) = aᵀ m_c
    var_c(x)  = k(x, x) − aᵀ a + aᵀ S_c a

This is the posterior of Villacampa-Calvo et al. (2021), equation (13). Its equations (5) and (15) print wrong signs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.kernels import Kernel
from fermiclass.nimgp.modules import Module, Parameter

_LEAST = 1e-8  # rounding may make a variance smaller, or negative


class LatentMoments(NamedTuple):
    """Mean and variance of every latent function at every point, each of shape ``(C, n)``."""

    mean: tf.Tensor
    var: tf.Tensor


class SparsePosterior(Module):
    """``q(v_c) = N(m_c, S_c)`` for C latent functions, with trainable inducing points ``Z`` (C, M, D).

    The jitter is added to the diagonal of K(Z, Z), relative to its mean. Training may raise it.
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
        """Return the latent functions for training."""
        Z, L = tf.convert_to_tensor(self.Z), self._cholesky(kernel)
        weights = tf.linalg.triangular_solve(L, self.q_mu[:, :, None], adjoint=True)[:, :, 0]
        S_sqrt = tf.linalg.band_part(self.q_sqrt, -1, 0)
        return TrainingFunctions(kernel, Z, weights, L, self.q_mu, S_sqrt)

    def kl_divergence(self) -> tf.Tensor:
        """``Σ_c KL(q(v_c) ‖ N(0, I)) = ½ Σ_c [tr S_c + m_cᵀ m_c − M − log |S_c|]``."""
        S_sqrt = tf.linalg.band_part(self.q_sqrt, -1, 0)
        log_det = tf.reduce_sum(tf.math.log(tf.square(tf.linalg.diag_part(S_sqrt))))
        squares = tf.reduce_sum(tf.square(S_sqrt)) + tf.reduce_sum(tf.square(self.q_mu))
        return 0.5 * (squares - self.q_mu.shape.num_elements() - log_det)

    def predictor(self, kernel: Kernel) -> PredictiveFunctions:
        """Return the latent functions for prediction, by inverses in double precision."""
        Z, L = tf.convert_to_tensor(self.Z), self._cholesky(kernel, tf.float64)
        m, S_sqrt = (tf.cast(a, tf.float64) for a in (self.q_mu, tf.linalg.band_part(self.q_sqrt, -1, 0)))
        inverse = tf.linalg.triangular_solve(L, tf.eye(Z.shape[-2], dtype=tf.float64))
        weights = tf.linalg.matvec(inverse, m, transpose_a=True)
        precision = tf.matmul(inverse, tf.matmul(_shrink(S_sqrt), inverse), transpose_a=True)
        return PredictiveFunctions(kernel, Z, tf.cast(weights, Z.dtype), tf.cast(precision, Z.dtype))


@dataclass(frozen=True, eq=False)
class Functions:
    """Latent functions that can be evaluated anywhere, by the covariances of inducing points and points."""

    kernel: Kernel
    Z: tf.Tensor
    weights: tf.Tensor  #: α = L⁻ᵀ m, ``(C, M)``: the mean is kᵀ α.

    def moments(self, X: tf.Tensor) -> LatentMoments:
        """Mean and variance at ``X`` (n, D)."""
        return self._moments(X[None], self.kernel.K(self.Z, X[None]))

    def moments_and_gradient(self, X: tf.Tensor) -> tuple[LatentMoments, tf.Tensor]:
        """Mean and variance at ``X`` (n, D), and ``∇ mean_c``, ``(C, D, n)``."""
        k, gradient = self.kernel.K_and_gradient(self.Z, X[None], self.weights)
        return self._moments(X[None], k), gradient

    def _moments(self, X: tf.Tensor, k: tf.Tensor) -> LatentMoments:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class TrainingFunctions(Functions):
    """Latent functions by triangular solves with ``L = chol K(Z, Z)``. Their gradients are stable."""

    L: tf.Tensor
    q_mu: tf.Tensor
    S_sqrt: tf.Tensor

    def _moments(self, X: tf.Tensor, k: tf.Tensor) -> LatentMoments:
        # L⁻¹ k is (I + change) A with a change of 0. So the gradient by L needs products of small matrices only, beside
        # that by the matrix of the squares, and no second product over all points.
        fixed, shrink = tf.stop_gradient(self.L), _shrink(self.S_sqrt)
        A = tf.linalg.triangular_solve(fixed, k)  # (C, M, n)
        change = tf.linalg.triangular_solve(fixed, fixed - self.L)
        mean = tf.linalg.matvec(A, self.q_mu + tf.linalg.matvec(change, self.q_mu, transpose_a=True), transpose_a=True)
        squares = _squares(shrink + 2.0 * tf.matmul(tf.stop_gradient(shrink), change), A)
        return LatentMoments(mean, tf.maximum(self.kernel.K_diag(X) - squares, _LEAST))


@dataclass(frozen=True, eq=False)
class PredictiveFunctions(Functions):
    """``mean = kᵀ α`` and ``var = k(x, x) − kᵀ P k`` with α = L⁻ᵀ m (C, M), P = L⁻ᵀ (I − S) L⁻¹ (C, M, M)."""

    precision: tf.Tensor

    def _moments(self, X: tf.Tensor, k: tf.Tensor) -> LatentMoments:
        mean = tf.linalg.matvec(k, self.weights, transpose_a=True)
        var = self.kernel.K_diag(X) - tf.reduce_sum(k * tf.matmul(self.precision, k), axis=-2)
        return LatentMoments(mean, tf.maximum(var, _LEAST))


def _shrink(S_sqrt: tf.Tensor) -> tf.Tensor:
    """Return I − S, by which the data reduce the variances, ``(C, M, M)``."""
    square = tf.matmul(S_sqrt, S_sqrt, transpose_b=True)
    return tf.linalg.set_diag(-square, 1.0 - tf.linalg.diag_part(square))


def _squares(B: tf.Tensor, A: tf.Tensor) -> tf.Tensor:
    """Return ``aᵀ B a`` of the columns of A (C, M, n) with symmetric B (C, M, M), ``(C, n)``; no second derivatives.

    The derivative by a is ``2 B a``, which is known: TensorFlow would make the product B A again.
    """
    fixed = tf.stop_gradient(A)
    return tf.reduce_sum((2.0 * A - fixed) * tf.matmul(B, fixed), axis=-2)
