"""Kernels and likelihoods of GPflow as JSON holds them. Reading makes objects of GPflow's classes, and runs no code."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.utilities import multiple_assign, parameter_dict, set_trainable


def to_plain(part: Any) -> dict[str, Any]:
    """Return class, arguments and parameters of a kernel or likelihood of GPflow, for :func:`from_plain`.

    Raises TypeError when it has a class that is not GPflow's, an argument that JSON does not hold, or a prior
    or transform of its own.
    """
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
    """Return the object of :func:`to_plain`. Raises ValueError when the content is not of that form."""
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
    composed = hasattr(value, "kernels") or hasattr(value, "base_kernel")
    if not composed and isinstance(value, gpflow.kernels.Kernel):
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
