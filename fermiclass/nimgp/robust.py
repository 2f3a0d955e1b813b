"""Likelihoods of a rule that says which class wins, given latent functions with Gaussian noise: step, probit, logit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from fermiclass.nimgp.posterior import LatentMoments
from fermiclass.nimgp.predictive_moments import (
    PredictiveMoments,
    draws_of_f,
    moments_of_draws,
    moments_of_winners,
    one_hot,
)

_TINY = 1e-30


class Rule(Protocol):
    """Which class wins, given Gaussian values g of the latent functions."""

    num_classes: int

    def of_label(self, latent: LatentMoments, y: tf.Tensor) -> tf.Tensor:
        """Probability ``P_y`` (..., n) that the label ``y`` (..., n) wins."""

    def of_all(self, latent: LatentMoments) -> tf.Tensor:
        """Probability (..., C, n) of each class to win."""


class Largest:
    """The class of the largest of C functions wins.

    ``P_y = ∫ N(g | mean_y, var_y) Π_{c≠y} Φ((g − mean_c) / √var_c) dg``, by Gauss-Hermite quadrature
    (Villacampa-Calvo et al. 2021, equation 13).

    Parameters
    ----------
    num_classes
        C.
    num_points
        Quadrature points.
    """

    def __init__(self, num_classes: int, num_points: int = 20) -> None:
        self.num_classes = num_classes
        nodes, weights = np.polynomial.hermite_e.hermegauss(num_points)
        self.nodes, self.weights = nodes, weights / weights.sum()

    def of_label(self, latent: LatentMoments, y: tf.Tensor) -> tf.Tensor:
        """P_y, shape (..., n)."""
        nodes, weights = tf.constant(self.nodes, latent.mean.dtype), tf.constant(self.weights, latent.mean.dtype)
        own = one_hot(y, self.num_classes, latent.mean.dtype)
        scale = tf.sqrt(latent.var)
        mean_y, scale_y = (tf.reduce_sum(own * values, axis=-2)[..., None] for values in (latent.mean, scale))
        g = (mean_y + scale_y * nodes)[..., None, :, :]  # (..., 1, n, H): where the label's own function is integrated
        z = (g - latent.mean[..., None]) / scale[..., None]  # (..., C, n, H)
        # A product of Φ by logarithms, so that its gradient needs no division by factors that may vanish.
        log_cdf = tf.math.log(tf.maximum(_normal_cdf(z), _TINY))
        return tf.linalg.matvec(tf.exp(tf.reduce_sum((1.0 - own)[..., None] * log_cdf, axis=-3)), weights)

    def of_all(self, latent: LatentMoments) -> tf.Tensor:
        """Shape (..., C, n)."""
        mean, scale = latent.mean, tf.sqrt(latent.var)
        nodes, weights = tf.constant(self.nodes, mean.dtype), tf.constant(self.weights, mean.dtype)
        P = []
        for c in range(self.num_classes):
            others = [k for k in range(self.num_classes) if k != c]
            g = mean[..., c, :, None] + scale[..., c, :, None] * nodes  # (..., n, H)
            below = (g[..., None, :, :] - tf.gather(mean, others, axis=-2)[..., None]) / tf.gather(
                scale, others, axis=-2
            )[..., None]
            P.append(tf.linalg.matvec(tf.reduce_prod(_normal_cdf(below), axis=-3), weights))
        stacked = tf.stack(P, axis=-2)
        return stacked / tf.reduce_sum(stacked, axis=-2, keepdims=True)  # what quadrature leaves of a sum of one


class Sign:
    """Two classes share one function: class 1 wins where it is positive, ``P_1 = Φ(mean / √var)``."""

    num_classes = 2

    def of_label(self, latent: LatentMoments, y: tf.Tensor) -> tf.Tensor:
        """P_y, shape (..., n)."""
        z = latent.mean[..., 0, :] / tf.sqrt(latent.var[..., 0, :])
        return _normal_cdf(tf.where(y == 1, z, -z))

    def of_all(self, latent: LatentMoments) -> tf.Tensor:
        """Shape (..., 2, n)."""
        z = latent.mean / tf.sqrt(latent.var)
        return _normal_cdf(tf.concat([-z, z], axis=-2))


class Robust(gpflow.Module):
    """The label is the class that wins, given ``f + N(0, a)``, with probability 1 − ε, else any other class alike.

    ``E_q log p(y | f) ≥ P_y log(1 − ε) + (1 − P_y) log(ε / (C − 1))`` with the probability P_y that the label wins, an
    equality for a = 0 (Villacampa-Calvo et al. 2021, equations 2 and 18, with the noise in the bound as in Liu et al.,
    "Scalable GP classification with additive noise", equations 8 and 18; ε is the δ of their two classes).

    Parameters
    ----------
    rule
        Which class wins: :class:`Largest` of C functions, or the :class:`Sign` of one.
    noise
        a: 0 for the step likelihood, 1 for the (multinomial) probit, 2.897 for the logit. It is not learned: the bound
        always prefers 0.
    epsilon, learn_epsilon
        Initial ε in (0, 1), and whether it is learned. Fixed at 10⁻³ (the paper's choice) the model is over-confident.
    shape
        Leading axes of ε.
    """

    def __init__(
        self,
        rule: Rule,
        *,
        noise: float = 0.0,
        epsilon: float = 0.05,
        learn_epsilon: bool = True,
        shape: Sequence[int] = (),
        dtype: tf.DType = tf.float64,
    ) -> None:
        super().__init__()
        self.rule = rule
        self.num_classes = rule.num_classes
        self.noise = noise
        self.epsilon = gpflow.Parameter(
            tf.fill([*shape], tf.cast(epsilon, dtype)),
            dtype=dtype,
            transform=tfp.bijectors.Sigmoid(),
            trainable=learn_epsilon,
        )

    def _P_and_epsilon(self, latent: LatentMoments, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        P_y = self.rule.of_label(LatentMoments(latent.mean, latent.var + self.noise), y)
        return P_y, tf.convert_to_tensor(self.epsilon)[..., None]

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``P_y log(1 − ε) + (1 − P_y) log(ε / (C − 1))``, shape (..., n)."""
        P_y, epsilon = self._P_and_epsilon(latent, y)
        right, wrong = tf.math.log1p(-epsilon), tf.math.log(epsilon / (self.num_classes - 1.0))
        return P_y * right + (1.0 - P_y) * wrong

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log [P_y (1 − ε) + (1 − P_y) ε / (C − 1)]``, shape (..., n)."""
        P_y, epsilon = self._P_and_epsilon(latent, y)
        p = P_y * (1.0 - epsilon) + (1.0 - P_y) * epsilon / (self.num_classes - 1.0)
        return tf.math.log(tf.maximum(p, _TINY))  # a learned ε may vanish

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """For a = 0 a sum over which class wins, else quasi-Monte Carlo over f."""
        epsilon = tf.convert_to_tensor(self.epsilon)
        if not self.noise:
            return moments_of_winners(self.rule.of_all(latent), epsilon, ratio)
        f = draws_of_f(latent, num_draws, 16)
        P = self.rule.of_all(LatentMoments(f, tf.fill(tf.shape(f), tf.cast(self.noise, f.dtype))))
        pi = (1.0 - epsilon) * P + epsilon / (self.num_classes - 1.0) * (1.0 - P)
        return moments_of_draws(tf.math.log(pi), ratio)


def _normal_cdf(z: tf.Tensor) -> tf.Tensor:
    return 0.5 * tf.math.erfc(-z / np.sqrt(2.0))
