"""Figures of the benchmarks: the one-dimensional problem, active learning, and errors against the number of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fermiclass.io import FloatArray
from fermiclass.plots.style import PALETTE, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {
    "mgp": "MGP",
    "nimgp": "NIMGP",
    "nimgp-nn": r"NIMGP$_\mathregular{NN}$",
    "nimgp-fo": r"NIMGP$_\mathregular{FO}$",
    "nimgp-fo-marginal": r"NIMGP$_\mathregular{FO}$, marginal",
    "mgp-aug": "MGP (augmented)",
    "mgp-sampling": "MGP (sampling)",
    "bald": "BALD",
}
_RUG_BOTTOM, _RUG_STEP = 1.05, 0.055
_STYLES = ("-", "--", "-.", ":")


class ClassCurves(NamedTuple):
    """Class probabilities at the observed inputs ``x`` (G,): one ``(G, C)`` per method, and the Bayes classifier's."""

    x: FloatArray
    bayes: FloatArray
    predictions: Mapping[str, FloatArray]


class LearningCurve(NamedTuple):
    """Means over repetitions and their standard errors by the number of rows added, ``(rounds + 1,)`` each."""

    added: FloatArray
    mean: FloatArray
    se: FloatArray


def learning_curve(records: Iterable[Mapping[str, Any]]) -> LearningCurve:
    """Average the test errors of the repetitions of one method, acquisition and noise.

    Raises ValueError when there are no records, or their rounds differ.
    """
    records = list(records)
    if len({tuple(record["added"]) for record in records}) != 1:
        raise ValueError(f"{len(records)} records of different rounds, or none: expected some of the same rounds")
    values = np.array([record["error"] for record in records], dtype=np.float64)
    se = values.std(axis=0) / np.sqrt(max(len(values) - 1, 1))
    return LearningCurve(np.array(records[0]["added"], dtype=np.float64), values.mean(axis=0), se)


def title_of(method: str) -> str:
    """Return the name of a method as the paper prints it."""
    return _TITLES.get(method, method)


def toy_figure(
    curves: ClassCurves, X: FloatArray, y: NDArray[Any], scores: Mapping[str, float] | None = None
) -> Figure:
    """Draw the predicted class probabilities against x̃, with one panel per method.

    Solid lines belong to the method, dashed lines to the Bayes classifier. The bars at the top are the training rows,
    inputs ``(N, 1)`` and labels 0 … C − 1, ``(N,)``. `scores` are the NLL by method, shown in the titles.
    """
    figure, panels = _panels(curves.predictions, 2, (3.6, 2.5), "observed input", "class probability")
    for axes, (name, probabilities) in zip(panels, curves.predictions.items(), strict=True):
        for c, colour in enumerate(PALETTE[: probabilities.shape[1]]):
            axes.plot(curves.x, probabilities[:, c], color=colour, linewidth=1.6, label=f"class {c + 1}")
            axes.plot(curves.x, curves.bayes[:, c], color="black", linewidth=0.8, dashes=(4, 2))
            at = X[y == c, 0]
            axes.vlines(at, _RUG_BOTTOM + _RUG_STEP * c, _RUG_BOTTOM + _RUG_STEP * (c + 0.8), colour, linewidth=0.3)
        if scores is not None and name in scores:
            axes.set_title(f"NLL {scores[name]:.3f}", fontsize="small", loc="right")
        axes.spines.left.set_bounds(0.0, 1.0)
    first, top = panels[0], _RUG_BOTTOM + _RUG_STEP * curves.bayes.shape[1]
    first.set(xlim=(curves.x[0], curves.x[-1]), ylim=(-0.02, top), yticks=[0.0, 0.25, 0.5, 0.75, 1.0])
    first.plot([], [], color="black", linewidth=0.8, dashes=(4, 2), label="best possible")
    _add_legend(figure, *first.get_legend_handles_labels())
    return figure


def _panels(
    names: Collection[str], columns: int, size: tuple[float, float], xlabel: str, ylabel: str, *, sharey: bool = True
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel of this size for each name, in so many columns."""
    from matplotlib.figure import Figure

    columns = min(columns, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows + 0.35), layout="constrained")
    grid = list(figure.subplots(rows, columns, sharex=True, sharey=sharey, squeeze=False).flat)
    for axes, name in zip(grid, names, strict=False):
        open_frame(axes).set_title(title_of(name), fontsize="medium", loc="left")
    for lowest in grid[len(names) - columns : len(names)]:
        lowest.tick_params(labelbottom=True)
    for unused in grid[len(names) :]:
        unused.remove()
    figure.supxlabel(xlabel, fontsize="medium")
    figure.supylabel(ylabel, fontsize="medium")
    return figure, grid[: len(names)]


def _add_legend(figure: Figure, handles: list[Any], names: list[str]) -> None:
    """Put a legend at the top, with a column for each inch."""
    columns = min(len(names), int(figure.get_figwidth()))
    figure.legend(handles, names, loc="outside upper center", ncols=columns, frameon=False, fontsize="small")


def active_figure(panels: Mapping[str, Mapping[str, LearningCurve]]) -> Figure:
    """Draw learning curves with their standard errors, as in the main paper's figure 6.

    They are given by panel (such as a method) and by line (such as an acquisition).
    """
    figure, grid = _panels(panels, 4, (2.5, 2.4), "labels added", "test error")
    lines = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    handles: dict[str, Any] = {}
    for axes, curves in zip(grid, panels.values(), strict=True):
        for name, curve in curves.items():
            k = lines.index(name)
            colour, style = PALETTE[k % len(PALETTE)], _STYLES[k % len(_STYLES)]
            axes.fill_between(curve.added, curve.mean - curve.se, curve.mean + curve.se, color=colour, alpha=0.2, lw=0)
            (handles[name],) = axes.plot(curve.added, curve.mean, style, color=colour, linewidth=1.4)
    _add_legend(figure, list(handles.values()), [title_of(name) for name in handles])
    return figure


def errors_figure(records: pd.DataFrame, outputs: Sequence[str]) -> Figure:
    """Draw the mean error of each output against the number of rows (``"size"``), one panel per output."""
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, panels = _panels(outputs, 2, (3.6, 2.4), "training points", "mean squared error", sharey=False)
    for axes, output in zip(panels, outputs, strict=True):
        by_method = records.groupby(["method", "size"], sort=False)[output].agg(["mean", "sem"])
        for method, colour in zip(records["method"].unique(), PALETTE, strict=False):
            curve = by_method.loc[method].sort_index()
            axes.errorbar(
                curve.index, curve["mean"], curve["sem"], label=method, color=colour, marker="o", markersize=4
            )
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    panels[-1].legend(frameon=False)
    return figure
