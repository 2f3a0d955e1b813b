"""Softmax likelihoods: of C latent functions by sampling or by a bound, of one by quadrature or by the same bound."""

from __future__ import annotations

import gpflow
import numpy as np
import tensorflow as tf

from fermiclass.nimgp.posterior import LatentMoments
from fermiclass.nimgp.predictive_moments import PredictiveMoments, draws_of_f, moments_of_draws, one_hot


class Softmax(gpflow.Module):
    """``p(y | f) = exp(f^y) / Σ_c exp(f^c)``.

    In training ``E_q log p(y | f) = mean_y − E_q log Σ_c exp(f^c)`` by antithetic Monte Carlo, fresh draws every step;
    in prediction by quasi-Monte Carlo points that are the same for every source.

    Parameters
    ----------
    num_classes
        C.
    num_draws
        Draws of f for each source and step; an even number.
    num_points
        Quasi-Monte Carlo points of f in prediction for each draw of a noisy input, a power of 2.
    """

    def __init__(self, num_classes: int, *, num_draws: int = 8, num_points: int = 16) -> None:
        super().__init__()
        self.num_draws = num_draws
        self.num_classes = num_classes
        self.num_points = num_points

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Monte Carlo ``mean_y − E_q log Σ_c exp(f^c)``, shape (..., n)."""
        own = one_hot(y, self.num_classes, latent.mean.dtype)
        normaliser = tf.reduce_mean(
            tf.reduce_logsumexp(antithetic_draws(latent, self.num_draws, seed), axis=-2), axis=0
        )
        return tf.reduce_sum(own * latent.mean, axis=-2) - normaliser

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Monte Carlo ``log E_q softmax(f)_y``, shape (..., n); in expectation a lower bound."""
        f = antithetic_draws(latent, self.num_draws, seed)
        own = one_hot(y, self.num_classes, latent.mean.dtype)
        log_p = tf.reduce_sum(own * f, axis=-2) - tf.reduce_logsumexp(f, axis=-2)
        return tf.reduce_logsumexp(log_p, axis=0) - np.log(self.num_draws)

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Quasi-Monte Carlo moments of ``softmax(f)``."""
        f = draws_of_f(latent, num_draws, self.num_points)
        return moments_of_draws(f - tf.reduce_max(f, axis=1, keepdims=True), ratio)


class SoftmaxBound(Softmax):
    """The softmax, trained by a bound in closed form; it predicts as the softmax does.

    ``E_q log p(y | f) ≥ −log(1 + exp(var_y/2 − mean_y) Σ_{c≠y} exp(mean_c + var_c/2))``
    (Liu et al., "Scalable GP classification with additive noise", equation 25).
    """

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Return the bound, shape (..., n); it needs no draws."""
        own = one_hot(y, self.num_classes, latent.mean.dtype)
        sign = 1.0 - 2.0 * own
        exponent = latent.mean * sign + 0.5 * latent.var  # of c ≠ y, and var_y/2 − mean_y
        of_y = tf.reduce_sum(own * exponent, axis=-2)
        of_others = tf.reduce_logsumexp(exponent - own * 1e30, axis=-2)
        return -tf.math.softplus(of_y + of_others)


class Logistic(gpflow.Module):
    """Two classes share one function: ``p(1 | f) = 1 / (1 + exp(−f))``, the softmax of 0 and f.

    Parameters
    ----------
    num_points
        Points of the Gauss-Hermite quadrature over f in training.
    num_points_predict
        Quasi-Monte Carlo points of f in prediction for each draw of a noisy input, a power of 2.
    """

    num_classes = 2

    def __init__(self, *, num_points: int = 20, num_points_predict: int = 16) -> None:
        super().__init__()
        nodes, weights = np.polynomial.hermite_e.hermegauss(num_points)
        self.nodes, self.log_weights = nodes, np.log(weights / weights.sum())
        self.num_points_predict = num_points_predict

    def _log_p(self, latent: LatentMoments, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """``log p(y | f)`` at the nodes (..., n, H), and the logarithms of their weights."""
        dtype = latent.mean.dtype
        f = latent.mean[..., 0, :, None] + tf.sqrt(latent.var[..., 0, :, None]) * tf.constant(self.nodes, dtype)
        return -tf.math.softplus(-_sign(y, dtype)[..., None] * f), tf.constant(self.log_weights, dtype)

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``−E_q log(1 + exp(∓f))``, shape (..., n)."""
        log_p, log_weights = self._log_p(latent, y)
        return tf.linalg.matvec(log_p, tf.exp(log_weights))

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log E_q [1 / (1 + exp(∓f))]``, shape (..., n)."""
        log_p, log_weights = self._log_p(latent, y)
        return tf.reduce_logsumexp(log_p + log_weights, axis=-1)

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Quasi-Monte Carlo moments."""
        f = draws_of_f(latent, num_draws, self.num_points_predict)
        return moments_of_draws(-tf.math.softplus(tf.concat([f, -f], axis=1)), ratio)


class LogisticBound(Logistic):
    """The same, trained by a bound in closed form, ``E_q log p(y | f) ≥ −log(1 + exp(var/2 ∓ mean))``."""

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Return the bound, shape (..., n)."""
        mean, var = latent.mean[..., 0, :], latent.var[..., 0, :]
        return -tf.math.softplus(0.5 * var - _sign(y, mean.dtype) * mean)


def antithetic_draws(latent: LatentMoments, num_draws: int, seed: tf.Tensor) -> tf.Tensor:
    """Draws of f, shape (S, ..., L, n), their scatter shared by all leading axes; S is even."""
    num_functions, num_inputs = tf.unstack(tf.shape(latent.mean)[-2:])
    # A row at a time: what a row draws does not depend on how many follow it.
    half = tf.transpose(
        tf.random.stateless_normal([num_inputs, num_functions, num_draws // 2], seed, dtype=latent.mean.dtype)
    )
    for _ in range(len(latent.mean.shape) - 2):
        half = half[:, None]
    half = tf.sqrt(latent.var) * half
    return latent.mean + tf.concat([half, -half], axis=0)


def _sign(y: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Return 1 where the label is 1, −1 where it is 0."""
    return 2.0 * tf.cast(y, dtype) - 1.0
