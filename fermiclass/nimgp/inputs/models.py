"""Input models: models of the noiseless inputs x of observed inputs x̃ = x + noise, with noise ~ N(0, V).

Each decides where training evaluates the latent functions, and which terms it adds to the bound. With ``x = x̃ + √V ξ``
every model is without noise exactly the one that ignores it, and V can be learned: a larger one moves all x at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.likelihoods.base import Expectation, antithetic_draws
from fermiclass.nimgp.modules import EXP, Module, Parameter
from fermiclass.nimgp.names import FIRST_ORDER
from fermiclass.nimgp.posterior import Functions, LatentMoments
from fermiclass.nimgp.settings import Settings

_LOG_VARIANCE_RANGE = 8.0  # variances of ξ from a network are between e⁻⁸ and e⁸


class Batch(NamedTuple):
    """A minibatch of B sources."""

    rows: tf.Tensor | None  #: Row numbers of the sources, ``(B,)``; None for all sources in order.
    X: tf.Tensor  #: Observed inputs, ``(B, D)``.
    X_var: tf.Tensor  #: Their noise variances, ``(B, D)``.
    y: tf.Tensor  #: Labels as numbers, or outputs, ``(B,)``.
    weight: tf.Tensor | None = None  #: Weights of their terms in the bound, ``(B,)``; None for ones.


class InputModel(Protocol):
    """Terms of each source in the bound, shape ``(B,)``; `log_p` is the expectation of the objective."""

    def source_terms(self, functions: Functions, log_p: Expectation, batch: Batch, seed: tf.Tensor) -> tf.Tensor: ...


class ObservedInputs(Module):
    """MGP, which ignores noise: the latent functions are evaluated at x̃."""

    def source_terms(self, functions: Functions, log_p: Expectation, batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        return log_p(functions.moments(batch.X), batch.y, seed)


class SampledInputs(Module):
    """MGP (sampling): the latent functions are evaluated at a new draw from N(x̃, V) in every step."""

    def source_terms(self, functions: Functions, log_p: Expectation, batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        input_seed, seed = split(seed)
        x = batch.X + tf.sqrt(batch.X_var) * noise_like(batch.X, input_seed)
        return log_p(functions.moments(x), batch.y, seed)


class AugmentedInputs(Module):
    """MGP (aug.): each source enters once as observed, and several times, 2 in the paper, as a draw from N(x̃, V)."""

    def __init__(
        self, num_data: int, input_dim: int, *, copies: int = 2, seed: int = 0, dtype: tf.DType = tf.float64
    ) -> None:
        super().__init__()
        # Row by row: the draws of a row do not depend on later rows.
        draws = tf.random.stateless_normal([num_data, copies, input_dim], [seed, 1], dtype=dtype)
        self._draws = tf.transpose(draws, [1, 0, 2])

    def source_terms(self, functions: Functions, log_p: Expectation, batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        scale = tf.sqrt(batch.X_var)
        total = log_p(functions.moments(batch.X), batch.y, seed)
        for draws in tf.unstack(self._draws):
            x = batch.X + scale * (draws if batch.rows is None else tf.gather(draws, batch.rows))
            total += log_p(functions.moments(x), batch.y, seed)
        return total


@dataclass(eq=False)
class FirstOrderInputs(Module):
    """NIMGP_FO: input noise becomes noise of the latent functions, to first order.

    ``var_c(x̃) + ∇mean_c(x̃)ᵀ V ∇mean_c(x̃)`` (Villacampa-Calvo et al. 2021, equation 16), exact for a linear mean.
    Outside the logarithm, as in the paper, noise never raises the bound, so that a learned V goes to zero. If
    `marginal`, ``E_q log E_noise p(y | f + noise)`` has an even number of draws of f; `log_p` is ``log E p(y | f)``.
    """

    marginal: bool = False
    num_draws: int = 4

    def source_terms(self, functions: Functions, log_p: Expectation, batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        latent, gradient = functions.moments_and_gradient(batch.X)
        noise = tf.reduce_sum(tf.square(gradient) * tf.transpose(batch.X_var), axis=1)
        if not self.marginal:
            return log_p(LatentMoments(latent.mean, latent.var + noise), batch.y, seed)
        draw_seed, seed = split(seed)
        draws = tf.unstack(antithetic_draws(latent, self.num_draws, draw_seed), self.num_draws)
        return tf.add_n([log_p(LatentMoments(f, noise + 1e-8), batch.y, seed) for f in draws]) / float(self.num_draws)


class PerSourceInputs(Module):
    """NIMGP: a Gaussian ``q(x_i) = N(μ_i, diag v_i)`` for each source, with free parameters.

    With ``q(ξ) = N(m, diag s)`` the terms of source i are, up to a constant,
    ``E_q log N(x̃ | x, V) − KL(q(x) ‖ p(x)) = −KL(q(ξ) ‖ N(0, I)) + E_q log p(x)``
    (Villacampa-Calvo et al. 2021, equation 10), at one draw of x in each step.

    The free parameters ``(N, D)`` are m and s, or those of the paper, μ_i and v_i: the same family of q(x), but these
    do not follow a learned V. q(x) starts at N(x̃, spread · V) or N(x̃, spread · I). p(x) is flat if `prior` is None.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        *,
        spread: float = 0.5,
        in_units_of_noise: bool = True,
        prior: InputPrior | None = None,
        dtype: tf.DType = tf.float64,
    ) -> None:
        super().__init__()
        self.mean = Parameter(np.zeros(shape), dtype=dtype)
        self.variance = Parameter(np.full(shape, spread), dtype=dtype, transform=EXP)
        self.in_units_of_noise = in_units_of_noise
        self.prior = prior

    def source_terms(self, functions: Functions, log_p: Expectation, batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        m, s = tf.convert_to_tensor(self.mean), tf.convert_to_tensor(self.variance)
        if batch.rows is not None:
            m, s = tf.gather(m, batch.rows), tf.gather(s, batch.rows)
        if not self.in_units_of_noise:  # m is μ − x̃, and s is v; an input without noise has q(ξ) = N(0, 1)
            noisy = batch.X_var > 0.0
            V = tf.where(noisy, batch.X_var, tf.ones_like(m))
            m, s = tf.where(noisy, m / tf.sqrt(V), tf.zeros_like(m)), tf.where(noisy, s / V, tf.ones_like(s))
        return terms_of_gaussian(m, s, self.prior, functions, log_p, batch, seed)


def terms_of_gaussian(
    m: tf.Tensor,
    s: tf.Tensor,
    prior: InputPrior | None,
    functions: Functions,
    log_p: Expectation,
    batch: Batch,
    seed: tf.Tensor,
) -> tf.Tensor:
    """Return the terms of each source for ``q(ξ) = N(m, diag s)``, both ``(B, D)``; see `PerSourceInputs`."""
    input_seed, likelihood_seed = split(seed)
    noise_scale = tf.sqrt(batch.X_var)
    latent = functions.moments(batch.X + noise_scale * (m + tf.sqrt(s) * noise_like(batch.X, input_seed)))
    kl_to_noise = 0.5 * tf.reduce_sum(s + tf.square(m) - 1.0 - tf.math.log(s), axis=-1)
    terms = log_p(latent, batch.y, likelihood_seed) - kl_to_noise
    if prior is not None:
        terms += expected_log_prior(batch.X + noise_scale * m, batch.X_var * s, prior)
    return terms


#: Function of labels or outputs ``(n,)`` and a type that returns numbers ``(n, K)``.
Encoding = Callable[[tf.Tensor, tf.DType], tf.Tensor]


def label_encoding(num_classes: int, sets: np.ndarray | None = None) -> Encoding:
    """Encode labels 0 … C − 1 by C numbers of which one is 1; a set of s classes, by s numbers of 1/s."""
    table = np.eye(num_classes) if sets is None else sets / sets.sum(axis=1, keepdims=True)
    return lambda y, dtype: tf.gather(tf.constant(table, dtype), y)


def output_encoding(mean: float, scale: float) -> Encoding:
    """Encode outputs as their distance from a mean in units of a scale."""
    return lambda y, dtype: ((tf.cast(y, dtype) - mean) / scale)[..., None]


class AmortisedInputs(Module):
    """NIMGP_NN: ``q(ξ_i) = N(m, diag s)`` with m and log s from a network of ``(x̃, y [, √V])``.

    Hidden layers have ReLU units. The last layer is linear and starts at zero, so that q(x) starts at N(x̃, V)
    (Villacampa-Calvo et al. 2021, section 3.2). The terms are those of :class:`PerSourceInputs`. The network need not
    see a V that is the same for all sources.
    """

    def __init__(
        self,
        input_dim: int,
        encode: Encoding,
        *,
        hidden: Sequence[int] = (50,),
        sees_noise: bool = True,
        prior: InputPrior | None = None,
        seed: int = 0,
        dtype: tf.DType = tf.float64,
    ) -> None:
        super().__init__()
        self._encode, self.sees_noise, self.prior = encode, sees_noise, prior
        rng = np.random.default_rng(seed)
        of_y = encode(tf.zeros([1], tf.int32), dtype).shape[1]
        sizes = [input_dim * (2 if sees_noise else 1) + of_y, *hidden]
        self.weights: list[Parameter] = []
        self.biases: list[Parameter] = []
        for fan_in, fan_out in zip(sizes, [*hidden, 2 * input_dim], strict=True):
            last = len(self.weights) == len(hidden)
            start = np.zeros((fan_in, fan_out)) if last else rng.normal(size=(fan_in, fan_out)) * np.sqrt(2.0 / fan_in)
            self.weights.append(Parameter(start, dtype=dtype))
            self.biases.append(Parameter(np.zeros(fan_out), dtype=dtype))

    def moments(self, batch: Batch) -> tuple[tf.Tensor, tf.Tensor]:
        """Return m and s of each source, ``(B, D)``."""
        y = self._encode(batch.y, batch.X.dtype)
        parts = [batch.X, y, tf.sqrt(batch.X_var)] if self.sees_noise else [batch.X, y]
        layer = tf.concat(parts, axis=-1)
        for k, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            layer = tf.matmul(tf.nn.relu(layer) if k else layer, weights) + bias
        m, log_s = tf.split(layer, 2, axis=-1)
        return m, tf.exp(tf.clip_by_value(log_s, -_LOG_VARIANCE_RANGE, _LOG_VARIANCE_RANGE))

    def source_terms(self, functions: Functions, log_p: Expectation, batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        m, s = self.moments(batch)
        return terms_of_gaussian(m, s, self.prior, functions, log_p, batch, seed)


def make_input_model(
    settings: Settings, sizes: tuple[int, int], encode: Encoding, prior: InputPrior | None, seed: int, dtype: tf.DType
) -> InputModel:
    """Return the input model of the settings for N and D."""
    options: dict[str, Any] = {"prior": prior, "dtype": dtype}
    if settings.method == "nimgp":
        options |= {"spread": settings.inputs.spread, "in_units_of_noise": settings.inputs.units == "noise"}
        return PerSourceInputs(sizes, **options)
    if settings.method == "nimgp-nn":
        options |= {"hidden": settings.inputs.hidden, "sees_noise": settings.noise == "given", "seed": seed}
        return AmortisedInputs(sizes[1], encode, **options)
    if settings.method in FIRST_ORDER:
        # Where all of f's spread is inside the logarithm there is no other to be kept outside.
        marginal = settings.method == "nimgp-fo-marginal" and settings.objective == "elbo"
        return FirstOrderInputs(marginal=marginal)
    if settings.method == "mgp-aug":
        return AugmentedInputs(*sizes, seed=seed, dtype=dtype)
    return SampledInputs() if settings.method == "mgp-sampling" else ObservedInputs()


def split(seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return two seeds made from one."""
    first, second = tf.unstack(tf.random.experimental.stateless_split(seed, 2))
    return first, second


def noise_like(X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Draw N(0, 1) for every input, ``(B, D)``."""
    return tf.random.stateless_normal(tf.shape(X), seed, dtype=X.dtype)


def expected_log_prior(mean: tf.Tensor, var: tf.Tensor, prior: InputPrior) -> tf.Tensor:
    """Return ``E log p(x)`` for ``x ~ N(mean, diag var)``: exact for one Gaussian, a lower bound for a mixture.

    Let ``e_k = −½ [(mean − m_k)ᵀ P_k (mean − m_k) + Σ_j P_k,jj var_j]``. Up to a constant the result ``(B,)`` is e_1
    for one Gaussian, and ``log Σ_k w_k |P_k|^½ exp e_k`` for a mixture, by Jensen's inequality.
    """
    P, centre = tf.constant(prior.precision, mean.dtype), tf.constant(prior.mean, mean.dtype)
    offset = mean - centre[:, None, :]  # (K, B, D)
    square = tf.reduce_sum(offset * tf.matmul(offset, P), axis=-1)
    trace = tf.reduce_sum(var * tf.linalg.diag_part(P)[:, None, :], axis=-1)
    of_component = -0.5 * (square + trace)
    if len(prior.weights) == 1:
        return of_component[0]
    log_weights = np.log(prior.weights) + 0.5 * np.linalg.slogdet(prior.precision)[1]
    return tf.reduce_logsumexp(of_component + tf.constant(log_weights[:, None], mean.dtype), axis=0)
