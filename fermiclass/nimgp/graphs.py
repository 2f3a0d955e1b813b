"""Graphs of TensorFlow, of which every model has its own: called without a warning, and forgotten."""

from __future__ import annotations

from typing import Any

import tensorflow_probability as tfp


def call_graph(function: Any, *arguments: Any) -> Any:
    """Call what ``tf.function`` returned, without a warning to those who fit one model after another.

    TensorFlow warns of a function that is traced at nearly every call, and takes those of different models for one; a
    trace that is asked for does not count.
    """
    if function.experimental_get_tracing_count() == 0:
        function.get_concrete_function(*arguments)
    return function(*arguments)


def forget_graphs() -> None:
    """Drop what all transformations remember, inputs and Jacobians, by which graphs would be kept alive.

    They are remembered so that they need not be evaluated twice.
    """
    remembered = tfp.bijectors.Bijector._cache.storage
    for key in list(remembered):
        key.cancel()
        remembered.pop(key, None)
