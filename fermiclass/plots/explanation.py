"""One source compared with the classes, and how far features move probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.io import FloatArray
from fermiclass.plots.style import (
    SMALL,
    array_of,
    axes_or_new,
    class_colours,
    class_markers,
    colour_labels,
    open_frame,
    rows_from_top,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fermiclass.analysis.explain import Explanation

_HALF_HEIGHT = 0.36  # half the height of a row
_LIMIT = 4.0  # largest number of standard deviations in the plot
_LEGEND_COLUMNS = 4
_LEAST = 1e-9  # probability, so that no log-odds are infinite


def feature_strip(
    value: ArrayLike,
    error: ArrayLike,
    population: ArrayLike,
    features: Sequence[str],
    classes: Sequence[str],
    *,
    axes: Axes | None = None,
) -> Axes:
    """Draw a source's features with their errors and the distributions of the classes, the first feature on top.

    Bars contain 68 % (dark) and 95 % (pale) of each class; a white line is the median. A value beyond ±4 is an arrow.
    `value` and `error` are D features and their standard deviations, ``(D,)``, in a common unit such as the standard
    deviation of the training sources; `population` has percentiles 2.5, 16, 50, 84 and 97.5 of each of C classes in the
    same unit, ``(C, 5, D)``. Raises ValueError when the shapes do not fit the names.
    """
    C, D = len(classes), len(features)
    x, sigma = array_of((D,), value, "value"), array_of((D,), error, "error")
    percentiles = array_of((C, 5, D), population, "population")
    axes = axes_or_new(axes, (4.5, 1.0 + 0.34 * D))
    colours, rows = class_colours(classes), np.arange(D)
    height, places = _bars_of_classes(C, D)
    for name, at, (p2, p16, p50, p84, p97) in zip(classes, places, percentiles, strict=True):
        axes.barh(at, p97 - p2, 0.8 * height, left=p2, color=colours[name], alpha=0.3, lw=0)
        axes.barh(at, p84 - p16, 0.8 * height, left=p16, color=colours[name], lw=0, label=name)
        axes.vlines(p50, at - 0.4 * height, at + 0.4 * height, color="white", linewidth=1.0)
    inside = np.abs(x) <= _LIMIT
    axes.vlines(x[inside], rows[inside] - 0.45, rows[inside] + 0.45, color="black", linewidth=1.2, zorder=4)
    axes.errorbar(
        x[inside], rows[inside], xerr=sigma[inside], fmt="none", ecolor="black", elinewidth=1.2, capsize=2.5, zorder=4
    )
    for side in (-1.0, 1.0):
        far = np.flatnonzero(~inside & (np.sign(x) == side))
        axes.plot(np.full(len(far), side * _LIMIT), far, marker="<" if side < 0 else ">", color="black", lw=0, zorder=4)
    rows_from_top(axes, features, edge=0.6, fontsize=SMALL)
    axes.set_xlabel("standard deviations from the training sources' mean", fontsize=SMALL)
    return open_frame(axes, xlim=(-_LIMIT - 0.15, _LIMIT + 0.15))


def _bars_of_classes(num_classes: int, num_rows: int) -> tuple[float, FloatArray]:
    """Return the height of a bar, and the places of the bars of each class, one in each row, ``(C, D)``."""
    height = 2.0 * _HALF_HEIGHT / num_classes
    return height, np.arange(num_rows) - _HALF_HEIGHT + (np.arange(num_classes)[:, None] + 0.5) * height


def feature_effects(
    effects: ArrayLike, features: Sequence[str], classes: Sequence[str], *, axes: Axes | None = None
) -> Axes:
    """Draw the effect of each feature on the log-odds of each class as a bar, the first feature on top.

    The effects are ``(D, C)``, such as ``Explanation.log_odds``. Raises ValueError when the shape does not fit the
    names of `features` and `classes`.
    """
    moved = array_of((len(features), len(classes)), effects, "effects")
    axes = axes_or_new(axes, (3.5, 1.0 + 0.34 * len(features)))
    colours, markers = class_colours(classes), class_markers(classes)
    height, places = _bars_of_classes(len(classes), len(features))
    axes.axvline(0.0, color="0.4", linewidth=0.8)
    for name, at, effect in zip(classes, places, moved.T, strict=True):
        axes.barh(at, effect, 0.6 * height, color=colours[name], lw=0)
        axes.plot(effect, at, markers[name], color=colours[name], markersize=4.0, label=name)
    rows_from_top(axes, features, edge=0.6, fontsize=SMALL)
    widest = max(0.1, 1.15 * float(np.abs(moved).max()))
    axes.set_xlim(-widest, widest)
    axes.locator_params(axis="x", nbins=3)
    axes.set_xlabel("moves the log-odds by", fontsize=SMALL)
    return open_frame(axes)


def explanation_size(explained: Explanation) -> tuple[float, float]:
    """Return width and height in inches of the figure for :func:`explanation`."""
    return 8.0, 1.4 + 0.2 * len(explained.names) + 0.34 * len(explained.features)


def explanation(explained: Explanation, *, figure: Any = None) -> tuple[Axes, Axes, Axes]:
    """Draw an explanation: the probabilities, the features compared with the classes, and their effects.

    The features with the largest effect on the most probable class, or on a group with it, are on top. Effects are
    those on the two most probable classes, on all others with a probability of 1 % and more, and on these groups. The
    `figure` is an empty one or a ``SubFigure``, by default a new one of pyplot. Return the Axes of probabilities,
    features and effects.
    """
    order = explained.order
    if figure is None:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=explanation_size(explained), layout="constrained")
    heights = [0.2 * len(explained.names) + 0.35, 0.34 * len(order) + 0.4]
    grid = figure.add_gridspec(2, 2, width_ratios=[1.5, 1.0], height_ratios=heights)
    kinds = explained.kinds
    top = figure.add_subplot(grid[0, 0] if kinds else grid[0, :])
    left, right = (figure.add_subplot(grid[1, k]) for k in (0, 1))
    _probabilities(explained, top)
    values = [f"{explained.features[j]}  {explained.feature_text(j)}" for j in order]
    value, population = ((x - explained.centre) / explained.scale for x in (explained.value, explained.population))
    error = (explained.error / explained.scale)[order]
    feature_strip(value[order], error, population[:, :, order], values, explained.classes, axes=left)
    shown = explained.considered
    names = [explained.names[k] for k in shown]
    feature_effects(explained.log_odds[np.ix_(order, shown)], [""] * len(order), names, axes=right)
    legend = right
    if kinds:
        legend = figure.add_subplot(grid[0, 1])
        together = np.array(list(kinds.values()))[:, shown]
        feature_effects(together, list(kinds), names, axes=legend)
        legend.set_xlabel("")
    legend.legend(
        frameon=False, fontsize=SMALL, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, borderaxespad=0.1
    )
    return top, left, right


def _probabilities(explained: Explanation, axes: Axes) -> None:
    """Draw the probabilities of classes and groups, and those without error bars as circles."""
    names, members = explained.names, explained.members
    colours, rows = class_colours(names), np.arange(len(names))
    ends = np.cumsum(members * explained.probabilities, axis=1)
    for c, name in enumerate(explained.classes):  # a group has a part for each of its classes
        inside = members[:, c]
        width = explained.probabilities[c]
        axes.barh(rows[inside], width, 0.7, left=ends[inside, c] - width, color=colours[name])
    circle: dict[str, Any] = {"mfc": "white", "mec": "black", "ms": 5.0, "clip_on": False}
    axes.plot(members @ explained.without_errors, rows, "o", **circle)
    rows_from_top(axes, names, edge=0.5)
    colour_labels(axes.get_yticklabels(), names)
    axes.set_xlabel("probability (circles: without error bars)", fontsize=SMALL)
    first, *second = explained.catalogued
    size = "x-small" if second else "medium"  # there is a legend beside it
    axes.set_title("\n".join([f"{explained.name} ({first})", *second]), loc="left", fontsize=size, parse_math=False)
    open_frame(axes, xlim=(0.0, 1.0))


def log_odds_slopes(predict: Callable[[FloatArray], ArrayLike], X: ArrayLike, scale: ArrayLike) -> FloatArray:
    """Return how far each feature moves the log-odds ln(P_c / (1 − P_c)) of each class, ``(C, D)``.

    The result is the root mean square, over typical sources with features `X`, ``(n, D)``, of the change ``L_c(x_j +
    σ_j/2) − L_c(x_j − σ_j/2)`` of the log-odds. The standard deviations σ are `scale`, ``(D,)``, such as ``scale_`` of
    a classifier. It is small for a feature that others can replace.

    `predict` returns probabilities ``(n, C)`` of features ``(n, D)`` of these sources, such as ``lambda X:
    model.predict_proba(X, X_var=X_var)``. Raises ValueError when the shapes do not fit each other.
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
