"""Where the minibatches of training come from: arrays in memory, or a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs import Batch

Tensors = tuple[tf.Tensor, ...]


class Feed(Protocol):
    """Hands minibatches to a TensorFlow graph, several steps at a time."""

    @property
    def leading(self) -> tuple[int, ...]:
        """Leading axes: those of models that are trained at once."""

    def take(self, steps: int) -> Tensors:
        """Return what the graph needs for the next steps, stacked along the first axis."""

    def batch(self, taken: Tensors, step: tf.Tensor) -> Batch:
        """Return the minibatch of one of these steps, in the graph."""


class Data(Protocol):
    """What models are trained on."""

    def feed(self, batch_size: int | None, seed: int, dtype: tf.DType, *, first: int = 0) -> Feed:
        """Return minibatches of this size, in an order that the seed decides; None for all sources in every step.

        ``first`` is the step to begin with, where training goes on.
        """


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Sources of one model, or of S models that are trained at once.

    Attributes
    ----------
    X, X_var
        Observed inputs and their noise variances, ``(N, D)`` or ``(S, N, D)``.
    y
        Labels 0 … C − 1, whole numbers, or outputs, floating-point numbers; ``(N,)`` or ``(S, N)``.
    count
        ``(S,)`` how many of the N rows are sources, the first ones; None for all.
    """

    X: np.ndarray
    X_var: np.ndarray
    y: np.ndarray
    count: np.ndarray | None = None

    @property
    def counts(self) -> np.ndarray:
        """``(S,)`` number of sources of each model; S is 1 without a leading axis."""
        rows = np.full(self.y.shape[:-1], self.y.shape[-1]) if self.count is None else self.count
        return np.atleast_1d(rows)

    def feed(self, batch_size: int | None, seed: int, dtype: tf.DType, *, first: int = 0) -> Feed:
        """Return all sources in every step, or each at most once an epoch."""
        counts = self.counts
        arrays = tf.constant(self.X, dtype), tf.constant(self.X_var, dtype), _targets(self.y, dtype)
        size = min(batch_size or self.y.shape[-1], int(counts.min()))
        if size == counts.min() and (batch_size or counts.max()) >= counts.max():
            weight = None
            if np.any(counts < self.y.shape[-1]):
                weight = tf.constant(np.arange(self.y.shape[-1]) < counts[:, None], dtype)
            return _AllSources(Batch(None, *arrays, weight))
        orders = [_minibatches(int(n), size, np.random.default_rng([seed, 2])) for n in counts]
        feed = _Minibatches(arrays, orders, size)
        for _ in range(first):
            feed.draw()
        return feed


@dataclass(frozen=True, eq=False)
class StreamedData:
    """Sources of one model that need not fit into memory.

    Attributes
    ----------
    open
        Called with the first step, returns an endless iterator of ``(X, X_var, y)`` with shapes ``(B, D)``, ``(B, D)``,
        ``(B,)`` and labels 0 … C − 1, or outputs.
    """

    open: Callable[[int], Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]]

    def feed(self, batch_size: int | None, seed: int, dtype: tf.DType, *, first: int = 0) -> Feed:
        """Return the batches as they come: their size and order are the stream's."""
        return _Stream(self.open(first), dtype)


class _AllSources(NamedTuple):
    whole: Batch

    @property
    def leading(self) -> tuple[int, ...]:
        return tuple(self.whole.y.shape[:-1])

    def take(self, steps: int) -> Tensors:
        return ()

    def batch(self, taken: Tensors, step: tf.Tensor) -> Batch:
        return self.whole


class _Minibatches(NamedTuple):
    arrays: Tensors
    orders: list[Iterator[np.ndarray]]
    size: int

    @property
    def leading(self) -> tuple[int, ...]:
        return tuple(self.arrays[-1].shape[:-1])

    def draw(self) -> list[np.ndarray]:
        return [next(order) for order in self.orders]

    def take(self, steps: int) -> Tensors:
        drawn = [self.draw() for _ in range(steps)]
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


def shard(batch: Batch, part: tf.Tensor, parts: int) -> Batch:
    """Return one of several parts of a minibatch, which differ by one source at most."""
    size = tf.shape(batch.y)[-1]
    begin, end = part * size // parts, (part + 1) * size // parts
    rows = tf.broadcast_to(tf.range(size), tf.shape(batch.y)) if batch.rows is None else batch.rows
    X, X_var = (a[..., begin:end, :] for a in (batch.X, batch.X_var))
    weight = None if batch.weight is None else batch.weight[..., begin:end]
    return Batch(rows[..., begin:end], X, X_var, batch.y[..., begin:end], weight)


def _targets(y: np.ndarray, dtype: tf.DType) -> tf.Tensor:
    return tf.constant(y, dtype if np.issubdtype(np.asarray(y).dtype, np.floating) else tf.int32)


def _minibatches(num_data: int, batch_size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Endless minibatches of indices: each source at most once an epoch, a remainder too small for a batch left out."""
    while True:
        order = rng.permutation(num_data)
        for start in range(0, num_data - batch_size + 1, batch_size):
            yield order[start : start + batch_size]
