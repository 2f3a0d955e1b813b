"""Axes to draw on, and what all pictures do to theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = "small"


def axes_or_new(axes: Any, size: tuple[float, float], **subplot: Any) -> Axes:
    """Return `axes`, or for None the Axes of a new pyplot figure of `size` inches."""
    if axes is None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(figsize=size, layout="constrained", subplot_kw=subplot or None)
    made: Axes = axes
    return made


def open_frame(axes: Axes) -> None:
    """Leave out the upper and the right edge of the frame."""
    axes.spines[["top", "right"]].set_visible(False)


def column(values: ArrayLike, n: int, what: str) -> NDArray[np.float64]:
    """Return `values` as float64 ``(n,)``.

    Raises
    ------
    ValueError
        When there are not n of them.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"{what} has shape {array.shape}, expected ({n},): one for each source")
    return array
