"""Training as a generator of states. Progress bars, checkpoints and tests observe it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.errors import TrainingError, TrainingWarning
from fermiclass.nimgp.inputs.models import Batch
from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.modules import call_graph, forget_graphs
from fermiclass.nimgp.training.adam import Adam, RunningMean
from fermiclass.nimgp.training.checkpoints import Checkpoint
from fermiclass.nimgp.training.feeds import Data, Tensors
from fermiclass.nimgp.training.natural_gradient import NaturalGradient

_STEPS_PER_CALL = 20  # steps that run inside TensorFlow before a state is reported
_LARGEST_JITTER = 0.1  # relative to the mean variance; a larger one would change the kernel
_RESTARTS = 3
_SMALLER = 0.2  # step size after a restart, relative to the step size that diverged
_BEFORE_MEAN = 0.3  # part of the steps before those whose mean is taken
_DEEPEST_FALL = 20.0  # largest fall of the objective below its first value, relative to the size of that value
# Natural gradients may jump to a place where a likelihood with fixed label noise is both flat and low. Therefore an
# objective below _LOW (nats per row) after a quarter of the steps must have risen by the fraction _RISE of its first
# value.
_LOW, _RISE = -2.0, 0.05


@dataclass(frozen=True)
class Schedule:
    """How a bound is maximised: settings of training, see :class:`fermiclass.nimgp.settings.TrainingOptions`.

    The step size falls to a hundredth of its start with `decay`. `seed` is that of minibatches and draws.
    """

    steps: int = 500
    batch_size: int | None = None
    learning_rate: float = 0.01
    decay: bool = True
    mean: bool = False
    seed: int = 0
    natural_gradient: float | None = None


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

    Training changes the parameters of the model. It resumes from a checkpoint, which keeps its state.

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
                    f"training diverged ({diverged}): it starts again with a learning rate of {rate:.2g}",
                    TrainingWarning,
                    stacklevel=2,
                )
        finally:
            forget_graphs()


def _train(
    model: NoisyInputGP, data: Data, settings: Schedule, checkpoint: Checkpoint | None, attempt: int
) -> Iterator[TrainingState]:
    """Train with one step size; see :func:`maximise`."""
    optimisers = _Optimisers(model, settings, attempt)
    kept = _restored(checkpoint, optimisers.state, attempt)
    done, drawn = int(kept.get("done", 0)), int(kept.get("drawn", 0))
    rng = np.random.default_rng([settings.seed, 1])
    rng.integers(0, 2**31 - 1, size=(drawn, 2), dtype=np.int32)  # skip the seeds of the steps that are done
    dtype = model.posterior.q_mu.dtype
    feed = data.feed(settings.batch_size, settings.seed, dtype, first=drawn)

    @tf.function
    def run(seeds: tf.Tensor, taken: Tensors) -> tuple[tf.Tensor, tf.Tensor]:
        total = of_first_step = tf.zeros((), dtype)
        for k in tf.range(tf.shape(seeds)[0]):
            value = optimisers.step(feed.batch(taken, k), seeds[k])
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
        low = _LOW * model.num_data if must_rise else -np.inf
        astray = _gone_astray(first, value, low, done + count)
        if astray and attempt < _RESTARTS:
            raise _DivergedError(attempt + 1, astray)
        done += count
        history.append(value)
        if done == settings.steps:
            optimisers.end()
        if checkpoint is not None:
            progress = {"done": done, "drawn": drawn, "attempt": attempt, "first": first, "history": np.array(history)}
            checkpoint.save(optimisers.state, progress, last=done == settings.steps)
        yield TrainingState(done, settings.steps, value, attempt, np.array(history))
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


class _Optimisers:
    """Adam for all parameters, or natural gradients for q(u) and Adam for the others, with one step size."""

    def __init__(self, model: NoisyInputGP, settings: Schedule, attempt: int) -> None:
        self._model = model
        self._natural = None
        if settings.natural_gradient is not None:
            self._natural = NaturalGradient(model.posterior, settings.natural_gradient * _SMALLER**attempt)
        self._of_posterior = [] if self._natural is None else self._natural.variables
        self._others = [v for v in model.trainable_variables if not any(v is own for own in self._of_posterior)]
        rate = settings.learning_rate * _SMALLER**attempt
        self._adam = Adam(self._others, rate, steps=settings.steps if settings.decay else None)
        self._variables = [*self._of_posterior, *self._others]
        self._mean = RunningMean(self._variables, round(_BEFORE_MEAN * settings.steps)) if settings.mean else None
        #: All variables that training changes.
        self.state = [*self._variables, model.posterior.jitter.unconstrained_variable, *self._adam.state]
        self.state += [] if self._natural is None else [self._natural.state]
        self.state += [] if self._mean is None else self._mean.state

    def end(self) -> None:
        """Set the parameters to what training ends with."""
        if self._mean is not None:
            self._mean.take()

    @tf.autograph.experimental.do_not_convert  # no control flow to convert in here: this halves the time of the trace
    def step(self, batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        """Make one step. Return the objective before it, or NaN if the objective or a gradient is not finite."""
        variables = self._variables
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            value = self._model.objective(batch, seed)
            loss = -value - self._model.log_prior_density()
        # Zeros for parameters that do not enter the objective, such as a learned V in a method that ignores it.
        gradients = tape.gradient(loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        # If a number is not finite, the gradients are 0: only momentum moves the parameters, and training can go on.
        finite = [tf.reduce_all(tf.math.is_finite(number)) for number in (value, *gradients)]
        usable = tf.reduce_all(finite)
        gradients = [tf.where(usable, gradient, tf.zeros_like(gradient)) for gradient in gradients]
        count = len(self._of_posterior)
        if self._natural is not None:
            self._natural.apply_gradients(*gradients[:count])
        self._adam.apply_gradients(gradients[count:])
        if self._mean is not None:
            self._mean.update()
        return tf.where(usable, value, tf.constant(np.nan, value.dtype))


def _restored(checkpoint: Checkpoint | None, state: Sequence[tf.Variable], attempt: int) -> dict[str, np.ndarray]:
    """Set the variables to the checkpoint and return its progress. Ignore a checkpoint of an earlier attempt."""
    if checkpoint is None:
        return {}
    fresh = [variable.numpy() for variable in state]
    kept = checkpoint.restore(state)
    if int(kept.get("attempt", attempt)) > attempt:
        raise _DivergedError(int(kept["attempt"]), "")
    if int(kept.get("attempt", 0)) < attempt:  # the checkpoint holds the attempt that diverged
        _start_again(state, fresh)
        return {}
    return kept


def _gone_astray(first: float, value: float, low: float, step: int) -> str:
    """Return a description of an objective that has fallen far, or is low and has hardly risen; else an empty text."""
    fallen = value < first - _DEEPEST_FALL * max(abs(first), 1.0)
    if fallen or (value < low and value < first + _RISE * abs(first)):
        return f"the objective went from {first:.3g} to {value:.3g} by step {step}"
    return ""


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
