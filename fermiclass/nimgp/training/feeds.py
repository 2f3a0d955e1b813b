"""Sources of the minibatches of training: arrays in memory, or a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs.models import Batch

Tensors = tuple[tf.Tensor, ...]


class Feed(Protocol):
    """Supplies minibatches to a TensorFlow graph, for several steps at a time."""

    def take(self, steps: int) -> Tensors:
        """Return the tensors that the graph needs for the next steps, stacked along the first axis."""

    def batch(self, taken: Tensors, step: tf.Tensor) -> Batch:
        """Return the minibatch of one of these steps. This runs inside the graph."""


class Data(Protocol):
    """Data for training."""

    @property
    def num_data(self) -> int:
        """Number of sources, N."""

    def feed(self, batch_size: int | None, seed: int, dtype: tf.DType, *, first: int = 0) -> Feed:
        """Return minibatches of this size, or all sources in every step for None. The seed decides the order.

        ``first`` is the step to begin with when training resumes.
        """


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Sources in memory: ``X``, ``X_var`` (N, D), and ``y`` (N,), labels 0 … C − 1 or outputs in floating point."""

    X: np.ndarray
    X_var: np.ndarray
    y: np.ndarray

    @property
    def num_data(self) -> int:
        """Number of sources, N."""
        return len(self.y)

    def feed(self, batch_size: int | None, seed: int, dtype: tf.DType, *, first: int = 0) -> Feed:
        """Return a feed of all sources in every step, or of each source at most once per epoch."""
        arrays = tf.constant(self.X, dtype), tf.constant(self.X_var, dtype), _targets(self.y, dtype)
        if batch_size is None or batch_size >= self.num_data:
            return _AllSources(Batch(None, *arrays))
        order = _minibatches(self.num_data, batch_size, np.random.default_rng([seed, 2]))
        return _Minibatches(arrays, islice(order, first, None))


@dataclass(frozen=True, eq=False)
class StreamedData:
    """Sources that need not fit into memory.

    `open` is a function of the first step. It returns an endless iterator of ``(X, X_var, y)`` with shapes ``(B, D)``,
    ``(B, D)`` and ``(B,)``.
    """

    open: Callable[[int], Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]]
    num_data: int

    def feed(self, batch_size: int | None, seed: int, dtype: tf.DType, *, first: int = 0) -> Feed:
        """Return the batches of the stream. The stream decides their size and order."""
        return _Stream(self.open(first), dtype)


class _AllSources(NamedTuple):
    whole: Batch

    def take(self, steps: int) -> Tensors:
        return ()

    def batch(self, taken: Tensors, step: tf.Tensor) -> Batch:
        return self.whole


class _Minibatches(NamedTuple):
    arrays: Tensors
    order: Iterator[np.ndarray]

    def take(self, steps: int) -> Tensors:
        return (tf.constant(np.stack(list(islice(self.order, steps))).astype(np.int32)),)

    def batch(self, taken: Tensors, step: tf.Tensor) -> Batch:
        rows = taken[0][step]
        return Batch(rows, *(tf.gather(a, rows) for a in self.arrays))


class _Stream(NamedTuple):
    batches: Iterator[Any]
    dtype: tf.DType

    def take(self, steps: int) -> Tensors:
        X, X_var, y = (np.stack(parts) for parts in zip(*(next(self.batches) for _ in range(steps)), strict=True))
        return tf.constant(X, self.dtype), tf.constant(X_var, self.dtype), _targets(y, self.dtype)

    def batch(self, taken: Tensors, step: tf.Tensor) -> Batch:
        return Batch(None, *(a[step] for a in taken))


def _targets(y: np.ndarray, dtype: tf.DType) -> tf.Tensor:
    return tf.constant(y, dtype if np.issubdtype(np.asarray(y).dtype, np.floating) else tf.int32)


def _minibatches(num_data: int, batch_size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield minibatches of indices without end: each source at most once per epoch. A smaller remainder is dropped."""
    while True:
        order = rng.permutation(num_data)
        for start in range(0, num_data - batch_size + 1, batch_size):
            yield order[start : start + batch_size]
