"""Map of the sky in Galactic coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.plots.style import SMALL, array_of, axes_or_new, class_colours, class_markers, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PROJECTIONS = ("aitoff", "mollweide", "hammer")
_LONGITUDES = np.arange(-120, 121, 60)


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
    """Draw sources on the sky. Colour and marker show the class; a stronger colour means more confidence.

    Longitude increases to the left. The Galactic centre is in the middle. Confident sources lie above others.

    `lon` and `lat` are Galactic, in degrees, ``(n,)``. `classes` has the class of each source, ``(n,)``, such as
    PRED_CLASS, and `confidence` its probability, ``(n,)``, such as P_MAX; None for full colours. `names` are the C
    classes of the legend in order, by default those that occur; the palest colour means a probability of 1/C. `size` is
    the area of a marker in square points. The projection of new Axes, or of those given, is ``'aitoff'``,
    ``'mollweide'`` or ``'hammer'``. Raises ValueError when the shapes of the arrays differ, a class is not among
    `names`, or the projection is another.
    """
    if projection not in PROJECTIONS or (axes is not None and axes.name not in PROJECTIONS):
        found = projection if axes is None else axes.name
        raise ValueError(
            f"the projection '{found}' does not show the whole sky: choose one of {', '.join(PROJECTIONS)}"
        )
    codes = np.asarray(classes, dtype=str)
    n = len(codes)
    lon, lat = array_of((n,), lon, "lon"), array_of((n,), lat, "lat")
    p = np.ones(n) if confidence is None else array_of((n,), confidence, "confidence")
    order = list(dict.fromkeys(codes.tolist())) if names is None else [str(name) for name in names]
    strange = sorted(set(codes.tolist()) - set(order))
    if strange:
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
    _frame(axes)
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


def _frame(axes: Axes) -> None:
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
