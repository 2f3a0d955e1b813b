"""Likelihoods of a class label given C latent functions.

Training needs ``E_q log p(y | f)`` for independent Gaussian f^c; prediction needs the moments of the class
probabilities ``π(f) = p(y | f)`` under the same Gaussians. Moments of latent functions have shape ``(C, n)``.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from scipy.special import ndtri
from scipy.stats import qmc

from fermiclass.nimgp.posterior import LatentMoments

_TINY = 1e-30
_POINTS_IN_ALL = 256  # at least so many points of f for each input


class PredictiveMoments(NamedTuple):
    """Moments over f of class probabilities π(f), each class weighed by r_c.

    With ``Z = Σ_c r_c π_c`` and the weighed probabilities ``ρ_c = r_c π_c / Z``: ``E[Z ρ_c]`` (C, n), ``E[Z ρ_c²]``
    (C, n) and ``E[Z H(ρ)]`` (n,), with the entropy H in nats. With all r_c = 1, Z is 1 and ρ is π.
    """

    mean: tf.Tensor
    second: tf.Tensor
    entropy: tf.Tensor


class Likelihood(Protocol):
    """What training and prediction need of a likelihood."""

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``E_q log p(y | f)`` for labels ``y`` (n,), shape (n,)."""

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Moments of the class probabilities, with weights ``ratio`` (C, n); see `PredictiveMoments`.

        Each ``num_draws`` points in a row are draws of one noisy input.
        """


class Step(gpflow.Module):
    """Robust step likelihood: the label is ``argmax_c f^c`` with probability 1 − ε, else any other class alike.

    ``E_q log p(y | f) = P_y log(1 − ε) + (1 − P_y) log(ε / (C − 1))`` with the probability that f^y is the largest,
    ``P_y = ∫ N(g | mean_y, var_y) Π_{c≠y} Φ((g − mean_c) / √var_c) dg``, by Gauss-Hermite quadrature
    (Villacampa-Calvo et al. 2021, equations 2, 13 and 18).

    Parameters
    ----------
    num_classes
        C.
    epsilon, learn_epsilon
        Initial ε in (0, 1), and whether it is learned. Fixed at 10⁻³ (the paper's choice) the model is over-confident.
    num_points
        Quadrature points.
    """

    def __init__(
        self,
        num_classes: int,
        *,
        epsilon: float = 0.05,
        learn_epsilon: bool = True,
        num_points: int = 20,
        dtype: tf.DType = tf.float64,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.epsilon = gpflow.Parameter(
            tf.cast(epsilon, dtype), dtype=dtype, transform=tfp.bijectors.Sigmoid(), trainable=learn_epsilon
        )
        nodes, weights = np.polynomial.hermite_e.hermegauss(num_points)
        self.nodes, self.weights = nodes, weights / weights.sum()

    def _probability_largest(
        self, mean: tf.Tensor, var: tf.Tensor, latent: LatentMoments, other: tf.Tensor
    ) -> tf.Tensor:
        """Probability (n,) that a function with these moments (n,) exceeds each of the ``other`` (C, n) ∈ {0, 1}."""
        nodes, weights = tf.constant(self.nodes, mean.dtype), tf.constant(self.weights, mean.dtype)
        g = mean[:, None] + tf.sqrt(var)[:, None] * nodes  # (n, H): where f^y is integrated
        z = (g - latent.mean[..., None]) / tf.sqrt(latent.var)[..., None]  # (C, n, H)
        # A product of Φ by logarithms, so that its gradient needs no division by factors that may vanish.
        log_cdf = tf.math.log(tf.maximum(0.5 * tf.math.erfc(-z / np.sqrt(2.0)), _TINY))
        return tf.linalg.matvec(tf.exp(tf.reduce_sum(other[..., None] * log_cdf, axis=0)), weights)

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``P_y log(1 − ε) + (1 − P_y) log(ε / (C − 1))``, shape (n,)."""
        own = tf.one_hot(y, self.num_classes, axis=0, dtype=latent.mean.dtype)
        P_y = self._probability_largest(
            tf.reduce_sum(own * latent.mean, axis=0), tf.reduce_sum(own * latent.var, axis=0), latent, 1.0 - own
        )
        right, wrong = tf.math.log1p(-self.epsilon), tf.math.log(self.epsilon / (self.num_classes - 1.0))
        return P_y * right + (1.0 - P_y) * wrong

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Sum over which function is the largest: ``π_c`` is 1 − ε for that class and ε / (C − 1) for the others."""
        nodes, weights = tf.constant(self.nodes, latent.mean.dtype), tf.constant(self.weights, latent.mean.dtype)
        scale = tf.sqrt(latent.var)
        P = []
        for c in range(self.num_classes):
            others = [k for k in range(self.num_classes) if k != c]
            g = latent.mean[c, :, None] + scale[c, :, None] * nodes  # (n, H)
            z = (g - tf.gather(latent.mean, others)[..., None]) / tf.gather(scale, others)[..., None]
            P.append(tf.linalg.matvec(tf.reduce_prod(0.5 * tf.math.erfc(-z / np.sqrt(2.0)), axis=0), weights))
        P = tf.stack(P)
        P /= tf.reduce_sum(P, axis=0)  # what quadrature leaves of a sum of one
        eps = tf.convert_to_tensor(self.epsilon)
        same = tf.eye(self.num_classes, dtype=P.dtype)
        pi = (1.0 - eps) * same + eps / (self.num_classes - 1.0) * (1.0 - same)  # (winner, class)
        weighed = pi[:, :, None] * ratio  # (winner, class, n)
        total = tf.reduce_sum(weighed, axis=1)
        rho = weighed / total[:, None]
        entropy = -tf.reduce_sum(tf.math.xlogy(rho, rho), axis=1)
        return PredictiveMoments(
            mean=tf.reduce_sum(P[:, None] * weighed, axis=0),
            second=tf.reduce_sum(P[:, None] * weighed * rho, axis=0),
            entropy=tf.reduce_sum(P * total * entropy, axis=0),
        )


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
        """Monte Carlo ``mean_y − E_q log Σ_c exp(f^c)``, shape (n,)."""
        shape = tf.concat([[self.num_draws // 2], tf.shape(latent.mean)], axis=0)
        half = tf.sqrt(latent.var) * tf.random.stateless_normal(shape, seed, dtype=latent.mean.dtype)
        f = latent.mean + tf.concat([half, -half], axis=0)  # (S, C, n)
        return _take_class(latent.mean, y) - tf.reduce_mean(tf.reduce_logsumexp(f, axis=1), axis=0)

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Quasi-Monte Carlo moments of ``softmax(f)``.

        The draws of one noisy input have a stretch of one long Sobol sequence each: together they cover f densely.
        """
        num_points = max(self.num_points, _POINTS_IN_ALL // num_draws)
        points = gaussian_points(num_draws * num_points, self.num_classes)
        points = points.reshape(num_draws, num_points, self.num_classes).transpose(1, 2, 0)[:, :, None, :]
        mean, scale = (tf.reshape(a, [self.num_classes, -1, num_draws]) for a in (latent.mean, tf.sqrt(latent.var)))
        f = mean + scale * tf.constant(points, latent.mean.dtype)
        f = tf.reshape(f, [num_points, self.num_classes, -1])  # (S, C, n)
        # ρ is the softmax of f + log r, Z its normaliser over that of f; H(ρ) = log Σ exp g − Σ ρ g with g = f + log r.
        g = f + tf.math.log(ratio)
        largest = tf.reduce_max(g, axis=1, keepdims=True)
        g -= largest
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


def gaussian_points(num_points: int, dim: int) -> np.ndarray:
    """Quasi-Monte Carlo draws of N(0, I), shape ``(num_points, dim)``: a scrambled Sobol set, always the same.

    A power of 2 is the best choice for ``num_points``, as Sobol sets are balanced only then.
    """
    balanced = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(20210107)).random_base2(
        int(np.ceil(np.log2(num_points)))
    )
    return ndtri(balanced[:num_points])


def _take_class(values: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """Of ``values`` (C, n) the row of each point's own label, shape (n,)."""
    return tf.reduce_sum(values * tf.one_hot(y, tf.shape(values)[0], axis=0, dtype=values.dtype), axis=0)
