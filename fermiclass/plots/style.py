"""The style of the plots: axes, and for each class a colour and a marker that colour-blind readers can distinguish."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.io import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The colours of Okabe & Ito without yellow and black, then the darkest three of Paul Tol's muted scheme.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#332288", "#882255", "#999933")

_STYLES = {  # colour and marker of a class
    "bll": ("#0072B2", "o"),
    "fsrq": ("#D55E00", "s"),
    "psr": ("#009E73", "^"),
    "pulsar": ("#882255", "v"),
    "agn": ("#332288", "p"),
    "msp": ("#CC79A7", "D"),
    "bcu": ("#E69F00", "P"),
    "other": ("#6E6E6E", "X"),
    "": ("#B0B0B0", "."),
}

#: Classes with a fixed colour. Other names take the remaining colours of `PALETTE`, in order.
CLASS_COLOURS = {name: colour for name, (colour, _) in _STYLES.items()}

_CLASS_MARKERS = {name: marker for name, (_, marker) in _STYLES.items()}
_MARKERS = ("D", "P", "v", "<", ">", "p", "h", "*", "d")

_PALEST = 0.25  # strength of the colour at the lowest confidence


def class_colours(classes: Sequence[str]) -> dict[str, str]:
    """Return the colour of each class, as ``#RRGGBB``. With more than nine other names the palette repeats."""
    return _assign(classes, CLASS_COLOURS, PALETTE)


def class_markers(classes: Sequence[str]) -> dict[str, str]:
    """Return the marker of each class."""
    return _assign(classes, _CLASS_MARKERS, _MARKERS)


def shades(colour: str, confidence: ArrayLike, lowest: float) -> FloatArray:
    """Return red, green and blue, ``(n, 3)``: `colour` at confidence 1, and paler down to the confidence `lowest`."""
    from matplotlib.colors import to_rgb

    share = (np.asarray(confidence, np.float64) - lowest) / (1.0 - lowest)
    strength = (_PALEST + (1.0 - _PALEST) * np.clip(share, 0.0, 1.0))[:, None]
    return np.asarray(strength * np.array(to_rgb(colour)) + (1.0 - strength))


def _assign(classes: Sequence[str], fixed: dict[str, str], pool: Sequence[str]) -> dict[str, str]:
    names = [str(name) for name in classes]
    taken = {fixed[name] for name in names if name in fixed}
    free = [item for item in pool if item not in taken] or list(pool)
    unusual = [name for name in dict.fromkeys(names) if name not in fixed]
    return {name: fixed[name] if name in fixed else free[unusual.index(name) % len(free)] for name in names}


SMALL = "small"


def axes_or_new(axes: Any, size: tuple[float, float], **subplot: Any) -> Axes:
    """Return `axes`, or the Axes of a new pyplot figure of `size` inches if `axes` is None."""
    if axes is None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(figsize=size, layout="constrained", subplot_kw=subplot or None)
    return axes


def open_frame(axes: Axes, **properties: Any) -> Axes:
    """Return the Axes without the upper and the right edge of the frame, with properties such as ``xlabel``."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.set(**properties)
    return axes


def rows_from_top(axes: Axes, names: Sequence[str], *, edge: float, **text: Any) -> None:
    """Name the rows of Axes, the first on top, with `edge` of a row above the first and below the last."""
    axes.set_yticks(range(len(names)), names, **text)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 1 + edge, -edge)


def colour_labels(labels: Sequence[Any], classes: Sequence[str]) -> None:
    """Give the label of each class its colour."""
    for label, colour in zip(labels, map(class_colours(classes).get, classes), strict=True):
        label.set_color(colour)


def array_of(shape: tuple[int, ...], values: ArrayLike, what: str) -> FloatArray:
    """Return `values` as float64. Raises ValueError if they have another shape."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{what} has shape {array.shape}, expected {shape}")
    return array
