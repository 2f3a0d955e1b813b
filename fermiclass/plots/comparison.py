"""Labels beside another list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.plots.style import class_colours, open_frame

if TYPE_CHECKING:
    from astropy.table import Table
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fermiclass.analysis.compare import Comparison


def comparison_figure(comparison: Comparison) -> Figure:
    """Draw our probability of the other list's class or against its probability, and ROC curves where it has any."""
    from matplotlib.figure import Figure

    wide = bool(comparison.roc)
    figure = Figure(figsize=(8.6 if wide else 4.8, 4.0), layout="constrained")
    axes = figure.subplots(1, 2 if wide else 1, squeeze=False)[0]
    if "OTHER_P" in comparison.table.colnames:
        _probabilities(axes[0], comparison.table)
    else:
        _classes(axes[0], comparison.table, list(comparison.agreement))
    if wide:
        _curves(axes[1], comparison.roc)
    for each in axes:
        open_frame(each)
    return figure


def _probabilities(axes: Axes, table: Table) -> None:
    ours = np.asarray(table["DIFFERENCE"]) + np.asarray(table["OTHER_P"])
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    axes.plot(table["OTHER_P"], ours, ".", color="black", markersize=4, alpha=0.5)
    axes.set(xlabel="probability in the other list", ylabel="probability here", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))


def _classes(axes: Axes, table: Table, words: list[str]) -> None:
    rng = np.random.default_rng(0)
    colours = class_colours(words)
    said, p = np.asarray(table["OTHER_CLASS"], str), np.asarray(table["P_OTHER_CLASS"], float)
    for k, word in enumerate(words):
        rows = said == word
        height = k + rng.uniform(-0.3, 0.3, rows.sum())
        axes.plot(p[rows], height, ".", color=colours[word], markersize=4, alpha=0.6)
    axes.set_yticks(range(len(words)), [f"{word} ({np.sum(said == word)})" for word in words])
    axes.set(xlabel="our probability of that class", ylabel="class in the other list", xlim=(-0.03, 1.03))


def _curves(axes: Axes, roc: Mapping[str, Mapping[str, Any]]) -> None:
    colours = class_colours(list(roc))
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for word, curve in roc.items():
        axes.plot(curve["false"], curve["true"], color=colours[word], label=f"{word}: area {curve['auc']:.2f}")
    axes.set(xlabel="false positives", ylabel="true positives", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axes.legend(frameon=False, loc="lower right")
