"""Printed confusion tables, and what the figures of an evaluation mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fermiclass.show.summaries import plain_table

if TYPE_CHECKING:
    from rich.table import Table

#: The figures of an evaluation, in a line each. Lower is better in all of them.
DEFINITIONS = {
    "NLL": "mean of −ln P(true class); a confident wrong answer costs most",
    "error": "fraction of sources whose most probable class is wrong",
    "Brier": "mean squared distance of the probabilities from the truth, 0 to 2",
    "ECE": "mean distance of confidence and accuracy: 0 is calibrated",
}


def definitions() -> str:
    """Return `DEFINITIONS` as lines of text."""
    return "\n".join(f"{name}: {meaning}." for name, meaning in DEFINITIONS.items())


def confusion_table(counts: Sequence[Sequence[int]], classes: Sequence[str]) -> Table:
    """Return the numbers of sources by true class (rows) and most probable class, with percentages of the true class.

    Parameters
    ----------
    counts
        (C, C) numbers of sources, such as ``Scores.confusion``.
    classes
        The C classes.
    """
    table = plain_table(
        "true class", "sources", *(f"said {name}" for name in classes), right=range(1, 2 + len(classes))
    )
    table.padding = (0, 1, 0, 0)
    for name, row in zip(classes, counts, strict=True):
        total = sum(row)
        cells = (f"{count} {f'({100 * count / total:.0f} %)' if total else '(–)':>7}" for count in row)
        table.add_row(name, str(total), *cells)
    return table
