"""Class probabilities and outputs of new sources, averaged over the uncertainty of their inputs.

Draws of noiseless inputs are one fixed quasi-Monte Carlo set, and blocks of sources have one shape: the prediction of a
source depends on that source alone, except for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
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

Compute = Callable[..., tuple[tf.Tensor, ...]]  #: Results for a number of draws and latent moments.


def first_order_moments(functions: Functions, X: tf.Tensor, scale: tf.Tensor) -> LatentMoments:
    """Return moments with ``var_c + ∇mean_cᵀ V ∇mean_c`` at ``X`` (n, D); `scale` is √V, the noise, (n, D)."""
    latent, gradient = functions.moments_and_gradient(X)
    noise = tf.reduce_sum(tf.square(gradient * tf.transpose(scale)), axis=1)
    return LatentMoments(latent.mean, latent.var + noise)


def draw_inputs(num_draws: int, weights: tf.Tensor, mean: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
    """Return draws from ``Σ_k weights_k N(mean_k, F_k F_kᵀ)`` of n inputs, shape ``(n · S, D)``.

    The last of the D + 1 coordinates of the draws, which all inputs share, selects the component.
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


class Predictor:
    """Prediction with a trained model, which must not change, in blocks of rows.

    The noiseless input of a source has the distribution ``p(x* | x̃*) ∝ N(x̃* | x*, V*) p(x*)``, by default with a flat
    p(x). If `first_order`, noise of the observed input becomes noise of the latent functions instead.

    Models with the same `alike`, which says all but numbers and shapes by which graphs of models differ, share graphs
    of TensorFlow, whose traces take longer than small predictions. None for graphs of its own.
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
        self._traced: dict[tuple[str, int], Compute] = {}

    def _evaluate(
        self,
        compute: Compute,
        num_draws: int,
        size: int,
        X: np.ndarray,
        X_var: np.ndarray,
        rows: Sequence[np.ndarray],
        numbers: Sequence[float],
    ) -> list[np.ndarray]:
        """Return ``compute(num_draws, latent moments, *rows, *numbers)`` for rows that are padded to a `size`."""
        inputs = (X, np.sqrt(X_var)) if self._first_order else self._input_prior.condition(X, X_var)
        padded = [np.pad(a, [(0, size - len(a))] + [(0, 0)] * (a.ndim - 1), mode="edge") for a in (*inputs, *rows)]
        given = [tf.constant(a, self.model.posterior.Z.dtype) for a in (*padded, *numbers)]
        with self._with_graphs() as predictor:
            graph = predictor._graph(compute.__name__, num_draws, len(inputs))
            return [a.numpy() for a in call_graph(graph, *given)]

    def _blocks(
        self,
        compute: Compute,
        num_draws: int,
        X: np.ndarray,
        X_var: np.ndarray,
        rows: Sequence[np.ndarray],
        numbers: Sequence[float] = (),
        finish: Callable[..., Iterable[np.ndarray]] = lambda *found: found,
    ) -> Iterator[list[np.ndarray]]:
        """Yield what `finish` makes of each block of rows, of which those without noise have one draw."""
        num_draws = 1 if self._first_order else num_draws
        size = max(1, min(_POINTS_PER_BLOCK // num_draws, _MATRICES_PER_BLOCK // X.shape[1] ** 2))
        for start in range(0, len(X), size):
            part = slice(start, start + size)
            noisy = np.any(X_var[part] > 0, axis=1) & (num_draws > 1)
            kinds = ([num_draws] if noisy.any() else []) + ([1] if not noisy.all() else [])
            block = X[part], X_var[part], [a[part] for a in rows], numbers
            found = [[a[: len(noisy)] for a in finish(*self._evaluate(compute, k, size, *block))] for k in kinds]
            each = zip(found[0], found[-1], strict=True)
            yield [np.where(noisy.reshape(-1, *[1] * (a.ndim - 1)), a, b) for a, b in each]

    def _graph(self, name: str, num_draws: int, num_inputs: int) -> Compute:
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
        """Predict sources block by block, over `num_draws` of each x* ~ p(x* | x̃*), and over the latent functions.

        Probabilities are multiplied by `ratio`, positive weights of the classes for each source, ``(n, C)``, and
        normalised: an example is the ratio of class priors in the group of the source and in training (label shift).
        Draws of f and x have the same weights, so that all of `Prediction` belongs to the corrected probabilities.
        Latent functions are divided by the temperature. Raises PredictionError when probabilities are NaN or infinite.
        """
        ratio = np.ones((len(X), self.model.likelihood.num_classes)) if ratio is None else ratio

        def prediction(*found: np.ndarray) -> Iterable[np.ndarray]:
            return vars(of_moments(self.model.diagnosis, *found)).values()

        for block in self._blocks(self._moments, num_draws, X, X_var, [ratio], [temperature], prediction):
            yield Prediction(*block)

    def _moments(
        self, num_draws: int, latent: LatentMoments, ratio: tf.Tensor, temperature: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        """Return ``E ρ`` and ``E ρ²`` (C, n), ``E_x H[E_f ρ]`` and ``E_x E_f H[ρ]`` (n,), for weighted ρ."""
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
        """Return mean and variance of y, each ``(n, P)``. P is 1, or C for class probabilities."""
        mean, var = self._run(self._moments, num_draws, X, X_var)
        return mean, var

    def log_density(self, X: np.ndarray, X_var: np.ndarray, y: np.ndarray, *, num_draws: int = 128) -> np.ndarray:
        """Return ``log E_x E_f p(y | f(x))`` of outputs y, ``(n,)``. The average is inside the logarithm."""
        return self._run(self._log_density, num_draws, X, X_var, y)[0]

    def quantiles(
        self, X: np.ndarray, X_var: np.ndarray, levels: Sequence[float], *, num_draws: int = 128
    ) -> np.ndarray:
        """Return quantiles of ``E_x E_f p(y | f(x))``, ``(n, Q)``; see `quantiles_of_draws`."""
        from fermiclass.nimgp.likelihoods.outputs import quantiles_of_draws

        own: Any = self.model.likelihood

        def of_draws(f: np.ndarray) -> list[np.ndarray]:
            f = np.moveaxis(f, 0, -1) + own.offset.numpy()[:, None]  # (S, L, n)
            return [quantiles_of_draws(own.likelihood, f, levels)]

        return self._run(self._draws, num_draws, X, X_var, finish=of_draws)[0]

    def _run(self, compute: Compute, num_draws: int, X: np.ndarray, X_var: np.ndarray, *rows: Any, **how: Any) -> Any:
        num_draws = num_draws if np.any(X_var > 0) else 1  # rows without noise alone have large blocks
        blocks = self._blocks(compute, num_draws, X, X_var, rows, **how)
        return [np.concatenate(columns) for columns in zip(*blocks, strict=True)]

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
