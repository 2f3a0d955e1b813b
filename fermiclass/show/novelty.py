"""Printed tables of the test of the out-of-distribution score."""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table

from fermiclass.evaluation.novelty import NoveltyResult, Separation
from fermiclass.show.summaries import console_for_tables

_SCATTERED = 0.7  # a class is scattered if its held-out sources have a larger median score; the median of all is 0.5


def novelty_table(result: NoveltyResult) -> Table:
    """Return the separation overall, by novel class, by trained class, by significance and by Galactic latitude."""
    from rich import box

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("novel sources", overflow="fold")
    for heading in ("AUC", "novel", "trained"):
        table.add_column(heading, justify="right", no_wrap=True)

    def add(name: str, found: Separation) -> None:
        if found.n_novel and found.n_trained:
            auc = str(found) if math.isfinite(found.se) else f"{found}      "  # in line with those that have ±0.000
            table.add_row(name, auc, str(found.n_novel), str(found.n_trained))

    add("all", result.overall)
    table.add_section()
    for code, found in result.per_class.items():
        add(code, found)
    table.add_section()
    for name, found in result.against.items():
        add(f"all, against {name}", found)
    for symbol, bins in (("Signif_Avg", result.by_significance), ("|GLAT|", result.by_latitude)):
        table.add_section()
        for (low, high), found in bins.items():
            add(f"{symbol} {low:g} to {high:g}" if math.isfinite(high) else f"{symbol} from {low:g}", found)
    return table


def print_novelty(result: NoveltyResult, console: Console | None = None, *, feature_set: str | None = None) -> None:
    """Print the numbers of sources, the table, and notes on how to read it.

    Parameters
    ----------
    result
        The result to print.
    console
        Console to print on; by default the terminal.
    feature_set
        Name of the feature set, if it should be printed.
    """
    console = console or console_for_tables()

    def say(text: str) -> None:
        console.print(text, markup=False)

    overall, number = result.overall, len(result.features)
    called = f" ({feature_set})" if feature_set else ""
    say(
        f"{result.catalog}: {overall.n_novel} sources of classes outside the training (novel) against "
        f"{overall.n_trained} held-out sources of {', '.join(result.classes)} (trained), {number} "
        f"feature{'s' if number > 1 else ''}{called}."
    )
    console.print(novelty_table(result))
    say(
        "OOD_SCORE is the out-of-distribution score: the fraction of training sources that are closer to the other "
        "training sources than the source is. AUC is the probability that the score of a novel source is higher than "
        "that of a trained one; it is 0.5 by chance."
    )
    if math.isfinite(result.at_equal_significance):
        say(f"AUC among sources of similar Signif_Avg: {result.at_equal_significance:.3f}.")
    scattered = {name: median for name, median in result.median_score.items() if median > _SCATTERED}
    if scattered:
        medians = ", ".join(f"{median:.2f}" for median in scattered.values())
        say(
            f"Sources of {', '.join(scattered)} are scattered: half of the held-out ones score above {medians}. A high "
            f"score may therefore mean {' or '.join(scattered)} or a new class."
        )
