"""Predictions of the Bayes classifier at noisy inputs, given the functions that made the labels.

Let x be uniform in a box and ``x̃ | x ~ N(x, V I)``. The noiseless input of an observed one has the distribution
``p(x | x̃) ∝ N(x | x̃, V I)`` in the box, a product of truncated Gaussians, and

    p(y | x̃) = ∫ 1[argmax_c f_c(x) = y] p(x | x̃) dx.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from fermiclass.benchmarks.gp_draws import LatentFunctions
from fermiclass.io.arrays import FloatArray

NUM_DRAWS = 512

_SCAN = 4000  # number of intervals in which the search for class boundaries starts in one dimension
_BISECTIONS = 15  # accuracy of 1e-7 of the box: single precision
_CELLS = 160  # number of cells along each side of the box in two dimensions
_BLOCK = 100  # number of rows per block of draws


def bayes_probabilities(
    functions: LatentFunctions, X: FloatArray, noise_variance: float, half_width: float
) -> FloatArray:
    """Return class probabilities ``p(y | x̃)``, ``(n, C)``, by the best rule for the number of inputs D.

    D = 1: :func:`exact_probabilities`; D = 2: :func:`cell_probabilities`; D > 2: :func:`sampled_probabilities`.

    Parameters
    ----------
    functions
        Latent functions of the classes.
    X
        Observed inputs x̃, ``(n, D)``.
    noise_variance
        V, positive.
    half_width
        The box is ``[-half_width, half_width]^D``.
    """
    rules = {1: exact_probabilities, 2: cell_probabilities}
    return rules.get(X.shape[1], sampled_probabilities)(functions, X, noise_variance, half_width)


def exact_probabilities(
    functions: LatentFunctions, X: FloatArray, noise_variance: float, half_width: float
) -> FloatArray:
    """Return p(y | x̃) for D = 1 in closed form: differences of Φ over the intervals of each label."""
    edges, labels = class_intervals(functions, half_width)
    return _masses(edges, X[:, 0], noise_variance) @ np.eye(len(functions.phases))[labels]


def class_intervals(functions: LatentFunctions, half_width: float) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return edges ``(K + 1,)`` and labels ``(K,)`` of the intervals of the box that have one label each."""
    points = np.linspace(-half_width, half_width, _SCAN + 1)
    labels = functions.labels(points[:, None])
    changes = np.flatnonzero(labels[1:] != labels[:-1])
    low, high = points[changes], points[changes + 1]
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        left = functions.labels(middle[:, None]) == labels[changes]
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    edges = np.concatenate([[-half_width], (low + high) / 2, [half_width]])
    return edges, labels[np.append(changes, _SCAN)]


def cell_probabilities(
    functions: LatentFunctions, X: FloatArray, noise_variance: float, half_width: float
) -> FloatArray:
    """Return p(y | x̃) for D = 2: exact masses of 160 x 160 cells. Each cell has the label of its centre."""
    edges = np.linspace(-half_width, half_width, _CELLS + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    grid = np.stack(np.meshgrid(centres, centres, indexing="ij"), axis=-1)
    labels = functions.labels(grid.reshape(-1, 2)).reshape(_CELLS, _CELLS)
    first, second = (_masses(edges, x, noise_variance) for x in X.T)
    num_classes = len(functions.phases)
    return np.stack([np.sum(first @ (labels == c) * second, axis=1) for c in range(num_classes)], axis=1)


def sampled_probabilities(
    functions: LatentFunctions, X: FloatArray, noise_variance: float, half_width: float, *, num_draws: int = NUM_DRAWS
) -> FloatArray:
    """Return p(y | x̃) for any D from quasi-Monte Carlo draws of p(x | x̃): ``(count + ½) / (num_draws + C/2)``.

    The ½ keeps the probability of a class without draws above 0. ``num_draws`` should be a power of 2. With 512 draws
    the mean error is 0.004, the largest error 0.03, and the error of the NLL 0.002.
    """
    # Shift the Sobol set by half a step, as it would otherwise contain 0.
    uniform = qmc.Sobol(X.shape[1], scramble=False).random(num_draws) + 0.5 / num_draws
    scale, num_classes = np.sqrt(noise_variance), len(functions.phases)
    counts = np.empty((len(X), num_classes))
    for start in range(0, len(X), _BLOCK):
        centre = X[start : start + _BLOCK, None, :]
        low, high = ndtr((-half_width - centre) / scale), ndtr((half_width - centre) / scale)
        draws = centre + scale * ndtri(low + uniform * (high - low))
        labels = functions.labels(draws.reshape(-1, X.shape[1])).reshape(-1, num_draws)
        counts[start : start + _BLOCK] = (labels[..., None] == np.arange(num_classes)).sum(axis=1)
    return (counts + 0.5) / (num_draws + 0.5 * num_classes)


def _masses(edges: FloatArray, x: FloatArray, noise_variance: float) -> FloatArray:
    """Return the probability of each interval under N(x, V), truncated to the union of all intervals, ``(n, K)``."""
    cumulative = ndtr((edges - x[:, None]) / np.sqrt(noise_variance))
    return np.diff(cumulative, axis=1) / (cumulative[:, -1:] - cumulative[:, :1])
