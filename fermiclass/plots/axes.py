"""Axes for the plots, and their common style."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.io.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = "small"


def axes_or_new(axes: Any, size: tuple[float, float], **subplot: Any) -> Axes:
    """Return `axes`, or the Axes of a new pyplot figure of `size` inches if `axes` is None."""
    if axes is None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(figsize=size, layout="constrained", subplot_kw=subplot or None)
    made: Axes = axes
    return made


def open_frame(axes: Axes) -> None:
    """Remove the upper and the right edge of the frame."""
    axes.spines[["top", "right"]].set_visible(False)


def array_of(shape: tuple[int, ...], values: ArrayLike, what: str) -> FloatArray:
    """Return `values` as float64. Raises ValueError if they have another shape."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{what} has shape {array.shape}, expected {shape}")
    return array
