"""Sources of the minibatches of training: arrays in memory, or a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs.models import Batch

Tensors = tuple[tf.Tensor, ...]


class Feed(NamedTuple):
    """Minibatches for a TensorFlow graph, for several steps at a time."""

    take: Callable[[int], Tensors]  #: Tensors that the graph needs for the next steps, stacked along the first axis.
    batch: Callable[[Tensors, tf.Tensor], Batch]  #: The minibatch of one of these steps, from inside the graph.


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
        whole = Batch(None, tf.constant(self.X, dtype), tf.constant(self.X_var, dtype), _targets(self.y, dtype))
        every_step = batch_size is None or batch_size >= self.num_data
        order = islice(_minibatches(self.num_data, batch_size or 1, np.random.default_rng([seed, 2])), first, None)

        def take(steps: int) -> Tensors:
            return () if every_step else (tf.constant(np.stack(list(islice(order, steps))).astype(np.int32)),)

        def batch(taken: Tensors, step: tf.Tensor) -> Batch:
            if every_step:
                return whole
            rows = taken[0][step]
            return Batch(rows, *(tf.gather(a, rows) for a in whole[1:]))

        return Feed(take, batch)


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
        batches = self.open(first)

        def take(steps: int) -> Tensors:
            X, X_var, y = (np.stack(parts) for parts in zip(*(next(batches) for _ in range(steps)), strict=True))
            return tf.constant(X, dtype), tf.constant(X_var, dtype), _targets(y, dtype)

        def batch(taken: Tensors, step: tf.Tensor) -> Batch:
            return Batch(None, *(a[step] for a in taken))

        return Feed(take, batch)


def _targets(y: np.ndarray, dtype: tf.DType) -> tf.Tensor:
    return tf.constant(y, dtype if np.issubdtype(np.asarray(y).dtype, np.floating) else tf.int32)


def _minibatches(num_data: int, batch_size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield minibatches of indices without end: each source at most once per epoch. A smaller remainder is dropped."""
    while True:
        order = rng.permutation(num_data)
        for start in range(0, num_data - batch_size + 1, batch_size):
            yield order[start : start + batch_size]
