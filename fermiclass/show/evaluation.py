"""Printed tables of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fermiclass.evaluation.metrics import COLUMNS
from fermiclass.evaluation.results import ESTIMATED_SUFFIX
from fermiclass.show.summaries import console_for_tables, rich_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from fermiclass.evaluation import Evaluation

#: The class whose candidates are told by threshold.
_CANDIDATES = "psr"

#: A method that uses the error bars, and the same model without them.
_NOISY, _NOISELESS = "nimgp", "mgp"


def definitions() -> str:
    """Return what the printed metrics are, a line each."""
    return "\n".join(f"{column.heading}: {column.meaning}." for column in COLUMNS.values() if column.heading)


def methods_table(evaluation: Evaluation) -> Table:
    """Return all metrics that have a heading, the lowest NLL first."""
    printed = {name: column.heading for name, column in COLUMNS.items() if column.heading}
    table = _table("method", *printed.values(), "s")
    for method, row in evaluation.table.iterrows():
        cells = [f"{row['nll']:.3f} ± {row['nll_se']:.3f}", *(f"{row[name]:.3f}" for name in list(printed)[1:])]
        result = evaluation.results[str(method)]
        style = None if result.method.is_baseline else "bold"
        table.add_row(str(method), *cells, f"{result.seconds:.1f}", style=style)
    return table


def populations_table(evaluation: Evaluation) -> Table | None:
    """Return the NLL of each method in each population but ``'all'``; None if there is no other."""
    figures = evaluation.figures["nll"].unstack("population")
    about = evaluation.targets.populations
    chosen = [name for name in about if name != "all" and name in figures]
    if not chosen:
        return None
    headings = [f"{about[name].heading}\nn={len(evaluation.losses(name))}" for name in chosen]
    table = _table("NLL of", *headings)
    for method in evaluation.table.index:
        style = None if evaluation.results[method].method.is_baseline else "bold"
        table.add_row(method, *(f"{figures.loc[method, name]:.3f}" for name in chosen), style=style)
    return table


def baselines_table(evaluation: Evaluation) -> Table | None:
    """Return the NLL of each own method minus that of the best baseline, by population; None without baselines."""
    own = [name for name in evaluation.table.index if not evaluation.results[name].method.is_baseline]
    against = {name: found for name in own if (found := evaluation.versus_baselines(name))}
    if not against:
        return None
    table = _table("NLL less that of", "sources", "difference", "ratio", "the best baseline")
    for name, found in against.items():
        for population, row in found.items():
            where = evaluation.targets.populations[population].heading
            ratio = "–" if row["ratio"] is None else f"{row['ratio']:.2f}"
            difference = f"{row['mean']:+.3f} ± {row['se']:.3f}"
            table.add_row(f"{name}, {where}", str(row["n"]), difference, ratio, row["baseline"])
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
    for suffix in ("", ESTIMATED_SUFFIX):
        if {_NOISY + suffix, _NOISELESS + suffix} <= set(shown):
            rows = evaluation.by_significance(_NOISY + suffix, _NOISELESS + suffix)
            cells = (f"{row['mean']:+.3f}\n±{row['se']:.3f}" for _, row in rows.iterrows())
            table.add_row(f"{_NOISY}{suffix} − {_NOISELESS}{suffix}\n± s.e.", *cells)
    return table


def classes_table(evaluation: Evaluation, method: str) -> Table:
    """Return the found and the expected number, precision and recall of each class, by latitude where it is scored."""
    table = rich_table("class", "found", "expected", "precision", "recall", "average precision", right=range(1, 6))
    for population in ("all", "low", "high"):
        if population not in evaluation.figures.index.unique("population"):
            continue
        where = "" if population == "all" else f", |b| {evaluation.targets.populations[population].heading}"
        for name, row in evaluation.per_class(method, population).items():
            figures = (_number(row[key]) for key in ("precision", "recall", "average_precision"))
            expected = f"{row['expected']:.1f} ± {row['expected_se']:.1f}"
            table.add_row(f"{name}{where}", str(row["n"]), expected, *figures)
    return table


def confusion_table(counts: Sequence[Sequence[int]], classes: Sequence[str]) -> Table:
    """Return numbers of sources by true class (rows) and most probable class, in % of the true class."""
    table = _table("true class", "sources", *(f"said {name}" for name in classes))
    for name, row in zip(classes, counts, strict=True):
        total = sum(row)
        cells = (f"{count} {f'({100 * count / total:.0f} %)' if total else '(–)':>7}" for count in row)
        table.add_row(name, str(total), *cells)
    return table


def candidates_table(evaluation: Evaluation) -> Table:
    """Return number, purity and completeness of pulsar candidates of the own methods, by threshold."""
    table = rich_table("method", f"P_{_CANDIDATES} from", "candidates", "purity", "completeness", right=(1, 2, 3, 4))
    for name, result in evaluation.results.items():
        if not result.method.is_baseline:
            for row in evaluation.candidates(name)[_CANDIDATES]:
                cells = (_number(row["purity"]), _number(row["completeness"]))
                table.add_row(name, f"{row['threshold']:g}", str(row["n"]), *cells)
    return table


def print_evaluation(evaluation: Evaluation, console: Console | None = None) -> None:
    """Print the protocol, the tables, and notes on how to read them."""
    console = console or console_for_tables()
    targets, best = evaluation.targets, evaluation.best

    def say(text: str) -> None:
        console.print(text, markup=False)

    found = ", ".join(f"{row['n']} {name}" for name, row in evaluation.per_class(best).items())
    number = len(targets.meta["features"])
    say(
        f"{targets.catalog}, {targets.description}: {len(evaluation)} sources ({found}), "
        f"{number} feature{'s' if number > 1 else ''}."
    )
    console.print(methods_table(evaluation))
    say(definitions() + "\nLower is better in all of them. s: seconds of training and prediction.")
    if any(result.class_priors for result in evaluation.results.values()):
        say(f"{ESTIMATED_SUFFIX}: corrected for class priors estimated from all sources without a class.")
    chance = evaluation.table.loc[best, "ece_by_chance"]
    say(f"If {best} were perfectly calibrated, its ECE for this number of sources would be {chance:.3f}.")
    for table in (populations_table(evaluation), baselines_table(evaluation), significance_table(evaluation)):
        if table is not None:
            console.print(table)
    say(f"True classes and the most probable ones by {best}; expected: the sum of its probabilities.")
    console.print(confusion_table(evaluation.confusion(best).tolist(), evaluation.classes))
    console.print(classes_table(evaluation, best))
    if targets.protocol == "open":
        say("Average precision is over all unassociated sources; those without a later class count as negatives.")
        say(f"Purity: fraction of the candidates that are {_CANDIDATES}. Completeness: fraction of all {_CANDIDATES}.")
        console.print(candidates_table(evaluation))


def _table(first: str, *numbers: str) -> Table:
    table = rich_table(first, *numbers, right=range(1, 1 + len(numbers)))
    table.padding = (0, 1, 0, 0)
    return table


def _range(low: float, high: float) -> str:
    if np.isinf(high):
        return f"≥ {low:g}"
    return f"< {high:g}" if low == 0 else f"{low:g}–{high:g}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
