"""Reliability diagrams of an evaluation, for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fermiclass.evaluation.results import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_PANELS = 6


def reliability_figure(evaluation: Evaluation, methods: Sequence[str] | None = None) -> Figure:
    """Draw :func:`fermiclass.plots.reliability_diagram` for each method, and a histogram of the confidence below.

    Parameters
    ----------
    evaluation
        The evaluation.
    methods
        Names of the methods in order; by default the best six.

    Raises
    ------
    ValueError
        When a method was not evaluated, or none is named.
    """
    from matplotlib.figure import Figure

    from fermiclass.plots import reliability_diagram

    chosen = list(evaluation.ranking[:_MAX_PANELS] if methods is None else methods)
    unknown = [name for name in chosen if name not in evaluation.methods]
    if unknown or not chosen:
        raise ValueError(
            f"the methods {', '.join(unknown) or '(none)'} were not evaluated: choose among "
            f"{', '.join(evaluation.methods)}"
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
        probabilities = evaluation.methods[name].probabilities
        reliability_diagram(probabilities, evaluation.y, evaluation.classes, axes=upper)
        upper.set_title(name, fontsize="medium")
        upper.set_xlabel("")
        upper.tick_params(labelbottom=False)
        confidence = probabilities.max(axis=1)
        lower.hist(confidence, bins=np.linspace(lowest, 1.0, 21).tolist(), color="0.6")
        lower.set_xlabel("confidence")
        upper.set_ylabel("accuracy" if column == 0 else "")
        lower.set_ylabel("sources" if column == 0 else "")
    return figure
