"""Plots of an evaluation: reliability, confusion, one figure of all results; and of a comparison with another list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.plots.style import SMALL, axes_or_new, class_colours, colour_labels, open_frame

if TYPE_CHECKING:
    from astropy.table import Table
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fermiclass.analysis.compare import Comparison
    from fermiclass.evaluation import Evaluation

_COLOUR = "#0072B2"
_NUM_BINS = 10
_CLASS_BINS = 5  # of equal count for each class: the groups are small
_MAX_METHODS = 12
_UNIT = (-0.03, 1.03)  # limits of an axis of probabilities


def reliability_diagram(
    probabilities: ArrayLike,
    y: ArrayLike,
    classes: Sequence[str],
    *,
    num_bins: int = _NUM_BINS,
    axes: Axes | None = None,
) -> Axes:
    """Draw the accuracy of the most probable class against its probability.

    Each point is a bin of about the same number of sources. Error bars are the binomial standard error √(a(1−a)/n) of
    the accuracy a. Below the diagonal probabilities are overconfident. ECE is ``Σ_b (n_b/n) |accuracy_b −
    confidence_b|``. The probabilities are ``(n, C)``, in the order of the C `classes`, and `y` has the true classes,
    ``(n,)``. Raises ValueError as :func:`fermiclass.evaluation.metrics.checked`.
    """
    from fermiclass.evaluation import metrics

    p, truth = metrics.checked(probabilities, y, classes)
    table = metrics.reliability(p, truth, num_bins)
    n, confidence, accuracy = np.array([(row.n, row.confidence, row.accuracy) for row in table]).T
    bar = np.sqrt(accuracy * (1.0 - accuracy) / n)
    lowest = 1.0 / len(classes)
    error = np.sum(n * np.abs(accuracy - confidence)) / len(p)
    axes = axes_or_new(axes, (3.2, 3.0))
    axes.plot([lowest, 1.0], [lowest, 1.0], color="0.6", linewidth=1.0, linestyle="--")
    axes.errorbar(confidence, accuracy, yerr=bar, fmt="o-", color=_COLOUR, markersize=4, linewidth=1.0, capsize=2)
    axes.text(0.97, 0.05, f"ECE {error:.3f}", transform=axes.transAxes, ha="right", fontsize=SMALL)
    axes.set(xlim=(lowest, 1.005), ylim=(0.0, 1.05))
    return open_frame(axes, xlabel="probability of the most probable class", ylabel="fraction that is right")


def confusion_matrix(y: ArrayLike, predicted: ArrayLike, classes: Sequence[str], *, axes: Axes | None = None) -> Axes:
    """Draw the numbers of sources by true class (rows) and predicted class (columns).

    Both are ``(n,)``; `classes` says their order. Shades and percentages are fractions of the true class, so rows sum
    to 100 %. Raises ValueError when the shapes differ, there are no sources, or a label is not among the classes.
    """
    from fermiclass.evaluation import metrics

    names = [str(name) for name in classes]
    true, said = np.asarray(y, dtype=str), np.asarray(predicted, dtype=str)
    if true.shape != said.shape or true.ndim != 1 or not len(true):
        raise ValueError(f"shapes {true.shape} and {said.shape} are not pairs of labels: give (n,) each")
    counts = metrics.confusion(metrics.as_truth(said, names).astype(float), metrics.as_truth(true, names))
    totals = counts.sum(axis=1, keepdims=True)
    fractions = counts / np.maximum(totals, 1)
    side = 1.1 + 0.75 * len(names)
    axes = axes_or_new(axes, (side, side))
    axes.imshow(fractions, cmap="Greys", vmin=0.0, vmax=1.15)
    for i in range(len(names)):
        for j in range(len(names)):
            colour = "white" if fractions[i, j] > 0.5 else "black"
            percent = f"{100 * fractions[i, j]:.0f} %" if totals[i, 0] else "–"
            axes.text(j, i, f"{percent}\n{counts[i, j]}", ha="center", va="center", color=colour, fontsize=SMALL)
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(names)), [f"{name}\n({total})" for name, total in zip(names, totals[:, 0], strict=True)])
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        colour_labels(labels, names)
    axes.tick_params(length=0)
    axes.set(xlabel="predicted class", ylabel="true class (sources)")
    return axes


def evaluation_figure(evaluation: Evaluation) -> Figure:
    """Draw the results of an evaluation, of any protocol.

    The panels: the NLL of the best methods, with standard errors; how often each class was found, against its
    probability; expected and found numbers by class, and by latitude where it is scored; purity and completeness of the
    candidates of each class against the threshold. The last three are of the best method that is no baseline.
    """
    from matplotlib.figure import Figure

    name = evaluation.best
    figure = Figure(figsize=(7.6, 6.4), layout="constrained")
    losses, *of_method = figure.subplots(2, 2).flat
    _losses(losses, evaluation)
    for axes, draw in zip(of_method, (_calibration, _numbers, _candidates), strict=True):
        draw(axes, evaluation, name)
        open_frame(axes).set_title(name, fontsize=SMALL)
    return figure


def _losses(axes: Axes, evaluation: Evaluation) -> None:
    table = evaluation.table[:_MAX_METHODS][::-1]
    for k, (name, row) in enumerate(table.iterrows()):
        colour = "0.45" if evaluation.results[str(name)].method.is_baseline else _COLOUR
        axes.errorbar(row["nll"], k, xerr=row["nll_se"], fmt="o", color=colour, markersize=4, capsize=2)
    axes.set_yticks(range(len(table)), list(table.index), fontsize=SMALL)
    open_frame(axes, ylim=(-0.6, len(table) - 0.4), xlabel=f"NLL of {len(evaluation)} sources")


def _calibration(axes: Axes, evaluation: Evaluation, method: str) -> None:
    colours = class_colours(evaluation.classes)
    P, truth = evaluation.probabilities(method), evaluation.truth
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
    for k, name in enumerate(evaluation.classes):
        p, is_one = P[:, k], truth[:, k]
        order = [rows for rows in np.array_split(np.argsort(p, kind="stable"), _CLASS_BINS) if len(rows)]
        mean, found = np.array([(p[rows].mean(), is_one[rows].mean()) for rows in order]).T
        error = [np.sqrt(np.sum(p[rows] * (1 - p[rows]))) / len(rows) for rows in order]
        axes.errorbar(
            mean, found, yerr=error, fmt="o-", markersize=4, linewidth=1, capsize=2, color=colours[name], label=name
        )
    axes.set(xlabel="probability", ylabel="fraction found", xlim=_UNIT, ylim=_UNIT)
    axes.legend(frameon=False, loc="upper left", fontsize=SMALL)


def _numbers(axes: Axes, evaluation: Evaluation, method: str) -> None:
    scored = evaluation.figures.index.unique("population")
    parts = [name for name in ("low", "high") if name in scored] or ["all"]
    colours = class_colours(evaluation.classes)
    labels: list[str] = []
    for part in parts:
        where = "" if part == "all" else f", |b| {evaluation.targets.populations[part].heading}"
        for name, row in evaluation.per_class(method, part).items():
            k, label = -len(labels), None if labels else "expected"
            axes.barh(k, row["n"], color=colours.get(name, "0.5"), alpha=0.35)
            bar: dict[str, Any] = {"fmt": "o", "color": "black", "markersize": 4, "capsize": 2, "label": label}
            axes.errorbar(row["expected"], k, xerr=row["expected_se"], **bar)
            labels.append(f"{name.replace('|', ' or ')}{where}")
    axes.barh([], [], color="0.5", alpha=0.35, label="found")
    axes.set_yticks(-np.arange(len(labels)), labels, fontsize=SMALL)
    axes.set_xlabel("number of sources")
    axes.legend(frameon=False, fontsize=SMALL)


def _candidates(axes: Axes, evaluation: Evaluation, method: str) -> None:
    P, truth = evaluation.probabilities(method), evaluation.truth
    colours = class_colours(evaluation.classes)
    thresholds = np.linspace(0.05, 0.95, 37)
    for k, name in enumerate(evaluation.classes):
        chosen, is_one = P[:, k] >= thresholds[:, None], truth[:, k]
        right, number = (chosen & is_one).sum(axis=1), chosen.sum(axis=1)
        purity = np.where(number > 0, right / np.maximum(number, 1), np.nan)
        axes.plot(thresholds, purity, color=colours[name])
        axes.plot(thresholds, right / max(is_one.sum(), 1), color=colours[name], linestyle="--")
    axes.plot([], [], color="0.3", label="purity")
    axes.plot([], [], color="0.3", linestyle="--", label="completeness")
    axes.set(xlabel="probability of at least", ylabel="fraction", ylim=_UNIT)
    axes.legend(frameon=False, fontsize=SMALL, loc="lower left")


def comparison_figure(comparison: Comparison) -> Figure:
    """Draw our probability of the other list's class or against its probability, and ROC curves where it has any."""
    from matplotlib.figure import Figure

    wide = bool(comparison.roc)
    figure = Figure(figsize=(8.6 if wide else 4.8, 4.0), layout="constrained")
    axes, *of_curves = figure.subplots(1, 2 if wide else 1, squeeze=False)[0]
    table = comparison.table
    if "OTHER_P" in table.colnames:
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        ours = np.asarray(table["DIFFERENCE"]) + np.asarray(table["OTHER_P"])
        axes.plot(table["OTHER_P"], ours, ".", color="black", markersize=4, alpha=0.5)
        open_frame(axes, xlabel="probability in the other list", ylabel="probability here", xlim=_UNIT, ylim=_UNIT)
    else:
        _by_class(axes, table, list(comparison.agreement))
    for each in of_curves:
        _curves(each, comparison.roc)
    return figure


def _by_class(axes: Axes, table: Table, words: list[str]) -> None:
    rng, colours = np.random.default_rng(0), class_colours(words)
    said, p = np.asarray(table["OTHER_CLASS"], str), np.asarray(table["P_OTHER_CLASS"], float)
    for k, word in enumerate(words):
        rows = said == word
        height = k + rng.uniform(-0.3, 0.3, rows.sum())
        axes.plot(p[rows], height, ".", color=colours[word], markersize=4, alpha=0.6)
    axes.set_yticks(range(len(words)), [f"{word} ({np.sum(said == word)})" for word in words])
    open_frame(axes, xlabel="our probability of that class", ylabel="class in the other list", xlim=_UNIT)


def _curves(axes: Axes, roc: Mapping[str, Mapping[str, Any]]) -> None:
    colours = class_colours(list(roc))
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for word, curve in roc.items():
        axes.plot(curve["false"], curve["true"], color=colours[word], label=f"{word}: area {curve['auc']:.2f}")
    open_frame(axes, xlabel="false positives", ylabel="true positives", xlim=_UNIT, ylim=_UNIT)
    axes.legend(frameon=False, loc="lower right")
