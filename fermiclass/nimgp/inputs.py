"""Input models: what is known of the noiseless inputs x behind the observed x̃ = x + noise, noise ~ N(0, V).

Each model says where the latent functions are evaluated in training, and what it adds to the bound. Noiseless
inputs are written in units of their own noise, ``x = x̃ + √V ξ``, so that V = 0 is an ordinary value: x is then x̃, and
every model reduces to the one that ignores noise, exactly. The same units make V learnable: a larger V moves all x at
once, where a q(x) in other units would have to follow it source by source.

Leading axes ``...`` are those of models that are trained at once, and may be none. Draws are shared by these models.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import gpflow
import tensorflow as tf
import tensorflow_probability as tfp

from fermiclass.nimgp.gaussian_inputs import expected_log_prior, kl_to_noise
from fermiclass.nimgp.input_prior import InputPrior
from fermiclass.nimgp.likelihoods import Likelihood
from fermiclass.nimgp.posterior import LatentFunctions, LatentMoments


class Batch(NamedTuple):
    """A minibatch of B sources of each model.

    Attributes
    ----------
    rows
        Which sources, ``(..., B)``; None for all of them, in their order.
    X, X_var
        Observed inputs and their noise variances, ``(..., B, D)``.
    y
        Labels 0 … C − 1, or outputs, ``(..., B)``.
    weight
        ``(..., B)``: 1, or 0 for a row that only fills the array; None if all count.
    """

    rows: tf.Tensor | None
    X: tf.Tensor
    X_var: tf.Tensor
    y: tf.Tensor
    weight: tf.Tensor | None = None


class InputModel(Protocol):
    """How input noise enters the bound."""

    def source_terms(
        self, functions: LatentFunctions, likelihood: Likelihood, batch: Batch, seed: tf.Tensor
    ) -> tf.Tensor:
        """Each source's terms of the bound, shape ``(..., B)``."""


class ObservedInputs(gpflow.Module):
    """Noise ignored: MGP. The latent functions are evaluated at x̃."""

    def source_terms(
        self, functions: LatentFunctions, likelihood: Likelihood, batch: Batch, seed: tf.Tensor
    ) -> tf.Tensor:
        """``E_q log p(y | f(x̃))``."""
        return likelihood.variational_expectations(functions.moments(batch.X), batch.y, seed)


class SampledInputs(gpflow.Module):
    """MGP (sampling): the latent functions are evaluated at a fresh draw from N(x̃, V) every step."""

    def source_terms(
        self, functions: LatentFunctions, likelihood: Likelihood, batch: Batch, seed: tf.Tensor
    ) -> tf.Tensor:
        """``E_q log p(y | f(x̃ + √V ξ))`` for a draw ξ ~ N(0, I)."""
        input_seed, seed = split(seed)
        x = batch.X + tf.sqrt(batch.X_var) * noise_like(batch.X, input_seed)
        return likelihood.variational_expectations(functions.moments(x), batch.y, seed)


class AugmentedInputs(gpflow.Module):
    """MGP (aug.): each source is there several times, once as observed and as draws from N(x̃, V) made beforehand.

    Parameters
    ----------
    num_data, input_dim
        N and D.
    copies
        Draws of each source (the paper: 2).
    seed
        Of the draws.
    """

    def __init__(
        self, num_data: int, input_dim: int, *, copies: int = 2, seed: int = 0, dtype: tf.DType = tf.float64
    ) -> None:
        super().__init__()
        # A row at a time: what a row draws does not depend on how many follow it.
        draws = tf.random.stateless_normal([num_data, copies, input_dim], [seed, 1], dtype=dtype)
        self._draws = tf.transpose(draws, [1, 0, 2])

    def source_terms(
        self, functions: LatentFunctions, likelihood: Likelihood, batch: Batch, seed: tf.Tensor
    ) -> tf.Tensor:
        """``Σ_k E_q log p(y | f(x_k))`` over what is observed and its copies."""
        scale = tf.sqrt(batch.X_var)
        total = likelihood.variational_expectations(functions.moments(batch.X), batch.y, seed)
        for draws in tf.unstack(self._draws):
            x = batch.X + scale * (draws if batch.rows is None else tf.gather(draws, batch.rows))
            total += likelihood.variational_expectations(functions.moments(x), batch.y, seed)
        return total


