"""Kernels and likelihoods of GPflow: adapted to models here, copied, and as JSON holds them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.utilities import multiple_assign, parameter_dict, set_trainable

from fermiclass.nimgp.arrays import FloatArray
from fermiclass.nimgp.errors import KernelError
from fermiclass.nimgp.kernels import Differentiated
from fermiclass.nimgp.likelihoods.base import antithetic_draws, draws_of_f, moments_of_draws, one_hot
from fermiclass.nimgp.likelihoods.draws import PredictiveMoments
from fermiclass.nimgp.likelihoods.integrals import log_expectation
from fermiclass.nimgp.modules import Module, Parameter, copied, parameters_of
from fermiclass.nimgp.posterior import LatentMoments

_BY_QUADRATURE = gpflow.likelihoods.QuadratureLikelihood._predict_log_density
_MOST_OF_REASON = 110  # letters of an error of TensorFlow or GPflow, which end in what went wrong


class GPflowKernel(Differentiated):
    """Copies of a kernel of GPflow, one for each latent function, in double precision."""

    def __init__(self, kernel: Any, num_functions: int) -> None:
        super().__init__()
        self.kernels = [copied_without_leak(kernel) for _ in range(num_functions)]

    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:
        each = [k(_of(X, c), None if X2 is None else _of(X2, c)) for c, k in enumerate(self.kernels)]
        return tf.stack(each)

    def K_diag(self, X: tf.Tensor) -> tf.Tensor:
        return tf.stack([k(_of(X, c), full_cov=False) for c, k in enumerate(self.kernels)])


def _of(X: tf.Tensor, c: int) -> tf.Tensor:
    """Return the inputs of one latent function."""
    return X[min(c, X.shape[0] - 1)]


class GPflowLikelihood(Module):
    """``p(y | f + b)`` for a GPflow likelihood p and constants b, one for each of its L latent functions.

    Expectations over f are those of the likelihood: closed forms or quadratures. For likelihoods that draw (Softmax),
    only ``p(y | f)`` is used, at draws that a seed decides. Each row has one output y. Numbers are in double
    precision, as in GPflow.

    The likelihood is not copied, and training changes it. The offset, initial b, is learned, so that f may have a prior
    mean of zero; None for a b of zero. Other arguments are those of `ClassLikelihood`. Raises ValueError as
    :func:`check_likelihood`, or when the likelihood does not draw and there are sets.
    """

    def __init__(
        self,
        likelihood: gpflow.likelihoods.Likelihood,
        *,
        offset: float | Sequence[float] | None = 0.0,
        sets: FloatArray | None = None,
        num_draws: int = 8,
        num_points: int = 16,
    ) -> None:
        super().__init__()
        check_likelihood(likelihood)
        self.likelihood = likelihood
        self.num_functions = likelihood.latent_dim or 1
        start = np.full(self.num_functions, 0.0 if offset is None else offset)
        self.offset = Parameter(start, trainable=offset is not None)
        self.sets = sets
        if sets is not None and not self._draws:
            raise ValueError(
                f"label_sets need a likelihood that draws, such as gpflow.likelihoods.Softmax, or one by name; "
                f"{type(likelihood).__name__} does not draw"
            )
        self.num_draws, self.num_points = num_draws, num_points

    @property
    def num_classes(self) -> int:
        """C if y is a label 0 … C − 1, else 0."""
        if isinstance(self.likelihood, gpflow.likelihoods.Bernoulli):
            return 2
        return int(getattr(self.likelihood, "num_classes", 0))

    def variational_expectations(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        if not self._draws:
            return self.likelihood.variational_expectations(*self._inputs(latent), self._outputs(y))
        return tf.reduce_mean(self._log_p_of_label(antithetic_draws(latent, self.num_draws, seed), y), axis=0)

    def log_predictive(self, latent: LatentMoments, y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        if not self._draws:
            return self._integrated(latent, y)
        log_p = self._log_p_of_label(antithetic_draws(latent, self.num_draws, seed), y)
        return tf.reduce_logsumexp(log_p, axis=0) - np.log(self.num_draws)

    def log_density(self, latent: LatentMoments, y: tf.Tensor, num_draws: int = 1) -> tf.Tensor:
        """``log E_q p(y | f + b)`` in prediction, shape (n,)."""
        if not self._draws:
            return self._integrated(latent, y)
        log_p = self._log_prob(draws_of_f(latent, num_draws, self.num_points), y)
        return tf.reduce_logsumexp(log_p, axis=0) - np.log(log_p.shape[0])

    def mean_and_var(self, latent: LatentMoments, num_draws: int = 1) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of y including noise, each (n, P)."""
        if not self._draws:
            return self.likelihood.predict_mean_and_var(*self._inputs(latent))
        f = draws_of_f(latent, num_draws, self.num_points)
        rows, own = self._rows(f), self.likelihood
        given = (of(rows[:, :0], rows) for of in (own.conditional_mean, own.conditional_variance))
        mean, var = (tf.reshape(a, [f.shape[0], -1, a.shape[-1]]) for a in given)
        second = tf.reduce_mean(var + tf.square(mean), axis=0)
        mean = tf.reduce_mean(mean, axis=0)
        return mean, second - tf.square(mean)

    def predict(self, latent: LatentMoments, ratio: tf.Tensor, num_draws: int = 1) -> PredictiveMoments:
        return moments_of_draws(self._log_p(draws_of_f(latent, num_draws, self.num_points)), ratio)

    def _log_p(self, f: tf.Tensor) -> tf.Tensor:
        """Return ``log p(c | f + b)`` of all classes at draws (S, L, n), shape (S, C, n)."""
        each = [self._log_prob(f, tf.fill(tf.shape(f)[2:], label)) for label in range(self.num_classes)]
        return tf.stack(each, axis=1)

    def _log_p_of_label(self, f: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        """Return ``log p(y | f + b)`` at draws (S, L, n), shape (S, n)."""
        if self.sets is None:
            return self._log_prob(f, y)
        own = one_hot(y, self.num_classes, f.dtype, self.sets)
        return tf.reduce_logsumexp(self._log_p(f) + tf.math.log(own), axis=1)

    def _integrated(self, latent: LatentMoments, y: tf.Tensor) -> tf.Tensor:
        """``log E_q p(y | f + b)``; GPflow's 20 points miss a ``p(y | f)`` that is narrow, and a y in the tail."""
        if type(self.likelihood)._predict_log_density is not _BY_QUADRATURE or self.num_functions > 1:
            return self.likelihood.predict_log_density(*self._inputs(latent), self._outputs(y))
        scale = tf.sqrt(latent.var)
        return log_expectation(lambda t: self._log_prob((latent.mean + scale * t)[:, None], y), tf.size(y))

    @property
    def _draws(self) -> bool:
        return isinstance(self.likelihood, gpflow.likelihoods.MonteCarloLikelihood)

    def _inputs(self, latent: LatentMoments) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return an empty x (n, 0), and mean and variance of f + b, (n, L) each."""
        mean = tf.linalg.matrix_transpose(latent.mean) + self.offset
        return mean[:, :0], mean, tf.linalg.matrix_transpose(latent.var)

    def _outputs(self, y: tf.Tensor) -> tf.Tensor:
        is_class = hasattr(self.likelihood, "num_classes")
        return tf.cast(y, tf.int32 if is_class else gpflow.default_float())[:, None]

    def _log_prob(self, f: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        """``log p(y | f + b)`` at draws (S, L, n), shape (S, n)."""
        rows = self._rows(f)
        log_p = self.likelihood.log_prob(rows[:, :0], rows, self._outputs(tf.tile(y, tf.shape(f)[:1])))
        return tf.reshape(log_p, [f.shape[0], -1])

    def _rows(self, f: tf.Tensor) -> tf.Tensor:
        """Return draws (S, L, n) plus b as rows (S · n, L), the shape that every likelihood takes."""
        return tf.reshape(tf.linalg.matrix_transpose(f), [-1, self.num_functions]) + self.offset


def check_likelihood(likelihood: object) -> None:
    """Raise ValueError unless `likelihood` is a GPflow likelihood of one output that does not depend on x."""
    name = type(likelihood).__name__
    if not isinstance(likelihood, gpflow.likelihoods.Likelihood):
        raise ValueError(
            f"{likelihood!r} is no likelihood: expected a likelihood of GPflow, such as gpflow.likelihoods.Poisson()"
        )
    if isinstance(likelihood, gpflow.likelihoods.SwitchedLikelihood) or (likelihood.observation_dim or 1) > 1:
        raise ValueError(f"the likelihood {name} has several outputs a row: expected one")
    if isinstance(likelihood, gpflow.likelihoods.Ordinal):
        raise ValueError("the likelihood Ordinal of GPflow is NaN for its outermost grades: expected another")
    functions = [key for key, value in vars(likelihood).items() if isinstance(value, gpflow.functions.Function)]
    if functions:
        raise ValueError(f"{functions[0]} of the likelihood {name} depends on the inputs: expected a number")
    _check_precision(likelihood)


def check_kernel(kernel: Any, input_dim: int) -> None:
    """Raise KernelError unless a kernel is one of rows of D features, in double precision: training may not fail."""
    for part in (kernel, *getattr(kernel, "submodules", ())):
        dims, scales = getattr(part, "active_dims", None), np.shape(getattr(part, "lengthscales", 1.0))
        if dims is None:
            continue
        every = np.arange(max(input_dim, dims.stop or 0) if isinstance(dims, slice) else 0)
        used = every[dims] if isinstance(dims, slice) else np.asarray(dims)
        if not len(used) or not set(used.tolist()) <= set(range(input_dim)) or scales not in ((), (1,), used.shape):
            raise KernelError(
                f"the kernel {type(part).__name__} has active_dims={dims} and lengthscales of shape {scales}, which do "
                f"not fit the features 0 to {input_dim - 1}"
            )
    X = np.linspace(-1.5, 1.5, 2)[:, None] * np.ones(input_dim)
    try:
        with tf.device("CPU"):
            _check_precision(kernel)
            found = kernel(X), kernel(X, full_cov=False)
        if [each.shape for each in found] != [(2, 2), (2,)] or not np.all(np.isfinite(found[0])):
            raise ValueError("it gives other covariances than one finite number for each pair of rows")
    except Exception as error:  # of TensorFlow, of GPflow, or of a class of the user's
        reason = " ".join(str(error).split())
        raise KernelError(
            f"the kernel {type(kernel).__name__} cannot be used with {input_dim} features: {reason[-_MOST_OF_REASON:]}"
        ) from error


def _check_precision(part: Any) -> None:
    """Raise ValueError unless the parameters of an object of GPflow, and their priors, are doubles."""
    for name, own in parameters_of(part).items():
        try:
            double = own.dtype == own.log_prior_density().dtype == tf.float64
        except TypeError:
            double = False
        if not double:
            raise ValueError(f"{name} of {type(part).__name__} or its prior is not in double precision")


def copied_without_leak(part: Any) -> Any:
    """Return a copy of a kernel or likelihood of GPflow whose graphs can be freed; see :class:`Softplus`."""
    found = copied(part)
    for parameter in parameters_of(found).values():
        transform: Any = parameter.transform
        if type(transform) is tfp.bijectors.Softplus and transform.hinge_softness is None:
            parameter._bijector = parameter._transform_fn = Softplus(low=transform.low)  # it has no setter
    return found


class Softplus(tfp.bijectors.Softplus):
    """``low + log(1 + exp x)``, without a custom gradient, which TensorFlow keeps for ever with its graph."""

    def __init__(self, low: Any = None) -> None:
        super().__init__(low=low)
        self._parameters = {"low": low}  # the library copies by these

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        y = tf.math.softplus(x)
        return y if self.low is None else y + self.low


def to_plain(part: Any) -> dict[str, Any]:
    """Return class, arguments and parameters of a kernel or likelihood of GPflow; TypeError where JSON holds it not."""
    parameters = parameter_dict(part)
    content = _described(part) | {
        "values": {path: parameter.numpy().tolist() for path, parameter in parameters.items()},
        "fixed": [path for path, parameter in parameters.items() if not parameter.trainable],
    }
    back = parameter_dict(from_plain(content))
    odd = [path for path, own in parameters.items() if path not in back or _rules(own) != _rules(back[path])]
    if odd:
        raise TypeError(
            f"prior or transform of {odd[0]} in {type(part).__name__} cannot be stored as text: pickle the model"
        )
    return content


def from_plain(content: Mapping[str, Any]) -> Any:
    """Return the object of :func:`to_plain`, without running code of the file; ValueError for other contents."""
    try:
        part = _made(content)
        multiple_assign(part, {path: np.array(value) for path, value in content["values"].items()})
        parameters = parameter_dict(part)
        for path in content["fixed"]:
            set_trainable(parameters[path], False)
    except (ValueError, TypeError, LookupError, AttributeError, tf.errors.OpError) as error:
        raise ValueError(f"an object of GPflow is damaged: {error}") from error
    return part


def _described(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_described(each) for each in value]
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, gpflow.Parameter | tf.Tensor | np.ndarray | np.generic):
        return np.asarray(value).tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = type(value)
    if _classes().get(kind.__name__) is not kind:
        raise TypeError(f"a {kind.__name__} is no class of GPflow, and cannot be stored as text: pickle the model")
    arguments = {
        name: _described(getattr(value, name))
        for name, argument in inspect.signature(kind).parameters.items()
        if name != "name" and getattr(value, name, argument.default) is not argument.default
    }
    if isinstance(value, gpflow.kernels.Kernel) and not (hasattr(value, "kernels") or hasattr(value, "base_kernel")):
        arguments["active_dims"] = _described(value.active_dims)
    return {"class": kind.__name__, "arguments": arguments}


def _made(value: Any) -> Any:
    if isinstance(value, list):
        return [_made(each) for each in value]
    if isinstance(value, dict) and "slice" in value:
        return slice(*value["slice"])
    if isinstance(value, dict):
        return _classes()[value["class"]](**{name: _made(each) for name, each in value["arguments"].items()})
    return value


def _classes() -> dict[str, type]:
    """Return the classes of GPflow that may occur, by name."""
    every = [*vars(gpflow.kernels).values(), *vars(gpflow.likelihoods).values()]
    return {each.__name__: each for each in every if isinstance(each, type) and issubclass(each, tf.Module)}


def _rules(parameter: Any) -> Any:
    prior, transform = parameter.prior, parameter.transform
    arguments = {} if prior is None else {name: str(value) for name, value in prior.parameters.items()}
    return type(prior), arguments, None if transform is None else transform.name
