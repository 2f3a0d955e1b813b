"""The confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.plots.axes import SMALL, axes_or_new
from fermiclass.plots.colours import class_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def confusion_matrix(y: ArrayLike, predicted: ArrayLike, classes: Sequence[str], *, axes: Axes | None = None) -> Axes:
    """Draw the numbers of sources by true class (rows) and predicted class (columns).

    Shades and percentages are fractions of the true class, so rows sum to 100 %.

    Parameters
    ----------
    y, predicted
        (n,) true and predicted classes.
    classes
        The C classes in order.
    axes
        Axes to draw on; by default new ones.

    Raises
    ------
    ValueError
        When the shapes differ, there are no sources, or a label is not among the classes.
    """
    from sklearn.metrics import confusion_matrix as count

    names = [str(name) for name in classes]
    true, said = np.asarray(y, dtype=str), np.asarray(predicted, dtype=str)
    strange = sorted({*true.tolist(), *said.tolist()} - set(names))
    if true.shape != said.shape or true.ndim != 1 or not len(true):
        raise ValueError(f"shapes {true.shape} and {said.shape} are not pairs of labels: give (n,) each")
    if strange:
        raise ValueError(f"labels {', '.join(map(repr, strange))} are not among the classes {', '.join(names)}")
    counts = count(true, said, labels=names)
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(totals, 1)
    side = 1.1 + 0.75 * len(names)
    axes = axes_or_new(axes, (side, side))
    axes.imshow(shares, cmap="Greys", vmin=0.0, vmax=1.15)
    for i in range(len(names)):
        for j in range(len(names)):
            colour = "white" if shares[i, j] > 0.5 else "black"
            percent = f"{100 * shares[i, j]:.0f} %" if totals[i, 0] else "–"
            axes.text(j, i, f"{percent}\n{counts[i, j]}", ha="center", va="center", color=colour, fontsize=SMALL)
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(names)), [f"{name}\n({total})" for name, total in zip(names, totals[:, 0], strict=True)])
    colours = class_colours(names)
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        for label, name in zip(labels, names, strict=True):
            label.set_color(colours[name])
    axes.tick_params(length=0)
    axes.set_xlabel("predicted class")
    axes.set_ylabel("true class (sources)")
    return axes
