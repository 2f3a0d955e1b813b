"""Training: a generator of states, which progress bars, checkpoints and tests observe."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.checkpoints import Checkpoint
from fermiclass.nimgp.diagnosis import diagnose
from fermiclass.nimgp.errors import CheckpointError, TrainingError, TrainingWarning
from fermiclass.nimgp.feeds import Data, Tensors, shard
from fermiclass.nimgp.graphs import call_graph, forget_graphs
from fermiclass.nimgp.inputs import Batch
from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.natural_gradient import NaturalGradient

_STEPS_PER_CALL = 20  # steps that run inside TensorFlow before a state is reported
_LEAST_RISE = 1e-3  # of a smoothed bound, relative, that makes more steps worth their while
_LARGEST_JITTER = 0.1  # relative; more would be another kernel
_RESTARTS = 3
_SMALLER = 0.2  # step size of a training that is started again, relative to the one that diverged
_DEEPEST_FALL = 20.0  # of a bound below that of the first step, relative to that; training starts from a poor one
# After a quarter of the steps with natural gradients a bound that is lower than this, in nats a row, must have risen by
# so much of that of the first step: they may jump to where a likelihood with fixed label noise is as flat as it is low.
_LOW, _RISE = -2.0, 0.05


@dataclass(frozen=True)
class TrainingSettings:
    """How a bound is maximised: by Adam, with natural gradients for q(u) if asked for.

    Attributes
    ----------
    steps
        Number of steps, at most.
    batch_size
        Sources a step; None for all of them.
    learning_rate
        Adam's first step size.
    decay
        Whether the step size falls to a hundredth of its start along a cosine, or stays.
    seed
        Of minibatches and draws.
    natural_gradient
        γ of natural gradient steps for m and S of q(u); None for Adam.
    patience
        Stop when the smoothed bound of no model has risen by a thousandth for so many steps; None to do all steps.
    """

    steps: int = 500
    batch_size: int | None = None
    learning_rate: float = 0.01
    decay: bool = True
    seed: int = 0
    natural_gradient: float | None = None
    patience: int | None = None


@dataclass(frozen=True)
class TrainingState:
    """What an observer of training sees: steps done, of how many, and each model's mean bound over the last of them.

    `attempt` counts how often training was started again; `history` has the bounds of this one, ``(states, ...)``.
    """

    step: int
    steps: int
    elbo: np.ndarray
    attempt: int
    history: np.ndarray


class _Adam(tf.keras.optimizers.Adam):
    """Adam for gradients that are averaged over devices already, which leaves nothing behind when training has ended.

    Keras would sum them by a function with a gradient of its own, which TensorFlow keeps for ever, and with it the
    graph of every training: 10 MB each. Where Keras calls this otherwise one day, no more than that is lost. Keras
    would also number its optimisers, and TensorFlow keeps what makes a variable for every name: 0.6 MB a training.
    """

    def __init__(self, learning_rate: Any) -> None:
        super().__init__(learning_rate, name="adam")

    def _all_reduce_sum_gradients(self, grads_and_vars: list[Any]) -> list[Any]:
        return grads_and_vars


class _DivergedError(Exception):
    """Training is to be started again, as the attempt of this number."""

    def __init__(self, attempt: int, reason: str) -> None:
        super().__init__(reason)
        self.attempt = attempt


def train(
    model: NoisyInputGP, data: Data, settings: TrainingSettings, *, checkpoint: Checkpoint | None = None
) -> Iterator[TrainingState]:
    """Maximise ``model.elbo`` plus the priors' log density, yielding a state every few steps.

    Models that are trained at once have nothing in common but the draws: every parameter is moved by itself, so that
    each model ends where it would have ended alone, but for rounding.

    Where rounding leaves a covariance without a Cholesky factor the bound is no number: the jitter becomes ten times
    larger, for all models that are trained at once, and training goes on. Where that does not help, or the bound falls
    below that of the first step by twenty times its size, training starts again with a fifth of the step size, up to
    three times, with a warning; all models do that are trained at once, if one has to. So they do with natural
    gradients where, after a quarter of the steps, a bound lies below -2 nats a source and has not risen by a twentieth
    of that of the first step.

    Under the scope of a ``tf.distribute`` strategy, in which the model was made, too, each device takes its part of
    every minibatch, and their gradients are averaged; parts that differ by a source count the same.

    Parameters
    ----------
    model
        Trained in place.
    data
        With the leading axes of the model.
    settings
        Steps, minibatch, step size, seed.
    checkpoint
        Where training is kept as it goes on, and resumed from.

    Raises
    ------
    ValueError
        When natural gradients are asked for on several devices.
    CheckpointError
        When the checkpoint is of another training or version, or damaged, or cannot be written.
    TrainingError
        When a bound becomes NaN or infinite whatever the jitter, up to 0.1, and the step size; the message says at
        which step, what is wrong, and what to try.

    Warns
    -----
    TrainingWarning
        When training starts again, and when it ends as it would be started again, had it not been three times.
    """
    start = [variable.numpy() for variable in model.variables]
    attempt = 0
    while True:
        try:
            yield from _train(model, data, settings, checkpoint, attempt)
            return
        except _DivergedError as diverged:
            _start_again(model.variables, start)
            attempt = diverged.attempt
            if str(diverged):
                rate = settings.learning_rate * _SMALLER**attempt
                warnings.warn(
                    f"training diverged ({diverged}): it is started again with a learning rate of {rate:.2g}",
                    TrainingWarning,
                    stacklevel=2,
                )
        finally:
            forget_graphs()


def _train(
    model: NoisyInputGP, data: Data, settings: TrainingSettings, checkpoint: Checkpoint | None, attempt: int
) -> Iterator[TrainingState]:
    """Do what :func:`train` does with one step size."""
    dtype = model.posterior.q_mu.dtype
    rate = settings.learning_rate * _SMALLER**attempt
    optimiser = _Adam(
        tf.keras.optimizers.schedules.CosineDecay(rate, settings.steps, alpha=0.01) if settings.decay else rate
    )
    strategy = tf.distribute.get_strategy()
    devices = strategy.num_replicas_in_sync
    natural = None
    if settings.natural_gradient is not None:
        if devices > 1:
            raise ValueError(
                "natural gradients need all of the posterior on one device: leave them out, or the strategy"
            )
        natural = NaturalGradient(model.posterior, settings.natural_gradient * _SMALLER**attempt)
    of_posterior = [] if natural is None else natural.variables
    variables = [v for v in model.trainable_variables if not any(v is own for own in of_posterior)]
    optimiser.build(variables)

    def step(batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([*of_posterior, *variables])
            elbo = model.elbo(batch, seed)
            loss = -tf.reduce_sum(elbo) - model.log_prior_density()
        # Zeros for what the bound does not depend on, such as a V learned by a method that ignores it.
        gradients = tape.gradient(loss, [*of_posterior, *variables], unconnected_gradients=tf.UnconnectedGradients.ZERO)
        if devices > 1:
            context = tf.distribute.get_replica_context()
            elbo, *gradients = context.all_reduce(tf.distribute.ReduceOp.MEAN, [elbo, *gradients])
        # Without a bound nothing moves but by momentum, so that there is something to go on from.
        finite = [tf.reduce_all(tf.math.is_finite(number)) for number in (elbo, *gradients)]
        usable = tf.reduce_all(finite)
        gradients = [tf.where(usable, gradient, tf.zeros_like(gradient)) for gradient in gradients]
        if natural is not None:
            natural.apply_gradients(*gradients[: len(of_posterior)])
        optimiser.apply_gradients(zip(gradients[len(of_posterior) :], variables, strict=True))
        return tf.where(usable, elbo, tf.constant(np.nan, dtype))

    def step_of_device(batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        device = tf.distribute.get_replica_context().replica_id_in_sync_group
        return step(shard(batch, device, devices), tf.random.experimental.stateless_fold_in(seed, device))

    def step_of_all(batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        if devices == 1:
            return step(batch, seed)
        elbo = strategy.run(step_of_device, args=(batch, seed))
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, elbo, axis=None)

    rng = np.random.default_rng([settings.seed, 1])
    everything = [*of_posterior, *variables, model.posterior.jitter.unconstrained_variable, *optimiser.variables]
    everything += [] if natural is None else [natural.state]
    fresh = [variable.numpy() for variable in everything]
    kept = {} if checkpoint is None else checkpoint.restore(everything)
    if checkpoint is not None and kept and "history" not in kept:
        raise CheckpointError(f"'{checkpoint.path}' is a checkpoint of an earlier version: name another file")
    if int(kept.get("attempt", attempt)) > attempt:
        raise _DivergedError(int(kept["attempt"]), "")
    if int(kept.get("attempt", 0)) < attempt:  # what is kept is of the attempt that diverged
        _start_again(everything, fresh)
        kept = {}
    done, drawn = int(kept.get("done", 0)), int(kept.get("drawn", 0))
    rng.integers(0, 2**31 - 1, size=(drawn, 2), dtype=np.int32)  # those of the steps that are done
    feed = data.feed(settings.batch_size, settings.seed, dtype, first=drawn)

    @tf.function(reduce_retracing=True)
    def run(seeds: tf.Tensor, taken: Tensors) -> tuple[tf.Tensor, tf.Tensor]:
        total = of_first_step = tf.zeros(feed.leading, dtype)
        for k in tf.range(tf.shape(seeds)[0]):
            bound = step_of_all(feed.batch(taken, k), seeds[k])
            of_first_step = tf.where(k == 0, bound, of_first_step)
            total += bound
        return total, of_first_step

    smoothed = _Smoothed(settings.patience, kept)
    first = kept.get("first")
    history = list(kept.get("history", ()))
    astray = ""
    if done:
        yield TrainingState(done, settings.steps, history[-1], attempt, np.array(history))
    while done < settings.steps and not smoothed.has_stopped_rising:
        count = min(_STEPS_PER_CALL, settings.steps - done)
        seeds = rng.integers(0, 2**31 - 1, size=(count, 2), dtype=np.int32)
        taken = feed.take(count)
        drawn += count
        total, of_first_step = (a.numpy() for a in call_graph(run, tf.constant(seeds), taken))
        elbo = total / count
        if not np.all(np.isfinite(elbo)):
            if _raise_jitter(model):
                continue
            reason = f"the bound became {np.min(elbo)} between steps {done} and {done + count}: {diagnose(model)}"
            if attempt < _RESTARTS:
                raise _DivergedError(attempt + 1, reason)
            raise TrainingError(
                f"{reason}; neither a larger jitter nor a smaller step helps: try fewer inducing points, or precision "
                "'float64'"
            )
        first = of_first_step if first is None else first
        low = _LOW * np.asarray(model.num_data) if natural is not None and done > settings.steps / 4 else -np.inf
        astray = _gone_astray(first, elbo, low, done + count)
        if astray and attempt < _RESTARTS:
            raise _DivergedError(attempt + 1, astray)
        done += count
        history.append(elbo)
        smoothed.add(done, elbo)
        if checkpoint is not None:
            progress = {"done": done, "drawn": drawn, "attempt": attempt, "first": first, "history": np.array(history)}
            progress |= smoothed.state
            checkpoint.save(everything, progress, last=done == settings.steps or smoothed.has_stopped_rising)
        yield TrainingState(done, settings.steps, elbo, attempt, np.array(history))
    if astray:
        warnings.warn(
            f"training diverged ({astray}), with {_RESTARTS} smaller learning rates, too: predictions of this model "
            "are not to be trusted; try an even smaller learning rate, another likelihood, or no natural gradients",
            TrainingWarning,
            stacklevel=3,
        )


def _gone_astray(first: np.ndarray, elbo: np.ndarray, low: np.ndarray | float, step: int) -> str:
    """Say what became of a bound that has fallen far, or is lower than it may be and has hardly risen; else nothing."""
    size = np.abs(first)
    gone = elbo < first - _DEEPEST_FALL * np.maximum(size, 1.0)
    gone |= (elbo < low) & (elbo < first + _RISE * size)
    if not np.any(gone):
        return ""
    which = np.flatnonzero(gone)[0]
    return f"the bound went from {first.flat[which]:.3g} to {elbo.flat[which]:.3g} by step {step}"


def _start_again(variables: Sequence[tf.Variable], values: Sequence[np.ndarray]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


def _raise_jitter(model: NoisyInputGP) -> bool:
    """Multiply the jitter by ten, unless it would become too large."""
    jitter = model.posterior.jitter
    larger = 10.0 * np.maximum(jitter.numpy(), 1e-6)
    if np.max(larger) > 1.001 * _LARGEST_JITTER:
        return False
    jitter.assign(larger)
    return True


class _Smoothed:
    """Running means of the bounds, and whether one of them still rises."""

    def __init__(self, patience: int | None, state: Mapping[str, np.ndarray]) -> None:
        self._patience = patience
        self._mean, self._best = state.get("mean"), state.get("best")
        self._last_rise, self._last = int(state.get("last_rise", 0)), int(state.get("last", 0))

    @property
    def state(self) -> dict[str, np.ndarray | int]:
        """What another needs to go on."""
        if self._mean is None or self._best is None:
            return {}
        return {"mean": self._mean, "best": self._best, "last_rise": self._last_rise, "last": self._last}

    def add(self, step: int, elbo: np.ndarray) -> None:
        if self._patience is None:
            return
        if self._mean is None or self._best is None:
            self._mean = self._best = elbo
            self._last_rise = step
        # So that what is seen is mostly the last third of the steps that patience counts.
        share = min(1.0, 3.0 * (step - self._last) / self._patience)
        self._mean = self._mean + share * (elbo - self._mean)
        self._last = step
        rises = self._mean > self._best + _LEAST_RISE * np.abs(self._best)
        if np.any(rises):
            self._last_rise = step
        self._best = np.where(rises, self._mean, self._best)

    @property
    def has_stopped_rising(self) -> bool:
        return self._patience is not None and self._last - self._last_rise >= self._patience
