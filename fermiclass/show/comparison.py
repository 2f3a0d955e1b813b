"""The comparison with another list, for the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fermiclass.show.summaries import console_for_tables, plain_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from fermiclass.analysis.compare import Comparison


def print_comparison(comparison: Comparison, path: Path | None = None, *, rows: int = 10) -> None:
    """Print the matches, the agreement, ranks, ROC areas, and the first disagreements."""
    console = console_for_tables()
    n = comparison.numbers
    console.print(
        f"{n['by_name'] + n['by_position']} sources are in both lists ({n['by_name']} by name, {n['by_position']} by "
        f"position); {n['unmatched']} of {n['others']} in the other list have no label."
    )
    if comparison.unknown:
        words = ", ".join(f"{word} ({count})" for word, count in comparison.unknown.items())
        console.print(f"Classes of the list that the labels do not have are left out: {words}.")
    if comparison.agreement:
        console.print(_agreement_table(comparison))
        console.print(
            "agree: PRED_CLASS is this class. mean P: mean of our probability of it. The other columns count our "
            "PRED_CLASS."
        )
    if comparison.ranks is not None:
        console.print(
            f"Rank correlation of the two probabilities (Spearman): {comparison.ranks['rho']:.3f}, "
            f"{comparison.ranks['n']} sources."
        )
    if comparison.roc:
        console.print(
            "How well our probabilities tell these sources from the others (area under the ROC curve, 1 is best):"
        )
        areas = plain_table("class", "sources", "others", "area", right=(1, 2, 3))
        for words, curve in comparison.roc.items():
            areas.add_row(words, str(curve["positive"]), str(curve["negative"]), f"{curve['auc']:.3f}")
        console.print(areas)
    _print_disagreements(comparison, console, rows)
    if path is not None:
        console.print(f"{len(comparison.table)} sources: {path}", soft_wrap=True)


def _agreement_table(comparison: Comparison) -> RichTable:
    classes = list(next(iter(comparison.confusion.values())))
    table = plain_table("other list", "n", "agree", "mean P", *classes, right=tuple(range(1, 4 + len(classes))))
    for word, about in comparison.agreement.items():
        counts = (str(comparison.confusion[word][name]) for name in classes)
        table.add_row(word, f"{about['n']:.0f}", f"{100 * about['agree']:.0f} %", f"{about['mean_p']:.3f}", *counts)
    return table


def _print_disagreements(comparison: Comparison, console: Console, rows: int) -> None:
    found = comparison.table
    by_class = "OTHER_CLASS" in found.colnames
    column = "P_OTHER_CLASS" if by_class else "OTHER_P"
    console.print("The clearest disagreements first:")
    table = plain_table("source", "here", "P", "other", f"{'P here of other' if by_class else 'P other'}", right=(2, 4))
    for row in found[:rows]:
        other = str(row["OTHER_CLASS"]) if by_class else str(row["OTHER_NAME"])
        table.add_row(
            str(row["Source_Name"]), str(row["PRED_CLASS"]), f"{row['P_MAX']:.3f}", other, f"{row[column]:.3f}"
        )
    console.print(table)
