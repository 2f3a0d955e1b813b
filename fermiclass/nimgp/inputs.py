"""Input models: what is known of the noiseless inputs x behind the observed x̃ = x + noise, noise ~ N(0, V).

Each model says where the latent functions are evaluated in training, and what it adds to the bound. Noiseless
inputs are written in units of their own noise, ``x = x̃ + √V ξ``, so that V = 0 is an ordinary value: x is then x̃, and
every model reduces to the one that ignores noise, exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import gpflow
import tensorflow as tf
import tensorflow_probability as tfp

from fermiclass.nimgp.input_prior import InputPrior
from fermiclass.nimgp.posterior import LatentMoments

_START_VARIANCE = 0.5  # of ξ: q(x) starts at N(x̃, V/2)


class InputBatch(NamedTuple):
    """A minibatch: which sources (B,), their observed inputs (B, D), their noise variances (B, D)."""

    index: tf.Tensor
    X: tf.Tensor
    X_var: tf.Tensor


class InputModel(Protocol):
    """How input noise enters the bound."""

    def latent_moments(
        self, moments: Callable[[tf.Tensor], LatentMoments], batch: InputBatch, seed: tf.Tensor
    ) -> tuple[LatentMoments, tf.Tensor]:
        """Moments (C, B) of the latent functions, and each source's terms (B,) of the bound."""


class ObservedInputs:
    """Noise ignored: MGP. The latent functions are evaluated at x̃."""

    def latent_moments(
        self, moments: Callable[[tf.Tensor], LatentMoments], batch: InputBatch, seed: tf.Tensor
    ) -> tuple[LatentMoments, tf.Tensor]:
        """Moments at the observed inputs; nothing is added to the bound."""
        return moments(batch.X), tf.zeros([tf.shape(batch.X)[0]], batch.X.dtype)


class PerSourceInputs(gpflow.Module):
    """A Gaussian ``q(x_i) = N(μ_i, diag v_i)`` for each source, with free parameters: NIMGP.

    With ``q(ξ) = N(m, diag s)`` the terms of source i are, up to a constant,
    ``E_q log N(x̃ | x, V) − KL(q(x) ‖ p(x)) = −KL(q(ξ) ‖ N(0, I)) + E_q log p(x)``
    (Villacampa-Calvo et al. 2021, equation 10). The latent functions are evaluated at one draw of x a step.

    Parameters
    ----------
    num_data, input_dim
        N and D.
    prior
        p(x); None for a flat prior. The paper takes N(0, 1000 · I).
    """

    def __init__(
        self, num_data: int, input_dim: int, *, prior: InputPrior | None = None, dtype: tf.DType = tf.float64
    ) -> None:
        super().__init__()
        self.mean = gpflow.Parameter(tf.zeros([num_data, input_dim], dtype), dtype=dtype)
        self.variance = gpflow.Parameter(
            tf.fill([num_data, input_dim], tf.cast(_START_VARIANCE, dtype)), dtype=dtype, transform=tfp.bijectors.Exp()
        )
        self.prior = prior

    def latent_moments(
        self, moments: Callable[[tf.Tensor], LatentMoments], batch: InputBatch, seed: tf.Tensor
    ) -> tuple[LatentMoments, tf.Tensor]:
        """Moments at a reparametrised draw of x, and each source's ``−KL(q(ξ) ‖ N(0, I)) + E_q log p(x)``."""
        m, s = tf.gather(self.mean, batch.index), tf.gather(self.variance, batch.index)
        noise_scale = tf.sqrt(batch.X_var)
        draw = tf.random.stateless_normal(tf.shape(batch.X), seed, dtype=batch.X.dtype)
        x = batch.X + noise_scale * (m + tf.sqrt(s) * draw)
        terms = -0.5 * tf.reduce_sum(s + tf.square(m) - 1.0 - tf.math.log(s), axis=-1)
        if self.prior is not None:
            terms += self._expected_log_prior(batch.X + noise_scale * m, batch.X_var * s, self.prior)
        return moments(x), terms

    @staticmethod
    def _expected_log_prior(mean: tf.Tensor, var: tf.Tensor, prior: InputPrior) -> tf.Tensor:
        """Return ``E log p(x)`` for ``x ~ N(mean, diag var)``, up to a constant.

        It is ``−½ [(mean − m)ᵀ P (mean − m) + Σ_j P_jj var_j]`` with m and P of the prior.
        """
        P = tf.constant(prior.precision, mean.dtype)
        offset = mean - tf.constant(prior.mean, mean.dtype)
        square = tf.reduce_sum(offset * tf.matmul(offset, P), axis=-1)
        return -0.5 * (square + tf.linalg.matvec(var, tf.linalg.diag_part(P)))
