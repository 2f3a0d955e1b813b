"""Models from settings: the four independent choices by name, with the hyper-parameters' priors and initial values.

A user of the core may as well compose :class:`~fermiclass.nimgp.model.NoisyInputGP` from parts of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from fermiclass.nimgp.input_prior import InputPrior
from fermiclass.nimgp.inputs import InputModel, ObservedInputs, PerSourceInputs
from fermiclass.nimgp.kernels import Kernel, Linear, SquaredExponential, Sum, White
from fermiclass.nimgp.likelihoods import Likelihood, Softmax, Step
from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.posterior import SparsePosterior

METHODS = ("mgp", "nimgp")
LIKELIHOODS = ("softmax", "step")
KERNELS = ("se", "se+linear")

# Medians of the log-normal priors, for standardised inputs: latent functions some units high, as log odds are, that
# vary slowly, with little white noise. Initial values are the medians, but for the variance, which starts lower.
# Distances between standardised inputs grow with √D, and length-scales with them. What says how fast a function varies
# has the narrower priors: bright sources, of small errors, would have it vary faster than suits faint ones.
_VARIANCE, _LENGTHSCALE_OVER_ROOT_D, _SLOPE_VARIANCE, _WHITE = 10.0, 3.0, 0.1, 0.01
_INITIAL_VARIANCE = 5.0
_WIDE, _NARROW = 1.0, 0.5  # standard deviations of logarithms


@dataclass(frozen=True)
class ModelSettings:
    """Which model, by name.

    Attributes
    ----------
    method
        ``'mgp'`` ignores input noise, ``'nimgp'`` has a q(x) for each source.
    likelihood
        ``'softmax'`` or ``'step'``.
    kernel
        ``'se'``: ARD squared exponential and white noise; ``'se+linear'``: a linear kernel, too.
    epsilon
        Of the step likelihood: a fixed value, or None to learn it.
    hyper_priors
        Whether hyper-parameters have log-normal priors (MAP) or none (maximum likelihood).
    jitter
        Relative to the mean of the diagonal of K(Z, Z).
    """

    method: str = "nimgp"
    likelihood: str = "softmax"
    kernel: str = "se+linear"
    epsilon: float | None = None
    hyper_priors: bool = True
    jitter: float = 1e-3

    def __post_init__(self) -> None:
        for name, known in (("method", METHODS), ("likelihood", LIKELIHOODS), ("kernel", KERNELS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is unknown: choose one of {', '.join(known)}")


def build_model(
    settings: ModelSettings,
    Z: np.ndarray,
    *,
    num_classes: int,
    num_data: int,
    input_prior: InputPrior | None = None,
    dtype: tf.DType = tf.float64,
) -> NoisyInputGP:
    """Compose an untrained model.

    Parameters
    ----------
    settings
        The choices.
    Z
        Initial inducing points ``(M, D)``, the same for every class.
    num_classes, num_data
        C and N.
    input_prior
        p(x) of the training inputs; None for a flat one.
    dtype
        Of all parameters and of the arithmetic.
    """
    input_dim = Z.shape[1]
    return NoisyInputGP(
        _kernel(settings, num_classes, input_dim, dtype),
        _likelihood(settings, num_classes, dtype),
        _input_model(settings, num_data, input_dim, input_prior, dtype),
        SparsePosterior(np.tile(Z, (num_classes, 1, 1)), jitter=settings.jitter, dtype=dtype),
        num_data=num_data,
    )


def _kernel(settings: ModelSettings, num_classes: int, input_dim: int, dtype: tf.DType) -> Kernel:
    def prior(median: float, width: float) -> object:
        if not settings.hyper_priors:
            return None
        return tfp.distributions.LogNormal(tf.cast(np.log(median), dtype), tf.cast(width, dtype))

    lengthscale = _LENGTHSCALE_OVER_ROOT_D * np.sqrt(input_dim)
    kernels: list[Kernel] = [
        SquaredExponential(
            num_classes,
            input_dim,
            variance=_INITIAL_VARIANCE,
            lengthscales=lengthscale,
            variance_prior=prior(_VARIANCE, _WIDE),
            lengthscales_prior=prior(lengthscale, _NARROW),
            dtype=dtype,
        ),
        White(num_classes, variance=_WHITE, variance_prior=prior(_WHITE, _WIDE), dtype=dtype),
    ]
    if settings.kernel == "se+linear":
        slopes = prior(_SLOPE_VARIANCE, _NARROW)
        kernels.append(Linear(num_classes, variance=_SLOPE_VARIANCE, variance_prior=slopes, dtype=dtype))
    return Sum(kernels)


def _likelihood(settings: ModelSettings, num_classes: int, dtype: tf.DType) -> Likelihood:
    if settings.likelihood == "softmax":
        return Softmax(num_classes)
    if settings.epsilon is None:
        return Step(num_classes, dtype=dtype)
    return Step(num_classes, epsilon=settings.epsilon, learn_epsilon=False, dtype=dtype)


def _input_model(
    settings: ModelSettings, num_data: int, input_dim: int, prior: InputPrior | None, dtype: tf.DType
) -> InputModel:
    if settings.method == "mgp":
        return ObservedInputs()
    return PerSourceInputs(num_data, input_dim, prior=prior, dtype=dtype)


def weights_of(model: NoisyInputGP) -> dict[str, np.ndarray]:
    """All that prediction needs of a trained model, as float64 arrays by name (``kernel.kernels[0].variance``, …)."""
    return {
        path.lstrip("."): np.asarray(parameter.numpy(), np.float64)
        for path, parameter in gpflow.utilities.parameter_dict(model).items()
        if not path.startswith(".input_model")
    }


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
        raise ValueError("the weights hold no inducing points 'posterior.Z' of shape (classes, points, features)")
    num_classes, _, _ = weights["posterior.Z"].shape
    model = build_model(settings, weights["posterior.Z"][0], num_classes=num_classes, num_data=0, dtype=dtype)
    model.input_model = ObservedInputs()
    parameters = {path.lstrip("."): p for path, p in gpflow.utilities.parameter_dict(model).items()}
    if parameters.keys() != weights.keys():
        odd = sorted(parameters.keys() ^ weights.keys())
        raise ValueError(f"the weights do not fit a {settings.likelihood} model: {', '.join(odd)} differ")
    for name, parameter in parameters.items():
        if parameter.shape != weights[name].shape:
            raise ValueError(
                f"the weights {name} have shape {weights[name].shape}, a model with these inducing points needs "
                f"{tuple(parameter.shape)}"
            )
        parameter.assign(tf.cast(weights[name], dtype))
    return model
