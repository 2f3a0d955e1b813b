"""Several models that are alike as one, whose operations have an axis more: small ones then cost little more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from fermiclass.nimgp.inputs.models import Batch
from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.modules import Parameter, copied, parameters_of


class Together:
    """S models whose graphs are the same: what training needs of a model, with S numbers for each of one.

    `models`: the models, which are copied. They differ in the values of their parameters only.
    """

    def __init__(self, models: Sequence[NoisyInputGP]) -> None:
        self.number, self.dtype = (len(models),), models[0].dtype
        self._one = copied(models[0])
        self._parameters = _parameters(self._one)
        values = zip(*([each.unconstrained_variable for each in _parameters(model)] for model in models), strict=True)
        #: The variables of all models, with the axis of the models first.
        self.variables = [
            tf.Variable(tf.stack(value), trainable=each.trainable)
            for value, each in zip(values, self._parameters, strict=True)
        ]

    def objective(self, batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        """Return the objectives ``(S,)`` of minibatches ``(S, B, ...)``, with the same draws for all models."""
        given = {name: each for name, each in batch._asdict().items() if each is not None}
        return self._of_each(lambda part: self._one.objective(Batch(**part), seed), given)

    def log_prior_density(self) -> tf.Tensor:
        """Return the log densities of the priors, ``(S,)``."""
        return self._of_each(lambda part: tf.cast(self._one.log_prior_density(), self.dtype), {})

    def _of_each(self, compute: Callable[[Any], tf.Tensor], batches: Any) -> tf.Tensor:
        """Compute with the variables and the minibatch of each model, by operations that have the axis of models."""

        def of_one(given: tuple[list[tf.Tensor], Any]) -> tf.Tensor:
            own = [each.unconstrained_variable for each in self._parameters]
            values, part = given
            try:
                _replace(self._parameters, values)
                return compute(part)
            finally:
                _replace(self._parameters, own)

        values = [tf.convert_to_tensor(variable) for variable in self.variables]
        return tf.vectorized_map(of_one, (values, batches), fallback_to_while_loop=False)

    def assign_to(self, model: NoisyInputGP, s: int) -> None:
        """Set the variables of a model to those of the one with number s."""
        for each, variable in zip(_parameters(model), self.variables, strict=True):
            each.unconstrained_variable.assign(variable[s])


def _parameters(model: NoisyInputGP) -> list[Parameter]:
    return list(parameters_of(model).values())


def _replace(parameters: Sequence[Parameter], values: Sequence[Any]) -> None:
    for parameter, value in zip(parameters, values, strict=True):
        object.__setattr__(parameter, "unconstrained_variable", value)  # past TensorFlow's, which would track it
