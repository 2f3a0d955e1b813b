"""The evaluation in the open world as a figure: calibration, expected numbers, and candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fermiclass.evaluation.open_world import LATITUDE_EDGE, TOPS, OpenEvaluation, OpenScores
from fermiclass.plots.colours import CLASS_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BINS = 5  # of equal count: the groups are small


def open_world_figure(evaluation: OpenEvaluation, method: str | None = None) -> Figure:
    """Draw how the probabilities of a method compare with what was found.

    From the left: how often each group was found, against its probability; expected and found numbers, below and above
    10 degrees of Galactic latitude; purity and completeness of pulsar candidates against the threshold.

    Parameters
    ----------
    evaluation
        Evaluation to draw.
    method
        Name of the method; by default the first.

    Raises
    ------
    ValueError
        When the method was not evaluated.
    """
    from matplotlib.figure import Figure

    name = next(iter(evaluation.methods)) if method is None else method
    if name not in evaluation.methods:
        raise ValueError(f"the method '{name}' was not evaluated: choose one of {', '.join(evaluation.methods)}")
    scores = evaluation.methods[name]
    figure = Figure(figsize=(10.5, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _calibration(left, scores)
    _numbers(middle, scores)
    _candidates(right, scores)
    return figure


def _calibration(axes: Axes, scores: OpenScores) -> None:
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for k, group in enumerate(TOPS):
        p, is_one = scores.p[:, k], scores.targets.top == k
        order = np.array_split(np.argsort(p), _BINS)
        mean = [p[rows].mean() for rows in order]
        found = [is_one[rows].mean() for rows in order]
        error = [np.sqrt(np.sum(p[rows] * (1 - p[rows]))) / len(rows) for rows in order]
        axes.errorbar(
            mean, found, yerr=error, marker="o", markersize=4, linewidth=1, color=CLASS_COLOURS[group], label=group
        )
    axes.set(xlabel="probability", ylabel="found", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    axes.legend(frameon=False, loc="upper left")


def _numbers(axes: Axes, scores: OpenScores) -> None:
    labels, expected, error, found, colours = [], [], [], [], []
    for stratum, words in (
        (scores.targets.low, f"|b| < {LATITUDE_EDGE:g}°"),
        (~scores.targets.low, f"|b| ≥ {LATITUDE_EDGE:g}°"),
    ):
        for group, number in scores.numbers(stratum).items():
            labels.append(f"{group}, {words}")
            expected.append(number["expected"])
            error.append(number["se"])
            found.append(number["found"])
            colours.append(CLASS_COLOURS[group])
    at = np.arange(len(labels))[::-1]
    axes.barh(at, found, color=colours, alpha=0.35, label="found")
    axes.errorbar(expected, at, xerr=error, fmt="o", color="black", markersize=4, label="expected")
    axes.set_yticks(at, labels)
    axes.set_xlabel("number of sources")
    axes.legend(frameon=False)


def _candidates(axes: Axes, scores: OpenScores) -> None:
    k = TOPS.index("psr")
    p, is_one = scores.p[:, k], scores.targets.top == k
    thresholds = np.linspace(0.05, 0.95, 19)
    chosen = p >= thresholds[:, None]
    right = (chosen & is_one).sum(axis=1)
    number = chosen.sum(axis=1)
    purity = np.where(number > 0, right / np.maximum(number, 1), np.nan)
    axes.plot(thresholds, purity, color=CLASS_COLOURS["psr"], label="purity")
    axes.plot(
        thresholds, right / max(is_one.sum(), 1), color=CLASS_COLOURS["psr"], linestyle="--", label="completeness"
    )
    axes.set(xlabel="P_psr of at least", ylim=(-0.03, 1.03), title="pulsar candidates")
    axes.legend(frameon=False)
