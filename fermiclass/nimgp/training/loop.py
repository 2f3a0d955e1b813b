"""Training as a generator of states, which progress bars, checkpoints and tests observe; and its minibatches."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.errors import TrainingError, TrainingWarning
from fermiclass.nimgp.inputs.models import Batch
from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.modules import call_graph, forget_graphs
from fermiclass.nimgp.training.checkpoints import Checkpoint
from fermiclass.nimgp.training.optimisers import Optimiser, Schedule

_LOG = logging.getLogger(__name__)
_STEPS_PER_CALL = 20  # steps that run inside TensorFlow before a state is reported
_LARGEST_JITTER = 0.1  # relative to the mean variance; a larger one would change the kernel
_RESTARTS = 3
_SMALLER = 0.2  # step size after a restart, relative to the step size that diverged
_DEEPEST_FALL = 20.0  # largest fall of the objective below its first value, relative to the size of that value
# Natural gradients may jump to a place where a likelihood with fixed label noise is both flat and low. Therefore an
# objective below _LOW (nats per row) after a quarter of the steps must have risen by the fraction _RISE of its first
# value.
_LOW, _RISE = -2.0, 0.05


Tensors = tuple[tf.Tensor, ...]


class Feed(NamedTuple):
    """Minibatches for a TensorFlow graph, for several steps at a time."""

    take: Callable[[int], Tensors]  #: Tensors that the graph needs for the next steps, stacked along the first axis.
    batch: Callable[[Tensors, tf.Tensor], Batch]  #: The minibatch of one of these steps, from inside the graph.


class TrainingData(NamedTuple):
    """Sources in memory: ``X``, ``X_var`` (N, D), ``y`` (N,), labels as numbers or outputs; and their weights (N,)."""

    X: np.ndarray
    X_var: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None

    def feed(self, batch_size: int | None, seed: int, dtype: tf.DType, *, first: int = 0) -> Feed:
        """Return a feed of each source once per epoch, or of all in every step where there is no batch size.

        The seed decides the order, and ``first`` is the step to begin with when training resumes.
        """
        num_data = len(self.y)
        weight = None if self.weight is None else tf.constant(self.weight, dtype)
        whole = Batch(None, tf.constant(self.X, dtype), tf.constant(self.X_var, dtype), tf.constant(self.y), weight)
        if batch_size is None or batch_size >= num_data:
            return Feed(lambda steps: (), lambda taken, step: whole)

        rng, order = np.random.default_rng([seed, 2]), np.empty(0, np.int32)

        def take(steps: int) -> Tensors:
            nonlocal order  # the rows that are left of one epoch begin the next batch
            while len(order) < steps * batch_size:
                order = np.concatenate([order, rng.permutation(num_data).astype(np.int32)])
            rows, order = np.split(order, [steps * batch_size])
            return (tf.constant(rows.reshape(steps, batch_size)),)

        def batch(taken: Tensors, step: tf.Tensor) -> Batch:
            rows = taken[0][step]
            return Batch(rows, *(None if a is None else tf.gather(a, rows) for a in whole[1:]))

        for _ in range(first):
            take(1)
        return Feed(take, batch)


class StreamedData(NamedTuple):
    """Sources that need not fit into memory.

    `open` is a function of the first step. It returns an endless iterator of ``(X, X_var, y)`` with shapes ``(B, D)``,
    ``(B, D)`` and ``(B,)``, and, if there are any, weights ``(B,)``.
    """

    open: Callable[[int], Iterator[tuple[np.ndarray, ...]]]

    def feed(self, batch_size: int | None, seed: int, dtype: tf.DType, *, first: int = 0) -> Feed:
        """Return the batches of the stream. The stream decides their size and order."""
        batches = self.open(first)

        def take(steps: int) -> Tensors:
            X, X_var, y, *weight = (np.stack(each) for each in zip(*(next(batches) for _ in range(steps)), strict=True))
            weights = (tf.constant(each, dtype) for each in weight)
            return tf.constant(X, dtype), tf.constant(X_var, dtype), tf.constant(y), *weights

        def batch(taken: Tensors, step: tf.Tensor) -> Batch:
            return Batch(None, *(a[step] for a in taken))

        return Feed(take, batch)


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
    """Training must start again. `attempt` is the number of the next attempt."""

    def __init__(self, attempt: int, reason: str) -> None:
        super().__init__(reason)
        self.attempt = attempt


def maximise(
    model: NoisyInputGP, data: Data, settings: Schedule, *, checkpoint: Checkpoint | None = None
) -> Iterator[TrainingState]:
    """Maximise ``model.objective`` plus the log density of the priors. Yield a state every few steps.

    Rounding may leave a covariance without a Cholesky factor, and the objective is then NaN. In that case the jitter
    becomes ten times larger, and training goes on. Training starts again with a fifth of the step size and a warning,
    up to three times, when one of these happens:

    - The objective is NaN or infinite, and a larger jitter does not help.
    - The objective falls below its first value by more than twenty times the size of that value.
    - With natural gradients, after a quarter of the steps: the objective is below -2 nats per source and has risen by
      less than a twentieth of the size of its first value.

    Training changes the parameters of the model. It resumes from a checkpoint, which keeps its state, also where
    training ends early.

    Raises
    ------
    CheckpointError
        When the checkpoint belongs to another training or version, is damaged, or cannot be written.
    TrainingError
        When the objective is NaN or infinite after all restarts, with any jitter up to 0.1. The message says at which
        step this happened, what the cause is, and what to try.

    Warns
    -----
    TrainingWarning
        When training starts again, and when it has diverged after the last restart.
    """
    _LOG.info("training: at most %d steps", settings.steps)
    start = [variable.numpy() for variable in model.variables]
    attempt = 0
    with checkpoint or nullcontext():
        while True:
            try:
                yield from _train(model, data, settings, checkpoint, attempt)
                return
            except _DivergedError as diverged:
                _start_again(model.variables, start)
                attempt = diverged.attempt
                if str(diverged):
                    rate = settings.learning_rate * _SMALLER**attempt
                    text = f"training diverged ({diverged}): it starts again with a learning rate of {rate:.2g}"
                    warnings.warn(text, TrainingWarning, stacklevel=2)
            finally:
                forget_graphs()


def _train(
    model: NoisyInputGP, data: Data, settings: Schedule, checkpoint: Checkpoint | None, attempt: int
) -> Iterator[TrainingState]:
    """Train with one step size; see :func:`maximise`."""
    optimiser = Optimiser(model, settings, _SMALLER**attempt)
    kept = {} if checkpoint is None else _restored(checkpoint, optimiser.state, attempt)
    done, drawn = int(kept.get("done", 0)), int(kept.get("drawn", 0))
    rng = np.random.default_rng([settings.seed, 1])
    rng.integers(0, 2**31 - 1, size=(drawn, 2), dtype=np.int32)  # skip the seeds of the steps that are done
    dtype = model.posterior.q_mu.dtype
    feed = data.feed(settings.batch_size, settings.seed, dtype, first=drawn)

    @tf.function
    def run(seeds: tf.Tensor, taken: Tensors) -> tuple[tf.Tensor, tf.Tensor]:
        total = of_first_step = tf.zeros((), dtype)
        for k in tf.range(tf.shape(seeds)[0]):
            value = optimiser.step(feed.batch(taken, k), seeds[k])
            of_first_step = tf.where(k == 0, value, of_first_step)
            total += value
        return total, of_first_step

    first = float(kept["first"]) if done else None
    history = list(kept.get("history", ()))
    astray = ""
    if done:
        yield TrainingState(done, settings.steps, history[-1], attempt, np.array(history))
    while done < settings.steps:
        count = min(_STEPS_PER_CALL, settings.steps - done)
        seeds = rng.integers(0, 2**31 - 1, size=(count, 2), dtype=np.int32)
        taken = feed.take(count)
        drawn += count
        total, of_first_step = (a.numpy() for a in call_graph(run, tf.constant(seeds), taken, any_length=True))
        value = total / count
        if not np.isfinite(value):
            if _raise_jitter(model):
                continue
            raise _not_finite(model, value, (done, done + count), attempt)
        first = float(of_first_step) if first is None else first
        must_rise = settings.natural_gradient is not None and done > settings.steps / 4
        flat = must_rise and value < min(_LOW * model.num_data, first + _RISE * abs(first))
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
            stacklevel=3,
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
        _start_again(state, fresh)
        return {}
    return kept


def _start_again(variables: Sequence[tf.Variable], values: Sequence[np.ndarray]) -> None:
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
