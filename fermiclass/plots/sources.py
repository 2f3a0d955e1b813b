"""Sources on the sky, in the triangle of three probabilities, and in the plane of two features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.io import FloatArray
from fermiclass.plots.style import SMALL, array_of, axes_or_new, class_colours, class_markers, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fermiclass.features import Feature

PROJECTIONS = ("aitoff", "mollweide", "hammer")
_LONGITUDES = np.arange(-120, 121, 60)
#: Corners of the triangle for the three classes: probabilities p are drawn at ``Σ_c p_c corner_c``.
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
_ELLIPSE = "0.15"


def sky_map(
    lon: ArrayLike,
    lat: ArrayLike,
    classes: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    projection: str = "aitoff",
    size: float = 6.0,
    axes: Axes | None = None,
) -> Axes:
    """Draw sources on the sky, the Galactic centre in the middle. A stronger colour of a class means more confidence.

    `lon` and `lat` are Galactic, in degrees, ``(n,)``. `classes` has the class of each source, ``(n,)``, such as
    PRED_CLASS, and `confidence` its probability, ``(n,)``, such as P_MAX; None for full colours. `names` are the C
    classes of the legend in order, by default those that occur; the palest colour means a probability of 1/C. `size` is
    the area of a marker in square points. The projection of new Axes, or of those given, is ``'aitoff'``,
    ``'mollweide'`` or ``'hammer'``. Raises ValueError when shapes differ, a class is not among `names`, or the
    projection is another.
    """
    found = projection if axes is None else axes.name
    if found not in PROJECTIONS:
        raise ValueError(
            f"the projection '{found}' does not show the whole sky: choose one of {', '.join(PROJECTIONS)}"
        )
    codes = np.asarray(classes, dtype=str)
    n = len(codes)
    lon, lat = array_of((n,), lon, "lon"), array_of((n,), lat, "lat")
    p = np.ones(n) if confidence is None else array_of((n,), confidence, "confidence")
    order = list(dict.fromkeys(codes.tolist())) if names is None else [str(name) for name in names]
    if strange := sorted(set(codes.tolist()) - set(order)):
        raise ValueError(f"classes {', '.join(map(repr, strange))} are not among names={', '.join(order)}")
    axes = axes_or_new(axes, (7.0, 3.9), projection=projection)
    # Sky maps are seen from inside, so longitude runs to the left, from +180° to −180°.
    x, y = np.radians(-((lon + 180.0) % 360.0 - 180.0)), np.radians(lat)
    lowest = 1.0 / max(2, len(order))
    colours, markers = class_colours(order), class_markers(order)
    handles: list[Any] = []
    for k, name in enumerate(order):
        rows = np.flatnonzero(codes == name)
        rows = rows[np.argsort(p[rows], kind="stable")]
        style: dict[str, Any] = {"marker": markers[name], "s": size, "linewidths": 0.0, "rasterized": n > 2000}
        # Each class is drawn in three layers, confident sources last, so that no class hides another.
        for layer, part in enumerate(np.array_split(rows, 3)):
            shade = shades(colours[name], p[part], lowest)
            axes.scatter(x[part], y[part], c=shade, zorder=2 + layer + 0.01 * k, **style)
        label = f"{name or 'none'} ({len(rows)})"
        handles.append(axes.scatter([], [], c=[colours[name]], marker=markers[name], s=24, lw=0.0, label=label))
    _sky_frame(axes)
    corner: dict[str, Any] = {"frameon": False, "fontsize": SMALL, "handletextpad": 0.1}
    legend = axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.02, -0.12), **corner)
    if confidence is not None:
        axes.add_artist(legend)
        levels = np.arange(2, 11, 2)[np.arange(0.2, 1.1, 0.2) > lowest - 1e-9] / 10.0
        greys = zip(shades("#000000", levels, lowest), levels, strict=True)
        key = [axes.scatter([], [], c=[grey], s=24, lw=0.0, label=f"{level:.1f}") for grey, level in greys]
        corner |= {"title": "probability", "title_fontsize": SMALL}
        axes.legend(handles=key, loc="lower right", bbox_to_anchor=(1.02, -0.12), **corner)
    return axes


def _sky_frame(axes: Axes) -> None:
    from matplotlib.patheffects import withStroke

    axes.set_xticks(np.radians(_LONGITUDES), [])
    halo = [withStroke(linewidth=2.5, foreground="white")]
    for degrees in _LONGITUDES:  # text lies above the sources, tick labels below
        axes.text(
            *(np.radians(degrees), np.radians(2.0)), f"{-degrees % 360}°", path_effects=halo, ha="center", va="bottom",
            fontsize=SMALL, zorder=10,
        )  # fmt: skip
    axes.set_yticks(np.radians([-60, -30, 0, 30, 60]), ["−60°", "−30°", "0°", "30°", "60°"], fontsize=SMALL)
    axes.grid(color="0.8", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel("Galactic longitude, deg", fontsize=SMALL)
    axes.set_ylabel("Galactic latitude, deg", fontsize=SMALL)


def probability_triangle(
    probabilities: ArrayLike,
    classes: Sequence[str],
    y: ArrayLike | None = None,
    *,
    size: float = 10.0,
    axes: Axes | None = None,
) -> Axes:
    """Draw each source as a point in a triangle. The nearer to a corner, the more probable is the class of the corner.

    The probabilities are ``(n, 3)``, with columns in the order of the three `classes`. `y` has classes that give the
    points their colour, ``(n,)``, by default the most probable ones. `size` is the area of a marker in square points.
    Raises ValueError when there are not three classes, shapes differ, a row does not hold probabilities, or y has
    another class.
    """
    from fermiclass.evaluation.metrics import checked

    names = [str(name) for name in classes]
    if len(names) != 3:
        raise ValueError(f"there are {len(names)} classes, expected three: leave some out, or draw feature pairs")
    p = np.asarray(probabilities, dtype=np.float64)
    labels = np.array(names)[p.argmax(axis=1)] if y is None and p.ndim == 2 else np.asarray(y)
    p, truth = checked(p, labels, names)
    axes = axes_or_new(axes, (4.0, 3.8))
    colours, markers = class_colours(names), class_markers(names)
    _triangle_frame(axes, names, [colours[name] for name in names])
    xy = p @ _CORNERS
    for c in np.argsort(-truth.sum(axis=0), kind="stable"):  # the rarest class on top
        at = xy[truth[:, c]]
        style: dict[str, Any] = {"marker": markers[names[c]], "color": colours[names[c]]}
        axes.scatter(at[:, 0], at[:, 1], s=size, alpha=0.5, lw=0.0, zorder=3, rasterized=len(p) > 2000, **style)
    return axes


def _triangle_frame(axes: Axes, names: Sequence[str], colours: Sequence[str]) -> None:
    from matplotlib.patches import Polygon

    axes.axis("off")
    axes.set(aspect="equal", xlim=(-0.12, 1.12), ylim=(-0.12, _CORNERS[2, 1] + 0.1))
    axes.add_patch(Polygon(_CORNERS, closed=True, fill=False, edgecolor="0.2", linewidth=1.0, zorder=2))
    ticks = ((-0.015, 0.0, "right", "center"), (0.0, -0.015, "center", "top"), (0.015, 0.0, "left", "center"))
    for level in (0.2, 0.4, 0.6, 0.8):
        for c, (dx, dy, ha, va) in enumerate(ticks):  # an edge shows the probability of the class at its end
            ends = np.zeros((2, 3))
            ends[:, c] = level
            ends[0, (c + 1) % 3] = ends[1, (c + 2) % 3] = 1.0 - level
            line = ends @ _CORNERS
            axes.plot(*line.T, color="0.88", linewidth=0.6, zorder=1)
            x, y = line[1]
            axes.text(x + dx, y + dy, f"{level:g}", ha=ha, va=va, fontsize="x-small", color=colours[c])
    for middle in 0.5 * (1.0 - np.eye(3)):  # of an edge
        ends = np.stack([np.full(3, 1.0 / 3.0), middle])
        axes.plot(*(ends @ _CORNERS).T, color="0.4", linewidth=0.8, linestyle="--", zorder=2)
    offsets = ((-0.02, -0.03, "right", "top"), (0.02, -0.03, "left", "top"), (0.0, 0.03, "center", "bottom"))
    for c, (dx, dy, ha, va) in enumerate(offsets):
        x, y = _CORNERS[c]
        axes.text(x + dx, y + dy, names[c], ha=ha, va=va, color=colours[c], fontsize="medium", fontweight="bold")


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
    if noisy is not None:
        _add_ellipses(axes, np.asarray(noisy, np.float64), noisy_var)
    axes.set(xlabel=features[0], ylabel=features[1])
    return axes


def _add_ellipses(axes: Axes, X: FloatArray, variances: ArrayLike | None) -> None:
    from matplotlib.collections import EllipseCollection

    X_var = np.zeros_like(X) if variances is None else np.asarray(variances, np.float64)
    if X.shape != X_var.shape or X.shape[1:] != (2,):
        raise ValueError(f"noisy has shape {X.shape}, noisy_var {X_var.shape}: expected (m, 2) for both")
    if np.any(X_var < 0):
        raise ValueError("noisy_var has negative values: give variances of zero or more")
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
