"""Printed tables of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fermiclass.evaluation.by_name import DEFAULT
from fermiclass.evaluation.counterparts import WITH
from fermiclass.evaluation.metrics import COLUMNS, LEVEL
from fermiclass.show.summaries import rich_table
from fermiclass.show.terminal import say

if TYPE_CHECKING:
    from rich.table import Table

    from fermiclass.evaluation import Evaluation

#: The class whose candidates are told by threshold, and the readings of the later classes in which they are told.
_CANDIDATES = "pulsar"
_READINGS = {"face": "face value", "spiders": "spiders"}

_MOST_BASELINES = 5  #: Baselines that are printed, the best ones.

#: A method that uses the error bars, and the same model without them.
_NOISY, _NOISELESS = "nimgp", "mgp"


def definitions() -> str:
    """Return what the printed metrics are, a line each."""
    return "\n".join(f"{column.heading}: {column.meaning}." for column in COLUMNS.values() if column.heading)


def shown(evaluation: Evaluation) -> list[str]:
    """Return the methods to print, the lowest NLL first: all but the baselines that are not among the best."""
    of_baseline = {name: evaluation.results[name].method.is_baseline for name in evaluation.table.index}
    best = [name for name, is_one in of_baseline.items() if is_one][:_MOST_BASELINES]
    return [name for name, is_one in of_baseline.items() if not is_one or name in best]


def methods_table(evaluation: Evaluation) -> Table:
    """Return all metrics that have a heading, the lowest NLL first."""
    printed = {name: column.heading for name, column in COLUMNS.items() if column.heading}
    table = _table("method", *printed.values(), "s")
    for method in shown(evaluation):
        row, result = evaluation.table.loc[method], evaluation.results[method]
        cells = [f"{row['nll']:.3f} ± {row['nll_se']:.3f}", *(f"{row[name]:.3f}" for name in list(printed)[1:])]
        style = None if result.method.is_baseline else "bold"
        table.add_row(method, *cells, f"{result.seconds:.1f}", style=style)
    return table


def populations_table(evaluation: Evaluation) -> Table | None:
    """Return the NLL of own methods, or the baselines, in each population; None if there is nothing to compare."""
    methods = [name for name in shown(evaluation) if not evaluation.results[name].method.is_baseline]
    populations = evaluation.figures.index.unique("population")
    has_baselines = evaluation.best_baseline() is not None
    if len(populations) < 2 and not has_baselines:
        return None
    methods = methods or shown(evaluation)
    against = {name: evaluation.versus_baselines(name) for name in methods}
    table = _table("NLL of", "n", "NLL", *(("ratio", "difference", "the best baseline") if has_baselines else ()))
    for population in populations:
        where = evaluation.targets.populations[population].heading
        for name in methods:
            nll = evaluation.figures.loc[(population, name), "nll"]
            cells = [str(len(evaluation.losses(population))), f"{nll:.3f}"]
            if (row := against[name].get(population)) is not None:
                ratio = "–" if row["ratio"] is None else f"{row['ratio']:.2f}"
                cells += [ratio, f"{row['mean']:+.3f} ± {row['se']:.3f}", row["baseline"]]
            table.add_row(where if len(methods) == 1 else f"{name}, {where}", *cells)
    return table


def significance_table(evaluation: Evaluation) -> Table | None:
    """Return the NLL by Signif_Avg of own methods and the best baseline, and what error bars change."""
    shown = [name for name in evaluation.table.index if not evaluation.results[name].method.is_baseline]
    shown += [name for name in (evaluation.best_baseline(),) if name is not None]
    bins = evaluation.by_significance(shown[0])
    if not len(bins):
        return None
    headings = (f"{_range(each.left, each.right)}\nn={n}" for each, n in bins["n"].items())
    table = _table("NLL by Signif_Avg", *headings)
    for name in shown:
        table.add_row(name, *(f"{value:.3f}" for value in evaluation.by_significance(name)["mean"]))
    if {_NOISY, _NOISELESS} <= set(shown):
        rows = evaluation.by_significance(_NOISY, _NOISELESS)
        cells = (f"{row['mean']:+.3f}\n±{row['se']:.3f}" for _, row in rows.iterrows())
        table.add_row(f"{_NOISY} − {_NOISELESS}\n± s.e.", *cells)
    return table


def classes_table(evaluation: Evaluation, method: str) -> Table:
    """Return the found and the expected number, precision and recall of each class, by latitude where it is scored."""
    rows = []
    for population in ("all", "low", "high"):
        if population not in evaluation.figures.index.unique("population"):
            continue
        where = "" if population == "all" else f", |b| {evaluation.targets.populations[population].heading}"
        for name, row in evaluation.per_class(method, population).items():
            figures = (row[key] for key in ("precision", "recall", "average_precision"))
            cells = ("–" if each is None else f"{each:.3f}" for each in figures)
            expected = f"{row['expected']:.1f} ± {row['expected_se']:.1f}"
            rows.append((f"{name.replace('|', ' or ')}{where}", row["n"], expected, *cells))
    return _table("class", "found", "expected", "precision", "recall", "average\nprecision", rows=rows)


def confusion_table(counts: Sequence[Sequence[int]], classes: Sequence[str]) -> Table:
    """Return numbers of sources by true class (rows) and most probable class, in % of the true class."""
    rows = (
        (name, sum(row), *(f"{n} {f'({100 * n / sum(row):.0f} %)' if sum(row) else '(–)':>7}" for n in row))
        for name, row in zip(classes, counts, strict=True)
    )
    return _table("true class", "sources", *(f"said {name}" for name in classes), rows=rows)


def candidates_table(evaluation: Evaluation, method: str) -> Table:
    """Return number, purity and completeness of pulsar candidates by threshold, in both readings of the classes."""
    measured = ("purity", "completeness")
    found = [evaluation.candidates(method, population)[_CANDIDATES] for population in _READINGS]
    rows = (
        (
            f"{first['threshold']:g}" if first["threshold"] else "all",
            first["n"],
            *(percent(row[key], row[f"{key}_interval"]) for row in (first, *others) for key in measured),
        )
        for first, *others in zip(*found, strict=True)
    )
    return _table(
        "P from", "n", *(f"{key}\n{reading}" for reading in _READINGS.values() for key in measured), rows=rows
    )


def percent(fraction: float | None, interval: Sequence[float] | None) -> str:
    """Return a fraction and its interval as text in percent, as in "86 % (75–93)"."""
    if fraction is None or interval is None:
        return "–"
    return f"{100 * fraction:.0f} % ({100 * interval[0]:.0f}–{100 * interval[1]:.0f})"


def print_evaluation(evaluation: Evaluation) -> None:
    """Print the protocol, the tables, and notes on how to read them."""
    targets, best = evaluation.targets, evaluation.best

    numbers = {name: evaluation.per_class(best)[name]["n"] for name in evaluation.classes}
    unclear = len(evaluation) - sum(numbers.values())
    found = ", ".join(f"{n} {name}" for name, n in numbers.items()) + (f", {unclear} of several" if unclear else "")
    number = len(targets.meta["features"])
    say(
        f"{targets.catalog}, {targets.description}: {len(evaluation)} sources ({found}), "
        f"{number} feature{'s' if number > 1 else ''}."
    )
    if targets.protocol == "open":
        radius, gone, moved, which = (targets.meta[key] for key in ("radius_deg", "gone", "moved", "targets"))
        say(
            f"The same source is the nearest one within {radius:g} deg of both lists. {gone} {which} sources have "
            f"none. Sources whose name is further off in the later list do not count ({moved})."
        )
    say(methods_table(evaluation))
    if hidden := len(evaluation.results) - len(shown(evaluation)):
        say(f"{hidden} more baselines are not as good; --json writes them all.")
    say(
        f"{definitions()}\nLower is better in all of them. The best constant probabilities have an NLL of "
        f"{evaluation.nll_of_constants:.3f}. s: seconds of training and prediction."
    )
    chance = evaluation.table.loc[best, "ece_by_chance"]
    say(f"If {best} were perfectly calibrated, its ECE for this number of sources would be {chance:.3f}.")
    for table in (populations_table(evaluation), significance_table(evaluation)):
        if table is not None:
            say(table)
    if (same := evaluation.same_factors) is not None and (compared := populations_table(same)) is not None:
        say(
            "The class priors and CLASS2 are factors that any probability could have. The same comparison with the "
            "default's factors on all baselines, and of the model without them:"
        )
        say(compared)
    say(f"True classes and the most probable ones by {best}; expected: the sum of its probabilities.")
    say(confusion_table(evaluation.confusion(best).tolist(), evaluation.classes))
    say(classes_table(evaluation, best))
    if set(_READINGS) <= set(targets.populations):
        say(
            "Average precision is over all unassociated sources; those without a later class count as negatives.\n"
            "Pulsar candidates are n sources with at least this probability of a pulsar of any kind. Purity: fraction "
            "of them that are pulsars; of all sources it is the base rate. Completeness: fraction of all pulsars. "
            f"Spiders: bin, lmb and glc count as pulsars. In brackets: {100 * LEVEL:.0f} % intervals (Wilson)."
        )
        say(candidates_table(evaluation, best))


def print_counterparts_test(evaluation: Evaluation) -> None:
    """Print what the counterparts change, and whether the candidates are the counterparts of the later release."""
    for population, who in {"all": "all scored sources", "covered": "those that the tables cover"}.items():
        if len(evaluation.targets.scored_of(population)) > 1:
            change = evaluation.difference(DEFAULT + WITH, DEFAULT, population)
            say(f"Counterparts change the NLL of {who} by {change} ({change.n}).")
    rows = (
        (f"{each.low:g}–{each.high:g}", each.number, f"{each.expected:.1f}", each.same, each.other, each.undecided)
        for each in evaluation.counterparts
    )
    say(_table("P_CPT", "n", "expected", "same", "another", "undecided", rows=rows))
    say(
        "Candidates by their probability; of those whose source has a counterpart in the later list, the expected "
        "number of true ones, and how often it is the same object or another one."
    )


def _table(first: str, *numbers: str, rows: Iterable[Iterable[object]] = ()) -> Table:
    return rich_table(first, *(f">{heading}" for heading in numbers), rows=rows, padding=(0, 1, 0, 0))


def _range(low: float, high: float) -> str:
    if np.isinf(high):
        return f"≥ {low:g}"
    return f"< {high:g}" if low == 0 else f"{low:g}–{high:g}"
