"""Moments of class probabilities over the latent functions. Every likelihood gives them to prediction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from scipy.special import ndtri
from scipy.stats import qmc

from fermiclass.nimgp.posterior import LatentMoments

_POINTS_IN_ALL = 256  # smallest number of points of f for each input


class PredictiveMoments(NamedTuple):
    """Moments over f of class probabilities π(f), with a weight r_c for each class.

    With ``Z = Σ_c r_c π_c`` and the weighted probabilities ``ρ_c = r_c π_c / Z`` these are ``E[Z ρ_c]`` (C, n),
    ``E[Z ρ_c²]`` (C, n) and ``E[Z H(ρ)]`` (n,), where H is the entropy in nats. If all r_c are 1, Z is 1 and ρ is π.
    """

    mean: tf.Tensor
    second: tf.Tensor
    entropy: tf.Tensor


def gaussian_points(num_points: int, dim: int) -> np.ndarray:
    """Return quasi-Monte Carlo draws of N(0, I), ``(num_points, dim)``: always the same scrambled Sobol set.

    ``num_points`` should be a power of 2, because only then a Sobol set is balanced.
    """
    balanced = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(20210107)).random_base2(
        int(np.ceil(np.log2(num_points)))
    )
    return ndtri(balanced[:num_points])


def draws_of_f(latent: LatentMoments, num_draws: int, num_points: int) -> tf.Tensor:
    """Return quasi-Monte Carlo points of L latent functions, shape (S, L, n).

    Each draw of a noisy input has its own part of one long Sobol sequence, so that all draws cover f densely.
    """
    num_functions = latent.mean.shape[0]
    num_points = max(num_points, _POINTS_IN_ALL // num_draws)
    points = gaussian_points(num_draws * num_points, num_functions)
    points = points.reshape(num_draws, num_points, num_functions).transpose(1, 2, 0)[:, :, None, :]
    mean, scale = (tf.reshape(a, [num_functions, -1, num_draws]) for a in (latent.mean, tf.sqrt(latent.var)))
    f = mean + scale * tf.constant(points, latent.mean.dtype)
    return tf.reshape(f, [num_points, num_functions, -1])


def moments_of_draws(log_pi: tf.Tensor, ratio: tf.Tensor) -> PredictiveMoments:
    """Return moments over S equally likely draws of ``log π`` plus any constant, (S, C, n)."""
    # With g = log π + log r: ρ = softmax(g), Z = Σ exp g / Σ exp(log π), and H(ρ) = log Σ exp g − Σ ρ g.
    g = log_pi + tf.math.log(ratio)
    g -= tf.reduce_max(g, axis=1, keepdims=True)
    exp_g = tf.exp(g)
    sum_g = tf.reduce_sum(exp_g, axis=1, keepdims=True)
    rho = exp_g / sum_g
    Z = sum_g / tf.reduce_sum(exp_g / ratio, axis=1, keepdims=True)
    entropy = tf.math.log(sum_g) - tf.reduce_sum(rho * g, axis=1, keepdims=True)
    return PredictiveMoments(
        mean=tf.reduce_mean(Z * rho, axis=0),
        second=tf.reduce_mean(Z * tf.square(rho), axis=0),
        entropy=tf.reduce_mean(Z * entropy, axis=0)[0],
    )


def moments_of_winners(P: tf.Tensor, epsilon: tf.Tensor, ratio: tf.Tensor) -> PredictiveMoments:
    """Return moments if class c wins with probability ``P`` (C, n) and the label is wrong with probability ε."""
    num_classes = P.shape[0]
    same = tf.eye(num_classes, dtype=P.dtype)
    pi = (1.0 - epsilon) * same + epsilon / (num_classes - 1.0) * (1.0 - same)  # (winner, class)
    weighed = pi[:, :, None] * ratio  # (winner, class, n)
    total = tf.reduce_sum(weighed, axis=1)
    rho = weighed / total[:, None]
    entropy = -tf.reduce_sum(tf.math.xlogy(rho, rho), axis=1)
    return PredictiveMoments(
        mean=tf.reduce_sum(P[:, None] * weighed, axis=0),
        second=tf.reduce_sum(P[:, None] * weighed * rho, axis=0),
        entropy=tf.reduce_sum(P * total * entropy, axis=0),
    )


def one_hot(y: tf.Tensor, num_classes: int, dtype: tf.DType, sets: np.ndarray | None = None) -> tf.Tensor:
    """Ones where the label may stand for a class, shape (..., C, n) for labels (..., n).

    Without `sets` (K, C) every label is a class; see :class:`fermiclass.nimgp.labels.LabelTable`.
    """
    of_rows = tf.one_hot(y, num_classes, dtype=dtype) if sets is None else tf.gather(tf.constant(sets, dtype), y)
    return tf.linalg.matrix_transpose(of_rows)
