"""The sparse variational posterior of the latent functions.

Each latent function f^c has its own inducing points ``Z_c`` (M, D) and values ``u_c = L v_c``,
``L = chol K(Z_c, Z_c)``, with ``q(v_c) = N(m_c, S_c)`` and prior ``p(v_c) = N(0, I)`` (whitened). For a point x, with
``a = L⁻¹ k(Z_c, x)``::

    mean_c(x) = aᵀ m_c
    var_c(x)  = k(x, x) − aᵀ a + aᵀ S_c a

which is the posterior of Villacampa-Calvo et al. (2021), equation (13); its (5) and (15) print other signs.
"""

from __future__ import annotations

from typing import NamedTuple

import gpflow
import numpy as np
import tensorflow as tf

from fermiclass.nimgp.kernels import Kernel


class LatentMoments(NamedTuple):
    """Mean and variance of every latent function at every point, each of shape ``(C, n)``."""

    mean: tf.Tensor
    var: tf.Tensor


class SparsePosterior(gpflow.Module):
    """``q(v_c) = N(m_c, S_c)`` for C latent functions, with trainable inducing points.

    Parameters
    ----------
    Z
        Initial inducing points, ``(C, M, D)``.
    jitter
        Added to the diagonal of K(Z, Z), relative to its mean.
    """

    def __init__(self, Z: np.ndarray, *, jitter: float, dtype: tf.DType = tf.float64) -> None:
        super().__init__()
        num_latent, num_inducing, _ = Z.shape
        self.Z = gpflow.Parameter(tf.cast(Z, dtype), dtype=dtype)
        self.q_mu = gpflow.Parameter(tf.zeros([num_latent, num_inducing], dtype), dtype=dtype)
        # Only the lower triangle takes part: the upper one has no gradient and stays as it is.
        self.q_sqrt = gpflow.Parameter(tf.eye(num_inducing, batch_shape=[num_latent], dtype=dtype), dtype=dtype)
        self.jitter = jitter

    def _cholesky(self, kernel: Kernel, dtype: tf.DType | None = None) -> tf.Tensor:
        K = tf.cast(kernel.K(self.Z), dtype or self.q_mu.dtype)
        diagonal = tf.linalg.diag_part(K)
        jitter = tf.cast(self.jitter, K.dtype) * tf.reduce_mean(diagonal, axis=-1, keepdims=True)
        return tf.linalg.cholesky(tf.linalg.set_diag(K, diagonal + jitter))

    def latent_moments(self, kernel: Kernel, X: tf.Tensor) -> LatentMoments:
        """Mean and variance of the latent functions at ``X`` (n, D)."""
        A = tf.linalg.triangular_solve(self._cholesky(kernel), kernel.K(self.Z, X))  # (C, M, n)
        S_sqrt = tf.linalg.band_part(self.q_sqrt, -1, 0)
        mean = tf.linalg.matvec(A, self.q_mu, transpose_a=True)
        var = (
            kernel.K_diag(X)
            - tf.reduce_sum(tf.square(A), axis=1)
            + tf.reduce_sum(tf.square(tf.matmul(S_sqrt, A, transpose_a=True)), axis=1)
        )
        return LatentMoments(mean, _positive(var))

    def kl_divergence(self) -> tf.Tensor:
        """``Σ_c KL(q(v_c) ‖ N(0, I)) = ½ Σ_c [tr S_c + m_cᵀ m_c − M − log |S_c|]``, a scalar."""
        S_sqrt = tf.linalg.band_part(self.q_sqrt, -1, 0)
        log_det = tf.reduce_sum(tf.math.log(tf.square(tf.linalg.diag_part(S_sqrt))))
        return 0.5 * (
            tf.reduce_sum(tf.square(S_sqrt))
            + tf.reduce_sum(tf.square(self.q_mu))
            - tf.cast(tf.size(self.q_mu), log_det.dtype)
            - log_det
        )

    def predictor(self, kernel: Kernel) -> PosteriorPredictor:
        """Compute once all of prediction that depends on the inducing points only."""
        double = tf.float64  # inverses are made in double precision, once, and rounded afterwards
        L = self._cholesky(kernel, double)
        S_sqrt = tf.cast(tf.linalg.band_part(self.q_sqrt, -1, 0), double)
        identity = tf.eye(tf.shape(L)[-1], batch_shape=[tf.shape(L)[0]], dtype=double)
        L_inverse = tf.linalg.triangular_solve(L, identity)
        shrink = identity - tf.matmul(S_sqrt, S_sqrt, transpose_b=True)
        weights = tf.linalg.matvec(L_inverse, tf.cast(self.q_mu, double), transpose_a=True)
        precision = tf.matmul(L_inverse, tf.matmul(shrink, L_inverse), transpose_a=True)
        dtype = self.q_mu.dtype
        return PosteriorPredictor(tf.convert_to_tensor(self.Z), tf.cast(weights, dtype), tf.cast(precision, dtype))


class PosteriorPredictor(NamedTuple):
    """``mean = kᵀ α`` and ``var = k(x, x) − kᵀ P k`` with α = L⁻ᵀ m (C, M) and P = L⁻ᵀ (I − S) L⁻¹ (C, M, M)."""

    Z: tf.Tensor
    weights: tf.Tensor
    precision: tf.Tensor

    def latent_moments(self, kernel: Kernel, X: tf.Tensor) -> LatentMoments:
        """Mean and variance of the latent functions at ``X`` (n, D)."""
        k = kernel.K(X, self.Z)  # (C, n, M)
        mean = tf.linalg.matvec(k, self.weights)
        var = kernel.K_diag(X) - tf.reduce_sum(k * tf.matmul(k, self.precision), axis=-1)
        return LatentMoments(mean, _positive(var))


def _positive(var: tf.Tensor) -> tf.Tensor:
    """Lift a variance that rounding has pushed below zero."""
    return tf.maximum(var, tf.cast(1e-8, var.dtype))
