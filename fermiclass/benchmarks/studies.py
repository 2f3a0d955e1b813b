"""Benchmarks of regression: done piece by piece, kept as they are done, and gone on with where they were stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from fermiclass.benchmarks.records import RecordFile

Key = tuple[str, str, int]  # cell, method, repetition
Record = dict[str, Any]
Work = Callable[[str, str, int], Record]


def run_pieces(
    keys: Sequence[Key],
    work: Work,
    *,
    file: RecordFile | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[Key, Record]:
    """Do all pieces of a benchmark that are not done yet.

    Parameters
    ----------
    keys
        Cell, method and repetition of each.
    work
        Makes a record of one of them.
    file
        Takes the records as they come; those that it has already are not made again.
    progress
        Called with the number of pieces that are done, and of all.

    Returns
    -------
    dict
        The records by key, with ``"cell"``, ``"method"`` and ``"split"`` in each.

    Raises
    ------
    BenchmarkError
        When ``file`` is not of this benchmark.
    """
    earlier = [] if file is None else file.load()
    done = {(r["cell"], r["method"], r["split"]): r for r in earlier}
    done = {key: done[key] for key in keys if key in done}
    if progress is not None:
        progress(len(done), len(keys))
    for key in keys:
        if key in done:
            continue
        cell, method, split = key
        record = {"cell": cell, "method": method, "split": split} | work(cell, method, split)
        if file is not None:
            file.append([record])
        done[key] = record
        if progress is not None:
            progress(len(done), len(keys))
    return done


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Mean, and its standard error; 0 for a single value."""
    scores = np.array(list(values))
    return float(scores.mean()), float(scores.std() / np.sqrt(max(1, len(scores) - 1)))
