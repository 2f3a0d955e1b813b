"""Likelihoods of classes by name, and a likelihood for wrong labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.likelihoods.base import (
    FAR,
    ClassLikelihood,
    Likelihood,
    PredictiveMoments,
    antithetic_draws,
    both_functions,
    one_hot,
)
from fermiclass.nimgp.likelihoods.robustmax import Argmax, RobustMax, Sign
from fermiclass.nimgp.modules import SIGMOID, Beta, Module, Parameter
from fermiclass.nimgp.posterior import LatentMoments


class Softmax(ClassLikelihood):
    """``p(y | f) = exp(f^y) / Σ_c exp(f^c)``. Two classes may share one f: the softmax of 0 and f."""

    def log_p(self, f: tf.Tensor) -> tf.Tensor:
        """``f^c − log Σ_c exp(f^c)``."""
        f = both_functions(f)
        return f - tf.reduce_logsumexp(f, axis=-2, keepdims=True)

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``mean_y − E_q log Σ_c exp(f^c)``, shape (n,): only the second term needs draws."""
        if self.sets is not None or latent.mean.shape[0] == 1:
            return super().variational_expectations(latent, y, seed)
        own = one_hot(y, self.num_classes, latent.mean.dtype)
        normaliser = tf.reduce_logsumexp(antithetic_draws(latent, self.num_draws, seed), axis=-2)
        return tf.reduce_sum(own * latent.mean, axis=-2) - tf.reduce_mean(normaliser, axis=0)


class SoftmaxBound(Softmax):
    """The softmax, trained by a bound in closed form. Its predictions are those of the softmax.

    ``E_q log p(y | f) ≥ −log(1 + exp(var_y/2 − mean_y) Σ_{c≠y} exp(mean_c + var_c/2))``
    (Liu et al., "Scalable GP classification with additive noise", equation 25).
    """

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Return the bound, shape (n,); it needs no draws.

        For a set S, with ``log Σ_{c in S} exp(f^c) ≥ Σ_{c in S} w_c (f^c − log w_c)`` for any weights w that sum to 1,
        here the softmax of the means in S, it is ``−log(1 + exp(Σ_{c in S} [w_c (log w_c − mean_c) + w_c² var_c/2])
        Σ_{c not in S} exp(mean_c + var_c/2))``; for a single class this is the same.
        """
        mean, var = both_functions(latent.mean), both_functions(latent.var)
        own = one_hot(y, self.num_classes, mean.dtype, self.sets)
        log_w = own * (mean - tf.reduce_logsumexp(mean - (1.0 - own) * FAR, axis=-2, keepdims=True))
        w = own * tf.exp(log_w)
        of_set = tf.reduce_sum(w * (log_w - mean) + 0.5 * w**2 * var, axis=-2)
        of_others = tf.reduce_logsumexp(mean + 0.5 * var - own * FAR, axis=-2)
        return -tf.math.softplus(of_set + of_others)


#: Variance of the Gaussian noise that is added to each latent function before a rule decides which class wins, by name
#: of the likelihood. With 2.897 the normal distribution is closest to the logistic one (Liu et al., section II.A).
NOISE_VARIANCE = {"step": 0.0, "probit": 1.0, "logit": 2.897}

#: Likelihoods that need no other parameters; :data:`fermiclass.nimgp.names.LIKELIHOODS` lists all names for commands.
NAMED: Mapping[str, Callable[..., Likelihood]] = {"softmax": Softmax, "softmax-bound": SoftmaxBound}

PRIOR = (1.0, 9.0)  #: Parameters of the Beta prior of ρ (Hernández-Lobato et al. 2011, section 2).


def make_likelihood(
    name: str,
    num_classes: int,
    *,
    epsilon: float | None = None,
    dtype: tf.DType = tf.float64,
    sets: np.ndarray | None = None,
) -> Likelihood:
    """Make a likelihood by its name.

    Two classes share one latent function. None learns the ε of step, probit and logit. `sets` are those of
    :class:`fermiclass.nimgp.labels.LabelTable`.
    """
    if name in NAMED:
        return NAMED[name](num_classes, sets=sets)
    rule = Sign() if num_classes == 2 else Argmax(num_classes)
    learned = epsilon is None
    start = 0.05 if epsilon is None else epsilon
    return RobustMax(rule, noise=NOISE_VARIANCE[name], epsilon=start, learn_epsilon=learned, dtype=dtype, sets=sets)


class Contaminated(Module):
    """``p(y | f, z) = p(y | f)^{1−z} (1/C)^z`` with ``z ~ Bern(ρ)``: with probability ρ a label is random.

    See "Wrong labels" in ``docs/development/mathematics.md``. Predictions are of the classes, not of the labels.

    A wrong label is a set of s classes with probability s/C.

    `likelihood`: p(y | f) of right labels.
    `rate`, `learn_rate`: initial ρ in (0, 1), by default the mean of its prior Beta(1, 9), and whether ρ is learned.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        *,
        rate: float = 0.1,
        learn_rate: bool = True,
        dtype: tf.DType = tf.float64,
    ) -> None:
        super().__init__()
        self.likelihood = likelihood
        self.num_classes, self.sets = likelihood.num_classes, likelihood.sets
        prior = Beta(*PRIOR) if learn_rate else None
        self.rate = Parameter(rate, dtype=dtype, transform=SIGMOID, prior=prior, trainable=learn_rate)

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log[(1 − ρ) exp(E_q log p(y | f)) + ρ/C]``, shape (n,)."""
        return self._mixed(self.likelihood.variational_expectations(latent, y, seed), y)

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log[(1 − ρ) E_q p(y | f) + ρ/C]``, shape (n,)."""
        return self._mixed(self.likelihood.log_predictive(latent, y, seed), y)

    def _mixed(self, log_p: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        rate = tf.convert_to_tensor(self.rate)
        guess = tf.math.log(rate / float(self.num_classes))
        if self.sets is not None:
            guess += tf.math.log(tf.gather(tf.constant(self.sets.sum(axis=1), guess.dtype), y))
        return guess + tf.math.softplus(tf.math.log1p(-rate) + log_p - guess)

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Moments of the class probabilities of the likelihood of right labels."""
        return self.likelihood.predict(latent, ratio, num_draws)
