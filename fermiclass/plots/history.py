"""How training went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.plots.axes import SMALL, axes_or_new, open_frame
from fermiclass.plots.colours import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = ("-", "--", "-.", ":")


def training_history(
    elbo: ArrayLike | Mapping[str, ArrayLike], steps: int | None = None, *, axes: Axes | None = None
) -> Axes:
    """Draw the evidence lower bound as training went on; its steep rise in the first fifth may begin below the axes.

    Parameters
    ----------
    elbo
        The bound at K equidistant times, ``(K,)``, such as ``elbo_`` of a classifier; or several by name.
    steps
        Number of training steps in all, for the axis; None counts the K reports.
    axes
        Where to draw.

    Raises
    ------
    ValueError
        When a history is empty or has more than one dimension.
    """
    curves = {str(name): values for name, values in elbo.items()} if isinstance(elbo, Mapping) else {"": elbo}
    axes = axes_or_new(axes, (4.2, 2.8))
    low, high = np.inf, -np.inf
    for k, (name, values) in enumerate(curves.items()):
        bound = np.asarray(values, dtype=np.float64)
        if bound.ndim != 1 or not len(bound):
            raise ValueError(f"a training history of shape {bound.shape} cannot be drawn: expected (K,), K above 0")
        at = np.arange(1, len(bound) + 1) * (1.0 if steps is None else steps / len(bound))
        style = _STYLES[k // len(PALETTE) % len(_STYLES)]
        axes.plot(at, bound, style, color=PALETTE[k % len(PALETTE)], linewidth=1.5, label=name or None)
        late = bound[len(bound) // 5 :]
        low, high = min(low, late.min()), max(high, late.max())
    margin = 0.06 * (high - low) or 1.0
    axes.set_ylim(low - margin, high + margin)
    axes.set_xlabel("training reports" if steps is None else "training steps")
    axes.set_ylabel("evidence lower bound, nats")
    if len(curves) > 1:
        axes.legend(frameon=False, fontsize=SMALL)
    open_frame(axes)
    return axes
