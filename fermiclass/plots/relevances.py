"""Relevance of the features for the latent functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.io import FloatArray
from fermiclass.plots.style import SMALL, array_of, axes_or_new, class_colours, class_markers, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Ratio of E (∂f/∂x_j)² under the prior to σ²/ℓ_j², for the kernels with length-scales: −2 κ'(0), κ as function of r².
_CURVATURE = {"se": 1.0, "matern32": 3.0, "matern52": 5.0 / 3.0}
_LEGEND_COLUMNS = 4
_LEAST = 1e-9  # probability, so that no log-odds are infinite


def kernel_slopes(weights: Mapping[str, ArrayLike], kernel: str) -> FloatArray:
    """Return the prior slopes of the latent functions along each standardised feature, ``(C, D)``.

    The slope is the root mean square √E(∂f_c/∂x_j)² at x = 0. The squares of the kernels in a sum add up: σ²/ℓ_j² for
    the squared exponential, 3 σ²/ℓ_j² and 5/3 σ²/ℓ_j² for Matérn 3/2 and 5/2, and σ² for the linear kernel. A feature
    with a larger slope is more relevant (automatic relevance determination). Raises ValueError when the kernel has no
    length-scales, or its slope is not known.

    Parameters
    ----------
    weights
        ``weights_`` of a trained classifier.
    kernel
        ``kernel`` of the classifier, such as ``'se+linear'``.
    """
    parts = kernel.split("+")
    odd = set(parts) - {*_CURVATURE, "linear"}
    if odd or not set(parts) & set(_CURVATURE):
        raise ValueError(
            f"the kernel '{kernel}' has no slopes along each feature: use one of {', '.join(_CURVATURE)}, alone or "
            "with 'linear'"
        )
    square: FloatArray | float = 0.0
    for k, part in enumerate(parts):
        variance = np.asarray(weights[f"kernel.kernels[{k}].variance"], np.float64)[:, None]
        if part in _CURVATURE:
            lengthscales = np.asarray(weights[f"kernel.kernels[{k}].lengthscales"], np.float64)
            square = square + _CURVATURE[part] * variance / lengthscales**2
        else:
            square = square + variance
    return np.sqrt(square)


def log_odds_slopes(predict: Callable[[FloatArray], ArrayLike], X: ArrayLike, scale: ArrayLike) -> FloatArray:
    """Return how far each feature moves the log-odds ln(P_c / (1 − P_c)) of each class, ``(C, D)``.

    A step of one standard deviation σ_j of a feature, half of it to each side, changes the log-odds L_c by
    ``L_c(x_j + σ_j/2) − L_c(x_j − σ_j/2)``; all other features stay as they are. The result is the root mean square of
    this change over the sources. It is small for a feature that others can replace. Raises ValueError when the shapes
    do not fit each other.

    Parameters
    ----------
    predict
        Returns the probabilities (n, C) of the features (n, D) of these sources, such as
        ``lambda X: model.predict_proba(X, X_var=X_var)``.
    X
        (n, D) features of typical sources.
    scale
        (D,) standard deviations of the features, such as ``scale_`` of a classifier.
    """
    x, step = np.asarray(X, np.float64), 0.5 * np.asarray(scale, np.float64)
    if x.ndim != 2 or not len(x) or step.shape != x.shape[1:]:
        raise ValueError(f"features of shape {x.shape} and a scale of shape {step.shape}: give (n, D) and (D,)")

    def log_odds(moved: FloatArray) -> FloatArray:
        p = np.clip(np.asarray(predict(moved), np.float64), _LEAST, 1.0 - _LEAST)
        return np.asarray(np.log(p) - np.log1p(-p))

    moves = [log_odds(x + side) - log_odds(x - side) for side in np.diag(step)]
    return np.sqrt(np.mean(np.square(moves), axis=1)).T


def ard_relevances(
    relevances: ArrayLike,
    features: Sequence[str],
    classes: Sequence[str],
    *,
    quantity: str = "relevance: rms slope per standard deviation",
    axes: Axes | None = None,
) -> Axes:
    """Draw the relevance of each feature for each latent function, ordered by the largest relevance of a feature.

    Raises ValueError when the shape does not fit the names.

    Parameters
    ----------
    relevances
        (C, D) relevances; (1, D) if two classes share one latent function. :func:`log_odds_slopes` measures what the
        classifier does. :func:`kernel_slopes`, or inverse length-scales, say what its kernel allows.
    features
        Names of the D features.
    classes
        Names of the C classes, one for each latent function; or of the two classes that share one.
    quantity
        Label of the axis.
    """
    names = [str(name) for name in classes]
    functions = [" and ".join(names)] if len(names) == 2 and np.shape(relevances)[0] == 1 else names
    r = array_of((len(functions), len(features)), relevances, "relevances")
    order = np.argsort(r.max(axis=0), kind="stable")
    axes = axes_or_new(axes, (4.5, 1.0 + 0.23 * len(features)))
    place = np.arange(len(features))
    axes.hlines(place, r.min(axis=0)[order], r.max(axis=0)[order], color="0.8", linewidth=1.0, zorder=1)
    colours, markers = class_colours(functions), class_markers(functions)
    for name, row in zip(functions, r, strict=True):
        axes.scatter(row[order], place, color=colours[name], marker=markers[name], s=26, lw=0, label=name, zorder=2)
    axes.set_yticks(place, [features[j] for j in order], fontsize=SMALL)
    axes.set_xlim(left=0.0)
    columns = min(len(functions), _LEGEND_COLUMNS)
    axes.legend(frameon=False, fontsize=SMALL, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns)
    return open_frame(axes, ylim=(-0.7, len(features) - 0.3), xlabel=quantity)
