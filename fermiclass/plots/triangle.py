"""Triangle plot of the probabilities of three classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.io import FloatArray
from fermiclass.plots.style import axes_or_new, class_colours, class_markers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Corners of the triangle for the first, second and third class.
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def to_plane(probabilities: ArrayLike) -> FloatArray:
    """Return ``Σ_c p_c corner_c``, ``(n, 2)``, for probabilities ``(n, 3)``."""
    return np.asarray(probabilities, dtype=np.float64) @ CORNERS


def probability_triangle(
    probabilities: ArrayLike,
    classes: Sequence[str],
    y: ArrayLike | None = None,
    *,
    size: float = 10.0,
    axes: Axes | None = None,
) -> Axes:
    """Draw each source as a point in a triangle. The nearer to a corner, the more probable is the class of the corner.

    Dashed lines separate the regions of the most probable class. The probabilities are ``(n, 3)``, with columns in the
    order of the three `classes`. `y` has classes that give the points their colour, ``(n,)``, such as the true ones; by
    default the most probable ones. `size` is the area of a marker in square points. Raises ValueError when there are
    not three classes, shapes differ, a row does not hold probabilities, or y has another class.
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
    _frame(axes, names, [colours[name] for name in names])
    xy = to_plane(p)
    for c in np.argsort(-truth.sum(axis=0), kind="stable"):  # the rarest class on top
        at = xy[truth[:, c]]
        style: dict[str, Any] = {"marker": markers[names[c]], "color": colours[names[c]]}
        axes.scatter(at[:, 0], at[:, 1], s=size, alpha=0.5, lw=0.0, zorder=3, rasterized=len(p) > 2000, **style)
    return axes


def _frame(axes: Axes, names: Sequence[str], colours: Sequence[str]) -> None:
    from matplotlib.patches import Polygon

    axes.axis("off")
    axes.set(aspect="equal", xlim=(-0.12, 1.12), ylim=(-0.12, CORNERS[2, 1] + 0.1))
    axes.add_patch(Polygon(CORNERS, closed=True, fill=False, edgecolor="0.2", linewidth=1.0, zorder=2))
    ticks = ((-0.015, 0.0, "right", "center"), (0.0, -0.015, "center", "top"), (0.015, 0.0, "left", "center"))
    for level in (0.2, 0.4, 0.6, 0.8):
        for c, (dx, dy, ha, va) in enumerate(ticks):  # an edge shows the probability of the class at its end
            ends = np.zeros((2, 3))
            ends[:, c] = level
            ends[0, (c + 1) % 3] = ends[1, (c + 2) % 3] = 1.0 - level
            line = to_plane(ends)
            axes.plot(*line.T, color="0.88", linewidth=0.6, zorder=1)
            x, y = line[1]
            axes.text(x + dx, y + dy, f"{level:g}", ha=ha, va=va, fontsize="x-small", color=colours[c])
    for middle in 0.5 * (1.0 - np.eye(3)):  # of an edge
        ends = np.stack([np.full(3, 1.0 / 3.0), middle])
        axes.plot(*to_plane(ends).T, color="0.4", linewidth=0.8, linestyle="--", zorder=2)
    offsets = ((-0.02, -0.03, "right", "top"), (0.02, -0.03, "left", "top"), (0.0, 0.03, "center", "bottom"))
    for c, (dx, dy, ha, va) in enumerate(offsets):
        x, y = CORNERS[c]
        axes.text(x + dx, y + dy, names[c], ha=ha, va=va, color=colours[c], fontsize="medium", fontweight="bold")
