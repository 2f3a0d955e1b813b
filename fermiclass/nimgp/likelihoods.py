"""Likelihoods of a class label given C latent functions.

Training needs ``E_q log p(y | f)`` for independent Gaussian f^c, or ``log E_q p(y | f)`` where f's spread is noise;
prediction needs the moments of the class probabilities ``π(f) = p(y | f)`` under the same Gaussians. Moments of latent
functions have shape ``(..., C, n)``; the leading axes are those of models that are trained at once, and may be none.
Draws are shared by these models: what one learns does not depend on which others are trained beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from scipy.special import ndtri
from scipy.stats import qmc

from fermiclass.nimgp.posterior import LatentMoments

#: Variance of the Gaussian noise on each latent function whose largest value is the label, by the likelihood's name;
#: 2.897 makes the argmax most like the softmax (Villacampa-Calvo & Hernández-Lobato, section III).
ARGMAX_NOISE = {"step": 0.0, "probit": 1.0, "logit": 2.897}

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
        """``E_q log p(y | f)`` for labels ``y`` (..., n), shape (..., n)."""

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log E_q p(y | f)`` for labels ``y`` (..., n), shape (..., n)."""

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Moments of the class probabilities of one model, with weights ``ratio`` (C, n); see `PredictiveMoments`.

        Each ``num_draws`` points in a row are draws of one noisy input.
        """


class Argmax(gpflow.Module):
    """The label is ``argmax_c f^c + N(0, a)`` with probability 1 − ε, else any other class alike.

    ``E_q log p(y | f) ≥ P_y log(1 − ε) + (1 − P_y) log(ε / (C − 1))``, an equality for the step likelihood, with the
    probability that g^y is the largest,
    ``P_y = ∫ N(g | mean_y, var_y + a) Π_{c≠y} Φ((g − mean_c) / √(var_c + a)) dg``, by Gauss-Hermite quadrature
    (Villacampa-Calvo et al. 2021, equations 2, 13 and 18; the noise takes part in the bound as in Villacampa-Calvo &
    Hernández-Lobato's additive-noise classifiers).

    Parameters
    ----------
    num_classes
        C.
    noise
        a: 0 for the step likelihood, 1 for the multinomial probit, 2.897 for the multinomial logit. It is not learned:
        the bound always prefers 0.
    epsilon, learn_epsilon
        Initial ε in (0, 1), and whether it is learned. Fixed at 10⁻³ (the paper's choice) the model is over-confident.
    num_points
        Quadrature points.
    shape
        Leading axes of ε.
    """

    def __init__(
        self,
        num_classes: int,
        *,
        noise: float = 0.0,
        epsilon: float = 0.05,
        learn_epsilon: bool = True,
        num_points: int = 20,
        shape: Sequence[int] = (),
        dtype: tf.DType = tf.float64,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.noise = noise
        self.epsilon = gpflow.Parameter(
            tf.fill([*shape], tf.cast(epsilon, dtype)),
            dtype=dtype,
            transform=tfp.bijectors.Sigmoid(),
            trainable=learn_epsilon,
        )
        nodes, weights = np.polynomial.hermite_e.hermegauss(num_points)
        self.nodes, self.weights = nodes, weights / weights.sum()

    def _probability_largest(self, latent: LatentMoments, y: tf.Tensor) -> tf.Tensor:
        """P_y, shape (..., n)."""
        nodes, weights = tf.constant(self.nodes, latent.mean.dtype), tf.constant(self.weights, latent.mean.dtype)
        own = _one_hot(y, self.num_classes, latent.mean.dtype)
        scale = tf.sqrt(latent.var + self.noise)
        mean_y, scale_y = (tf.reduce_sum(own * values, axis=-2)[..., None] for values in (latent.mean, scale))
        g = (mean_y + scale_y * nodes)[..., None, :, :]  # (..., 1, n, H): where the label's own function is integrated
        z = (g - latent.mean[..., None]) / scale[..., None]  # (..., C, n, H)
        # A product of Φ by logarithms, so that its gradient needs no division by factors that may vanish.
        log_cdf = tf.math.log(tf.maximum(0.5 * tf.math.erfc(-z / np.sqrt(2.0)), _TINY))
        return tf.linalg.matvec(tf.exp(tf.reduce_sum((1.0 - own)[..., None] * log_cdf, axis=-3)), weights)

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``P_y log(1 − ε) + (1 − P_y) log(ε / (C − 1))``, shape (..., n)."""
        P_y = self._probability_largest(latent, y)
        epsilon = tf.convert_to_tensor(self.epsilon)[..., None]
        right, wrong = tf.math.log1p(-epsilon), tf.math.log(epsilon / (self.num_classes - 1.0))
        return P_y * right + (1.0 - P_y) * wrong

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log [P_y (1 − ε) + (1 − P_y) ε / (C − 1)]``, shape (..., n)."""
        P_y = self._probability_largest(latent, y)
        epsilon = tf.convert_to_tensor(self.epsilon)[..., None]
        return tf.math.log(P_y * (1.0 - epsilon) + (1.0 - P_y) * epsilon / (self.num_classes - 1.0))

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """For a = 0 a sum over which function is the largest, else quasi-Monte Carlo over f."""
        eps = tf.convert_to_tensor(self.epsilon)
        if self.noise:
            f = _draws_of_f(latent, num_draws, 16)
            P = self._probabilities(f, tf.fill(tf.shape(f), tf.cast(self.noise, f.dtype)))
            pi = (1.0 - eps) * P + eps / (self.num_classes - 1.0) * (1.0 - P)
            return _weighed_moments(tf.math.log(pi), ratio)
        P = self._probabilities(latent.mean, latent.var)
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

    def _probabilities(self, mean: tf.Tensor, var: tf.Tensor) -> tf.Tensor:
        """Probability (..., C, n) of each function to be the largest."""
        nodes, weights = tf.constant(self.nodes, mean.dtype), tf.constant(self.weights, mean.dtype)
        scale = tf.sqrt(var)
        P = []
        for c in range(self.num_classes):
            others = [k for k in range(self.num_classes) if k != c]
            g = mean[..., c, :, None] + scale[..., c, :, None] * nodes  # (..., n, H)
            z = (g[..., None, :, :] - tf.gather(mean, others, axis=-2)[..., None]) / tf.gather(scale, others, axis=-2)[
                ..., None
            ]
            P.append(tf.linalg.matvec(tf.reduce_prod(0.5 * tf.math.erfc(-z / np.sqrt(2.0)), axis=-3), weights))
        stacked = tf.stack(P, axis=-2)
        return stacked / tf.reduce_sum(stacked, axis=-2, keepdims=True)  # what quadrature leaves of a sum of one


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

    def _draws(self, latent: LatentMoments, seed: tf.Tensor) -> tf.Tensor:
        """Antithetic draws of f, shape (S, ..., C, n), their scatter shared by all leading axes."""
        num_classes, num_inputs = tf.unstack(tf.shape(latent.mean)[-2:])
        # A row at a time: what a row draws does not depend on how many follow it.
        half = tf.transpose(
            tf.random.stateless_normal([num_inputs, num_classes, self.num_draws // 2], seed, dtype=latent.mean.dtype)
        )
        for _ in range(len(latent.mean.shape) - 2):
            half = half[:, None]
        half = tf.sqrt(latent.var) * half
        return latent.mean + tf.concat([half, -half], axis=0)

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Monte Carlo ``mean_y − E_q log Σ_c exp(f^c)``, shape (..., n)."""
        own = _one_hot(y, self.num_classes, latent.mean.dtype)
        normaliser = tf.reduce_mean(tf.reduce_logsumexp(self._draws(latent, seed), axis=-2), axis=0)
        return tf.reduce_sum(own * latent.mean, axis=-2) - normaliser

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Monte Carlo ``log E_q softmax(f)_y``, shape (..., n); in expectation a lower bound."""
        f = self._draws(latent, seed)
        own = _one_hot(y, self.num_classes, latent.mean.dtype)
        log_p = tf.reduce_sum(own * f, axis=-2) - tf.reduce_logsumexp(f, axis=-2)
        return tf.reduce_logsumexp(log_p, axis=0) - np.log(self.num_draws)

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Quasi-Monte Carlo moments of ``softmax(f)``."""
        f = _draws_of_f(latent, num_draws, self.num_points)
        return _weighed_moments(f - tf.reduce_max(f, axis=1, keepdims=True), ratio)


class SoftmaxBound(Softmax):
    """The softmax, trained by a bound in closed form; it predicts as the softmax does.

    ``E_q log p(y | f) ≥ −log(1 + exp(var_y/2 − mean_y) Σ_{c≠y} exp(mean_c + var_c/2))``
    (Villacampa-Calvo & Hernández-Lobato, equation 25).
    """

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Return the bound, shape (..., n); it needs no draws."""
        own = _one_hot(y, self.num_classes, latent.mean.dtype)
        sign = 1.0 - 2.0 * own
        exponent = latent.mean * sign + 0.5 * latent.var  # of c ≠ y, and var_y/2 − mean_y
        of_y = tf.reduce_sum(own * exponent, axis=-2)
        of_others = tf.reduce_logsumexp(exponent - own * 1e30, axis=-2)
        return -tf.math.softplus(of_y + of_others)


def gaussian_points(num_points: int, dim: int) -> np.ndarray:
    """Quasi-Monte Carlo draws of N(0, I), shape ``(num_points, dim)``: a scrambled Sobol set, always the same.

    A power of 2 is the best choice for ``num_points``, as Sobol sets are balanced only then.
    """
    balanced = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(20210107)).random_base2(
        int(np.ceil(np.log2(num_points)))
    )
    return ndtri(balanced[:num_points])


def _draws_of_f(latent: LatentMoments, num_draws: int, num_points: int) -> tf.Tensor:
    """Quasi-Monte Carlo points of f, shape (S, C, n).

    The draws of one noisy input have a stretch of one long Sobol sequence each: together they cover f densely.
    """
    num_classes = latent.mean.shape[0]
    num_points = max(num_points, _POINTS_IN_ALL // num_draws)
    points = gaussian_points(num_draws * num_points, num_classes)
    points = points.reshape(num_draws, num_points, num_classes).transpose(1, 2, 0)[:, :, None, :]
    mean, scale = (tf.reshape(a, [num_classes, -1, num_draws]) for a in (latent.mean, tf.sqrt(latent.var)))
    f = mean + scale * tf.constant(points, latent.mean.dtype)
    return tf.reshape(f, [num_points, num_classes, -1])


def _weighed_moments(log_pi: tf.Tensor, ratio: tf.Tensor) -> PredictiveMoments:
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


def _one_hot(y: tf.Tensor, num_classes: int, dtype: tf.DType) -> tf.Tensor:
    """Ones where a class is the label, shape (..., C, n) for labels (..., n)."""
    return tf.linalg.matrix_transpose(tf.one_hot(y, num_classes, dtype=dtype))
