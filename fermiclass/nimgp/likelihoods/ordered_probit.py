"""The ordinal likelihood of grades, as a likelihood of GPflow."""

from __future__ import annotations

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from numpy.typing import NDArray

from fermiclass.nimgp.transforms import Softplus

_FAR = 1e10  # replaces infinity, where TensorFlow's erf returns NaN


class OrderedProbit(gpflow.likelihoods.ScalarLikelihood):
    """``P(y = k | f) = Φ((b_k − f) / σ) − Φ((b_{k−1} − f) / σ)`` for grades 0 … K − 1 (Chu & Ghahramani 2005).

    This is the model of ``gpflow.likelihoods.Ordinal``. The probabilities of that class do not sum to one. Those of its
    outermost grades are NaN, because TensorFlow's erf is NaN at infinity (2.19 to 2.21).

    Parameters
    ----------
    edges
        b, ``(K − 1,)``, in increasing order and fixed, with b_{−1} = −∞ and b_{K−1} = ∞.
    sigma
        Initial σ. It is learned.
    """

    def __init__(self, edges: NDArray[np.float64], sigma: float = 1.0) -> None:
        super().__init__()
        self.bin_edges = np.asarray(edges, np.float64)
        self.num_bins = self.bin_edges.size + 1
        self.sigma = gpflow.Parameter(sigma, transform=Softplus())

    def _log_probabilities(self, F: tf.Tensor, var: tf.Tensor | float = 0.0) -> tf.Tensor:
        """``log E P(y = k | f)`` of all grades, ``(..., K)``, for f (..., 1) with Gaussian uncertainty."""
        edges = tf.constant(np.concatenate([[-_FAR], self.bin_edges, [_FAR]]), F.dtype)
        sigma = tf.sqrt(tf.square(self.sigma) + var)
        lower, upper = (edges[:-1] - F) / sigma, (edges[1:] - F) / sigma
        # Φ(u) − Φ(l) = Φ(−l) − Φ(−u). The form in the lower tail loses no digits.
        flipped = lower > 0
        lower, upper = tf.where(flipped, -upper, lower), tf.where(flipped, -lower, upper)
        normal = tfp.distributions.Normal(tf.zeros((), F.dtype), 1.0)
        return tfp.math.log_sub_exp(normal.log_cdf(upper), normal.log_cdf(lower))

    def _scalar_log_prob(self, X: tf.Tensor, F: tf.Tensor, Y: tf.Tensor) -> tf.Tensor:
        return self._of_grade(Y, self._log_probabilities(F[..., None]))

    def _predict_log_density(self, X: tf.Tensor, Fmu: tf.Tensor, Fvar: tf.Tensor, Y: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(self._of_grade(Y, self._log_probabilities(Fmu[..., None], Fvar[..., None])), axis=-1)

    def _of_grade(self, Y: tf.Tensor, log_p: tf.Tensor) -> tf.Tensor:
        """Return ``log P(y)`` for the ``log_p`` of all grades."""
        chosen = tf.cast(Y, log_p.dtype)[..., None] == tf.range(self.num_bins, dtype=log_p.dtype)
        of_grade = tf.reduce_sum(tf.cast(chosen, log_p.dtype) * log_p, axis=-1)
        return tf.where(tf.reduce_any(chosen, axis=-1), of_grade, tf.constant(-np.inf, log_p.dtype))  # y is not a grade

    def _grades(self, F: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.exp(self._log_probabilities(F[..., None])), tf.range(self.num_bins, dtype=F.dtype)

    def _conditional_mean(self, X: tf.Tensor, F: tf.Tensor) -> tf.Tensor:
        p, grade = self._grades(F)
        return tf.reduce_sum(p * grade, axis=-1)

    def _conditional_variance(self, X: tf.Tensor, F: tf.Tensor) -> tf.Tensor:
        p, grade = self._grades(F)
        mean = tf.reduce_sum(p * grade, axis=-1, keepdims=True)
        return tf.reduce_sum(p * tf.square(grade - mean), axis=-1)