class FirstOrderInputs(gpflow.Module):
    """Input noise as noise of the latent functions, to first order: NIMGP_FO.

    ``var_c(x̃) + ∇mean_c(x̃)ᵀ V ∇mean_c(x̃)`` (Villacampa-Calvo et al. 2021, equation 16), which is exact where the
    mean is linear.

    Parameters
    ----------
    marginal
        Whether the noise is averaged over inside the logarithm, ``E_q log E_noise p(y | f + noise)``, as noise is,
        or outside with the uncertainty of f, as in the paper. Outside, noise never pays: a label drawn from a
        blurred function is right less often than its mode, so that a learned V goes to zero.
    num_draws
        Draws of f for each source and step where ``marginal``; an even number.
    """

    def __init__(self, *, marginal: bool = False, num_draws: int = 4) -> None:
        super().__init__()
        self.marginal = marginal
        self.num_draws = num_draws

    def source_terms(
        self, functions: LatentFunctions, likelihood: Likelihood, batch: Batch, seed: tf.Tensor
    ) -> tf.Tensor:
        """``E_q log p(y | f)`` with the enlarged variance, or the average inside the logarithm."""
        latent = functions.moments(batch.X)
        gradient = functions.mean_gradient(batch.X)
        noise = tf.reduce_sum(tf.square(gradient) * batch.X_var[..., None, :, :], axis=-1)
        if not self.marginal:
            return likelihood.variational_expectations(LatentMoments(latent.mean, latent.var + noise), batch.y, seed)
        draw_seed, seed = split(seed)
        num_classes, num_inputs = tf.unstack(tf.shape(latent.mean)[-2:])
        # A row at a time: what a row draws does not depend on how many follow it.
        shape = [num_inputs, num_classes, self.num_draws // 2]
        half = tf.transpose(tf.random.stateless_normal(shape, draw_seed, dtype=latent.mean.dtype))
        scale, noise = tf.sqrt(latent.var), noise + tf.cast(1e-8, noise.dtype)
        terms = [
            likelihood.log_predictive(LatentMoments(latent.mean + sign * scale * draw, noise), batch.y, seed)
            for draw in tf.unstack(half, self.num_draws // 2)
            for sign in (1.0, -1.0)
        ]
        return tf.add_n(terms) / float(self.num_draws)


class PerSourceInputs(gpflow.Module):
    """A Gaussian ``q(x_i) = N(μ_i, diag v_i)`` for each source, with free parameters: NIMGP.

    With ``q(ξ) = N(m, diag s)`` the terms of source i are, up to a constant,
    ``E_q log N(x̃ | x, V) − KL(q(x) ‖ p(x)) = −KL(q(ξ) ‖ N(0, I)) + E_q log p(x)``
    (Villacampa-Calvo et al. 2021, equation 10). The latent functions are evaluated at one draw of x a step.

    Parameters
    ----------
    shape
        ``(..., N, D)``.
    spread
        Where s starts: q(x) at N(x̃, spread · V).
    priors
        p(x) of each model, in the order of the leading axis; None for a flat prior. The paper takes N(0, 1000 · I).
    analytic
        Whether the moments of each latent function over q(x) are taken in closed form, instead of at a draw. The bound
        is then the same for a Gaussian likelihood, whose logarithm is quadratic in f, without the noise of the draws.
        For another it is an approximation, no bound: f is taken for Gaussian, and several functions for independent,
        where they share one x.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        *,
        spread: float = 0.5,
        priors: list[InputPrior] | None = None,
        analytic: bool = False,
        dtype: tf.DType = tf.float64,
    ) -> None:
        super().__init__()
        self.mean = gpflow.Parameter(tf.zeros(shape, dtype), dtype=dtype)
        self.variance = gpflow.Parameter(
            tf.fill(shape, tf.cast(spread, dtype)), dtype=dtype, transform=tfp.bijectors.Exp()
        )
        self.priors = priors
        self.analytic = analytic

    def source_terms(
        self, functions: LatentFunctions, likelihood: Likelihood, batch: Batch, seed: tf.Tensor
    ) -> tf.Tensor:
        """``E_q log p(y | f(x)) − KL(q(ξ) ‖ N(0, I)) + E_q log p(x)`` with a reparametrised draw of x."""
        m, s = tf.convert_to_tensor(self.mean), tf.convert_to_tensor(self.variance)
        if batch.rows is not None:
            m, s = (tf.gather(a, batch.rows, batch_dims=len(batch.rows.shape) - 1) for a in (m, s))
        return terms_of_gaussian(m, s, self.priors, functions, likelihood, batch, seed, analytic=self.analytic)


def terms_of_gaussian(
    m: tf.Tensor,
    s: tf.Tensor,
    priors: list[InputPrior] | None,
    functions: LatentFunctions,
    likelihood: Likelihood,
    batch: Batch,
    seed: tf.Tensor,
    *,
    analytic: bool = False,
) -> tf.Tensor:
    """Each source's terms of the bound for ``q(ξ) = N(m, diag s)``, shapes ``(..., B, D)``; see `PerSourceInputs`."""
    input_seed, likelihood_seed = split(seed)
    noise_scale = tf.sqrt(batch.X_var)
    if analytic:
        latent = functions.expected_moments(batch.X + noise_scale * m, batch.X_var * s)
    else:
        latent = functions.moments(batch.X + noise_scale * (m + tf.sqrt(s) * noise_like(batch.X, input_seed)))
    terms = likelihood.variational_expectations(latent, batch.y, likelihood_seed) - kl_to_noise(m, s)
    if priors is not None:
        terms += expected_log_prior(batch.X + noise_scale * m, batch.X_var * s, priors)
    return terms


def split(seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Two seeds from one."""
    first, second = tf.unstack(tf.random.experimental.stateless_split(seed, 2))
    return first, second


def noise_like(X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Draw N(0, 1) for every input ``(B, D)``, the same for all leading axes."""
    return tf.random.stateless_normal(tf.shape(X)[-2:], seed, dtype=X.dtype)
