"""RobustMax likelihoods step, probit and logit: a rule on noisy latent functions decides which class wins."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.likelihoods.base import draws_of_f, moments_of_draws, one_hot
from fermiclass.nimgp.likelihoods.draws import PredictiveMoments
from fermiclass.nimgp.modules import SIGMOID, Module, Parameter
from fermiclass.nimgp.posterior import LatentMoments

_TINY = 1e-30
_REACH = 5.0  # range of the trapezoidal rule in standard deviations: 6e-7 of a Gaussian lies beyond
_POINTS = 81
_POINTS_OF_EQUALS = 25  # where all functions have one variance: the error is below 1e-6


class Argmax:
    """The class with the largest of C functions wins.

    ``P_y = ∫ N(g | mean_y, var_y) Π_{c≠y} Φ((g − mean_c) / √var_c) dg`` (Villacampa-Calvo et al. 2021, equation 13), by
    the trapezoidal rule with 81 points on mean_y ± 5 √var_y, in training and in prediction. P_y is off by less than
    1e-6, 3e-4 and 1e-3 where √var_y is up to 4, 8 and 12 times the smallest √var_c (measured, up to 20 classes).
    """

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes

    def of_label(self, latent: LatentMoments, y: tf.Tensor) -> tf.Tensor:
        """P_y, shape (n,)."""
        nodes, weights = _trapezoidal(_POINTS, latent.mean.dtype)
        own = one_hot(y, self.num_classes, latent.mean.dtype)
        scale = tf.sqrt(latent.var)
        mean_y, scale_y = (tf.reduce_sum(own * values, axis=0)[:, None] for values in (latent.mean, scale))
        g = mean_y + scale_y * nodes  # (n, H): quadrature points of the label's own function
        z = (g - latent.mean[..., None]) / scale[..., None]  # (C, n, H)
        # The product of Φ is computed by logarithms: its gradient then divides by no factor that may be 0.
        log_cdf = tf.math.log(tf.maximum(_normal_cdf(z), _TINY))
        return tf.linalg.matvec(tf.exp(tf.reduce_sum((1.0 - own)[..., None] * log_cdf, axis=0)), weights)

    def of_all(self, latent: LatentMoments, num_points: int = _POINTS) -> tf.Tensor:
        """Probabilities that sum to 1, shape (..., C, n)."""
        mean, scale = latent.mean, tf.sqrt(latent.var)
        nodes, weights = _trapezoidal(num_points, mean.dtype)
        P = []
        for c in range(self.num_classes):
            others = [k for k in range(self.num_classes) if k != c]
            g = mean[..., c, :, None] + scale[..., c, :, None] * nodes  # (..., n, H)
            below = (g[..., None, :, :] - tf.gather(mean, others, axis=-2)[..., None]) / tf.gather(
                scale, others, axis=-2
            )[..., None]
            P.append(tf.linalg.matvec(tf.reduce_prod(_normal_cdf(below), axis=-3), weights))
        stacked = tf.stack(P, axis=-2)
        return stacked / tf.reduce_sum(stacked, axis=-2, keepdims=True)  # quadrature leaves a small error in the sum


class Sign:
    """Two classes share one function: class 1 wins where it is positive, ``P_1 = Φ(mean / √var)``."""

    num_classes = 2

    def of_label(self, latent: LatentMoments, y: tf.Tensor) -> tf.Tensor:
        """P_y, shape (n,)."""
        z = latent.mean[0] / tf.sqrt(latent.var[0])
        return _normal_cdf(tf.where(y == 1, z, -z))

    def of_all(self, latent: LatentMoments, num_points: int = 0) -> tf.Tensor:
        """Probabilities of both classes, shape (..., 2, n), in closed form."""
        z = latent.mean / tf.sqrt(latent.var)
        return _normal_cdf(tf.concat([-z, z], axis=-2))


#: Rule that decides which class wins, given Gaussian values of the latent functions.
Rule = Argmax | Sign


class RobustMax(Module):
    """RobustMax: the label is the class that wins with probability 1 − ε, and any other class with equal probability.

    The rule decides the winner from ``f + N(0, a)``. With the probability P_y that the label wins,
    ``E_q log p(y | f) ≥ P_y log(1 − ε) + (1 − P_y) log(ε / (C − 1))``, with equality for a = 0 (Villacampa-Calvo et al.
    2021, equations 2 and 18). The noise a is in the bound as in Liu et al., "Scalable GP classification with additive
    noise", equations 8 and 18, and is not learned, because the bound always prefers 0. For two classes ε is their δ; it
    is learned if None is given. A set of s classes has the likelihood ``1 − ε + (s − 1) ε/(C − 1)`` where one of them
    wins, and ``s ε/(C − 1)`` elsewhere.
    """

    def __init__(
        self,
        rule: Rule,
        *,
        noise: float = 0.0,
        epsilon: float | None = None,
        dtype: tf.DType = tf.float64,
        sets: np.ndarray | None = None,
    ) -> None:
        super().__init__()
        self.rule, self.num_classes, self.noise, self.sets = rule, rule.num_classes, noise, sets
        self.epsilon = Parameter(epsilon or 0.05, dtype=dtype, transform=SIGMOID, trainable=epsilon is None)

    def _terms(self, latent: LatentMoments, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """``P_y``, ``1 − p(y | f)`` where the label wins, and ``p(y | f)`` where it does not, for each row or all."""
        noisy = LatentMoments(latent.mean, latent.var + self.noise)
        epsilon = tf.convert_to_tensor(self.epsilon)
        each = epsilon / (self.num_classes - 1.0)  # of the classes that do not win
        if self.sets is None:
            return self.rule.of_label(noisy, y), epsilon, each
        own = one_hot(y, self.num_classes, latent.mean.dtype, self.sets)
        size = tf.reduce_sum(own, axis=0)
        P_y = tf.reduce_sum(own * self.rule.of_all(noisy), axis=0)
        return P_y, epsilon - (size - 1.0) * each, size * each

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        P_y, miss, wrong = self._terms(latent, y)
        return P_y * tf.math.log1p(-miss) + (1.0 - P_y) * tf.math.log(wrong)

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log [P_y (1 − ε) + (1 − P_y) ε / (C − 1)]``, shape (n,)."""
        P_y, miss, wrong = self._terms(latent, y)
        return tf.math.log(tf.maximum(P_y * (1.0 - miss) + (1.0 - P_y) * wrong, _TINY))  # a learned ε may vanish

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Moments by a sum over the winner for a = 0, otherwise by quasi-Monte Carlo over f."""
        epsilon = tf.convert_to_tensor(self.epsilon)
        if not self.noise:
            return moments_of_winners(self.rule.of_all(latent), epsilon, ratio)
        f = draws_of_f(latent, num_draws, 16)
        known = LatentMoments(f, tf.fill(tf.shape(f), tf.cast(self.noise, f.dtype)))
        P = self.rule.of_all(known, _POINTS_OF_EQUALS)
        pi = (1.0 - epsilon) * P + epsilon / (self.num_classes - 1.0) * (1.0 - P)
        return moments_of_draws(tf.math.log(pi), ratio)


def moments_of_winners(P: tf.Tensor, epsilon: tf.Tensor, ratio: tf.Tensor) -> PredictiveMoments:
    """Return moments if class c wins with probability ``P`` (C, n) and the label is wrong with probability ε."""
    same = tf.eye(P.shape[0], dtype=P.dtype)
    pi = (1.0 - epsilon) * same + epsilon / (P.shape[0] - 1.0) * (1.0 - same)  # (winner, class)
    weighed = pi[:, :, None] * ratio  # (winner, class, n)
    total = tf.reduce_sum(weighed, axis=1)
    rho = weighed / total[:, None]
    entropy = -tf.reduce_sum(tf.math.xlogy(rho, rho), axis=1)
    return PredictiveMoments(
        mean=tf.reduce_sum(P[:, None] * weighed, axis=0),
        second=tf.reduce_sum(P[:, None] * weighed * rho, axis=0),
        entropy=tf.reduce_sum(P * total * entropy, axis=0),
    )


def _trapezoidal(num_points: int, dtype: tf.DType) -> tuple[tf.Tensor, tf.Tensor]:
    """Nodes and weights (H,) of an average over N(0, 1), by the trapezoidal rule on ±5."""
    nodes = np.linspace(-_REACH, _REACH, num_points)
    density = np.exp(-0.5 * nodes**2)
    return tf.constant(nodes, dtype), tf.constant(density / density.sum(), dtype)


def _normal_cdf(z: tf.Tensor) -> tf.Tensor:
    return 0.5 * tf.math.erfc(-z / np.sqrt(2.0))
