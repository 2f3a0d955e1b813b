"""Models from settings: the independent choices by name, with the hyper-parameters' priors and initial values.

A user of the core may as well compose :class:`~fermiclass.nimgp.model.NoisyInputGP` from parts of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from fermiclass.nimgp.contaminated import Contaminated
from fermiclass.nimgp.dot_product import Linear, Polynomial
from fermiclass.nimgp.input_prior import InputPrior
from fermiclass.nimgp.inputs import (
    AugmentedInputs,
    FirstOrderInputs,
    InputModel,
    ObservedInputs,
    PerSourceInputs,
    SampledInputs,
)
from fermiclass.nimgp.kernels import Kernel, Sum, White
from fermiclass.nimgp.likelihoods import Likelihood, make_likelihood
from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.names import (
    FIRST_ORDER,
    KERNELS,
    LEARNED,
    LIKELIHOODS,
    METHODS,
    NOISES,
    OBJECTIVES,
    WITH_EXPECTATIONS,
    num_functions,
)
from fermiclass.nimgp.network import AmortisedInputs, Encoding, OneHot
from fermiclass.nimgp.noise import GivenNoise, InputNoise, LearnedNoise
from fermiclass.nimgp.posterior import SparsePosterior
from fermiclass.nimgp.stationary import MATERN32, MATERN52, SQUARED_EXPONENTIAL, Stationary

_FORMS = {"se": SQUARED_EXPONENTIAL, "matern32": MATERN32, "matern52": MATERN52}

# Medians of the log-normal priors, for standardised inputs: latent functions some units high, as log odds are, that
# vary slowly, with little white noise. Initial values are the medians, but for the variance, which starts lower.
# Distances between standardised inputs grow with √D, and length-scales with them. What says how fast a function varies
# has the narrower priors: bright sources, of small errors, would have it vary faster than suits faint ones. GPflow's
# priors are densities of the parameters themselves: training is drawn to their modes, at median · exp(−width²).
_SLOPE_VARIANCE, _WHITE = 0.1, 0.01
_WIDE, _NARROW = 1.0, 0.5  # standard deviations of logarithms


@dataclass(frozen=True)
class Scales:
    """How large latent functions are and how fast they vary, by default log odds.

    Attributes
    ----------
    variance, initial_variance
        Median of the prior of σ², and where it starts.
    lengthscale_over_root_d, width
        Median of the prior of the length-scales, over √D, and the standard deviation of their logarithms.
    """

    variance: float = 10.0
    initial_variance: float = 5.0
    lengthscale_over_root_d: float = 3.0
    width: float = _NARROW


@dataclass(frozen=True)
class ModelSettings:
    """Which model, by name.

    Attributes
    ----------
    method
        One of `METHODS`: ``'mgp'`` ignores input noise, ``'nimgp'`` has a q(x) for each source and draws from it,
        ``'nimgp-psi'`` takes moments over it in closed form instead, ``'nimgp-nn'`` has one network for all of them,
        ``'nimgp-fo'`` treats it to first order, as the paper does, ``'nimgp-fo-marginal'`` the same inside the
        logarithm; ``'mgp-aug'`` and ``'mgp-sampling'`` learn from draws.
    likelihood
        One of `LIKELIHOODS`.
    kernel
        One of `KERNELS`, or several joined by ``+``; white noise is always added.
    noise
        One of `NOISES`: V ``'given'``, or learned, one variance ``'per-feature'`` or ``'shared'`` by all.
    initial_noise
        Where a learned V starts.
    objective
        One of `OBJECTIVES`: the ``'elbo'``, or with ``'predictive'`` the average over f inside the logarithm (over
        input noise, too, where it is noise of the latent functions).
    epsilon
        Of the step, probit and logit likelihoods: a fixed value, or None to learn it.
    label_noise
        ρ, how probably a label is wrong, any class then being as probable: a fixed value, ``'learned'``, or 0.
    initial_lengthscale
        Where length-scales start, for standardised inputs; None for the median of their prior, 3√D.
    initial_white
        Where the variance of the white noise starts.
    initial_spread
        Where the variances of the q(x) of ``'nimgp'`` start, in units of V.
    hyper_priors
        Whether hyper-parameters have log-normal priors (MAP) or none (maximum likelihood).
    hidden_units, hidden_layers
        Of the network of ``'nimgp-nn'``.
    degree
        Of the polynomial kernel.
    jitter
        Relative to the mean of the diagonal of K(Z, Z).
    """

    method: str = "nimgp"
    likelihood: str = "softmax"
    kernel: str = "se+linear"
    noise: str = "given"
    initial_noise: float = 0.1
    objective: str = "elbo"
    epsilon: float | None = None
    label_noise: float | str = 0.0
    initial_lengthscale: float | None = None
    initial_white: float = _WHITE
    initial_spread: float = 0.5
    hyper_priors: bool = True
    hidden_units: int = 50
    hidden_layers: int = 1
    degree: int = 3
    jitter: float = 1e-3

    def __post_init__(self) -> None:
        choices = {"method": METHODS, "likelihood": LIKELIHOODS, "noise": NOISES, "objective": OBJECTIVES}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is unknown: choose one of {', '.join(known)}")
        if not isinstance(self.kernel, str) or not set(self.kernel.split("+")) <= set(KERNELS):
            raise ValueError(f"kernel={self.kernel!r} is unknown: join some of {', '.join(KERNELS)} by '+'")
        if self.method == "nimgp-psi" and not set(self.kernel.split("+")) <= set(WITH_EXPECTATIONS):
            raise ValueError(
                f"kernel={self.kernel!r} does not do for method='nimgp-psi', which needs expectations in closed form: "
                f"join some of {', '.join(WITH_EXPECTATIONS)} by '+', or choose method='nimgp'"
            )
        rate = self.label_noise
        if rate != LEARNED and not (isinstance(rate, Real) and 0 <= rate < 1):
            raise ValueError(f"label_noise={rate!r} does not do: expected '{LEARNED}', or a number from 0 to below 1")

    @property
    def first_order(self) -> bool:
        """Whether input noise is treated as noise of the latent functions, in prediction too."""
        return self.method in FIRST_ORDER


def build_model(
    settings: ModelSettings,
    Z: np.ndarray,
    *,
    num_data: int | np.ndarray,
    num_classes: int,
    input_priors: Sequence[InputPrior] | None = None,
    seed: int = 0,
    dtype: tf.DType = tf.float64,
) -> NoisyInputGP:
    """Compose an untrained model, or several that are trained at once.

    Parameters
    ----------
    settings
        The choices.
    Z
        Initial inducing points ``(M, D)``, or ``(S, M, D)`` for S models, the same for every class.
    num_data
        N, or ``(S,)`` of them.
    num_classes
        C.
    input_priors
        p(x) of the training inputs, one for each model; None for flat ones.
    seed
        Of a network's first weights, and of draws that are made once.
    dtype
        Of all parameters and of the arithmetic.
    """
    return compose_model(
        settings,
        Z,
        _likelihood(settings, num_classes, Z.shape[:-2], dtype),
        num_functions(num_classes),
        OneHot(num_classes),
        num_data=num_data,
        input_priors=input_priors,
        seed=seed,
        dtype=dtype,
    )


def compose_model(
    settings: ModelSettings,
    Z: np.ndarray,
    likelihood: Likelihood,
    num_latent: int,
    encode: Encoding,
    *,
    num_data: int | np.ndarray,
    scales: Scales | None = None,
    input_priors: Sequence[InputPrior] | None = None,
    seed: int = 0,
    dtype: tf.DType = tf.float64,
) -> NoisyInputGP:
    """Compose an untrained model with any likelihood, such as one of GPflow's.

    Parameters
    ----------
    settings
        The other choices; its likelihood, ε and label noise play no part.
    Z, num_data, input_priors, seed, dtype
        As for :func:`build_model`.
    likelihood, num_latent
        p(y | f), and L, the number of latent functions that it needs.
    encode
        What the network of ``'nimgp-nn'`` sees of y.
    scales
        Of stationary and polynomial kernels.
    """
    *leading, num_inducing, input_dim = Z.shape
    shape = (*leading, num_latent)
    tiled = np.broadcast_to(Z[..., None, :, :], (*shape, num_inducing, input_dim))
    sizes = (*leading, int(np.max(num_data)), input_dim)
    return NoisyInputGP(
        _kernel(settings, shape, input_dim, scales or Scales(), dtype),
        likelihood,
        _input_model(settings, sizes, encode, input_priors, seed, dtype),
        _noise(settings, leading, input_dim, dtype),
        SparsePosterior(tiled, jitter=settings.jitter, dtype=dtype),
        num_data=num_data,
        objective=settings.objective,
    )


def _likelihood(settings: ModelSettings, num_classes: int, leading: Sequence[int], dtype: tf.DType) -> Likelihood:
    right = make_likelihood(settings.likelihood, num_classes, epsilon=settings.epsilon, shape=leading, dtype=dtype)
    if settings.label_noise == LEARNED:
        return Contaminated(right, shape=leading, dtype=dtype)
    if settings.label_noise:
        return Contaminated(right, rate=float(settings.label_noise), learn_rate=False, shape=leading, dtype=dtype)
    return right


def _log_normal(settings: ModelSettings, median: float, width: float, dtype: tf.DType) -> object:
    if not settings.hyper_priors:
        return None
    return tfp.distributions.LogNormal(tf.cast(np.log(median), dtype), tf.cast(width, dtype))


def _kernel(settings: ModelSettings, shape: Sequence[int], input_dim: int, scales: Scales, dtype: tf.DType) -> Kernel:
    def prior(median: float, width: float) -> object:
        return _log_normal(settings, median, width, dtype)

    lengthscale = scales.lengthscale_over_root_d * np.sqrt(input_dim)
    kernels: list[Kernel] = []
    for name in settings.kernel.split("+"):
        if name == "linear":
            slopes = prior(_SLOPE_VARIANCE, _NARROW)
            kernels.append(Linear(shape, variance=_SLOPE_VARIANCE, prior=slopes, dtype=dtype))
            continue
        start = {
            "variance": scales.initial_variance,
            "lengthscales": settings.initial_lengthscale or lengthscale,
            "variance_prior": prior(scales.variance, _WIDE),
            "lengthscales_prior": prior(lengthscale, scales.width),
            "dtype": dtype,
        }
        if name == "polynomial":
            kernels.append(Polynomial(shape, input_dim, degree=settings.degree, **start))
        else:
            kernels.append(Stationary(shape, input_dim, form=_FORMS[name], **start))
    kernels.append(White(shape, variance=settings.initial_white, prior=prior(_WHITE, _WIDE), dtype=dtype))
    return Sum(kernels)


def _input_model(
    settings: ModelSettings,
    sizes: tuple[int, ...],
    encode: Encoding,
    input_priors: Sequence[InputPrior] | None,
    seed: int,
    dtype: tf.DType,
) -> InputModel:
    *leading, num_data, input_dim = sizes
    priors = None if input_priors is None else list(input_priors)
    if settings.method in ("nimgp", "nimgp-psi"):
        analytic = settings.method == "nimgp-psi"
        return PerSourceInputs(sizes, spread=settings.initial_spread, priors=priors, analytic=analytic, dtype=dtype)
    if settings.method == "nimgp-nn":
        hidden = (settings.hidden_units,) * settings.hidden_layers
        sees_noise = settings.noise == "given"
        return AmortisedInputs(
            leading, input_dim, encode, hidden=hidden, sees_noise=sees_noise, priors=priors, seed=seed, dtype=dtype
        )
    if settings.first_order:
        # Where all of f's spread is inside the logarithm there is no other to be kept outside.
        marginal = settings.method == "nimgp-fo-marginal" and settings.objective == "elbo"
        return FirstOrderInputs(marginal=marginal)
    if settings.method == "mgp-aug":
        return AugmentedInputs(num_data, input_dim, seed=seed, dtype=dtype)
    return SampledInputs() if settings.method == "mgp-sampling" else ObservedInputs()


def _noise(settings: ModelSettings, leading: Sequence[int], input_dim: int, dtype: tf.DType) -> InputNoise:
    if settings.noise == "given":
        return GivenNoise()
    size = 1 if settings.noise == "shared" else input_dim
    prior = _log_normal(settings, settings.initial_noise, _WIDE, dtype)
    return LearnedNoise((*leading, size), variance=settings.initial_noise, prior=prior, dtype=dtype)


def weights_of(model: NoisyInputGP) -> dict[str, np.ndarray]:
    """All that prediction needs of a trained model, as float64 arrays by name (``kernel.kernels[0].variance``, …).

    With the leading axis of models that were trained at once.
    """
    return {
        path.lstrip("."): np.asarray(parameter.numpy(), np.float64)
        for path, parameter in gpflow.utilities.parameter_dict(model).items()
        if not path.startswith(".input_model")
    }


def assign_weights(model: NoisyInputGP, weights: Mapping[str, np.ndarray]) -> None:
    """Set a model's parameters, but for those of its input model, to what :func:`weights_of` returned.

    Raises
    ------
    ValueError
        When names or shapes are not those of such a model.
    """
    parameters = {
        path.lstrip("."): parameter
        for path, parameter in gpflow.utilities.parameter_dict(model).items()
        if not path.startswith(".input_model")
    }
    if parameters.keys() != weights.keys():
        odd = sorted(parameters.keys() ^ weights.keys())
        raise ValueError(f"the weights do not fit such a model: {', '.join(odd)} differ")
    for name, parameter in parameters.items():
        if parameter.shape != weights[name].shape:
            raise ValueError(
                f"the weights {name} have shape {weights[name].shape}, a model with these inducing points needs "
                f"{tuple(parameter.shape)}"
            )
        parameter.assign(tf.cast(weights[name], parameter.dtype))


def model_from_weights(
    settings: ModelSettings, weights: Mapping[str, np.ndarray], *, dtype: tf.DType = tf.float64
) -> NoisyInputGP:
    """Rebuild a model for prediction from :func:`weights_of`.

    Raises
    ------
    ValueError
        When names or shapes are not those of such a model.
    """
    if "posterior.Z" not in weights or np.ndim(weights["posterior.Z"]) != 3:
        raise ValueError("the weights hold no inducing points 'posterior.Z' of shape (functions, points, features)")
    functions = len(weights["posterior.Z"])
    num_classes = 2 if functions == 1 else functions
    model = build_model(settings, weights["posterior.Z"][0], num_classes=num_classes, num_data=0, dtype=dtype)
    model.input_model = ObservedInputs()
    assign_weights(model, weights)
    return model
