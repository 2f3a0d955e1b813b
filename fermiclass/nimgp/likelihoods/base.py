"""Likelihoods of a class label given latent functions.

Training needs ``E_q log p(y | f)`` for independent Gaussian f^c, or ``log E_q p(y | f)`` if the variance of f is noise.
Prediction needs the moments of the class probabilities ``π(f) = p(y | f)`` under the same Gaussians. Moments of latent
functions have shape ``(..., L, n)``. The leading axes run over models that are trained at once; there may be none.
These models share their draws, so that each learns the same as if trained alone.

C classes have L = C functions. Two classes share one function (L = 1), and a large f makes class 1 likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.likelihoods.predictive_moments import PredictiveMoments
from fermiclass.nimgp.likelihoods.robustmax import Argmax, RobustMax, Sign
from fermiclass.nimgp.likelihoods.softmax import Logistic, LogisticBound, Softmax, SoftmaxBound
from fermiclass.nimgp.names import num_functions
from fermiclass.nimgp.posterior import LatentMoments

#: Variance of the Gaussian noise that is added to each latent function before a rule decides which class wins, by name
#: of the likelihood. With 2.897 the normal distribution is closest to the logistic one (Liu et al., section II.A).
NOISE_VARIANCE = {"step": 0.0, "probit": 1.0, "logit": 2.897}


class Likelihood(Protocol):
    """Interface of a likelihood for training and prediction."""

    num_classes: int

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``E_q log p(y | f)`` for labels ``y`` (..., n), shape (..., n)."""

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log E_q p(y | f)`` for labels ``y`` (..., n), shape (..., n)."""

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Moments of the class probabilities of one model, with weights ``ratio`` (C, n); see `PredictiveMoments`.

        Every ``num_draws`` consecutive points are draws of one noisy input.
        """


class Predictive:
    """A likelihood that gives ``log E_q p(y | f)`` instead of ``E_q log p(y | f)``.

    This is the logarithm of the probability that the model predicts for a training label. The uncertainty of f can then
    express how certain the class is. The evidence lower bound penalises every wrong f instead. The objective is not a
    bound of the evidence but a regularised log loss (Wei, Sheth & Khardon 2021, "Direct loss minimization for sparse
    Gaussian processes"; for regression Jankowiak, Pleiss & Gardner 2020, "Parametric Gaussian process regressors").
    """

    def __init__(self, likelihood: Likelihood) -> None:
        self.likelihood = likelihood
        self.num_classes = likelihood.num_classes

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log E_q p(y | f)``, shape (..., n)."""
        return self.likelihood.log_predictive(latent, y, seed)

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log E_q p(y | f)``, shape (..., n)."""
        return self.likelihood.log_predictive(latent, y, seed)

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Moments of the class probabilities of the likelihood."""
        return self.likelihood.predict(latent, ratio, num_draws)


def make_likelihood(
    name: str,
    num_classes: int,
    *,
    epsilon: float | None = None,
    shape: Sequence[int] = (),
    dtype: tf.DType = tf.float64,
    sets: np.ndarray | None = None,
) -> Likelihood:
    """Make a likelihood by its name.

    Parameters
    ----------
    name
        One of :data:`fermiclass.nimgp.names.LIKELIHOODS`.
    num_classes
        C.
    epsilon
        ε of step, probit and logit: a fixed value, or None to learn it.
    shape
        Leading axes of ε.
    sets
        Classes that each label may stand for, ``(K, C)``; None where every label is a class. Two classes have no set
        that says anything.
    """
    binary = num_functions(num_classes) == 1
    if name == "softmax":
        return Logistic() if binary else Softmax(num_classes, sets=sets)
    if name == "softmax-bound":
        return LogisticBound() if binary else SoftmaxBound(num_classes, sets=sets)
    rule = Sign() if binary else Argmax(num_classes)
    noise = NOISE_VARIANCE[name]
    if epsilon is None:
        return RobustMax(rule, noise=noise, shape=shape, dtype=dtype, sets=sets)
    return RobustMax(rule, noise=noise, epsilon=epsilon, learn_epsilon=False, shape=shape, dtype=dtype, sets=sets)
