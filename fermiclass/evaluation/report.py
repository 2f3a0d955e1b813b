"""An evaluation for the eye: a table for the terminal, a reliability diagram for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from fermiclass.evaluation.results import Evaluation
from fermiclass.evaluation.scores import Scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_PANELS = 6


def evaluation_table(evaluation: Evaluation) -> Table:
    """Return methods, best NLL first, with NLL, error, Brier score, calibration error and time of training.

    Where the protocol has sources that had no association at all, the NLL and error of these are shown too.
    """
    from rich import box

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    table.add_column("method", overflow="fold", min_width=23)
    bare = any(result.unassociated is not None for result in evaluation.methods.values())
    headings = ["NLL", "error", "Brier", "ECE", *(["NLL*", "error*"] if bare else []), "fit, s"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for name in evaluation.ranking:
        result = evaluation.methods[name]
        scores, alone = result.scores, result.unassociated
        cells = [_nll(scores), f"{scores.error:.3f}", f"{scores.brier:.3f}", f"{scores.ece:.3f}"]
        if bare:
            cells += [_nll(alone), f"{alone.error:.3f}"] if alone is not None else ["", ""]
        table.add_row(name, *cells, f"{result.fit_seconds:.1f}")
    return table


def print_evaluation(evaluation: Evaluation, console: Console | None = None) -> None:
    """Print what was scored, the table, and what to keep in mind when reading it."""
    console = console or Console(highlight=False)
    console.print(
        f"{evaluation.catalog}, {evaluation.protocol}: {len(evaluation)} sources ({_counts(evaluation.y)}), "
        f"{len(evaluation.features)} features.",
        markup=False,
    )
    console.print(evaluation_table(evaluation))
    bare = evaluation.status == ""
    if np.any(bare):
        console.print(
            f"* of the {np.sum(bare)} sources that had no association at all ({_counts(evaluation.y[bare])}).",
            markup=False,
        )
    best, *others = evaluation.ranking
    if others:
        difference = evaluation.difference(others[0], best)
        console.print(f"NLL of {others[0]} above that of {best}, on the same sources: {difference}.", markup=False)
    chance = evaluation.methods[best].scores.ece_chance
    console.print(f"On this many sources {best} would have an ECE of {chance:.3f} if it were perfectly calibrated.")


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


def _nll(scores: Scores) -> str:
    return f"{scores.nll:.3f}±{scores.nll_se:.3f}"


def _counts(y: NDArray[np.str_]) -> str:
    groups, numbers = np.unique(y, return_counts=True)
    return ", ".join(f"{number} {group}" for group, number in zip(groups, numbers, strict=True))
