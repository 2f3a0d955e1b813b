"""Class probabilities and outputs of new sources, averaged over the uncertainty of their inputs.

The draws of the noiseless inputs are one fixed quasi-Monte Carlo set, scaled by the error bars of each source. Sources
are computed in blocks of one fixed shape. The prediction of a source therefore depends on that source alone, except for
rounding, and not on its position in the table or on the number of other sources.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf
from scipy.special import ndtr

from fermiclass.nimgp.inputs.models import ObservedInputs
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.likelihoods.base import draws_of_f
from fermiclass.nimgp.likelihoods.draws import gaussian_points
from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.modules import Kept, call_graph, copied
from fermiclass.nimgp.posterior import Functions, LatentMoments
from fermiclass.nimgp.prediction.prediction import Prediction, join, of_moments

_POINTS_PER_BLOCK = 4096  # input points of one block: enough to keep the cores busy, few enough for the cache
_MATRICES_PER_BLOCK = 2**23  # size of the matrices of the inputs of one block: 64 MB
_POINTS_OF_F = 4  # points of f for each draw of a noisy input, for quantiles


def first_order_moments(functions: Functions, X: tf.Tensor, scale: tf.Tensor) -> LatentMoments:
    """Return moments with ``var_c + ∇mean_cᵀ V ∇mean_c`` at ``X`` (n, D); `scale` is √V, the noise, (n, D)."""
    latent, gradient = functions.moments_and_gradient(X)
    noise = tf.reduce_sum(tf.square(gradient * tf.transpose(scale)), axis=1)
    return LatentMoments(latent.mean, latent.var + noise)


def draw_inputs(num_draws: int, weights: tf.Tensor, mean: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
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


def rows_per_block(input_dim: int, num_draws: int) -> int:
    """Return the number of inputs per block: their draws fit into the cache, covariances (D, D) of each into memory."""
    return max(1, min(_POINTS_PER_BLOCK // num_draws, _MATRICES_PER_BLOCK // input_dim**2))


class Predictor:
    """Prediction with a trained model, in blocks of rows.

    `model`: trained model. It is not copied and must not change.
    `input_prior`: p(x) of the sources to be predicted; flat by default. The noiseless input of a source has the
    distribution ``p(x* | x̃*) ∝ N(x̃* | x*, V*) p(x*)``.
    `first_order`: whether input noise becomes noise of the latent functions, ``var_c + ∇mean_cᵀ V ∇mean_c`` at the
    observed input. p(x) is then not used.
    `alike`: a value that says all but numbers and shapes by which graphs of models differ: those that are alike share
    graphs of TensorFlow, whose traces take longer than small predictions. None for graphs of its own.
    """

    def __init__(
        self,
        model: NoisyInputGP,
        *,
        input_prior: InputPrior | None = None,
        first_order: bool = False,
        alike: Hashable = None,
    ) -> None:
        self.model, self._alike = model, alike
        self._input_prior = input_prior or InputPrior.isotropic(model.posterior.Z.shape[-1], np.inf)
        self._first_order = first_order
        self._traced: dict[tuple[str, int], Callable[..., tuple[tf.Tensor, ...]]] = {}

    def _evaluate(
        self,
        compute: Callable[..., tuple[tf.Tensor, ...]],
        num_draws: int,
        size: int,
        X: np.ndarray,
        X_var: np.ndarray,
        rows: Sequence[np.ndarray] = (),
        numbers: Sequence[float] = (),
    ) -> list[np.ndarray]:
        """Return ``compute(num_draws, latent moments, *rows, *numbers)`` for one block, as a graph.

        `rows` have a first axis of length n. Results are those of a block of `size`, of which the first n are valid.
        """
        inputs = (X, np.sqrt(X_var)) if self._first_order else self._input_prior.condition(X, X_var)
        padded = [np.pad(a, [(0, size - len(a))] + [(0, 0)] * (a.ndim - 1), mode="edge") for a in (*inputs, *rows)]
        given = [tf.constant(a, self.model.posterior.Z.dtype) for a in (*padded, *numbers)]
        with self._with_graphs() as predictor:
            graph = predictor._graph(compute.__name__, num_draws, len(inputs))
            return [a.numpy() for a in call_graph(graph, *given)]

    def _graph(self, name: str, num_draws: int, num_inputs: int) -> Callable[..., tuple[tf.Tensor, ...]]:
        """Return the graph of a method `name` of the arguments (num_draws, latent moments, …)."""
        model, compute = self.model, getattr(self, name)

        def graph(*given: tf.Tensor) -> Any:
            inputs, rest = given[:num_inputs], given[num_inputs:]
            functions = model.posterior.predictor(model.kernel)
            if self._first_order:
                return compute(num_draws, first_order_moments(functions, *inputs), *rest)
            return compute(num_draws, functions.moments(draw_inputs(num_draws, *inputs)), *rest)

        return self._traced.setdefault((name, num_draws), tf.function(graph, autograph=False))

    @contextmanager
    def _with_graphs(self) -> Iterator[Predictor]:
        """Give the predictor that has the graphs, with the numbers of this one: itself, or one that is kept."""
        if self._alike is None:
            yield self
            return
        numbers = _variables(self.model)
        key = type(self).__name__, self._first_order, self._alike, *(tuple(variable.shape) for variable in numbers)

        def alike() -> Predictor:  # without the input model, which is not for prediction, and may be large
            model = copied(replace(self.model, input_model=ObservedInputs()))
            return type(self)(model, first_order=self._first_order)

        with _kept.lent(key, alike) as predictor:
            for own, other in zip(_variables(predictor.model), numbers, strict=True):
                own.assign(other)
            yield predictor


_kept = Kept[Predictor](most=4)


def _variables(model: NoisyInputGP) -> list[tf.Variable]:
    """Return what prediction depends on."""
    parts: tuple[Any, ...] = (model.posterior, model.kernel, model.likelihood)
    return [variable for part in parts for variable in part.variables]


class ClassPredictor(Predictor):
    """Prediction of class probabilities with a trained model."""

    def predict(self, X: np.ndarray, X_var: np.ndarray, **options: Any) -> Prediction:
        """Predict n sources at once; see :meth:`blocks` for the options."""
        return join(list(self.blocks(X, X_var, **options)))

    def blocks(
        self,
        X: np.ndarray,
        X_var: np.ndarray,
        *,
        num_draws: int = 256,
        ratio: np.ndarray | None = None,
        temperature: float = 1.0,
    ) -> Iterator[Prediction]:
        """Predict sources block by block. This integrates over x* ~ p(x* | x̃*) and over the latent functions.

        `X`, `X_var`: observed inputs and their noise variances, ``(n, D)``.
        `num_draws`: number of draws of each noisy input, preferably a power of 2. An input without noise has one draw.
        `ratio`: positive weights of the classes for each source, ``(n, C)``. Probabilities are multiplied by them and
        normalised. An example is the ratio of class priors in the group of the source and in training (label shift).
        Draws of f and x have the same weights, so that all of `Prediction` belongs to the corrected probabilities.
        `temperature`: T, by which latent functions are divided. A T above 1 softens ``softmax(f/T)``.

        Yields prediction of the next sources, in order.

        Raises PredictionError when probabilities are NaN or infinite.
        """
        num_draws = 1 if self._first_order else num_draws
        block_size = rows_per_block(X.shape[1], num_draws)
        ratio = np.ones((len(X), self.model.likelihood.num_classes)) if ratio is None else ratio
        for start in range(0, len(X), block_size):
            rows = slice(start, start + block_size)
            noisy = np.any(X_var[rows] > 0, axis=1) & (num_draws > 1)
            kinds = ([num_draws] if noisy.any() else []) + ([1] if not noisy.all() else [])
            block = X[rows], X_var[rows], ratio[rows], temperature
            first, *others = (list(vars(self._block(draws, block_size, *block)).values()) for draws in kinds)
            for exact in others:
                first = [
                    np.where(noisy if a.ndim == 1 else noisy[:, None], a, b) for a, b in zip(first, exact, strict=True)
                ]
            yield Prediction(*first)

    def _block(
        self, num_draws: int, size: int, X: np.ndarray, X_var: np.ndarray, ratio: np.ndarray, temperature: float
    ) -> Prediction:
        found = self._evaluate(self._moments, num_draws, size, X, X_var, [ratio], [temperature])
        return of_moments(self.model.diagnosis, *(a[..., : len(X)] for a in found))

    def _moments(
        self, num_draws: int, latent: LatentMoments, ratio: tf.Tensor, temperature: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        """Return ``E ρ`` and ``E ρ²`` (C, n), ``E_x H[E_f ρ]`` and ``E_x E_f H[ρ]`` (n,), for weighted probabilities ρ.

        The weights of the classes, `ratio`, are ``(n, C)``.
        """
        latent = LatentMoments(latent.mean / temperature, latent.var / temperature**2)
        of_draws = tf.repeat(tf.transpose(ratio), num_draws, axis=1)  # (C, n · S)
        at_x = self.model.likelihood.predict(latent, of_draws, num_draws)
        total = tf.reduce_sum(at_x.mean, axis=0)
        given_x = at_x.mean / total
        entropy_given_x = -total * tf.reduce_sum(tf.math.xlogy(given_x, given_x), axis=0)  # Z H[E_f ρ] at each draw
        each = (at_x.mean, at_x.second, entropy_given_x[None], at_x.entropy[None], total[None])
        over_draws = [tf.reduce_mean(tf.reshape(a, [a.shape[0], -1, num_draws]), axis=-1) for a in each]
        mean, second, of_x, of_f = (a / over_draws[-1] for a in over_draws[:-1])
        return mean, second, of_x[0], of_f[0]


class ResponsePredictor(Predictor):
    """Prediction of outputs with a trained model, whose likelihood is one of GPflow in its adapter.

    With x* from ``p(x* | x̃*) ∝ N(x̃* | x*, V*) p(x*)`` and f from its posterior at x*::

        E y = E_x E_f y,    Var y = E_x Var(y | x) + Var_x E(y | x),    p(y) = E_x E_f p(y | f)
    """

    def moments(self, X: np.ndarray, X_var: np.ndarray, *, num_draws: int = 128) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of y, each ``(n, P)``. P is 1, or C for class probabilities.

        `X`, `X_var`: observed inputs and their noise variances, ``(n, D)``.
        `num_draws`: number of draws of each noisy input, preferably a power of 2. An input without noise has one draw.
        """
        mean, var = self._run(self._moments, num_draws, X, X_var)
        return mean, var

    def log_density(self, X: np.ndarray, X_var: np.ndarray, y: np.ndarray, *, num_draws: int = 128) -> np.ndarray:
        """Return ``log E_x E_f p(y | f(x))`` of outputs y, ``(n,)``. The average is inside the logarithm."""
        return self._run(self._log_density, num_draws, X, X_var, y)[0]

    def quantiles(
        self, X: np.ndarray, X_var: np.ndarray, levels: Sequence[float], *, num_draws: int = 128
    ) -> np.ndarray:
        """Return quantiles of ``E_x E_f p(y | f(x))``, ``(n, Q)``: the smallest y with ``P(Y ≤ y) ≥ level``.

        Raises NotImplementedError when y has no order, or the quantiles of the likelihood are not implemented.
        """
        from fermiclass.nimgp.likelihoods.outputs import quantiles_of_draws

        own: Any = self.model.likelihood

        def of_draws(f: np.ndarray) -> np.ndarray:
            f = np.moveaxis(f, 0, -1) + own.offset.numpy()[:, None]  # (S, L, n)
            return quantiles_of_draws(own.likelihood, f, levels)

        return self._run(self._draws, num_draws, X, X_var, finish=of_draws)[0]

    def _run(
        self,
        compute: Callable[..., tuple[tf.Tensor, ...]],
        num_draws: int,
        X: np.ndarray,
        X_var: np.ndarray,
        *rest: np.ndarray,
        finish: Callable[[np.ndarray], np.ndarray] = np.asarray,
    ) -> list[np.ndarray]:
        """Compute rows with and without noise separately, in blocks. Apply `finish` to each; return rows in order."""
        num_draws = 1 if self._first_order else num_draws
        noisy = np.any(X_var > 0, axis=1) & (num_draws > 1)
        parts, order = [], []
        for count, chosen in ((num_draws, noisy), (1, ~noisy)):
            rows, size = np.flatnonzero(chosen), rows_per_block(X.shape[1], count)
            for block in (rows[start : start + size] for start in range(0, len(rows), size)):
                found = self._evaluate(compute, count, size, X[block], X_var[block], [a[block] for a in rest])
                parts.append([finish(a[: len(block)]) for a in found])
                order.append(block)
        back = np.argsort(np.concatenate(order))
        return [np.concatenate(columns)[back] for columns in zip(*parts, strict=True)]

    def _moments(self, num_draws: int, latent: LatentMoments) -> tuple[tf.Tensor, ...]:
        own: Any = self.model.likelihood
        means, variances = (tf.reshape(a, [-1, num_draws, a.shape[-1]]) for a in own.mean_and_var(latent, num_draws))
        mean = tf.reduce_mean(means, axis=1)
        return mean, tf.reduce_mean(variances + tf.square(means - mean[:, None]), axis=1)

    def _log_density(self, num_draws: int, latent: LatentMoments, y: tf.Tensor) -> tuple[tf.Tensor, ...]:
        own: Any = self.model.likelihood
        log_p = tf.reshape(own.log_density(latent, tf.repeat(y, num_draws), num_draws), [-1, num_draws])
        return (tf.reduce_logsumexp(log_p, axis=1) - np.log(num_draws),)

    def _draws(self, num_draws: int, latent: LatentMoments) -> tuple[tf.Tensor, ...]:
        """Return draws of f(x) over both x and f, ``(n, S, L)``."""
        f = draws_of_f(latent, num_draws, _POINTS_OF_F)  # (K, L, n · S)
        f = tf.reshape(f, [f.shape[0], f.shape[1], -1, num_draws])
        f = tf.transpose(f, [2, 0, 3, 1])
        return (tf.reshape(f, [tf.shape(f)[0], -1, f.shape[-1]]),)
