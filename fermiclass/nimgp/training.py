"""Training: a generator of states, which progress bars, checkpoints and tests observe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs import InputBatch
from fermiclass.nimgp.model import Batch, NoisyInputGP

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
    """What an observer of training sees: steps done, of how many, and the bound's mean over the last of them."""

    step: int
    steps: int
    elbo: float


class TrainingError(ArithmeticError):
    """The bound is no longer a number."""


def train(
    model: NoisyInputGP, X: np.ndarray, X_var: np.ndarray, y: np.ndarray, settings: TrainingSettings
) -> Iterator[TrainingState]:
    """Maximise ``model.elbo`` plus the priors' log density, yielding a state every few steps.

    Parameters
    ----------
    model
        Trained in place.
    X, X_var
        Observed inputs and their noise variances, ``(N, D)``.
    y
        Labels 0 … C − 1, ``(N,)``.
    settings
        Steps, minibatch, step size, seed.

    Raises
    ------
    TrainingError
        When the bound becomes NaN or infinite; the message says at which step and what to try.
    """
    dtype = model.posterior.q_mu.dtype
    data = tuple(tf.constant(a, dtype) for a in (X, X_var))
    labels = tf.constant(y, tf.int32)
    rate = settings.learning_rate
    optimiser = tf.keras.optimizers.Adam(
        tf.keras.optimizers.schedules.CosineDecay(rate, settings.steps, alpha=0.01) if settings.decay else rate
    )
    variables = model.trainable_variables
    optimiser.build(variables)
    batch_size = min(settings.batch_size or len(y), len(y))
    full_batch = batch_size == len(y)

    def step(batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            elbo = model.elbo(batch, seed)
            loss = -elbo - model.log_prior_density()
        optimiser.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return elbo

    @tf.function(reduce_retracing=True)
    def run(seeds: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
        total = tf.zeros((), dtype)
        for k in tf.range(tf.shape(seeds)[0]):
            if full_batch:
                batch = Batch(InputBatch(tf.range(len(y)), *data), labels)
            else:
                index = indices[k]
                batch = Batch(InputBatch(index, *(tf.gather(a, index) for a in data)), tf.gather(labels, index))
            total += step(batch, seeds[k])
        return total

    rng = np.random.default_rng(settings.seed)
    epochs = _minibatches(len(y), batch_size, rng)
    done = 0
    while done < settings.steps:
        count = min(_STEPS_PER_CALL, settings.steps - done)
        seeds = rng.integers(0, 2**31 - 1, size=(count, 2), dtype=np.int32)
        indices = np.zeros((count, 0), np.int32) if full_batch else np.stack([next(epochs) for _ in range(count)])
        total = run(tf.constant(seeds), tf.constant(indices, tf.int32))
        done += count
        elbo = float(total) / count
        if not np.isfinite(elbo):
            raise TrainingError(
                f"the bound became {elbo} between steps {done - count} and {done}: "
                "try a smaller learning rate, a larger jitter, or precision 'float64'"
            )
        yield TrainingState(done, settings.steps, elbo)


def _minibatches(num_data: int, batch_size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Endless minibatches of indices: each source at most once an epoch, a remainder too small for a batch left out."""
    while True:
        order = rng.permutation(num_data)
        for start in range(0, num_data - batch_size + 1, batch_size):
            yield order[start : start + batch_size]
