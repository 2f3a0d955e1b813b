"""Training: a generator of states, which progress bars, checkpoints and tests observe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs import Batch
from fermiclass.nimgp.model import NoisyInputGP

_STEPS_PER_CALL = 20  # steps that run inside TensorFlow before a state is reported


@dataclass(frozen=True)
class TrainingSettings:
    """How a bound is maximised: by Adam.

    Attributes
    ----------
    steps
        Number of steps.
    batch_size
        Sources a step; None for all of them.
    learning_rate
        Adam's first step size.
    decay
        Whether the step size falls to a hundredth of its start along a cosine, or stays.
    seed
        Of minibatches and draws.
    """

    steps: int = 500
    batch_size: int | None = None
    learning_rate: float = 0.01
    decay: bool = True
    seed: int = 0


@dataclass(frozen=True)
class TrainingState:
    """What an observer of training sees: steps done, of how many, and each model's mean bound over the last of them."""

    step: int
    steps: int
    elbo: np.ndarray


class TrainingError(ArithmeticError):
    """The bound is no longer a number."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Sources of one model, or of S models that are trained at once.

    Attributes
    ----------
    X, X_var
        Observed inputs and their noise variances, ``(N, D)`` or ``(S, N, D)``.
    y
        Labels 0 … C − 1, ``(N,)`` or ``(S, N)``.
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


def train(model: NoisyInputGP, data: TrainingData, settings: TrainingSettings) -> Iterator[TrainingState]:
    """Maximise ``model.elbo`` plus the priors' log density, yielding a state every few steps.

    Models that are trained at once have nothing in common but the draws: Adam treats every parameter by itself, so that
    each ends where it would have ended alone, but for rounding.

    Parameters
    ----------
    model
        Trained in place.
    data
        With the leading axes of the model.
    settings
        Steps, minibatch, step size, seed.

    Raises
    ------
    TrainingError
        When a bound becomes NaN or infinite; the message says at which step and what to try.
    """
    dtype = model.posterior.q_mu.dtype
    X, X_var, y = tf.constant(data.X, dtype), tf.constant(data.X_var, dtype), tf.constant(data.y, tf.int32)
    leading = len(y.shape) - 1
    counts = data.counts
    weight = None
    if data.count is not None and np.any(counts < y.shape[-1]):
        weight = tf.constant(np.arange(y.shape[-1]) < counts[:, None], dtype)
    rate = settings.learning_rate
    optimiser = tf.keras.optimizers.Adam(
        tf.keras.optimizers.schedules.CosineDecay(rate, settings.steps, alpha=0.01) if settings.decay else rate
    )
    variables = model.trainable_variables
    optimiser.build(variables)
    batch_size = min(settings.batch_size or y.shape[-1], int(counts.min()))
    full_batch = batch_size == counts.min() and (settings.batch_size or counts.max()) >= counts.max()

    def step(batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            elbo = model.elbo(batch, seed)
            loss = -tf.reduce_sum(elbo) - model.log_prior_density()
        # Zeros for what the bound does not depend on, such as a V learned by a method that ignores it.
        gradients = tape.gradient(loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        optimiser.apply_gradients(zip(gradients, variables, strict=True))
        return elbo

    @tf.function(reduce_retracing=True)
    def run(seeds: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
        total = tf.zeros(y.shape[:-1], dtype)
        for k in tf.range(tf.shape(seeds)[0]):
            if full_batch:
                batch = Batch(None, X, X_var, y, weight)
            else:
                batch = Batch(indices[k], *(tf.gather(a, indices[k], batch_dims=leading) for a in (X, X_var, y)))
            total += step(batch, seeds[k])
        return total

    rng = np.random.default_rng([settings.seed, 1])
    epochs = [_minibatches(int(n), batch_size, np.random.default_rng([settings.seed, 2])) for n in counts]
    done = 0
    while done < settings.steps:
        count = min(_STEPS_PER_CALL, settings.steps - done)
        seeds = rng.integers(0, 2**31 - 1, size=(count, 2), dtype=np.int32)
        if full_batch:
            indices = np.zeros((count, *y.shape[:-1], 0), np.int32)
        else:
            drawn = [[next(batches) for batches in epochs] for _ in range(count)]
            indices = np.reshape(drawn, (count, *y.shape[:-1], batch_size)).astype(np.int32)
        elbo = run(tf.constant(seeds), tf.constant(indices)).numpy() / count
        done += count
        if not np.all(np.isfinite(elbo)):
            raise TrainingError(
                f"the bound became {np.min(elbo)} between steps {done - count} and {done}: "
                "try a smaller learning rate, a larger jitter, or precision 'float64'"
            )
        yield TrainingState(done, settings.steps, elbo)


def _minibatches(num_data: int, batch_size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Endless minibatches of indices: each source at most once an epoch, a remainder too small for a batch left out."""
    while True:
        order = rng.permutation(num_data)
        for start in range(0, num_data - batch_size + 1, batch_size):
            yield order[start : start + batch_size]
