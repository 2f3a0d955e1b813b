"""The TensorFlow graphs of prediction. Models with the same settings and sizes can share them.

Tracing a graph takes a quarter of a second; the prediction of a small data set takes a hundredth of a second. Therefore
the graphs read the numbers of a model from variables, which are set to the numbers of the current model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf
from scipy.special import ndtr

from fermiclass.nimgp.graphs import call_graph
from fermiclass.nimgp.likelihoods.base import gaussian_points
from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.modules import Parameter, copied, parameters_of
from fermiclass.nimgp.posterior import LatentFunctions, LatentMoments, PredictiveFunctions


def numbers_of(model: NoisyInputGP) -> list[tf.Tensor]:
    """Return all numbers of a model that prediction needs."""
    functions = model.posterior.predictor(model.kernel)
    parameters = [tf.identity(p.unconstrained_variable) for p in _parameters(model)]
    return [functions.Z, functions.weights, functions.precision, *parameters]


class PredictionGraphs:
    """Graphs that average class probabilities over noiseless inputs and latent functions.

    Parameters
    ----------
    model
        Any model with these settings and sizes. It is not changed.
    first_order
        Whether input noise becomes noise of the latent functions; see
        :class:`~fermiclass.nimgp.prediction.predictor.ClassPredictor`.
    """

    def __init__(self, model: NoisyInputGP, *, first_order: bool) -> None:
        functions = model.posterior.predictor(model.kernel)
        # Copies: loading another model must not change this one, and training this one must not change the graphs.
        kernel, self._likelihood = (copied(part) for part in (model.kernel, model.likelihood))
        own = [tf.Variable(a, trainable=False) for a in (functions.Z, functions.weights, functions.precision)]
        self._functions = PredictiveFunctions(kernel, *own)
        self._variables = [*own, *(p.unconstrained_variable for p in (*_of(kernel), *_of(self._likelihood)))]
        self._first_order = first_order
        self._loaded: Sequence[tf.Tensor] | None = None
        self._traced: dict[int, Callable[..., tuple[tf.Tensor, ...]]] = {}
        self._lock = threading.Lock()

    def run(self, numbers: Sequence[tf.Tensor], num_draws: int, *block: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Return moments of a block of n sources, by the model with these numbers.

        Parameters
        ----------
        numbers
            Result of :func:`numbers_of`.
        num_draws
            S, the number of draws of each noisy input.
        block
            Weights ``(n, K)``, means ``(n, K, D)`` and factors ``(n, K, D, D)`` of ``p(x | x̃)``, the ratios of the
            classes ``(n, C)``, and the temperature.

        Returns
        -------
        tuple
            ``E ρ`` and ``E ρ²`` (C, n), ``E_x H[E_f ρ]`` and ``E_x E_f H[ρ]`` (n,), for weighted probabilities ρ.
        """
        with self._lock:
            if self._loaded is not numbers:
                self._loaded = None
                for variable, value in zip(self._variables, numbers, strict=True):
                    variable.assign(value)
                self._loaded = numbers
            if num_draws not in self._traced:
                self._traced[num_draws] = self._trace(num_draws)
            return call_graph(self._traced[num_draws], *block)

    def _trace(self, num_draws: int) -> Callable[..., tuple[tf.Tensor, ...]]:
        @tf.function(reduce_retracing=False, autograph=False)
        def moments(
            weights: tf.Tensor, mean: tf.Tensor, factor: tf.Tensor, ratio: tf.Tensor, temperature: tf.Tensor
        ) -> tuple[tf.Tensor, ...]:
            if self._first_order:
                latent = blurred(self._functions, mean[:, 0], factor[:, 0])
            else:
                latent = of_sources(self._functions, noiseless(num_draws, weights, mean, factor), num_draws)
            latent = LatentMoments(latent.mean / temperature, latent.var / temperature**2)
            of_draws = tf.repeat(tf.transpose(ratio), num_draws, axis=1)  # (C, n · S)
            at_x = self._likelihood.predict(latent, of_draws, num_draws)
            total = tf.reduce_sum(at_x.mean, axis=0)
            given_x = at_x.mean / total
            entropy_given_x = -total * tf.reduce_sum(tf.math.xlogy(given_x, given_x), axis=0)  # Z H[E_f ρ] at each draw

            def over_draws(values: tf.Tensor) -> tf.Tensor:
                split = tf.concat([tf.shape(values)[:-1], [-1, num_draws]], axis=0)
                return tf.reduce_mean(tf.reshape(values, split), axis=-1)

            Z = over_draws(total)
            return tuple(over_draws(v) / Z for v in (at_x.mean, at_x.second, entropy_given_x, at_x.entropy))

        return moments


def of_sources(functions: LatentFunctions, X: tf.Tensor, num_draws: int) -> LatentMoments:
    """Return moments (C, n · S) at S draws of each of n inputs (n · S, D). Each input has its own matrix products.

    In one product for all inputs some processors sum the first and the last rows in another order. The result of an
    input would then depend on its position.
    """
    of_each = functions.moments(tf.reshape(X, [-1, num_draws, X.shape[-1]]))
    return LatentMoments(*(tf.reshape(tf.transpose(a, [1, 0, 2]), [tf.shape(a)[1], -1]) for a in of_each))


def blurred(functions: LatentFunctions, X: tf.Tensor, factor: tf.Tensor) -> LatentMoments:
    """Return moments with ``var_c + |Fᵀ ∇mean_c|²`` at ``X`` (n, D), for noise of covariance F Fᵀ, F (n, D, D)."""
    latent, gradient = functions.moments_and_gradient(X[:, None, :])  # each input has its own matrix products
    noise = tf.reduce_sum(tf.square(tf.matmul(gradient[..., 0, :], factor)), axis=-1)  # (n, C)
    return LatentMoments(tf.transpose(latent.mean[..., 0]), tf.transpose(latent.var[..., 0] + noise))


def noiseless(num_draws: int, weights: tf.Tensor, mean: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
    """Return draws from ``Σ_k weights_k N(mean_k, F_k F_kᵀ)`` of n inputs, shape ``(n · S, D)``.

    All inputs use the same quasi-Monte Carlo set. It has D + 1 coordinates; the last one selects the component.
    """
    num_components, input_dim = mean.shape[1:]
    points = gaussian_points(num_draws, input_dim + 1) if num_draws > 1 else np.zeros((1, input_dim + 1))
    x = mean[:, :, None, :] + tf.matmul(tf.constant(points[:, :-1], mean.dtype), factor, transpose_b=True)
    if num_components == 1:
        return tf.reshape(x, [-1, input_dim])
    begins = tf.cumsum(weights, axis=1, exclusive=True)[:, :, None]  # start of each component's part of (0, 1)
    level = tf.constant(ndtr(points[:, -1]), mean.dtype)
    component = tf.reduce_sum(tf.cast(level >= begins, tf.int32), axis=1) - 1  # (n, S)
    chosen = tf.linalg.matrix_transpose(tf.one_hot(component, num_components, dtype=mean.dtype))
    return tf.reshape(tf.reduce_sum(chosen[..., None] * x, axis=1), [-1, input_dim])


def _parameters(model: NoisyInputGP) -> list[Parameter]:
    """Return the parameters of kernel and likelihood."""
    return [*_of(model.kernel), *_of(model.likelihood)]


def _of(part: object) -> list[Parameter]:
    return list(parameters_of(part).values())
