"""Training as a generator of states, which progress bars, checkpoints and tests observe; and its minibatches."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.errors import TrainingError, TrainingWarning
from fermiclass.nimgp.inputs.models import Batch
from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.modules import Kept, call_graph, copied, forget_graphs
from fermiclass.nimgp.training.checkpoints import Checkpoint
from fermiclass.nimgp.training.optimisers import Optimiser, Schedule

_LOG = logging.getLogger(__name__)
_STEPS_PER_CALL = 20  # steps that run inside TensorFlow before a state is reported
_LARGEST_JITTER = 0.1  # relative to the mean variance; a larger one would change the kernel
_RESTARTS = 3
_SMALLER = 0.2  # step size after a restart, relative to the step size that diverged
_DEEPEST_FALL = 20.0  # largest fall of the objective below its first value, relative to the size of that value
_LOW, _RISE = -2.0, 0.05  # natural gradients may jump to where a likelihood is both flat and low; see `maximise`

Tensors = tuple[tf.Tensor, ...]


class Feed(NamedTuple):
    """Minibatches for a TensorFlow graph, for several steps at a time."""

    #: After a number of steps: what the graph needs for a number of next steps, stacked along the first axis.
    open: Callable[[int], Callable[[int], Tensors]]
    batch: Callable[
        [Tensors, Tensors, tf.Tensor], Batch
    ]  #: From inside the graph: the minibatch of one of these steps.
    data: Tensors = ()  #: Sources in memory. They are arguments of the graph, so that it serves for others.


class TrainingData(NamedTuple):
    """Sources in memory: ``X``, ``X_var`` (N, D), ``y`` (N,), labels as numbers or outputs; and their weights (N,)."""

    X: np.ndarray
    X_var: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None

    def feed(self, batch_size: int | None, seed: int, dtype: tf.DType) -> Feed:
        """Return a feed of each source once per epoch in random order, or of all sources in each step."""
        num_data = len(self.y)
        weight = () if self.weight is None else (tf.constant(self.weight, dtype),)
        data = (tf.constant(self.X, dtype), tf.constant(self.X_var, dtype), tf.constant(self.y), *weight)
        if batch_size is None or batch_size >= num_data:
            return Feed(lambda done: lambda steps: (), _all_sources, data)

        def open(done: int) -> Callable[[int], Tensors]:
            rng, order = np.random.default_rng([seed, 2]), np.empty(0, np.int32)

            def take(steps: int) -> Tensors:
                nonlocal order  # the rows that are left of one epoch begin the next batch
                while len(order) < steps * batch_size:
                    order = np.concatenate([order, rng.permutation(num_data).astype(np.int32)])
                rows, order = np.split(order, [steps * batch_size])
                return (tf.constant(rows.reshape(steps, batch_size)),)

            for _ in range(done):
                take(1)
            return take

        return Feed(open, _some_sources, data)


class StreamedData(NamedTuple):
    """Sources that need not fit into memory."""

    #: Endless minibatches from a step on: ``X``, ``X_var`` (B, D), ``y`` and perhaps weights (B,).
    open: Callable[[int], Iterator[tuple[np.ndarray, ...]]]

    def feed(self, batch_size: int | None, seed: int, dtype: tf.DType) -> Feed:
        """Return the batches of the stream. The stream decides their size and order."""

        def open(done: int) -> Callable[[int], Tensors]:
            batches = self.open(done)

            def take(steps: int) -> Tensors:
                each = zip(*(next(batches) for _ in range(steps)), strict=True)
                X, X_var, y, *weight = (np.stack(columns) for columns in each)
                weights = (tf.constant(column, dtype) for column in weight)
                return tf.constant(X, dtype), tf.constant(X_var, dtype), tf.constant(y), *weights

            return take

        return Feed(open, _streamed)


def _all_sources(taken: Tensors, data: Tensors, step: tf.Tensor) -> Batch:
    return Batch(None, *data)


def _some_sources(taken: Tensors, data: Tensors, step: tf.Tensor) -> Batch:
    rows = taken[0][step]
    return Batch(rows, *(tf.gather(each, rows) for each in data))


def _streamed(taken: Tensors, data: Tensors, step: tf.Tensor) -> Batch:
    return Batch(None, *(each[step] for each in taken))


Data = TrainingData | StreamedData


@dataclass(frozen=True)
class TrainingState:
    """State of the training, for an observer."""

    #: Number of steps done, and number of steps in all.
    step: int
    steps: int
    value: float  #: Mean objective since the state before.
    attempt: int  #: Number of restarts so far.
    history: np.ndarray  #: All values since the last restart, ``(states,)``.


class _DivergedError(Exception):
    """Training must start again: the number of the next attempt, and the reason."""


@dataclass(frozen=True, eq=False)
class _Graph:
    """Steps of one model as a graph of TensorFlow, which is traced at the first call."""

    model: NoisyInputGP
    optimiser: Optimiser
    run: Callable[..., tuple[tf.Tensor, tf.Tensor]]  #: Returns sum and first value of the objective over some steps.

    @classmethod
    def of(cls, model: NoisyInputGP, settings: Schedule, slower: float, batch: Callable[..., Batch]) -> _Graph:
        """Return the graph of a model."""
        optimiser = Optimiser(model, settings, slower)

        @tf.function
        def run(seeds: tf.Tensor, taken: Tensors, data: Tensors) -> tuple[tf.Tensor, tf.Tensor]:
            total = of_first_step = tf.zeros([], model.dtype)
            for k in tf.range(tf.shape(seeds)[0]):
                value = optimiser.step(batch(taken, data, k), seeds[k])
                of_first_step = tf.where(k == 0, value, of_first_step)
                total += value
            return total, of_first_step

        return cls(model, optimiser, run)


_kept = Kept[_Graph](most=4)
_LARGEST_KEPT = 10**7  # numbers of a model: the training of a larger one takes far longer than its trace


@contextmanager
def _graph(model: NoisyInputGP, settings: Schedule, slower: float, feed: Feed, alike: Hashable) -> Iterator[_Graph]:
    """Give the graph that trained a model that is alike, if there is one, with the values of this model and for it."""
    shapes = [tuple(variable.shape) for variable in model.variables]
    if alike is None or slower < 1.0 or sum(map(prod, shapes)) > _LARGEST_KEPT:
        yield _Graph.of(model, settings, slower, feed.batch)
        return
    key = alike, replace(settings, seed=0), feed.batch, *shapes
    with _kept.lent(key, lambda: _Graph.of(copied(model), settings, slower, feed.batch)) as graph:
        for variable in graph.optimiser.state:
            variable.assign(tf.zeros_like(variable))
        _assign(graph.model.variables, model.variables)
        try:
            yield graph
        finally:
            _assign(model.variables, graph.model.variables)


def maximise(
    model: NoisyInputGP, data: Data, settings: Schedule, *, checkpoint: Checkpoint | None = None, alike: Hashable = None
) -> Iterator[TrainingState]:
    """Maximise ``model.objective`` plus the log density of the priors. Yield a state every few steps.

    Rounding may leave a covariance without a Cholesky factor, and the objective is then NaN: the jitter becomes ten
    times larger, and training goes on. It starts again with a fifth of the step size and a TrainingWarning, up to three
    times, when a larger jitter does not help; when the objective falls below its first value by more than twenty times
    the size of that value; and, with natural gradients, when after a quarter of the steps it is below -2 nats per
    source and has risen by less than a twentieth of the size of its first value.

    With `alike`, training uses the graph of an earlier model with the same schedule, shapes and `alike`, a value that
    says all else by which graphs of models differ: the trace may take longer than a short training.

    Raises CheckpointError when the checkpoint belongs to another training or version, is damaged, or cannot be written;
    TrainingError when the objective is NaN or infinite after all restarts.
    """
    _LOG.info("training: at most %d steps", settings.steps)
    start = [variable.numpy() for variable in model.variables]
    attempt = 0
    with checkpoint or nullcontext():
        while True:
            try:
                feed = data.feed(settings.batch_size, settings.seed, model.dtype)
                with _graph(model, settings, _SMALLER**attempt, feed, alike) as graph:
                    yield from _steps(graph, feed, settings, checkpoint, attempt)
                return
            except _DivergedError as diverged:
                _assign(model.variables, start)
                attempt, reason = diverged.args
                if reason:
                    rate = settings.learning_rate * _SMALLER**attempt
                    text = f"training diverged ({reason}): it starts again with a learning rate of {rate:.2g}"
                    warnings.warn(text, TrainingWarning, stacklevel=2)
            finally:
                forget_graphs()


def _steps(
    graph: _Graph, feed: Feed, settings: Schedule, checkpoint: Checkpoint | None, attempt: int
) -> Iterator[TrainingState]:
    """Make the steps; see :func:`maximise`."""
    model, optimiser = graph.model, graph.optimiser
    kept = {} if checkpoint is None else _restored(checkpoint, optimiser.state, attempt)
    done, drawn = int(kept.get("done", 0)), int(kept.get("drawn", 0))
    take = feed.open(drawn)
    rng = np.random.default_rng([settings.seed, 1])
    rng.integers(0, 2**31 - 1, size=(drawn, 2), dtype=np.int32)  # skip the seeds of the steps that are done
    first = float(kept["first"]) if done else None
    history = list(kept.get("history", ()))
    astray = ""
    if done:
        yield TrainingState(done, settings.steps, history[-1], attempt, np.array(history))
    while done < settings.steps:
        count = min(_STEPS_PER_CALL, settings.steps - done)
        seeds = rng.integers(0, 2**31 - 1, size=(count, 2), dtype=np.int32)
        taken = take(count)
        drawn += count
        found = call_graph(graph.run, tf.constant(seeds), taken, feed.data, any_length=True)
        total, of_first_step = (number.numpy() for number in found)
        value = total / count
        if not np.isfinite(value):
            if _raise_jitter(model):
                continue
            raise _not_finite(model, value, (done, done + count), attempt)
        first = float(of_first_step) if first is None else first
        must_rise = settings.natural_gradient is not None and done > settings.steps / 4
        flat = must_rise and value < min(_LOW * float(model.num_data), first + _RISE * abs(first))
        done += count
        astray = ""
        if flat or value < first - _DEEPEST_FALL * max(abs(first), 1.0):
            astray = f"the objective went from {first:.3g} to {value:.3g} by step {done}"
            if attempt < _RESTARTS:
                raise _DivergedError(attempt + 1, astray)
        history.append(value)
        for mean, x in optimiser.means if done == settings.steps else ():
            x.assign(mean)
        if checkpoint is not None:
            progress = {"done": done, "drawn": drawn, "attempt": attempt, "first": first, "history": np.array(history)}
            checkpoint.save(optimiser.state, progress, last=done == settings.steps)
        _LOG.debug("step %d of %d: objective %.6g", done, settings.steps, value)
        yield TrainingState(done, settings.steps, value, attempt, np.array(history))
    _LOG.info("trained: %d steps", done)
    if astray:
        warnings.warn(
            f"training diverged ({astray}), also with {_RESTARTS} smaller learning rates: do not trust the predictions "
            "of this model; try an even smaller learning rate, another likelihood, or no natural gradients",
            TrainingWarning,
            stacklevel=4,
        )


def _not_finite(model: NoisyInputGP, value: float, steps: tuple[int, int], attempt: int) -> Exception:
    """Return the error for an objective that is not finite, although the jitter was raised."""
    reason = f"the objective became {value} between steps {steps[0]} and {steps[1]}: {model.diagnosis()}"
    if attempt < _RESTARTS:
        return _DivergedError(attempt + 1, reason)
    return TrainingError(
        f"{reason}. A larger jitter and smaller steps did not help: try fewer inducing points, or precision='float64'"
    )


def _restored(checkpoint: Checkpoint, state: Sequence[tf.Variable], attempt: int) -> dict[str, np.ndarray]:
    """Set the variables to the checkpoint and return its progress. Ignore a checkpoint of an earlier attempt."""
    fresh = [variable.numpy() for variable in state]
    kept = checkpoint.restore(state)
    if int(kept.get("attempt", attempt)) > attempt:
        raise _DivergedError(int(kept["attempt"]), "")
    if int(kept.get("attempt", 0)) < attempt:  # the checkpoint holds the attempt that diverged
        _assign(state, fresh)
        return {}
    return kept


def _assign(variables: Sequence[tf.Variable], values: Sequence[Any]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


def _raise_jitter(model: NoisyInputGP) -> bool:
    """Multiply the jitter by ten. Return False if it would become too large."""
    jitter = model.posterior.jitter
    larger = 10.0 * max(float(jitter.numpy()), 1e-6)
    if larger > 1.001 * _LARGEST_JITTER:
        return False
    jitter.assign(larger)
    return True
