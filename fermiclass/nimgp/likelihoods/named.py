"""Likelihoods of classes by name, and labels that may be wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.likelihoods.base import FAR, ClassLikelihood, Expectation, Likelihood, both_functions, one_hot
from fermiclass.nimgp.likelihoods.robustmax import Argmax, RobustMax, Sign
from fermiclass.nimgp.modules import Parameter
from fermiclass.nimgp.posterior import LatentMoments


class Softmax(ClassLikelihood):
    """``p(y | f) = exp(f^y) / Σ_c exp(f^c)``. Two classes may share one f: the softmax of 0 and f."""

    def log_p(self, f: tf.Tensor) -> tf.Tensor:
        return f - tf.reduce_logsumexp(f, axis=-2, keepdims=True)

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        return self._of_draws(latent, y, seed, predictive=False)

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        return self._of_draws(latent, y, seed, predictive=True)

    def _of_draws(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor, *, predictive: bool) -> tf.Tensor:
        """Return a mean over draws of ``log p(y | f)``, or the logarithm of that of ``p(y | f)`` if `predictive`, (n,).

        Its derivative by f^c at a draw with the share w, ``w (own_c / Σ_{own} exp f − 1 / Σ exp f) exp f^c``, is given:
        the automatic one has several times as many operations. There are no second derivatives.
        """
        weights, points = self._points(latent, seed)  # (S, 1) and (S, L, n)
        own = one_hot(y, self.num_classes, points.dtype, self.sets)
        moments = latent.mean, tf.sqrt(latent.var)
        centre, scale = (tf.stop_gradient(each) for each in moments)
        f = both_functions(centre + scale * points)
        # A class further below the largest than numbers reach stays there, with the gradient of its probability.
        least = 0.9 * float(np.log(np.finfo(f.dtype.as_numpy_dtype).tiny))
        e = tf.exp(tf.maximum(f - tf.reduce_max(f, axis=-2, keepdims=True), least))
        of_all, of_own = tf.reduce_sum(e, axis=-2), tf.reduce_sum(own * e, axis=-2)
        log_p, w = tf.math.log(of_own / of_all), weights
        if predictive:
            found = tf.reduce_logsumexp(tf.math.log(weights) + log_p, axis=0)
            w *= tf.exp(log_p - found)
        else:
            found = tf.reduce_sum(weights * log_p, axis=0)
        slope = ((own * (w / of_own)[:, None] - (w / of_all)[:, None]) * e)[:, -centre.shape[0] :]
        slopes = tf.reduce_sum(slope, axis=0), tf.reduce_sum(slope * points, axis=0)
        # Sums that are 0 and have these derivatives: TensorFlow never forgets the graphs of a `tf.custom_gradient`.
        each = zip(slopes, moments, (centre, scale), strict=True)
        return tf.add_n([found, *(tf.reduce_sum(s * (a - b), axis=0) for s, a, b in each)])


class SoftmaxBound(Softmax):
    """The softmax, trained by a bound in closed form. Its predictions are those of the softmax.

    ``E_q log p(y | f) ≥ −log(1 + exp(var_y/2 − mean_y) Σ_{c≠y} exp(mean_c + var_c/2))``
    (Liu et al., "Scalable GP classification with additive noise", equation 25).
    """

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Return the bound, shape (n,), for sets S too.

        ``log Σ_{c in S} exp(f^c) ≥ Σ_{c in S} w_c (f^c − log w_c)`` for weights w that sum to 1, here the softmax of
        the means in S. With ``a = Σ_{c in S} [w_c (log w_c − mean_c) + w_c² var_c/2]`` the bound is ``−log(1 + exp(a)
        Σ_{c not in S} exp(mean_c + var_c/2))``.
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


def make_likelihood(
    name: str,
    num_classes: int,
    *,
    epsilon: float | None = None,
    dtype: tf.DType = tf.float64,
    sets: np.ndarray | None = None,
    num_draws: int = 8,
) -> Likelihood:
    """Make a likelihood by its name. None learns the ε of step, probit and logit."""
    if name in NAMED:
        return NAMED[name](num_classes, sets, num_draws)
    rule = Sign() if num_classes == 2 else Argmax(num_classes)
    return RobustMax(rule, noise=NOISE_VARIANCE[name], epsilon=epsilon, dtype=dtype, sets=sets)


def of_given_labels(
    of_right: Expectation,
    likelihood: Likelihood,
    rate: tf.Tensor | Parameter,
    latent: LatentMoments,
    y: tf.Tensor,
    seed: tf.Tensor,
) -> tf.Tensor:
    """Return an expectation over f for labels of which each is random with the probability `rate`, ρ, shape (n,).

    ``p(y | f, z) = p(y | f)^{1−z} (1/C)^z`` with ``z ~ Bern(ρ)``. With the expectation `of_right` of right labels,
    ``log E p(y | f)`` or ``E log p(y | f)``, the result is ``log[(1 − ρ) exp(…) + ρ s/C]`` for a set of s classes.
    """
    rho = tf.convert_to_tensor(rate)
    guess = tf.math.log(rho / float(likelihood.num_classes))
    if likelihood.sets is not None:
        guess += tf.math.log(tf.gather(tf.constant(likelihood.sets.sum(axis=1), guess.dtype), y))
    return guess + tf.math.softplus(tf.math.log1p(-rho) + of_right(latent, y, seed) - guess)
