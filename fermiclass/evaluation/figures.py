"""An evaluation for a paper: reliability diagrams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.evaluation.results import Evaluation
from fermiclass.evaluation.scores import Scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_PANELS = 6


def reliability_figure(evaluation: Evaluation, methods: Sequence[str] | None = None) -> Figure:
    """Draw confidence against accuracy, a panel for each method.

    A point is a bin of sources of similar confidence, its bar the binomial standard error √(a(1−a)/n) of the accuracy
    a; a calibrated method follows the diagonal. Below, how many sources have which confidence.

    Parameters
    ----------
    evaluation
        What to draw.
    methods
        Which, in this order; by default the best six.

    Raises
    ------
    ValueError
        When a method was not evaluated, or none is named.
    """
    from matplotlib.figure import Figure

    chosen = list(evaluation.ranking[:_MAX_PANELS] if methods is None else methods)
    unknown = [name for name in chosen if name not in evaluation.methods]
    if unknown or not chosen:
        raise ValueError(
            f"methods {unknown or 'none'} were not evaluated: choose among {', '.join(evaluation.methods)}"
        )
    num_columns = min(3, len(chosen))
    num_rows = -(-len(chosen) // num_columns)
    figure = Figure(figsize=(2.6 * num_columns + 0.4, 3.2 * num_rows), layout="constrained")
    grid = figure.add_gridspec(2 * num_rows, num_columns, height_ratios=[3, 1] * num_rows)
    lowest = 1.0 / len(evaluation.classes)
    for k, name in enumerate(chosen):
        row, column = divmod(k, num_columns)
        upper = figure.add_subplot(grid[2 * row, column])
        lower = figure.add_subplot(grid[2 * row + 1, column], sharex=upper)
        _panel(upper, evaluation.methods[name].scores, name, lowest)
        confidence = evaluation.methods[name].probabilities.max(axis=1)
        lower.hist(confidence, bins=np.linspace(lowest, 1.0, 21).tolist(), color="0.6")
        lower.set_xlabel("confidence")
        if column == 0:
            upper.set_ylabel("accuracy")
            lower.set_ylabel("sources")
    return figure


def _panel(axes: Any, scores: Scores, name: str, lowest: float) -> None:
    n, confidence, accuracy = (
        np.array([getattr(row, key) for row in scores.reliability]) for key in ("n", "confidence", "accuracy")
    )
    bar = np.sqrt(accuracy * (1.0 - accuracy) / n)
    axes.plot([lowest, 1.0], [lowest, 1.0], color="0.6", linewidth=1.0, linestyle="--")
    axes.errorbar(confidence, accuracy, yerr=bar, fmt="o-", color="C0", markersize=4, linewidth=1.0, capsize=2)
    axes.set_title(name, fontsize="medium")
    axes.text(0.97, 0.05, f"ECE {scores.ece:.3f}", transform=axes.transAxes, ha="right", fontsize="small")
    axes.set_xlim(lowest, 1.0)
    axes.set_ylim(0.0, 1.05)
    axes.tick_params(labelbottom=False)
