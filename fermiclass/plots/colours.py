"""One colour and one marker for each class, told apart by colour-blind readers too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Okabe & Ito's colours without yellow and black, then the darkest three of Paul Tol's muted scheme.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#332288", "#882255", "#999933")

#: Classes that always have the same colour; other names take what is left of `PALETTE`, in order.
CLASS_COLOURS = {
    "bll": "#0072B2",
    "fsrq": "#D55E00",
    "psr": "#009E73",
    "agn": "#CC79A7",
    "msp": "#56B4E9",
    "bcu": "#E69F00",
    "other": "#6E6E6E",
    "": "#B0B0B0",
}

_CLASS_MARKERS = {"bll": "o", "fsrq": "s", "psr": "^", "agn": "D", "msp": "v", "bcu": "P", "other": "X", "": "."}
_MARKERS = ("D", "P", "v", "<", ">", "p", "h", "*", "d")

_PALEST = 0.25  # strength of a colour where the probabilities say nothing


def class_colours(classes: Sequence[str]) -> dict[str, str]:
    """Return the colour of each class, as ``#RRGGBB``; more than nine unusual names begin the palette again."""
    return _assign(classes, CLASS_COLOURS, PALETTE)


def class_markers(classes: Sequence[str]) -> dict[str, str]:
    """Return the marker of each class."""
    return _assign(classes, _CLASS_MARKERS, _MARKERS)


def shades(colour: str, confidence: ArrayLike, lowest: float) -> NDArray[np.float64]:
    """Return ``(n, 3)`` red, green and blue: `colour` at confidence 1, paler down to the confidence `lowest`."""
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
