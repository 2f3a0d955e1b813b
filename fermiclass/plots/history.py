"""The history of training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.io import FloatArray
from fermiclass.plots.style import PALETTE, SMALL, axes_or_new, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def training_history(objective: ArrayLike, steps: int | None = None, *, axes: Axes | None = None) -> Axes:
    """Draw the objective during training. Its steep rise in the first fifth may begin below the axes.

    A text gives the gain of the last fifth of the training, from a straight line through it. If this is much more than
    the scatter, a longer training would gain more. Raises ValueError when the history is empty or has more than one
    dimension.

    Parameters
    ----------
    objective
        (K,) the objective at K equidistant times, ``objective_`` of a classifier.
    steps
        Total number of training steps, for the axis; None counts the K reports.
    """
    try:
        values = np.asarray(objective, dtype=np.float64)
    except (TypeError, ValueError) as error:
        what = f"a training history is a {type(objective).__name__}"
        raise ValueError(f"{what}: give numbers, such as objective_ of a classifier") from error
    if values.ndim != 1 or not len(values):
        raise ValueError(f"a training history has the shape {values.shape}: expected (K,), K above 0")
    axes = axes_or_new(axes, (4.2, 2.8))
    at = np.arange(1, len(values) + 1) * (1.0 if steps is None else steps / len(values))
    gain = _late_gain(values)
    label = None if gain is None else f"last fifth: {gain:+.1f} nats".replace("-", "−")
    axes.plot(at, values, color=PALETTE[0], linewidth=1.5, label=label)
    late = values[len(values) // 5 :]
    margin = 0.06 * (late.max() - late.min()) or 1.0
    if label:
        axes.legend(frameon=False, fontsize=SMALL, loc="lower right")
    xlabel = "training reports" if steps is None else "training steps"
    return open_frame(axes, ylim=(late.min() - margin, late.max() + margin), xlabel=xlabel, ylabel="objective, nats")


def _late_gain(objective: FloatArray) -> float | None:
    """Return the gain over the last fifth, of a straight line through it; None of fewer than three points."""
    late = objective[-(len(objective) // 5) - 1 :]
    if len(late) < 3:
        return None
    at = np.arange(len(late))
    return float(np.polyfit(at, late, 1)[0] * at[-1])
