"""The sparse multi-class GP with noisy inputs: its objective, and models from settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.arrays import check_arrays
from fermiclass.nimgp.inputs.models import (
    Batch,
    Encoding,
    InputModel,
    label_encoding,
    make_input_model,
    output_encoding,
)
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.kernels import NAMED, WHITE, Kernel, Scales, Starts, Sum
from fermiclass.nimgp.likelihoods.base import Likelihood
from fermiclass.nimgp.likelihoods.named import make_likelihood, of_given_labels
from fermiclass.nimgp.modules import SIGMOID, Beta, Module, Parameter, parameters_of
from fermiclass.nimgp.names import LEARNED
from fermiclass.nimgp.posterior import SparsePosterior
from fermiclass.nimgp.processes import refuse_after_fork
from fermiclass.nimgp.settings import Settings
from fermiclass.nimgp.targets import Outputs

_OF_WRONG_LABELS = Beta(1.0, 9.0)  # prior of ρ (Hernández-Lobato et al. 2011, section 2)

_JITTER, _SMALL_JITTER = 1e-3, 1e-6  # what single precision needs, and what is enough for double precision
_OF_TRAINING = "input_model"  # names of parameters that prediction does not need begin so


@dataclass(eq=False)
class NoisyInputGP(Module):
    """Sparse variational multi-class GP whose inputs may be noisy, composed of independent choices."""

    kernel: Kernel
    likelihood: Likelihood
    input_model: InputModel
    #: V of all sources, ``(D,)`` or ``(1,)``, a hyper-parameter (Villacampa-Calvo et al. 2021, section 3.4); None where
    #: each source has a measured one.
    noise: Parameter | None
    posterior: SparsePosterior
    num_data: Any  #: N, which scales the terms of a minibatch: a number, kept as a variable.
    predictive: bool = False  #: Whether the objective has ``log E p(y | f)`` instead of ``E log p(y | f)``.
    #: Probability ρ that a label is wrong, of which predictions are free; None where all labels are trusted.
    label_noise: Parameter | None = None

    def __post_init__(self) -> None:
        self.num_data = tf.Variable(self.num_data, dtype=tf.int64, trainable=False)
        self.dtype = self.posterior.q_mu.dtype

    def objective(self, batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        """Return an unbiased estimate of what training maximises, by default the evidence lower bound.

        ``(N/B) Σ_i { E_q(x_i) E_q(f) log p(y_i | f(x_i)) + [terms of q(x_i)] } − Σ_c KL(q(u_c) ‖ p(u_c))``
        (Villacampa-Calvo et al. 2021, equation 10 and appendix A, which prints the inverse of the scale) for B of the N
        sources. If it is `predictive`, ``log E_q(f) p(y_i | f(x_i))`` replaces the expected logarithm, and the sum is
        not a bound. The seed is int32 (2,).
        """
        if self.noise is not None:
            batch = batch._replace(X_var=tf.ones_like(batch.X_var) * self.noise)
        log_p = self.likelihood.log_predictive if self.predictive else self.likelihood.variational_expectations
        if self.label_noise is not None:
            log_p = partial(of_given_labels, log_p, self.likelihood, self.label_noise)
        terms = self.input_model.source_terms(self.posterior.functions(self.kernel), log_p, batch, seed)
        if batch.weight is not None:
            terms *= batch.weight
        scale = tf.cast(self.num_data, terms.dtype) / tf.cast(tf.shape(terms)[0], terms.dtype)
        return scale * tf.reduce_sum(terms) - self.posterior.kl_divergence()

    def diagnosis(self) -> str:
        """Name the parameters that are not finite; if there are none, the condition number of the worst K(Z, Z)."""
        odd = [path for path, parameter in parameters_of(self).items() if not np.all(np.isfinite(parameter.numpy()))]
        if odd:
            return f"the parameters {', '.join(odd[:3])}{', ...' if len(odd) > 3 else ''} are NaN or infinite"
        K = tf.cast(self.kernel.K(self.posterior.Z), tf.float64).numpy()
        if not np.all(np.isfinite(K)):
            return "the covariances K(Z, Z) of the inducing points overflow"
        eigenvalues = np.linalg.eigvalsh(K)
        condition = eigenvalues[..., -1] / np.maximum(eigenvalues[..., 0], 1e-16 * eigenvalues[..., -1])
        worst = int(np.argmax(condition))
        return (
            f"the covariance matrix K(Z, Z) of {K.shape[-1]} inducing points is worst for latent function {worst}: "
            f"its condition number is {condition[worst]:.1g} before the jitter of {self.posterior.jitter.numpy():.1g}"
        )


def build_model(
    settings: Settings,
    Z: np.ndarray,
    *,
    num_classes: int,
    sets: np.ndarray | None = None,
    dtype: tf.DType = tf.float64,
    **options: Any,
) -> NoisyInputGP:
    """Compose an untrained classifier from the settings; see :func:`compose_model` for other options.

    `sets` are those of :class:`fermiclass.nimgp.targets.LabelTable`.
    """
    options |= {"dtype": dtype}
    of_labels: dict[str, Any] = {"sets": sets, "num_draws": 2 * settings.training.draw_pairs}
    likelihood: Any
    if isinstance(settings.likelihood, str):
        epsilon, num_latent = settings.hyper.epsilon, 1 if num_classes == 2 else num_classes  # two classes share one
        likelihood = make_likelihood(settings.likelihood, num_classes, epsilon=epsilon, dtype=dtype, **of_labels)
    else:
        from fermiclass.nimgp.from_gpflow import GPflowLikelihood, copied_without_leak

        likelihood = GPflowLikelihood(copied_without_leak(settings.likelihood), offset=None, **of_labels)
        num_latent = likelihood.num_functions
        if likelihood.num_classes != num_classes:
            raise ValueError(
                f"the likelihood {type(settings.likelihood).__name__} has {likelihood.num_classes or 'no'} classes, "
                f"the labels have {num_classes}"
            )
    model = compose_model(settings, Z, likelihood, num_latent, label_encoding(num_classes, sets), **options)
    if settings.label_noise == LEARNED:
        model.label_noise = Parameter(0.1, dtype=dtype, transform=SIGMOID, prior=_OF_WRONG_LABELS)
    elif settings.label_noise:
        model.label_noise = Parameter(settings.label_noise, dtype=dtype, transform=SIGMOID, trainable=False)
    return model


def build_output_model(settings: Settings, Z: np.ndarray, outputs: Outputs, **options: Any) -> NoisyInputGP:
    """Compose an untrained model of outputs, in double precision; see :func:`compose_model` for other options."""
    from fermiclass.nimgp.likelihoods.outputs import FUNCTION, make_output_likelihood

    num_draws = 2 * settings.training.draw_pairs
    likelihood = make_output_likelihood(settings.likelihood, outputs, num_draws=num_draws)
    encode = output_encoding(outputs.centre, outputs.spread)
    options |= {"scales": FUNCTION, "jitter": _SMALL_JITTER}
    return compose_model(settings, Z, likelihood, likelihood.num_functions, encode, **options)


def compose_model(
    settings: Settings,
    Z: np.ndarray,
    likelihood: Likelihood,
    num_latent: int,
    encode: Encoding,
    *,
    num_data: int,
    scales: Scales = Scales(),  # noqa: B008 (immutable)
    input_prior: InputPrior | None = None,
    seed: int = 0,
    jitter: float = _JITTER,
    dtype: tf.DType = tf.float64,
) -> NoisyInputGP:
    """Compose an untrained model of N sources with any likelihood, such as one of GPflow's, of L latent functions.

    Its likelihood, ε and label noise in the settings play no part. Each function begins with the inducing points ``Z``
    (M, D). The seed is that of a network's first weights, and of draws that are made once.
    """
    refuse_after_fork()
    input_dim = Z.shape[1]
    starts = Starts(settings.hyper, num_latent, input_dim, scales, dtype)
    noise = None
    if settings.noise != "given":
        start = settings.hyper.noise
        noise = starts.positive(start, start, shape=[1 if settings.noise == "shared" else input_dim])
    if isinstance(settings.kernel, str):
        kernels = [NAMED[name](starts) for name in settings.kernel.split("+")]
    else:
        from fermiclass.nimgp.from_gpflow import GPflowKernel, check_kernel

        check_kernel(settings.kernel, input_dim)
        kernels = [GPflowKernel(settings.kernel, num_latent)]
    return NoisyInputGP(
        Sum(kernels, white=starts.positive(settings.hyper.white, WHITE)),
        likelihood,
        make_input_model(settings, (num_data, input_dim), encode, input_prior, seed, dtype),
        noise,
        SparsePosterior(np.repeat(Z[None], num_latent, axis=0), jitter=jitter, dtype=dtype),
        num_data=num_data,
        predictive=settings.objective == "predictive" or settings.method == "nimgp-fo-marginal",
    )


def weights_of(model: NoisyInputGP) -> dict[str, np.ndarray]:
    """All that prediction needs of a trained model, as float64 arrays by name (``kernel.kernels[0].variance``, …)."""
    found = parameters_of(model).items()
    return {name: tf.cast(each, tf.float64).numpy() for name, each in found if not name.startswith(_OF_TRAINING)}


def assign_weights(model: NoisyInputGP, weights: Mapping[str, np.ndarray]) -> None:
    """Set parameters to what :func:`weights_of` returned; ValueError when names or shapes are not such a model's."""
    parameters = {name: each for name, each in parameters_of(model).items() if not name.startswith(_OF_TRAINING)}
    check_arrays(weights, {name: tuple(parameter.shape) for name, parameter in parameters.items()})
    for name, parameter in parameters.items():
        parameter.assign(tf.cast(weights[name], parameter.dtype))
