"""The history of training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.io.arrays import FloatArray
from fermiclass.plots.style import PALETTE, SMALL, axes_or_new, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = ("-", "--", "-.", ":")


def training_history(
    objective: ArrayLike | Mapping[str, ArrayLike], steps: int | None = None, *, axes: Axes | None = None
) -> Axes:
    """Draw the objective during training. Its steep rise in the first fifth may begin below the axes.

    A text gives the gain of the last fifth of the training, from a straight line through it. If this is much more than
    the scatter, a longer training would gain more.

    Parameters
    ----------
    objective
        (K,) the objective at K equidistant times, ``objective_`` of a classifier; or several such arrays by name.
    steps
        Total number of training steps, for the axis; None counts the K reports.

    Raises
    ------
    ValueError
        When a history is empty or has more than one dimension.
    """
    curves = (
        {str(name): values for name, values in objective.items()} if isinstance(objective, Mapping) else {"": objective}
    )
    axes = axes_or_new(axes, (4.2, 2.8))
    low, high = np.inf, -np.inf
    for k, (name, values) in enumerate(curves.items()):
        objective = np.asarray(values, dtype=np.float64)
        if objective.ndim != 1 or not len(objective):
            raise ValueError(f"a training history has the shape {objective.shape}: expected (K,), K above 0")
        at = np.arange(1, len(objective) + 1) * (1.0 if steps is None else steps / len(objective))
        style = _STYLES[k // len(PALETTE) % len(_STYLES)]
        gain = _late_gain(objective)
        about = "" if gain is None else f"last fifth: {gain:+.1f} nats".replace("-", "−")
        label = ", ".join(part for part in (name, about) if part)
        axes.plot(at, objective, style, color=PALETTE[k % len(PALETTE)], linewidth=1.5, label=label or None)
        late = objective[len(objective) // 5 :]
        low, high = min(low, late.min()), max(high, late.max())
    margin = 0.06 * (high - low) or 1.0
    axes.set_ylim(low - margin, high + margin)
    axes.set_xlabel("training reports" if steps is None else "training steps")
    axes.set_ylabel("objective, nats")
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, fontsize=SMALL, loc="lower right")
    open_frame(axes)
    return axes


def _late_gain(objective: FloatArray) -> float | None:
    """Return the gain over the last fifth, of a straight line through it; None of fewer than three points."""
    late = objective[-(len(objective) // 5) - 1 :]
    if len(late) < 3:
        return None
    at = np.arange(len(late))
    return float(np.polyfit(at, late, 1)[0] * at[-1])
