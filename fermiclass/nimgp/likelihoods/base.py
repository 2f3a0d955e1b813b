"""Likelihoods of a class label given latent functions, whose moments have the shape ``(L, n)``.

C classes have L = C functions. Two classes share one function (L = 1), and a large f makes class 1 likely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp

from fermiclass.nimgp.likelihoods.draws import POINTS_OF_F, PredictiveMoments, gaussian_points, moments_by
from fermiclass.nimgp.modules import Module
from fermiclass.nimgp.posterior import LatentMoments

_PAIRS_IN_ALL = 1 << 14  # pairs of points of f of which training takes blocks
_NODES = 20  # Gauss-Hermite nodes of a single function
FAR = 1e30  #: Functions that are lower by this have no weight.

moments_of_draws = partial(moments_by, tnp)

#: ``E_q log p(y | f)`` or ``log E_q p(y | f)``, ``(n,)``, of moments of f, labels ``y`` (n,), and a seed of draws.
Expectation = Callable[[LatentMoments, tf.Tensor, tf.Tensor], tf.Tensor]


class Likelihood(Protocol):
    """Interface of a likelihood for training and prediction."""

    num_classes: int
    sets: np.ndarray | None  #: Classes that each label may stand for, ``(K, C)``; None where every label is a class.

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``E_q log p(y | f)`` for labels ``y`` (n,), shape (n,)."""

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log E_q p(y | f)``, shape (n,): no bound of the evidence, but a regularised log loss of predictions."""

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Moments of class probabilities of weights ``ratio`` (C, n); ``num_draws`` points are draws of one input."""


@dataclass(eq=False)
class ClassLikelihood(Module):
    """A likelihood that is known by its :meth:`log_p` alone. That of a set S is ``Σ_{c in S} p(c | f)``.

    Training takes expectations over one function by quadrature, over several by antithetic draws, new in every step.
    Prediction uses quasi-Monte Carlo points that are the same for every source.
    """

    num_classes: int
    sets: np.ndarray | None = None
    num_draws: int = 8  #: Number of draws of f for each source and step, an even number.
    num_points: int = 16  #: Number of points of f in prediction for each draw of a noisy input, a power of 2.

    def log_p(self, f: tf.Tensor) -> tf.Tensor:
        """``log p(c | f)`` of all classes at C values, ``(..., C, n)``; the first is 0 where two classes share an f."""
        raise NotImplementedError(f"{type(self).__name__} has no log_p")

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        weights, log_p = self._log_p_at_draws(latent, y, seed)
        return tf.reduce_sum(weights * log_p, axis=0)

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log E_q p(y | f)``, shape (n,); by draws it is a lower bound in expectation."""
        weights, log_p = self._log_p_at_draws(latent, y, seed)
        return tf.reduce_logsumexp(tf.math.log(weights) + log_p, axis=0)

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        return moments_of_draws(self.log_p(both_functions(draws_of_f(latent, num_draws, self.num_points))), ratio)

    def _log_p_at_draws(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the weights of S values of f, ``(S, 1)``, and ``log p(y | f)`` there, ``(S, n)``."""
        weights, points = self._points(latent, seed)
        log_p = self.log_p(both_functions(latent.mean + tf.sqrt(latent.var) * points))
        own = one_hot(y, self.num_classes, log_p.dtype, self.sets)
        if self.sets is None:
            return weights, tf.reduce_sum(own * log_p, axis=-2)
        return weights, tf.reduce_logsumexp(log_p - (1.0 - own) * FAR, axis=-2)

    def _points(self, latent: LatentMoments, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the weights of S standardised values of f, ``(S, 1)``, and these, ``(S, L, n)`` or ``(S, 1, 1)``."""
        if latent.mean.shape[0] > 1:
            points = antithetic_points(latent, self.num_draws, seed)
            weights = np.full(self.num_draws, 1.0 / self.num_draws)
        else:
            nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
            weights /= weights.sum()
            points = tf.constant(nodes[:, None, None], latent.mean.dtype)
        return tf.constant(weights[:, None], latent.mean.dtype), points


def both_functions(values: tf.Tensor) -> tf.Tensor:
    """Return values ``(..., C, n)``: a single function stands for the second of two classes, and the first is 0."""
    return tf.concat([tf.zeros_like(values), values], axis=-2) if values.shape[-2] == 1 else values


def draws_of_f(latent: LatentMoments, num_draws: int, num_points: int) -> tf.Tensor:
    """Return points of L latent functions, (S, L, n): each draw of an input has its part of one long Sobol sequence."""
    num_functions = latent.mean.shape[0]
    num_points = max(num_points, POINTS_OF_F // num_draws)
    points = gaussian_points(num_draws * num_points, num_functions)
    points = points.reshape(num_draws, num_points, num_functions).transpose(1, 2, 0)[:, :, None, :]
    mean, scale = (tf.reshape(a, [num_functions, -1, num_draws]) for a in (latent.mean, tf.sqrt(latent.var)))
    f = mean + scale * tf.constant(points, latent.mean.dtype)
    return tf.reshape(f, [num_points, num_functions, -1])


def antithetic_draws(latent: LatentMoments, num_draws: int, seed: tf.Tensor) -> tf.Tensor:
    """Return S draws of f, shape (S, L, n)."""
    return latent.mean + tf.sqrt(latent.var) * antithetic_points(latent, num_draws, seed)


def antithetic_points(latent: LatentMoments, num_draws: int, seed: tf.Tensor) -> tf.Tensor:
    """Return S draws of N(0, I), shape (S, L, n): for each row a random block of one long Sobol sequence, its mirror.

    A block covers f more evenly than independent draws. S is even. The draws of a row do not depend on later rows.
    """
    num_functions, pairs = latent.mean.shape[0], num_draws // 2
    blocks = max(1, _PAIRS_IN_ALL // pairs)
    points = gaussian_points(blocks * pairs, num_functions).reshape(blocks, pairs, num_functions).transpose(0, 2, 1)
    block = tf.random.stateless_uniform(tf.shape(latent.mean)[1:], seed, maxval=blocks, dtype=tf.int32)
    half = tf.transpose(tf.gather(tf.constant(points, latent.mean.dtype), block))
    return tf.concat([half, -half], axis=0)


def one_hot(y: tf.Tensor, num_classes: int, dtype: tf.DType, sets: np.ndarray | None = None) -> tf.Tensor:
    """Ones where a label (n,) may stand for a class, shape (C, n); without `sets` (K, C) every label is a class."""
    of_rows = tf.one_hot(y, num_classes, dtype=dtype) if sets is None else tf.gather(tf.constant(sets, dtype), y)
    return tf.linalg.matrix_transpose(of_rows)
