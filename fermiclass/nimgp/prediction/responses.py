"""Predictive distributions of outputs, averaged over the uncertainty of the inputs.

As for classes (:mod:`fermiclass.nimgp.prediction.predictor`), all noisy inputs use one quasi-Monte Carlo set, and rows
are computed in blocks of one shape. The prediction of a row therefore depends on that row alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.arrays import FloatArray
from fermiclass.nimgp.likelihoods.base import draws_of_f
from fermiclass.nimgp.likelihoods.from_gpflow import GPflowLikelihood
from fermiclass.nimgp.likelihoods.outputs import quantiles_of_draws
from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.posterior import LatentMoments
from fermiclass.nimgp.prediction.predictor import Predictor, rows_per_block

_POINTS_OF_F = 4  # points of f for each draw of a noisy input, for quantiles


class ResponsePredictor(Predictor):
    """Prediction of outputs with a trained model.

    The likelihood of the model is :class:`~fermiclass.nimgp.likelihoods.from_gpflow.GPflowLikelihood`. With x* from
    ``p(x* | x̃*) ∝ N(x̃* | x*, V*) p(x*)`` and f from its posterior at x*::

        E y = E_x E_f y,    Var y = E_x Var(y | x) + Var_x E(y | x),    p(y) = E_x E_f p(y | f)

    Raises TypeError when the likelihood is one of classes.
    """

    def __init__(self, model: NoisyInputGP, **options: Any) -> None:
        if not isinstance(model.likelihood, GPflowLikelihood):
            raise TypeError(f"{type(model.likelihood).__name__} is a likelihood of classes: use ClassPredictor")
        super().__init__(model, **options)
        self._likelihood = model.likelihood

    def moments(self, X: FloatArray, X_var: FloatArray, *, num_draws: int = 128) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of y, each ``(n, P)``. P is 1, or C for class probabilities.

        `X`, `X_var`: observed inputs and their noise variances, ``(n, D)``.
        `num_draws`: number of draws of each noisy input, preferably a power of 2. An input without noise has one draw.
        """
        mean, var = self._run(self._moments, num_draws, X, X_var)
        return mean, var

    def log_density(self, X: FloatArray, X_var: FloatArray, y: FloatArray, *, num_draws: int = 128) -> FloatArray:
        """Return ``log E_x E_f p(y | f(x))`` of outputs y, ``(n,)``. The average is inside the logarithm."""
        return self._run(self._log_density, num_draws, X, X_var, y)[0]

    def quantiles(
        self, X: FloatArray, X_var: FloatArray, levels: Sequence[float], *, num_draws: int = 128
    ) -> FloatArray:
        """Return quantiles of ``E_x E_f p(y | f(x))``, ``(n, Q)``: the smallest y with ``P(Y ≤ y) ≥ level``.

        Raises NotImplementedError when y has no order, or the quantiles of the likelihood are not implemented.
        """

        def of_block(f: FloatArray) -> FloatArray:
            f = np.moveaxis(f, 0, -1) + self._likelihood.offset.numpy()[:, None]  # (S, L, n)
            return quantiles_of_draws(self._likelihood.likelihood, f, levels)

        if not len(levels):
            return np.empty((len(X), 0))
        return self._run(self._draws, num_draws, X, X_var, finish=of_block)[0]

    def _run(
        self,
        compute: Callable[..., tuple[tf.Tensor, ...]],
        num_draws: int,
        X: FloatArray,
        X_var: FloatArray,
        *rest: FloatArray,
        finish: Callable[[FloatArray], FloatArray] = np.asarray,
    ) -> list[FloatArray]:
        """Compute rows with and without noise separately, in blocks. Apply `finish` to each; return rows in order."""
        num_draws = 1 if self._first_order else num_draws
        noisy = np.any(X_var > 0, axis=1) & (num_draws > 1)
        parts: list[list[FloatArray]] = []
        order = []
        for count, chosen in ((num_draws, noisy), (1, ~noisy)):
            rows = np.flatnonzero(chosen)
            size = rows_per_block(X.shape[1], count)
            for start in range(0, len(rows), size):
                block = rows[start : start + size]
                found = self._evaluate(compute, count, size, X[block], X_var[block], [a[block] for a in rest])
                parts.append([finish(a[: len(block)]) for a in found])
                order.append(block)
        back = np.argsort(np.concatenate(order)) if order else np.empty(0, int)
        return [np.concatenate(columns)[back] for columns in zip(*parts, strict=True)]

    def _moments(self, num_draws: int, latent: LatentMoments) -> tuple[tf.Tensor, ...]:
        means, variances = (
            tf.reshape(a, [-1, num_draws, a.shape[-1]]) for a in self._likelihood.mean_and_var(latent, num_draws)
        )
        mean = tf.reduce_mean(means, axis=1)
        return mean, tf.reduce_mean(variances + tf.square(means - mean[:, None]), axis=1)

    def _log_density(self, num_draws: int, latent: LatentMoments, y: tf.Tensor) -> tuple[tf.Tensor, ...]:
        log_p = tf.reshape(self._likelihood.log_density(latent, tf.repeat(y, num_draws), num_draws), [-1, num_draws])
        return (tf.reduce_logsumexp(log_p, axis=1) - np.log(num_draws),)

    def _draws(self, num_draws: int, latent: LatentMoments) -> tuple[tf.Tensor, ...]:
        """Return draws of f(x) over both x and f, ``(n, S, L)``."""
        f = draws_of_f(latent, num_draws, _POINTS_OF_F)  # (K, L, n · S)
        f = tf.reshape(f, [f.shape[0], f.shape[1], -1, num_draws])
        f = tf.transpose(f, [2, 0, 3, 1])
        return (tf.reshape(f, [tf.shape(f)[0], -1, f.shape[-1]]),)
