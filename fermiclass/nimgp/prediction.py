"""Class probabilities of new sources, averaged over what their error bars leave open.

The draws of the noiseless inputs are one fixed quasi-Monte Carlo set, scaled by each source's own error bars, and
sources are computed in blocks of one fixed shape. What comes out for a source therefore depends on nothing but that
source: neither on its place in the table nor on how many others are predicted with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.diagnosis import diagnose
from fermiclass.nimgp.errors import PredictionError
from fermiclass.nimgp.input_prior import InputPrior
from fermiclass.nimgp.model import NoisyInputGP
from fermiclass.nimgp.prediction_graphs import PredictionGraphs, numbers_of

_POINTS_PER_BLOCK = 4096  # input points of one block: large enough to keep the cores busy, small enough for the cache
_MATRICES_PER_BLOCK = 2**23  # numbers in the matrices of the inputs of one block: 64 MB


@dataclass(frozen=True)
class Prediction:
    """What is predicted of n sources, entropies in nats.

    Attributes
    ----------
    probabilities
        ``E_x E_f p(y | f(x))``, ``(n, C)``; rows sum to 1.
    std
        Standard deviation of ``p(y | f(x))`` over f and x, ``(n, C)``.
    entropy
        Entropy of ``probabilities``, ``(n,)``: the sum of the next two and of what no knowledge of f or x removes.
    information
        ``E_x { H[E_f p] − E_f H[p] }``, mutual information of label and latent functions (BALD), ``(n,)``.
    noise_entropy
        ``H[E_x E_f p] − E_x H[E_f p]``, mutual information of label and noiseless input, ``(n,)``.
    """

    probabilities: np.ndarray
    std: np.ndarray
    entropy: np.ndarray
    information: np.ndarray
    noise_entropy: np.ndarray

    def take(self, rows: np.ndarray) -> Prediction:
        """Return the prediction of some of the sources."""
        return Prediction(*(getattr(self, field.name)[rows] for field in fields(self)))


class Predictor:
    """Prediction with a trained model; what depends on the model alone is computed once.

    Parameters
    ----------
    model
        Trained; later changes of it have no effect.
    input_prior
        p(x) of the sources to be predicted; flat by default. The noiseless input of a source is then distributed as
        ``p(x* | x̃*) ∝ N(x̃* | x*, V*) p(x*)``.
    first_order
        Whether noise enters as noise of the latent functions instead, ``var_c + ∇mean_cᵀ V ∇mean_c`` at the observed
        input; p(x) then plays no part.
    graphs
        Those of a model of the same settings and sizes, which saves tracing them.

    Attributes
    ----------
    temperature
        T, which latent functions are divided by: more than 1 softens ``softmax(f/T)``. It may be changed.
    """

    def __init__(
        self,
        model: NoisyInputGP,
        *,
        input_prior: InputPrior | None = None,
        first_order: bool = False,
        graphs: PredictionGraphs | None = None,
    ) -> None:
        self._model = model
        self._numbers = numbers_of(model)
        self._graphs = graphs or PredictionGraphs(model, first_order=first_order)
        self._dtype = model.posterior.q_mu.dtype
        self._num_classes = model.likelihood.num_classes
        input_dim = model.posterior.Z.shape[-1]
        flat = InputPrior.isotropic(input_dim, np.inf)
        self._input_prior = flat if first_order or input_prior is None else input_prior
        self._first_order = first_order
        self.temperature = 1.0

    def predict(
        self, X: np.ndarray, X_var: np.ndarray, *, num_draws: int = 256, ratio: np.ndarray | None = None
    ) -> Prediction:
        """Predict n sources; see :meth:`blocks`, which does the same a block at a time."""
        return join(list(self.blocks(X, X_var, num_draws=num_draws, ratio=ratio)))

    def blocks(
        self, X: np.ndarray, X_var: np.ndarray, *, num_draws: int = 256, ratio: np.ndarray | None = None
    ) -> Iterator[Prediction]:
        """Predict sources a block at a time, integrating over x* ~ p(x* | x̃*) and over the latent functions.

        Parameters
        ----------
        X, X_var
            Observed inputs and their noise variances, ``(n, D)``.
        num_draws
            Draws of each noisy input, best a power of 2; one is enough, and used, for an input without noise.
        ratio
            Positive weights of the classes for each source, ``(n, C)``, such as the classes' shares where the source
            comes from over those in training: probabilities are multiplied by them and made to sum to 1 (label shift).
            Draws of f and x are weighed accordingly: all of `Prediction` belongs to the corrected probabilities.

        Yields
        ------
        Prediction
            Of the next sources, in order.
        """
        num_draws = 1 if self._first_order else num_draws
        block_size = rows_per_block(self._model.posterior.Z.shape, num_draws)
        ratio = np.ones((len(X), self._num_classes)) if ratio is None else ratio
        for start in range(0, len(X), block_size):
            rows = slice(start, start + block_size)
            noisy = np.any(X_var[rows] > 0, axis=1)
            block = X[rows], X_var[rows], ratio[rows]
            if noisy.all():
                yield self._block(block_size, num_draws, *block)
            elif not noisy.any():
                yield self._block(block_size, 1, *block)
            else:
                both = self._block(block_size, num_draws, *block), self._block(block_size, 1, *block)
                yield _choose(noisy, *both)

    def _block(
        self, block_size: int, num_draws: int, X: np.ndarray, X_var: np.ndarray, ratio: np.ndarray
    ) -> Prediction:
        count = len(X)
        conditional = self._input_prior.condition(X, X_var)
        whole = (
            np.pad(a, [(0, block_size - count)] + [(0, 0)] * (a.ndim - 1), mode="edge") for a in (*conditional, ratio)
        )
        padded = (tf.constant(a, self._dtype) for a in (*whole, self.temperature))
        mean, second, entropy_given_x, entropy_given_f = (
            a.numpy()[..., :count].astype(float) for a in self._graphs.run(self._numbers, num_draws, *padded)
        )
        if not all(np.all(np.isfinite(a)) for a in (mean, second, entropy_given_x, entropy_given_f)):
            raise PredictionError(
                f"the probabilities of a block of {count} sources are no numbers: {diagnose(self._model)}. Train "
                "again, with a larger jitter, fewer inducing points, or precision 'float64'."
            )
        # Rounding and quadrature leave sums a little off 1 and differences of entropies a little below 0.
        probabilities = (mean / mean.sum(axis=0)).T
        entropy = -np.sum(probabilities * np.log(np.maximum(probabilities, 1e-300)), axis=1)
        return Prediction(
            probabilities=probabilities,
            std=np.sqrt(np.maximum(second.T - probabilities**2, 0.0)),
            entropy=entropy,
            information=np.maximum(entropy_given_x - entropy_given_f, 0.0),
            noise_entropy=np.maximum(entropy - entropy_given_x, 0.0),
        )


def rows_per_block(inducing_points: Sequence[int], num_draws: int) -> int:
    """Return how many inputs are predicted at a time, so that arrays fit into the cache and matrices into memory.

    Parameters
    ----------
    inducing_points
        The shape ``(C, M, D)``. For each input there are covariances (D, D), and with one function a matrix (M, M),
        which :mod:`fermiclass.nimgp.products` repeats.
    num_draws
        Of each input.
    """
    num_functions, num_inducing, input_dim = inducing_points
    widest = max(input_dim, num_inducing if num_functions == 1 else 1)
    return max(1, min(_POINTS_PER_BLOCK // num_draws, _MATRICES_PER_BLOCK // widest**2))


def join(blocks: Sequence[Prediction]) -> Prediction:
    """Put the predictions of consecutive blocks of sources together."""
    return Prediction(*(np.concatenate([getattr(b, field.name) for b in blocks]) for field in fields(Prediction)))


def _choose(first: np.ndarray, a: Prediction, b: Prediction) -> Prediction:
    """Of two predictions of the same sources the first where ``first`` (n,), else the second."""

    def pick(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(first if x.ndim == 1 else first[:, None], x, y)

    return Prediction(*(pick(getattr(a, field.name), getattr(b, field.name)) for field in fields(Prediction)))
