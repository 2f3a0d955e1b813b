"""Labels of which some are wrong: a likelihood that takes each label for right, or for anyone's guess."""

from __future__ import annotations

from collections.abc import Sequence

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from fermiclass.nimgp.likelihoods import Likelihood
from fermiclass.nimgp.posterior import LatentMoments
from fermiclass.nimgp.predictive_moments import PredictiveMoments

#: Of the Beta distribution that is the prior of ρ (Hernández-Lobato et al. 2011, section 2).
PRIOR = (1.0, 9.0)


class Contaminated(gpflow.Module):
    """``p(y | f, z) = p(y | f)^{1−z} (1/C)^z`` with ``z ~ Bern(ρ)``: with probability ρ a label says nothing.

    For q(z) = Bern(r), one for each source,

        ``E log p(y, z | f) − E log q(z) = (1 − r) E_q log p(y | f) + r log(1/C) − KL(Bern(r) ‖ Bern(ρ))``

    is largest at the responsibility ``r = ρ/C / [ρ/C + (1 − ρ) exp(E_q log p(y | f))]``, where it is
    ``log[(1 − ρ) exp(E_q log p(y | f)) + ρ/C]``: what training maximises, with no parameter for any source. This is the
    robust multi-class GP of Hernández-Lobato, Hernández-Lobato & Dupont (2011), its z in a variational bound.

    What it predicts are the classes, not the labels: the probabilities of the likelihood within.

    Parameters
    ----------
    likelihood
        p(y | f), of right labels.
    rate, learn_rate
        Initial ρ in (0, 1), and whether it is learned, under a Beta(1, 9) prior, whose mean is where it starts.
    shape
        Leading axes of ρ.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        *,
        rate: float = 0.1,
        learn_rate: bool = True,
        shape: Sequence[int] = (),
        dtype: tf.DType = tf.float64,
    ) -> None:
        super().__init__()
        self.likelihood = likelihood
        self.num_classes = likelihood.num_classes
        self.rate = gpflow.Parameter(
            tf.fill([*shape], tf.cast(rate, dtype)),
            dtype=dtype,
            transform=tfp.bijectors.Sigmoid(),
            prior=tfp.distributions.Beta(*(tf.cast(value, dtype) for value in PRIOR)) if learn_rate else None,
            trainable=learn_rate,
        )

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log[(1 − ρ) exp(E_q log p(y | f)) + ρ/C]``, shape (..., n)."""
        return self._mixed(self.likelihood.variational_expectations(latent, y, seed))

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """``log[(1 − ρ) E_q p(y | f) + ρ/C]``, shape (..., n)."""
        return self._mixed(self.likelihood.log_predictive(latent, y, seed))

    def _mixed(self, log_p: tf.Tensor) -> tf.Tensor:
        rate = tf.convert_to_tensor(self.rate)[..., None]
        guess = tf.math.log(rate / float(self.num_classes))
        return guess + tf.math.softplus(tf.math.log1p(-rate) + log_p - guess)

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        """Those of the likelihood of right labels."""
        return self.likelihood.predict(latent, ratio, num_draws)


def probability_of_wrong_label(p: np.ndarray, rate: float, num_classes: int) -> np.ndarray:
    """Return ``P(the label is wrong | label) = (ρ/C) (1 − p) / [ρ/C + (1 − ρ) p]``.

    That is P(z = 1 | y), which the paper ranks by, less the chance that a guess was right; the order is the same.

    Parameters
    ----------
    p
        ``(n,)``, how probable a right label would be what the label is, by a model that did not see it.
    rate, num_classes
        ρ and C.
    """
    guess = rate / num_classes
    return np.asarray(guess * (1.0 - p) / (guess + (1.0 - rate) * p))
