"""Noise variances V of the inputs: known for every source, or one learned V for all sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.modules import EXP, Module, Parameter, Prior


class InputNoise(Protocol):
    """Source of V."""

    def variances(self, X_var: tf.Tensor) -> tf.Tensor:
        """V ``(..., B, D)`` of sources with given variances ``X_var`` (..., B, D)."""


class GivenNoise(Module):
    """V as measured for each source."""

    def variances(self, X_var: tf.Tensor) -> tf.Tensor:
        """Return the given variances."""
        return X_var


class LearnedNoise(Module):
    """One V for all sources, a hyper-parameter of the bound (Villacampa-Calvo et al. 2021, section 3.4).

    Parameters
    ----------
    shape
        ``(..., D)`` for one variance per feature, ``(..., 1)`` for one common variance.
    variance
        Initial variance.
    prior
        Prior; None for maximum likelihood.
    """

    def __init__(
        self, shape: Sequence[int], *, variance: float, prior: Prior | None = None, dtype: tf.DType = tf.float64
    ) -> None:
        super().__init__()
        self.variance = Parameter(np.full(shape, variance), dtype=dtype, transform=EXP, prior=prior)

    def variances(self, X_var: tf.Tensor) -> tf.Tensor:
        """Return the learned variances, and ignore the given ones."""
        return tf.ones_like(X_var) * self.variance[..., None, :]
