"""NIMGP_NN: one network gives the Gaussian q(x) of every source, so that nothing is stored per source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs.models import Batch, terms_of_gaussian
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.likelihoods.base import Likelihood
from fermiclass.nimgp.modules import Module, Parameter
from fermiclass.nimgp.posterior import LatentFunctions

_LOG_VARIANCE_RANGE = 8.0  # variances of ξ are between e⁻⁸ and e⁸


class Encoding(Protocol):
    """Encoding of y for the network."""

    @property
    def size(self) -> int:
        """K, the number of values that encode one y."""

    def __call__(self, y: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """Encode y (..., B), shape ``(..., B, K)``."""


class OneHot(NamedTuple):
    """Labels 0 … C − 1, by C numbers of which one is 1; a set of s classes, by s numbers of 1/s."""

    num_classes: int
    sets: np.ndarray | None = None

    @property
    def size(self) -> int:
        """C."""
        return self.num_classes

    def __call__(self, y: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """Return ones where a class is the label, zeros elsewhere."""
        if self.sets is None:
            return tf.one_hot(y, self.num_classes, dtype=dtype)
        return tf.gather(tf.constant(self.sets / self.sets.sum(axis=1, keepdims=True), dtype), y)


class Standardised(NamedTuple):
    """Encodes outputs as their distance from a mean in units of a scale."""

    mean: float
    scale: float

    @property
    def size(self) -> int:
        """1."""
        return 1

    def __call__(self, y: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        """Return ``(y − mean) / scale``."""
        return ((tf.cast(y, dtype) - self.mean) / self.scale)[..., None]


class AmortisedInputs(Module):
    """NIMGP_NN: ``q(ξ_i) = N(m, diag s)`` with m and log s from a network of ``(x̃, y [, √V])``.

    Hidden layers have ReLU units. The last layer is linear and starts at zero, so that q(x) starts at N(x̃, V)
    (Villacampa-Calvo et al. 2021, section 3.2). The terms of a source in the bound are those of
    :class:`~fermiclass.nimgp.inputs.models.PerSourceInputs`.

    Parameters
    ----------
    shape
        Leading axes, over models that are trained at once.
    input_dim
        D.
    encode
        Encoding of y: :class:`OneHot` for labels, :class:`Standardised` for outputs.
    hidden
        Number of units of each hidden layer.
    sees_noise
        Whether √V is an input of the network. It need not be if V is the same for all sources.
    priors
        p(x) of each model; None for a flat prior.
    seed
        Seed of the initial weights, which are the same for all models.
    """

    def __init__(
        self,
        shape: Sequence[int],
        input_dim: int,
        encode: Encoding,
        *,
        hidden: Sequence[int] = (50,),
        sees_noise: bool = True,
        priors: list[InputPrior] | None = None,
        seed: int = 0,
        dtype: tf.DType = tf.float64,
    ) -> None:
        super().__init__()
        self._encode, self.sees_noise, self.priors = encode, sees_noise, priors
        rng = np.random.default_rng(seed)
        sizes = [input_dim * (2 if sees_noise else 1) + encode.size, *hidden]
        self.weights: list[Parameter] = []
        self.biases: list[Parameter] = []
        for fan_in, fan_out in zip(sizes, [*hidden, 2 * input_dim], strict=True):
            last = len(self.weights) == len(hidden)
            start = np.zeros((fan_in, fan_out)) if last else rng.normal(size=(fan_in, fan_out)) * np.sqrt(2.0 / fan_in)
            self.weights.append(Parameter(np.broadcast_to(start, (*shape, fan_in, fan_out)), dtype=dtype))
            self.biases.append(Parameter(np.zeros((*shape, fan_out)), dtype=dtype))

    def moments(self, batch: Batch) -> tuple[tf.Tensor, tf.Tensor]:
        """Return m and s of each source, ``(..., B, D)``."""
        y = self._encode(batch.y, batch.X.dtype)
        parts = [batch.X, y, tf.sqrt(batch.X_var)] if self.sees_noise else [batch.X, y]
        layer = tf.concat(parts, axis=-1)
        for k, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            layer = tf.matmul(tf.nn.relu(layer) if k else layer, weights) + bias[..., None, :]
        m, log_s = tf.split(layer, 2, axis=-1)
        return m, tf.exp(tf.clip_by_value(log_s, -_LOG_VARIANCE_RANGE, _LOG_VARIANCE_RANGE))

    def source_terms(
        self, functions: LatentFunctions, likelihood: Likelihood, batch: Batch, seed: tf.Tensor
    ) -> tf.Tensor:
        """``E_q log p(y | f(x)) − KL(q(ξ) ‖ N(0, I)) + E_q log p(x)`` with a reparametrised draw of x."""
        m, s = self.moments(batch)
        return terms_of_gaussian(m, s, self.priors, functions, likelihood, batch, seed)
