"""Softmax likelihoods of C latent functions (by draws, or by a bound) and of one (by quadrature, or by a bound)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.likelihoods.predictive_moments import PredictiveMoments, draws_of_f, moments_of_draws, one_hot
from fermiclass.nimgp.modules import Module
from fermiclass.nimgp.posterior import LatentMoments

_FAR = 1e30  # functions that are lower by this have no weight
_POINTS = 16  # quasi-Monte Carlo points of f in prediction for each draw of a noisy input, a power of 2


class Softmax(Module):
    """``p(y | f) = exp(f^y) / Σ_c exp(f^c)``.

    Training estimates ``E_q log p(y | f) = mean_y − E_q log Σ_c exp(f^c)`` by antithetic Monte Carlo with new draws in
    every step. Prediction uses quasi-Monte Carlo points that are the same for every source.

    Parameters
    ----------
    num_classes
        C.
    num_draws
        Number of draws of f for each source and step, an even number.
    num_points
        Quasi-Monte Carlo points of f in prediction for each draw of a noisy input, a power of 2.
    sets
        Classes that each label may stand for, ``(K, C)``; None where every label is a class. The likelihood of a set S
        is ``Σ_{c in S} p(c | f)``.
    """

    def __init__(
        self, num_classes: int, *, num_draws: int = 8, num_points: int = _POINTS, sets: np.ndarray | None = None
    ) -> None:
        super().__init__()
        self.sets = sets
        self.num_draws = num_draws
        self.num_classes = num_classes
        self.num_points = num_points

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Monte Carlo ``mean_y − E_q log Σ_c exp(f^c)``, shape (..., n).

        For a set S it is ``E_q [log Σ_{c in S} exp(f^c) − log Σ_c exp(f^c)]``, with the same draws in both terms.
        """
        if self.sets is not None:
            return tf.reduce_mean(self._log_p_of_draws(latent, y, seed), axis=0)
        own = one_hot(y, self.num_classes, latent.mean.dtype)
        normaliser = tf.reduce_mean(
            tf.reduce_logsumexp(antithetic_draws(latent, self.num_draws, seed), axis=-2), axis=0
        )
        return tf.reduce_sum(own * latent.mean, axis=-2) - normaliser

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Monte Carlo ``log E_q softmax(f)_y``, shape (..., n); in expectation a lower bound."""
        log_p = self._log_p_of_draws(latent, y, seed)
        return tf.reduce_logsumexp(log_p, axis=0) - np.log(self.num_draws)

    def _log_p_of_draws(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log p(y | f)`` for draws of f, shape (S, ..., n)."""
        f = antithetic_draws(latent, self.num_draws, seed)
        own = one_hot(y, self.num_classes, latent.mean.dtype, self.sets)
        if self.sets is None:
            of_label = tf.reduce_sum(own * f, axis=-2)
        else:
            of_label = tf.reduce_logsumexp(f - (1.0 - own) * _FAR, axis=-2)
        return of_label - tf.reduce_logsumexp(f, axis=-2)

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Quasi-Monte Carlo moments of ``softmax(f)``."""
        f = draws_of_f(latent, num_draws, self.num_points)
        return moments_of_draws(f - tf.reduce_max(f, axis=1, keepdims=True), ratio)


class SoftmaxBound(Softmax):
    """The softmax, trained by a bound in closed form. Its predictions are those of the softmax.

    ``E_q log p(y | f) ≥ −log(1 + exp(var_y/2 − mean_y) Σ_{c≠y} exp(mean_c + var_c/2))``
    (Liu et al., "Scalable GP classification with additive noise", equation 25).
    """

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Return the bound, shape (..., n); it needs no draws.

        For a set S, with ``log Σ_{c in S} exp(f^c) ≥ Σ_{c in S} w_c (f^c − log w_c)`` for any weights w that sum to 1,
        here the softmax of the means in S, it is ``−log(1 + exp(Σ_{c in S} [w_c (log w_c − mean_c) + w_c² var_c/2])
        Σ_{c not in S} exp(mean_c + var_c/2))``; for a single class this is the same.
        """
        if self.sets is not None:
            return self._bound_of_sets(latent, y)
        own = one_hot(y, self.num_classes, latent.mean.dtype)
        sign = 1.0 - 2.0 * own
        exponent = latent.mean * sign + 0.5 * latent.var  # of c ≠ y, and var_y/2 − mean_y
        of_y = tf.reduce_sum(own * exponent, axis=-2)
        of_others = tf.reduce_logsumexp(exponent - own * 1e30, axis=-2)
        return -tf.math.softplus(of_y + of_others)

    def _bound_of_sets(self, latent: LatentMoments, y: tf.Tensor) -> tf.Tensor:
        own = one_hot(y, self.num_classes, latent.mean.dtype, self.sets)
        normaliser = tf.reduce_logsumexp(latent.mean - (1.0 - own) * _FAR, axis=-2, keepdims=True)
        log_w = own * (latent.mean - normaliser)
        w = own * tf.exp(log_w)
        of_set = tf.reduce_sum(w * (log_w - latent.mean) + 0.5 * w**2 * latent.var, axis=-2)
        of_others = tf.reduce_logsumexp(latent.mean + 0.5 * latent.var - own * _FAR, axis=-2)
        return -tf.math.softplus(of_set + of_others)


class Logistic(Module):
    """Two classes share one function: ``p(1 | f) = 1 / (1 + exp(−f))``, the softmax of 0 and f.

    Parameters
    ----------
    num_points
        Number of Gauss-Hermite quadrature points over f in training.
    """

    num_classes = 2

    def __init__(self, *, num_points: int = 20) -> None:
        super().__init__()
        nodes, weights = np.polynomial.hermite_e.hermegauss(num_points)
        self.nodes, self.log_weights = nodes, np.log(weights / weights.sum())

    def _log_p(self, latent: LatentMoments, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return ``log p(y | f)`` at the nodes (..., n, H), and the logarithms of the weights."""
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
        """Quasi-Monte Carlo moments of the class probabilities."""
        f = draws_of_f(latent, num_draws, _POINTS)
        return moments_of_draws(-tf.math.softplus(tf.concat([f, -f], axis=1)), ratio)


class LogisticBound(Logistic):
    """:class:`Logistic`, trained by a bound in closed form, ``E_q log p(y | f) ≥ −log(1 + exp(var/2 ∓ mean))``."""

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Return the bound, shape (..., n)."""
        mean, var = latent.mean[..., 0, :], latent.var[..., 0, :]
        return -tf.math.softplus(0.5 * var - _sign(y, mean.dtype) * mean)


def antithetic_draws(latent: LatentMoments, num_draws: int, seed: tf.Tensor) -> tf.Tensor:
    """Return S draws of f, shape (S, ..., L, n). S is even. All leading axes share the standard normal draws."""
    num_functions, num_inputs = tf.unstack(tf.shape(latent.mean)[-2:])
    half = normal_by_row([num_inputs, num_functions, num_draws // 2], seed, latent.mean.dtype)
    for _ in range(len(latent.mean.shape) - 2):
        half = half[:, None]
    half = tf.sqrt(latent.var) * half
    return latent.mean + tf.concat([half, -half], axis=0)


def normal_by_row(shape: Sequence[int | tf.Tensor], seed: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Draw N(0, 1) of shape (n, L, S) and return it as (S, L, n). The draws of a row do not depend on later rows."""
    return tf.transpose(tf.random.stateless_normal(shape, seed, dtype=dtype))


def _sign(y: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Return 1 where the label is 1, −1 where it is 0."""
    return 2.0 * tf.cast(y, dtype) - 1.0
