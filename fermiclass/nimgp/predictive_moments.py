"""Moments of class probabilities over the latent functions, which prediction needs of every likelihood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from scipy.special import ndtri
from scipy.stats import qmc

from fermiclass.nimgp.posterior import LatentMoments

_POINTS_IN_ALL = 256  # at least so many points of f for each input


class PredictiveMoments(NamedTuple):
    """Moments over f of class probabilities π(f), each class weighed by r_c.

    With ``Z = Σ_c r_c π_c`` and the weighed probabilities ``ρ_c = r_c π_c / Z``: ``E[Z ρ_c]`` (C, n), ``E[Z ρ_c²]``
    (C, n) and ``E[Z H(ρ)]`` (n,), with the entropy H in nats. With all r_c = 1, Z is 1 and ρ is π.
    """

    mean: tf.Tensor
    second: tf.Tensor
    entropy: tf.Tensor


def gaussian_points(num_points: int, dim: int) -> np.ndarray:
    """Quasi-Monte Carlo draws of N(0, I), shape ``(num_points, dim)``: a scrambled Sobol set, always the same.

    A power of 2 is the best choice for ``num_points``, as Sobol sets are balanced only then.
    """
    balanced = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(20210107)).random_base2(
        int(np.ceil(np.log2(num_points)))
    )
    return ndtri(balanced[:num_points])


def draws_of_f(latent: LatentMoments, num_draws: int, num_points: int) -> tf.Tensor:
    """Quasi-Monte Carlo points of L latent functions, shape (S, L, n).

    The draws of one noisy input have a stretch of one long Sobol sequence each: together they cover f densely.
    """
    num_functions = latent.mean.shape[0]
    num_points = max(num_points, _POINTS_IN_ALL // num_draws)
    points = gaussian_points(num_draws * num_points, num_functions)
    points = points.reshape(num_draws, num_points, num_functions).transpose(1, 2, 0)[:, :, None, :]
    mean, scale = (tf.reshape(a, [num_functions, -1, num_draws]) for a in (latent.mean, tf.sqrt(latent.var)))
    f = mean + scale * tf.constant(points, latent.mean.dtype)
    return tf.reshape(f, [num_points, num_functions, -1])


def moments_of_draws(log_pi: tf.Tensor, ratio: tf.Tensor) -> PredictiveMoments:
    """Moments over S equally likely ``log π + any constant`` (S, C, n)."""
    # ρ is the softmax of log π + log r, Z its normaliser over that of π; H(ρ) = log Σ exp g − Σ ρ g, g = log π + log r.
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
    """Moments where class c wins with probability ``P`` (C, n), and the label is another with probability ε."""
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


def one_hot(y: tf.Tensor, num_classes: int, dtype: tf.DType) -> tf.Tensor:
    """Ones where a class is the label, shape (..., C, n) for labels (..., n)."""
    return tf.linalg.matrix_transpose(tf.one_hot(y, num_classes, dtype=dtype))
