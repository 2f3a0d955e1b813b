"""Models from settings: the independent choices by name, with the hyper-parameters' priors and initial values.

A user of the core may as well compose :class:`~fermiclass.nimgp.model.NoisyInputGP` from parts of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs.models import Encoding, GivenNoise, InputNoise, LearnedNoise, OneHot, make_input_model
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.kernels import PROFILES, GPflowKernel, Kernel, Linear, Polynomial, Scales, Stationary, Sum, White
from fermiclass.nimgp.labels import LabelTable
from fermiclass.nimgp.likelihoods.base import ClassLikelihood, Likelihood
from fermiclass.nimgp.likelihoods.named import Contaminated, make_likelihood
from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.modules import EXP, SOFTPLUS, LogNormal, Parameter, Transform, parameters_of
from fermiclass.nimgp.names import LEARNED, num_functions
from fermiclass.nimgp.posterior import SparsePosterior
from fermiclass.nimgp.processes import refuse_after_fork
from fermiclass.nimgp.settings import Settings

# Medians of the log-normal priors, for standardised inputs: latent functions some units high, as log odds are, that
# vary slowly, with little white noise. Initial values are the medians, but for the variance, which starts lower.
# Distances between standardised inputs grow with √D, and length-scales with them. Length-scales and slopes have the
# narrower priors: rows with small errors would make the functions vary faster than suits rows with large errors.
# Priors are densities of the parameters themselves: training is drawn to their modes, at median · exp(−width²).
_SLOPE_VARIANCE, _WHITE = 0.1, 0.01
_WIDE, _NARROW = 1.0, 0.5  # standard deviations of logarithms

JITTER = 1e-3  #: Jitter that single precision needs.


def type_of(settings: Settings) -> tf.DType:
    """Return the TensorFlow type of the settings' precision, or that of objects of GPflow."""
    return tf.float64 if settings.of_gpflow else tf.dtypes.as_dtype(settings.training.precision)


def build_model(
    settings: Settings,
    Z: np.ndarray,
    *,
    num_data: int,
    num_classes: int,
    input_prior: InputPrior | None = None,
    seed: int = 0,
    jitter: float = JITTER,
    dtype: tf.DType = tf.float64,
    labels: LabelTable | None = None,
) -> NoisyInputGP:
    """Compose an untrained model from the settings; see :func:`compose_model` for the parameters.

    `labels` are the meaning of the labels of the training rows; None if each label is a class, with weight 1.
    """
    refuse_after_fork()
    sets = None if labels is None else labels.sets
    likelihood, num_latent = _likelihood(settings, num_classes, dtype, sets)
    return compose_model(
        settings,
        Z,
        likelihood,
        num_latent,
        OneHot(num_classes, sets),
        num_data=num_data,
        input_prior=input_prior,
        seed=seed,
        jitter=jitter,
        dtype=dtype,
        label_weights=None if labels is None else labels.weights,
    )


def compose_model(
    settings: Settings,
    Z: np.ndarray,
    likelihood: Likelihood,
    num_latent: int,
    encode: Encoding,
    *,
    num_data: int,
    scales: Scales | None = None,
    input_prior: InputPrior | None = None,
    seed: int = 0,
    jitter: float = JITTER,
    dtype: tf.DType = tf.float64,
    label_weights: np.ndarray | None = None,
) -> NoisyInputGP:
    """Compose an untrained model with any likelihood, such as one of GPflow's.

    `settings`: the other choices; its likelihood, ε and label noise play no part.
    `Z`: initial inducing points ``(M, D)``, the same for every latent function.
    `likelihood`, `num_latent`: p(y | f), and L, the number of latent functions that it needs.
    `encode`: inputs of the network of ``'nimgp-nn'`` that represent y.
    `num_data`: N.
    `scales`: scales of stationary and polynomial kernels.
    `input_prior`: p(x) of the training inputs; None for a flat one.
    `seed`: seed of a network's first weights, and of draws that are made once.
    `jitter`: initial jitter, relative to the mean of the diagonal of K(Z, Z).
    """
    input_dim = Z.shape[1]
    return NoisyInputGP(
        _kernel(settings, num_latent, input_dim, scales or Scales(), dtype),
        likelihood,
        make_input_model(settings, (num_data, input_dim), encode, input_prior, seed, dtype),
        _noise(settings, input_dim, dtype),
        SparsePosterior(np.repeat(Z[None], num_latent, axis=0), jitter=jitter, dtype=dtype),
        num_data=num_data,
        objective=settings.objective,
        label_weights=label_weights,
    )


