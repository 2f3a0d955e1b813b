"""Sources of the minibatches of training: arrays in memory, or a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs.models import Batch

Tensors = tuple[tf.Tensor, ...]


class Feed(Protocol):
    """Supplies minibatches to a TensorFlow graph, for several steps at a time."""

    @property
    def leading(self) -> tuple[int, ...]:
        """Leading axes, over models that are trained at once."""

    def take(self, steps: int) -> Tensors:
        """Return the tensors that the graph needs for the next steps, stacked along the first axis."""

    def batch(self, taken: Tensors, step: tf.Tensor) -> Batch:
        """Return the minibatch of one of these steps. This runs inside the graph."""


class Data(Protocol):
    """Data for training."""

    def feed(self, batch_size: int | None, seed: int, dtype: tf.DType, *, first: int = 0) -> Feed:
        """Return minibatches of this size, or all sources in every step for None. The seed decides the order.

        ``first`` is the step to begin with when training resumes.
        """


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Sources of one model, or of S models that are trained at once.

    Attributes
    ----------
    X, X_var
        Observed inputs and their noise variances, ``(N, D)`` or ``(S, N, D)``.
    y
        Labels 0 … C − 1 as integers, or outputs as floating-point numbers, ``(N,)`` or ``(S, N)``.
    count
        Number of sources of each model, ``(S,)``: the first rows are sources, the others only fill the array. None if
        all rows are sources.
    """

    X: np.ndarray
    X_var: np.ndarray
    y: np.ndarray
    count: np.ndarray | None = None

    @property
    def counts(self) -> np.ndarray:
        """Number of sources of each model, ``(S,)``. S is 1 without a leading axis."""
        rows = np.full(self.y.shape[:-1], self.y.shape[-1]) if self.count is None else self.count
        return np.atleast_1d(rows)

    def feed(self, batch_size: int | None, seed: int, dtype: tf.DType, *, first: int = 0) -> Feed:
        """Return a feed of all sources in every step, or of each source at most once per epoch."""
        counts = self.counts
        arrays = tf.constant(self.X, dtype), tf.constant(self.X_var, dtype), _targets(self.y, dtype)
        size = min(batch_size or self.y.shape[-1], int(counts.min()))
        if size == counts.min() and (batch_size or counts.max()) >= counts.max():
            weight = None
            if np.any(counts < self.y.shape[-1]):
                weight = tf.constant(np.arange(self.y.shape[-1]) < counts[:, None], dtype)
            return _AllSources(Batch(None, *arrays, weight), self.y.shape[:-1])
        orders = [_minibatches(int(n), size, np.random.default_rng([seed, 2])) for n in counts]
        for order in orders:
            for _ in range(first):
                next(order)
        return _Minibatches(arrays, orders, size, self.y.shape[:-1])


@dataclass(frozen=True, eq=False)
class StreamedData:
    """Sources of one model, which need not fit into memory.

    Attributes
    ----------
    open
        Function of the first step. It returns an endless iterator of ``(X, X_var, y)`` with shapes ``(B, D)``,
        ``(B, D)`` and ``(B,)``, where y holds labels 0 … C − 1, or outputs.
    """

    open: Callable[[int], Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]]

    def feed(self, batch_size: int | None, seed: int, dtype: tf.DType, *, first: int = 0) -> Feed:
        """Return the batches of the stream. The stream decides their size and order."""
        return _Stream(self.open(first), dtype)


class _AllSources(NamedTuple):
    whole: Batch
    leading: tuple[int, ...]

    def take(self, steps: int) -> Tensors:
        return ()

    def batch(self, taken: Tensors, step: tf.Tensor) -> Batch:
        return self.whole


class _Minibatches(NamedTuple):
    arrays: Tensors
    orders: list[Iterator[np.ndarray]]
    size: int
    leading: tuple[int, ...]

    def take(self, steps: int) -> Tensors:
        drawn = [[next(order) for order in self.orders] for _ in range(steps)]
        return (tf.constant(np.reshape(drawn, (steps, *self.leading, self.size)).astype(np.int32)),)

    def batch(self, taken: Tensors, step: tf.Tensor) -> Batch:
        rows = taken[0][step]
        return Batch(rows, *(tf.gather(a, rows, batch_dims=len(self.leading)) for a in self.arrays))


class _Stream(NamedTuple):
    batches: Iterator[Any]
    dtype: tf.DType
    leading: tuple[int, ...] = ()

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
