"""Transformations of parameters."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp


class Softplus(tfp.bijectors.Softplus):
    """``low + log(1 + exp x)``, whose graphs end when nobody needs them any more.

    The library's has a gradient of its own, which TensorFlow keeps for ever, and with it the graph of every training.

    Parameters
    ----------
    low
        Of the precision of what is transformed; None for 0.
    """

    def __init__(self, low: Any = None) -> None:
        super().__init__(low=low)
        self._parameters = {"low": low}  # by which the library makes copies

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        y = tf.math.softplus(x)
        return y if self.low is None else y + self.low
