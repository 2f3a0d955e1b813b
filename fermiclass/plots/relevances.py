"""Relevance of the features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.io import FloatArray
from fermiclass.plots.style import SMALL, array_of, axes_or_new, class_colours, class_markers, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEGEND_COLUMNS = 4
_LEAST = 1e-9  # probability, so that no log-odds are infinite


def log_odds_slopes(predict: Callable[[FloatArray], ArrayLike], X: ArrayLike, scale: ArrayLike) -> FloatArray:
    """Return how far each feature moves the log-odds ln(P_c / (1 − P_c)) of each class, ``(C, D)``.

    A step of one standard deviation σ_j of a feature, half of it to each side, changes the log-odds L_c by
    ``L_c(x_j + σ_j/2) − L_c(x_j − σ_j/2)``; all other features stay as they are. The result is the root mean square of
    this change over the sources. It is small for a feature that others can replace.

    `predict` returns the probabilities ``(n, C)`` of the features ``(n, D)`` of these sources, such as ``lambda X:
    model.predict_proba(X, X_var=X_var)``. `X` has features of typical sources, ``(n, D)``, and `scale` the standard
    deviations, ``(D,)``, such as ``scale_`` of a classifier. Raises ValueError when the shapes do not fit each other.
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
    """Draw the relevance of each of D features for each of C classes, ordered by the largest relevance of a feature.

    The relevances are ``(C, D)``, or ``(1, D)`` if two classes share one latent function: :func:`log_odds_slopes`
    measures what the classifier does, inverse length-scales say what its kernel allows. `quantity` is the label of the
    axis. Raises ValueError when the shape does not fit the names.
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
