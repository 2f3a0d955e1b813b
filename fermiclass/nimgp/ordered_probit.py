"""Grades: the ordinal likelihood, in GPflow's terms."""

from __future__ import annotations

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from numpy.typing import NDArray

from fermiclass.nimgp.transforms import Softplus

_FAR = 1e10  # in place of infinity, where TensorFlow's erf is no number


class OrderedProbit(gpflow.likelihoods.ScalarLikelihood):
    """``P(y = k | f) = Φ((b_k − f) / σ) − Φ((b_{k−1} − f) / σ)`` for grades 0 … K − 1 (Chu & Ghahramani 2005).

    The model of ``gpflow.likelihoods.Ordinal``, whose outermost grades have no number for a probability since
    TensorFlow's erf has none at infinity (2.19 to 2.21), and whose probabilities do not sum to one.

    Parameters
    ----------
    edges
        b, ``(K − 1,)``, rising, with b_{−1} = −∞ and b_{K−1} = ∞; they are fixed.
    sigma
        σ, which is learned.
    """

    def __init__(self, edges: NDArray[np.float64], sigma: float = 1.0) -> None:
        super().__init__()
        self.bin_edges = np.asarray(edges, np.float64)
        self.num_bins = self.bin_edges.size + 1
        self.sigma = gpflow.Parameter(sigma, transform=Softplus())

    def _scaled(self, F: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Lower and upper edges of all grades as seen from f, ``(..., K)`` for f (..., 1)."""
        edges = tf.constant(np.concatenate([[-_FAR], self.bin_edges, [_FAR]]), F.dtype)
        return (edges[:-1] - F) / self.sigma, (edges[1:] - F) / self.sigma

    def _log_probabilities(self, F: tf.Tensor) -> tf.Tensor:
        """``log P(y = k | f)`` of all grades, ``(..., K)`` for f (..., 1)."""
        lower, upper = self._scaled(F)
        # Φ(u) − Φ(l) = Φ(−l) − Φ(−u), of which the one in the lower tail loses no digits.
        flipped = lower > 0
        lower, upper = tf.where(flipped, -upper, lower), tf.where(flipped, -lower, upper)
        normal = tfp.distributions.Normal(tf.zeros((), F.dtype), 1.0)
        return tfp.math.log_sub_exp(normal.log_cdf(upper), normal.log_cdf(lower))

    def _scalar_log_prob(self, X: tf.Tensor, F: tf.Tensor, Y: tf.Tensor) -> tf.Tensor:
        chosen = tf.cast(Y, F.dtype)[..., None] == tf.range(self.num_bins, dtype=F.dtype)
        log_p = tf.reduce_sum(tf.cast(chosen, F.dtype) * self._log_probabilities(F[..., None]), axis=-1)
        return tf.where(tf.reduce_any(chosen, axis=-1), log_p, tf.constant(-np.inf, F.dtype))  # what is no grade

    def _grades(self, F: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.exp(self._log_probabilities(F[..., None])), tf.range(self.num_bins, dtype=F.dtype)

    def _conditional_mean(self, X: tf.Tensor, F: tf.Tensor) -> tf.Tensor:
        p, grade = self._grades(F)
        return tf.reduce_sum(p * grade, axis=-1)

    def _conditional_variance(self, X: tf.Tensor, F: tf.Tensor) -> tf.Tensor:
        p, grade = self._grades(F)
        mean = tf.reduce_sum(p * grade, axis=-1, keepdims=True)
        return tf.reduce_sum(p * tf.square(grade - mean), axis=-1)
