"""One source compared with the classes, and the effect of each of its features on the probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.plots.style import SMALL, array_of, axes_or_new, class_colours, class_markers, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fermiclass.analysis.explain import Explanation

_HALF_HEIGHT = 0.36  # half the height of a row
_LIMIT = 4.0  # largest number of standard deviations in the plot


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

    Bars contain 68 % (dark) and 95 % (pale) of each class; a white line is the median. The source is black. A value
    beyond ±4 is an arrow at the edge.

    Parameters
    ----------
    value, error
        (D,) features and their standard deviations, in a common unit such as the standard deviation of the training
        sources.
    population
        (C, 5, D) percentiles 2.5, 16, 50, 84 and 97.5 of each class in the same unit.
    features, classes
        Names of the D features and the C classes.

    Raises
    ------
    ValueError
        When the shapes do not fit the names.
    """
    C, D = len(classes), len(features)
    x, sigma = array_of((D,), value, "value"), array_of((D,), error, "error")
    percentiles = array_of((C, 5, D), population, "population")
    axes = axes_or_new(axes, (4.5, 1.0 + 0.34 * D))
    colours = class_colours(classes)
    rows = np.arange(D)
    height = 2.0 * _HALF_HEIGHT / C
    for c, name in enumerate(classes):
        p2, p16, p50, p84, p97 = percentiles[c]
        at = rows - _HALF_HEIGHT + (c + 0.5) * height
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
    axes.set_yticks(rows, features, fontsize=SMALL)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(D - 0.4, -0.6)
    axes.set_xlim(-_LIMIT - 0.15, _LIMIT + 0.15)
    axes.set_xlabel("standard deviations from the training sources' mean", fontsize=SMALL)
    open_frame(axes)
    return axes


def feature_effects(
    effects: ArrayLike, features: Sequence[str], classes: Sequence[str], *, axes: Axes | None = None
) -> Axes:
    """Draw the effect of each feature on the log-odds of each class as a bar, the first feature on top.

    Parameters
    ----------
    effects
        (D, C) effects, such as ``Explanation.log_odds``.
    features, classes
        Names of the D features and the C classes.

    Raises
    ------
    ValueError
        When the shape does not fit the names.
    """
    moved = array_of((len(features), len(classes)), effects, "effects")
    axes = axes_or_new(axes, (3.5, 1.0 + 0.34 * len(features)))
    colours, markers = class_colours(classes), class_markers(classes)
    rows = np.arange(len(features))
    height = 2.0 * _HALF_HEIGHT / len(classes)
    axes.axvline(0.0, color="0.4", linewidth=0.8)
    for c, name in enumerate(classes):
        at = rows - _HALF_HEIGHT + (c + 0.5) * height
        axes.barh(at, moved[:, c], 0.6 * height, color=colours[name], lw=0)
        axes.plot(moved[:, c], at, markers[name], color=colours[name], markersize=4.0, label=name)
    axes.set_yticks(rows, features, fontsize=SMALL)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(features) - 0.4, -0.6)
    widest = max(0.1, 1.15 * float(np.abs(moved).max()))
    axes.set_xlim(-widest, widest)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("moves the log-odds by", fontsize=SMALL)
    open_frame(axes)
    return axes


def explanation_size(explained: Explanation) -> tuple[float, float]:
    """Return width and height in inches of the figure for :func:`explanation`."""
    return 8.0, 1.4 + 0.2 * len(explained.names) + 0.34 * len(explained.features)


def explanation(explained: Explanation, *, figure: Any = None) -> tuple[Axes, Axes, Axes]:
    """Draw an explanation: the probabilities, the features compared with the classes, and their effects.

    The features with the largest effect on the log-odds of the most probable class, or of a group with it, are on top.
    Effects are those on the two most probable classes, on all others with a probability of 1 % and more, and on these
    groups.

    Parameters
    ----------
    explained
        The explanation, as :func:`fermiclass.explain` returns it.
    figure
        An empty figure or ``SubFigure``; by default a new pyplot figure.

    Returns
    -------
    tuple of Axes
        Axes of the probabilities, of the features, and of their effects.
    """
    order = explained.order
    if figure is None:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=explanation_size(explained), layout="constrained")
    heights = [0.2 * len(explained.names) + 0.35, 0.34 * len(order) + 0.4]
    grid = figure.add_gridspec(2, 2, width_ratios=[1.5, 1.0], height_ratios=heights)
    kinds = explained.kinds
    top = figure.add_subplot(grid[0, 0] if kinds else grid[0, :])
    left = figure.add_subplot(grid[1, 0])
    right = figure.add_subplot(grid[1, 1])
    _probabilities(explained, top)
    values = [f"{explained.features[j]}  {explained.feature_text(j)}" for j in order]
    feature_strip(
        ((explained.value - explained.centre) / explained.scale)[order],
        (explained.error / explained.scale)[order],
        ((explained.population - explained.centre) / explained.scale)[:, :, order],
        values,
        explained.classes,
        axes=left,
    )
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
    axes.set_yticks(rows, names)
    for label, name in zip(axes.get_yticklabels(), names, strict=True):
        label.set_color(colours[name])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("probability (circles: without error bars)", fontsize=SMALL)
    label = explained.label
    known = [str(label[name]) for name in ("CLASS1", "ASSOC1") if name in label.colnames and label[name]]
    axes.set_title(f"{explained.name} ({', '.join(known) or 'unassociated'})", loc="left", fontsize="medium")
    open_frame(axes)
