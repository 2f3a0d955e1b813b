"""The reliability diagram: accuracy against confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.plots.axes import SMALL, axes_or_new, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOUR = "#0072B2"
_NUM_BINS = 10


def reliability_diagram(
    probabilities: ArrayLike,
    y: ArrayLike,
    classes: Sequence[str],
    *,
    num_bins: int = _NUM_BINS,
    axes: Axes | None = None,
) -> Axes:
    """Draw the accuracy of the most probable class against its probability.

    Each point is a bin; all bins have about the same number of sources. Error bars are the binomial standard error
    √(a(1−a)/n) of the accuracy a. Calibrated probabilities follow the diagonal; below it they are overconfident. ECE is
    ``Σ_b (n_b/n) |accuracy_b − confidence_b|``.

    Parameters
    ----------
    probabilities
        (n, C) class probabilities; rows sum to 1.
    y
        (n,) true classes.
    classes
        The C classes, in the order of the columns.
    num_bins
        Largest number of bins.
    axes
        Axes to draw on; by default new ones.

    Raises
    ------
    ValueError
        See :func:`fermiclass.evaluation.metrics.label_indices`.
    """
    from fermiclass.evaluation import metrics

    p, index = metrics.label_indices(probabilities, y, classes)
    table = metrics.reliability(p, index, num_bins)
    n, confidence, accuracy = np.array([(row.n, row.confidence, row.accuracy) for row in table]).T
    bar = np.sqrt(accuracy * (1.0 - accuracy) / n)
    lowest = 1.0 / len(classes)
    axes = axes_or_new(axes, (3.2, 3.0))
    axes.plot([lowest, 1.0], [lowest, 1.0], color="0.6", linewidth=1.0, linestyle="--")
    axes.errorbar(confidence, accuracy, yerr=bar, fmt="o-", color=_COLOUR, markersize=4, linewidth=1.0, capsize=2)
    axes.text(
        *(0.97, 0.05), f"ECE {metrics.expected_calibration_error(table):.3f}", transform=axes.transAxes, ha="right",
        fontsize=SMALL,
    )  # fmt: skip
    axes.set_xlim(lowest, 1.005)
    axes.set_ylim(0.0, 1.05)
    axes.set_xlabel("probability of the most probable class")
    axes.set_ylabel("fraction that is right")
    open_frame(axes)
    return axes
