"""Transformations of parameters."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp


class Softplus(tfp.bijectors.Softplus):
    """``low + log(1 + exp x)``. Its graphs can be freed.

    The softplus of TensorFlow Probability has a custom gradient. TensorFlow keeps it for ever, and with it the graph
    of every training.

    Parameters
    ----------
    low
        Lower limit, in the precision of the parameter; None for 0.
    """

    def __init__(self, low: Any = None) -> None:
        super().__init__(low=low)
        self._parameters = {"low": low}  # the library copies by these

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        y = tf.math.softplus(x)
        return y if self.low is None else y + self.low
