"""TensorFlow graphs. Every model has its own: they are called without a warning, and released after use."""

from __future__ import annotations

import sys
from typing import Any

import tensorflow as tf


def call_graph(function: Any, *arguments: Any, any_length: bool = False) -> Any:
    """Call a function that ``tf.function`` returned, without a warning to users who fit one model after another.

    TensorFlow warns about a function that is traced at nearly every call, and it counts the functions of different
    models as one. An explicit trace does not count.

    With `any_length` one trace serves for tensors of all lengths; it must not depend on the length.
    """
    if function.experimental_get_tracing_count() == 0:
        if any_length:
            example = tf.nest.map_structure(lambda a: tf.TensorSpec([None, *a.shape[1:]], a.dtype), arguments)
            function.get_concrete_function(*example)
        else:
            function.get_concrete_function(*arguments)
    return function(*arguments)


def forget_graphs() -> None:
    """Empty the caches of all bijectors of GPflow's parameters: inputs and Jacobians would keep graphs in memory."""
    probability = sys.modules.get("tensorflow_probability")
    if probability is None:
        return
    remembered = probability.bijectors.Bijector._cache.storage
    for key in list(remembered):
        key.cancel()
        remembered.pop(key, None)
