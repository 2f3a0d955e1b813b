"""Likelihoods of a class label given latent functions.

Training needs ``E_q log p(y | f)`` for independent Gaussian f^c, or ``log E_q p(y | f)`` where f's spread is noise;
prediction needs the moments of the class probabilities ``π(f) = p(y | f)`` under the same Gaussians. Moments of latent
functions have shape ``(..., L, n)``; the leading axes are those of models that are trained at once, and may be none.
Draws are shared by these models: what one learns does not depend on which others are trained beside it.

C classes have L = C functions, but for two classes, which share one: class 1 is the one that a large f speaks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import tensorflow as tf

from fermiclass.nimgp.names import num_functions
from fermiclass.nimgp.posterior import LatentMoments
from fermiclass.nimgp.predictive_moments import PredictiveMoments
from fermiclass.nimgp.robust import Largest, Robust, Sign
from fermiclass.nimgp.softmax import Logistic, LogisticBound, Softmax, SoftmaxBound

#: Variance of the Gaussian noise on each latent function before a rule says which class wins, by the likelihood's name;
#: with 2.897 the normal distribution is most like the logistic one (Liu et al., section II.A).
NOISE_VARIANCE = {"step": 0.0, "probit": 1.0, "logit": 2.897}


class Likelihood(Protocol):
    """What training and prediction need of a likelihood."""

    num_classes: int

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``E_q log p(y | f)`` for labels ``y`` (..., n), shape (..., n)."""

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log E_q p(y | f)`` for labels ``y`` (..., n), shape (..., n)."""

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Moments of the class probabilities of one model, with weights ``ratio`` (C, n); see `PredictiveMoments`.

        Each ``num_draws`` points in a row are draws of one noisy input.
        """


class Predictive:
    """A likelihood whose ``log E_q p(y | f)`` is maximised in the place of ``E_q log p(y | f)``.

    That is the logarithm of what is predicted for a training source: the uncertainty of f may then say how surely its
    class is known, where the bound pays for every f that is wrong. What is maximised is no bound of the evidence, but a
    regularised log loss (Wei, Sheth & Khardon 2021, "Direct loss minimization for sparse Gaussian processes"; for
    regression Jankowiak, Pleiss & Gardner 2020, "Parametric Gaussian process regressors").
    """

    def __init__(self, likelihood: Likelihood) -> None:
        self.likelihood = likelihood
        self.num_classes = likelihood.num_classes

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log E_q p(y | f)``, shape (..., n)."""
        return self.likelihood.log_predictive(latent, y, seed)

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Return the same."""
        return self.likelihood.log_predictive(latent, y, seed)

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """As the likelihood does."""
        return self.likelihood.predict(latent, ratio, num_draws)


def make_likelihood(
    name: str,
    num_classes: int,
    *,
    epsilon: float | None = None,
    shape: Sequence[int] = (),
    dtype: tf.DType = tf.float64,
) -> Likelihood:
    """Make a likelihood by its name.

    Parameters
    ----------
    name
        One of :data:`fermiclass.nimgp.names.LIKELIHOODS`.
    num_classes
        C.
    epsilon
        Of step, probit and logit: a fixed value, or None to learn it.
    shape
        Leading axes of ε.
    """
    binary = num_functions(num_classes) == 1
    if name == "softmax":
        return Logistic() if binary else Softmax(num_classes)
    if name == "softmax-bound":
        return LogisticBound() if binary else SoftmaxBound(num_classes)
    rule = Sign() if binary else Largest(num_classes)
    noise = NOISE_VARIANCE[name]
    if epsilon is None:
        return Robust(rule, noise=noise, shape=shape, dtype=dtype)
    return Robust(rule, noise=noise, epsilon=epsilon, learn_epsilon=False, shape=shape, dtype=dtype)
