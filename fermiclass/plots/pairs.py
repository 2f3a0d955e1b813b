"""Sources in the plane of two features, with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.io import FloatArray
from fermiclass.plots.style import axes_or_new, class_colours, class_markers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fermiclass.features import Feature

_ELLIPSE = "0.15"


def feature_labels(features: Sequence[Feature]) -> list[str]:
    """Return names of features with their units, for axes. A logarithm has the unit of its argument."""
    return [
        feature.description.partition(",")[0].replace("ln of", "ln")
        if feature.description.startswith("ln of ")
        else ", ".join(filter(None, (feature.name, feature.unit)))
        for feature in features
    ]


def feature_pair(
    X: ArrayLike,
    y: ArrayLike,
    features: Sequence[str] = ("", ""),
    *,
    noisy: ArrayLike | None = None,
    noisy_var: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    size: float = 6.0,
    axes: Axes | None = None,
) -> Axes:
    """Draw sources in the plane of two features: some as points coloured by class, others as error ellipses.

    `X` has the points, such as training sources, ``(n, 2)``, and `y` their classes, ``(n,)``, of which `names` is the
    order for the legend. `features` are names of the two features with units, for the axes. `noisy` and `noisy_var`
    have sources and the variances of their errors, ``(m, 2)``; the ellipses are of one standard deviation and contain
    39 % of the probability. `size` is the area of a marker in square points. Raises ValueError when shapes differ, or a
    variance is negative.
    """
    points, codes = np.asarray(X, np.float64), np.asarray(y, dtype=str)
    ellipses, variances = _ellipses(noisy, noisy_var)
    if points.shape != (len(codes), 2):
        raise ValueError(f"X has shape {points.shape}, expected ({len(codes)}, 2) as y has {len(codes)} labels")
    axes = axes_or_new(axes, (3.6, 3.2))
    order = list(dict.fromkeys(codes.tolist())) if names is None else [str(name) for name in names]
    colours, markers = class_colours(order), class_markers(order)
    for name in order:
        at = points[codes == name]
        style: dict[str, Any] = {"color": colours[name], "marker": markers[name], "label": name or "none"}
        style["zorder"] = 3.0 - len(at) / max(1, len(points))  # rare classes on top
        axes.scatter(at[:, 0], at[:, 1], s=size, alpha=0.45, lw=0, rasterized=len(points) > 2000, **style)
    _add_ellipses(axes, ellipses, variances)
    axes.set(xlabel=features[0], ylabel=features[1])
    return axes


def _ellipses(noisy: ArrayLike | None, noisy_var: ArrayLike | None) -> tuple[Any, Any]:
    if noisy is None:
        return np.empty((0, 2)), np.empty((0, 2))
    X = np.asarray(noisy, np.float64)
    X_var = np.zeros_like(X) if noisy_var is None else np.asarray(noisy_var, np.float64)
    if X.ndim != 2 or X.shape != X_var.shape or X.shape[1] != 2:
        raise ValueError(f"noisy has shape {X.shape}, noisy_var {X_var.shape}: expected (m, 2) for both")
    if np.any(X_var < 0):
        raise ValueError("noisy_var has negative values: give variances of zero or more")
    return X, X_var


def _add_ellipses(axes: Axes, X: FloatArray, X_var: FloatArray) -> None:
    from matplotlib.collections import EllipseCollection

    if not len(X):
        return
    width, height = 2.0 * np.sqrt(X_var).T
    ellipses = EllipseCollection(
        width.tolist(), height.tolist(), [0.0] * len(X), units="xy", offsets=X, offset_transform=axes.transData,
        facecolors="none", edgecolors=_ELLIPSE, linewidths=0.6, alpha=0.7, zorder=4,
    )  # fmt: skip
    axes.add_collection(ellipses)
    axes.plot(X[:, 0], X[:, 1], "+", color=_ELLIPSE, markersize=3.0, markeredgewidth=0.6, alpha=0.7, zorder=4)
    corners = np.concatenate([X - np.sqrt(X_var), X + np.sqrt(X_var)])
    axes.update_datalim(corners)
    axes.autoscale_view()
