"""The inputs' noise variances V: known for every source, or one for all of them that is learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import gpflow
import tensorflow as tf

from fermiclass.nimgp.kernels import positive


class InputNoise(Protocol):
    """Where V comes from."""

    def variances(self, X_var: tf.Tensor) -> tf.Tensor:
        """V ``(..., B, D)`` of sources with the variances ``X_var`` (..., B, D) given."""


class GivenNoise(gpflow.Module):
    """V as measured for every source."""

    def variances(self, X_var: tf.Tensor) -> tf.Tensor:
        """Return what is given."""
        return X_var


class LearnedNoise(gpflow.Module):
    """One V for all sources, a hyper-parameter of the bound (Villacampa-Calvo et al. 2021, section 3.4).

    Parameters
    ----------
    shape
        ``(..., D)`` for a variance of each feature, ``(..., 1)`` for one that they share.
    variance
        Where it starts.
    prior
        TensorFlow Probability distribution, or None for maximum likelihood.
    """

    def __init__(
        self, shape: Sequence[int], *, variance: float, prior: object = None, dtype: tf.DType = tf.float64
    ) -> None:
        super().__init__()
        self.variance = positive(shape, variance, prior, dtype)

    def variances(self, X_var: tf.Tensor) -> tf.Tensor:
        """Return the learned variances, whatever is given."""
        return tf.ones_like(X_var) * self.variance[..., None, :]