def _likelihood(
    settings: Settings, num_classes: int, dtype: tf.DType, sets: np.ndarray | None
) -> tuple[Likelihood, int]:
    """Return the likelihood, and the number of latent functions that it needs."""
    shared: dict[str, Any] = {"dtype": dtype, "sets": sets}
    if isinstance(settings.likelihood, str):
        num_latent = num_functions(num_classes)
        right = make_likelihood(settings.likelihood, num_classes, epsilon=settings.hyper.epsilon, **shared)
        if isinstance(right, ClassLikelihood):
            right.num_draws = 2 * settings.training.draw_pairs
    else:
        from fermiclass.nimgp.likelihoods.from_gpflow import GPflowLikelihood, copied_without_leak

        num_draws = 2 * settings.training.draw_pairs
        right = GPflowLikelihood(copied_without_leak(settings.likelihood), offset=None, sets=sets, num_draws=num_draws)
        num_latent = right.num_functions
        if right.num_classes != num_classes:
            raise ValueError(
                f"the likelihood {type(settings.likelihood).__name__} has {right.num_classes or 'no'} classes, the "
                f"labels have {num_classes}"
            )
    if settings.label_noise == LEARNED:
        return Contaminated(right, **shared), num_latent
    if settings.label_noise:
        return Contaminated(right, rate=float(settings.label_noise), learn_rate=False, **shared), num_latent
    return right, num_latent


def _prior(settings: Settings, median: float, width: float) -> LogNormal | None:
    return LogNormal(median, width) if settings.hyper.priors else None


def _kernel(settings: Settings, num_latent: int, input_dim: int, scales: Scales, dtype: tf.DType) -> Kernel:
    def parameter(
        shape: Sequence[int], value: float, median: float, width: float, transform: Transform = EXP
    ) -> Parameter:
        prior = _prior(settings, median, width)
        return Parameter(np.full(shape, value), dtype=dtype, transform=transform, prior=prior)

    lengthscale = scales.lengthscale_over_root_d * np.sqrt(input_dim)
    kernels: list[Kernel] = []
    if not isinstance(settings.kernel, str):
        from fermiclass.nimgp.likelihoods.from_gpflow import copied_without_leak

        kernels.append(GPflowKernel(copied_without_leak(settings.kernel), num_latent, dtype=dtype))
    for name in settings.kernel.split("+") if isinstance(settings.kernel, str) else ():
        if name == "linear":
            kernels.append(Linear(parameter([num_latent], _SLOPE_VARIANCE, _SLOPE_VARIANCE, _NARROW)))
            continue
        transform = EXP if name == "polynomial" else SOFTPLUS
        start = settings.hyper.variance or scales.initial_variance
        variance = parameter([num_latent], start, scales.variance, _WIDE, transform)
        start = settings.hyper.lengthscale or lengthscale
        lengthscales = parameter([num_latent, input_dim], start, lengthscale, scales.width, SOFTPLUS)
        if name == "polynomial":
            kernels.append(Polynomial(settings.hyper.degree, variance, lengthscales))
        else:
            kernels.append(Stationary(PROFILES[name], variance, lengthscales))
    return Sum([*kernels, White(parameter([num_latent], settings.hyper.white, _WHITE, _WIDE))])


def _noise(settings: Settings, input_dim: int, dtype: tf.DType) -> InputNoise:
    if settings.noise == "given":
        return GivenNoise()
    size = 1 if settings.noise == "shared" else input_dim
    prior = _prior(settings, settings.hyper.noise, _WIDE)
    return LearnedNoise(size, variance=settings.hyper.noise, prior=prior, dtype=dtype)


def weights_of(model: NoisyInputGP) -> dict[str, np.ndarray]:
    """All that prediction needs of a trained model, as float64 arrays by name (``kernel.kernels[0].variance``, …)."""
    return {name: np.asarray(parameter.numpy(), np.float64) for name, parameter in _for_prediction(model).items()}


def _for_prediction(model: NoisyInputGP) -> dict[str, Parameter]:
    return {name: found for name, found in parameters_of(model).items() if not name.startswith("input_model")}


def assign_weights(model: NoisyInputGP, weights: Mapping[str, np.ndarray]) -> None:
    """Set a model's parameters, but for those of its input model, to what :func:`weights_of` returned.

    Raises ValueError when names or shapes are not those of such a model.
    """
    parameters = _for_prediction(model)
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
