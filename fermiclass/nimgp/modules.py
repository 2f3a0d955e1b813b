"""Parameters of models: transformed, with priors, and found by name. Calls of TensorFlow graphs.

The interface is that of GPflow, whose parameters may be in the same model, but whose import takes seconds.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from math import lgamma
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import tensorflow as tf

T = TypeVar("T")


class LogNormal(NamedTuple):
    """``log θ ~ N(log median, width²)``."""

    median: float
    width: float

    def log_prob(self, value: tf.Tensor) -> tf.Tensor:
        """``−½ ((log θ − log median) / width)² − log θ − log(width √(2π))``."""
        log = tf.math.log(value)
        offset = (log - float(np.log(self.median))) / self.width
        return -0.5 * tf.square(offset) - log - float(np.log(self.width * np.sqrt(2.0 * np.pi)))


class Beta(NamedTuple):
    """``p(θ) ∝ θ^(a − 1) (1 − θ)^(b − 1)``."""

    a: float
    b: float

    def log_prob(self, value: tf.Tensor) -> tf.Tensor:
        """Log density, normalised."""
        norm = lgamma(self.a + self.b) - lgamma(self.a) - lgamma(self.b)
        return (self.a - 1.0) * tf.math.log(value) + (self.b - 1.0) * tf.math.log1p(-value) + norm


class Transform(NamedTuple):
    """From the real numbers that training changes to the values of a parameter, and back (NumPy, double precision)."""

    forward: Callable[[tf.Tensor], tf.Tensor]
    inverse: Callable[[np.ndarray], np.ndarray]


IDENTITY = Transform(tf.identity, np.asarray)
EXP = Transform(tf.exp, np.log)
SOFTPLUS = Transform(tf.math.softplus, lambda y: y + np.log(-np.expm1(-y)))
SIGMOID = Transform(tf.sigmoid, lambda p: np.log(p) - np.log1p(-p))


class Parameter(tf.Module):
    """An array that training may change, inside the limits of its transform. It can stand where a tensor can.

    The prior is a density of the value itself. Raises ValueError when a number is outside of the limits.
    """

    def __init__(
        self,
        value: Any,
        *,
        dtype: tf.DType = tf.float64,
        transform: Transform = IDENTITY,
        prior: LogNormal | Beta | None = None,
        trainable: bool = True,
    ) -> None:
        super().__init__()
        self.transform, self.prior = transform, prior
        self.shape, self.dtype = tf.TensorShape(np.shape(value)), dtype
        self.unconstrained_variable = tf.Variable(tf.zeros(self.shape, dtype), trainable=trainable)
        self.assign(value)

    def numpy(self) -> np.ndarray:
        """Return the value as an array."""
        return np.asarray(tf.convert_to_tensor(self).numpy())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.numpy().astype(dtype or self.dtype.as_numpy_dtype)

    def assign(self, value: Any) -> None:
        """Set the value: numbers, or without a transform a tensor of a graph too."""
        if self.transform != IDENTITY:  # a copy has another object
            with np.errstate(all="ignore"):
                value = self.transform.inverse(np.asarray(value, np.float64))
            if not np.all(np.isfinite(value)):
                raise ValueError("a parameter has a value that it cannot take, such as a variance of 0 or below")
        self.unconstrained_variable.assign(tf.cast(value, self.dtype))

    def log_prior_density(self) -> tf.Tensor:
        """Log density of the prior at the value, summed over its numbers."""
        if self.prior is None:
            return tf.zeros((), self.dtype)
        return tf.reduce_sum(self.prior.log_prob(tf.convert_to_tensor(self)))


def _as_tensor(parameter: Parameter, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> tf.Tensor:
    value = parameter.transform.forward(tf.convert_to_tensor(parameter.unconstrained_variable))
    return value if dtype is None else tf.cast(value, dtype)


tf.register_tensor_conversion_function(Parameter, _as_tensor)


for _name in ("getitem", "neg", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow"):
    setattr(
        Parameter,
        f"__{_name}__",
        lambda self, *others, _name=f"__{_name}__": getattr(tf.convert_to_tensor(self), _name)(*others),
    )


class Module(tf.Module):
    """A part of a model: it finds the parameters among its attributes, and in theirs."""

    def log_prior_density(self) -> tf.Tensor:
        """Log density of the priors of all parameters."""
        return sum(each.log_prior_density() for each in parameters_of(self).values() if each.prior is not None)


def parameters_of(part: object) -> dict[str, Parameter]:
    """Return the parameters of a part of a model, GPflow's too, by names such as ``kernel.kernels[0].variance``."""
    if not isinstance(part, tf.Module):
        return {}
    found = {}
    flat = part._flatten(predicate=lambda value: hasattr(value, "unconstrained_variable"), with_path=True)
    for path, parameter in flat:  # as TensorFlow finds variables
        name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        found[name.removeprefix(".")] = parameter
    return found


def copied(part: Any) -> Any:
    """Return a copy of a part of a model, with variables of its own."""
    forget_graphs()  # GPflow's transformations remember tensors, which cannot be copied
    return copy.deepcopy(part)


def call_graph(function: Any, *arguments: Any, any_length: bool = False) -> Any:
    """Call a function that ``tf.function`` returned; `any_length` makes one trace serve for tensors of all lengths.

    TensorFlow warns of a function that is traced often, and counts those of different models as one. An explicit trace
    does not count.
    """
    if function.experimental_get_tracing_count() == 0 and not tf.config.functions_run_eagerly():
        example: Any = arguments
        if any_length:
            example = tf.nest.map_structure(lambda a: tf.TensorSpec([None, *a.shape[1:]], a.dtype), arguments)
        function.get_concrete_function(*example)
    return function(*arguments)


class Kept(Generic[T]):
    """The latest few things of a kind that take long to make, such as graphs, by keys."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._things: dict[Hashable, T] = {}

    @contextmanager
    def lent(self, key: Hashable, make: Callable[[], T]) -> Iterator[T]:
        """Give the thing of a key, or a new one; another thread does not get it in the meantime."""
        with self._lock:
            thing = self._things.pop(key, None)
        thing = make() if thing is None else thing
        try:
            yield thing
        finally:
            with self._lock:
                self._things[key] = thing
                while len(self._things) > self._most:
                    del self._things[next(iter(self._things))]


def forget_graphs() -> None:
    """Empty the caches of all bijectors of GPflow's parameters: inputs and Jacobians would keep graphs in memory."""
    probability = sys.modules.get("tensorflow_probability")
    if probability is None:
        return
    remembered = probability.bijectors.Bijector._cache.storage
    for key in list(remembered):
        key.cancel()
        remembered.pop(key, None)
