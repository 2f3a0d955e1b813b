"""Softmax likelihoods, by draws or by a bound. Two classes may share one function f, the softmax of 0 and f."""

from __future__ import annotations

import tensorflow as tf

from fermiclass.nimgp.likelihoods.base import FAR, ClassLikelihood, antithetic_draws, both_functions, one_hot
from fermiclass.nimgp.posterior import LatentMoments


class Softmax(ClassLikelihood):
    """``p(y | f) = exp(f^y) / Σ_c exp(f^c)``."""

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
