"""Benchmarks of regression. Their pieces are kept as they finish, so that a stopped run can resume."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from fermiclass.benchmarks.records import RecordFile
from fermiclass.io.arrays import FloatArray

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
    """Run all pieces of a benchmark that are not finished.

    Parameters
    ----------
    keys
        Cell, method and repetition of each piece.
    work
        Function that makes the record of a piece.
    file
        File that keeps the records. Records that it already has are not made again.
    progress
        Called with the numbers of pieces done and in total.

    Returns
    -------
    dict
        The records by key, with ``"cell"``, ``"method"`` and ``"split"`` in each.

    Raises
    ------
    BenchmarkError
        When ``file`` belongs to another benchmark.
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


def fit_network(X: FloatArray, y: FloatArray) -> Any:
    """Return the network of Dallaire, Besse & Chaib-draa (2011), two layers of five units, fitted to scaled rows."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    network = MLPRegressor(
        hidden_layer_sizes=(5, 5), activation="tanh", solver="lbfgs", alpha=0.1, max_iter=1000, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return network.fit(X, y)


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Return the mean and its standard error, which is 0 for a single value."""
    scores = np.array(list(values))
    return float(scores.mean()), float(scores.std() / np.sqrt(max(1, len(scores) - 1)))
