"""Maximum a posteriori hyper-parameters from several starts.

The marginal likelihood of uncertain inputs has many local maxima (Dallaire, Besse & Chaib-draa 2011, section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.optimize
import tensorflow as tf

from fermiclass.nimgp.errors import TrainingError
from fermiclass.nimgp.expected.regression import ExpectedGPR
from fermiclass.nimgp.graphs import call_graph, forget_graphs

Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]
_FLAT = 1e-3  # size of a gradient that is only rounding; there a line search may fail to find a lower value


class Optimum(NamedTuple):
    """Lowest loss from one start, its position, the number of steps, and the reason if it is not a minimum."""

    loss: float
    position: np.ndarray
    steps: int
    failure: str


def minimise(loss: Loss, start: np.ndarray, *, steps: int) -> Optimum:
    """Minimise by L-BFGS from one start. If the loss becomes NaN or infinite, return the best position so far."""
    best = Optimum(np.inf, start, 0, "")
    taken = 0

    def watched(position: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best
        value, gradient = loss(position)
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            raise _NotANumberError
        if value < best.loss:
            best = Optimum(value, position.copy(), taken, "")
        return value, gradient

    def count(_: np.ndarray) -> None:
        nonlocal taken
        taken += 1

    try:
        result = scipy.optimize.minimize(
            watched, start, jac=True, method="L-BFGS-B", callback=count, options={"maxiter": steps}
        )
    except _NotANumberError:
        return best._replace(steps=taken, failure="the loss was not finite")
    if result.success or np.max(np.abs(result.jac), initial=0.0) < _FLAT * max(1.0, abs(best.loss)):
        return best._replace(steps=taken)
    reason = f"no minimum after {steps} steps" if taken >= steps else f"L-BFGS: {result.message}"
    return best._replace(steps=taken, failure=reason)


def train(model: ExpectedGPR, *, starts: int, steps: int, spread: float, rng: np.random.Generator) -> Optimum:
    """Set the parameters of a model to the best of several optima.

    Parameters
    ----------
    model
        The model. Its current parameters are the first start; all are trained in their logarithms.
    starts
        Number of starts. The logarithms of the other starts are drawn around the first.
    steps
        Largest number of L-BFGS steps per start.
    spread
        Standard deviation of these draws.
    rng
        Random generator.

    Returns
    -------
    Optimum
        The best optimum. Its loss is −log(marginal likelihood × prior).

    Raises
    ------
    TrainingError
        When the covariance matrix is not positive definite at all starts.
    """
    loss = flat_loss(model)
    first = _position(model)
    draws = rng.normal(size=(starts, first.size)) * spread
    draws[0] = 0.0
    try:
        best = min((minimise(loss, first + draw, steps=steps) for draw in draws), key=lambda optimum: optimum.loss)
    finally:
        forget_graphs()
    if not np.isfinite(best.loss):
        raise TrainingError(f"all {starts} starts failed: {model.not_positive_definite()}")
    _move(model, best.position)
    return best


def flat_loss(model: ExpectedGPR) -> Loss:
    """Return the loss and its gradient as a function of all unconstrained parameters in one array."""

    @tf.function(autograph=False)
    def evaluate() -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = model.training_loss()
        gradients = tape.gradient(loss, model.trainable_variables)
        return loss, tf.concat([tf.reshape(gradient, [-1]) for gradient in gradients], axis=0)

    def loss(position: np.ndarray) -> tuple[float, np.ndarray]:
        _move(model, position)
        try:
            value, gradient = call_graph(evaluate)
        except tf.errors.InvalidArgumentError:  # some builds of TensorFlow raise where others return NaN
            return np.nan, np.full_like(position, np.nan)
        return float(value), gradient.numpy()

    return loss


class _NotANumberError(ArithmeticError):
    pass


def _position(model: ExpectedGPR) -> np.ndarray:
    return np.concatenate([variable.numpy().ravel() for variable in model.trainable_variables])


def _move(model: ExpectedGPR, position: np.ndarray) -> None:
    start = 0
    for variable in model.trainable_variables:
        size = int(np.prod(variable.shape))
        variable.assign(position[start : start + size].reshape(variable.shape))
        start += size
