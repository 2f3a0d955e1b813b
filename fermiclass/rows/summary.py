"""What one pass over the rows tells: moments, classes, and a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import RowsError
from fermiclass.rows.chunk import Chunk, Rows, join, read_in_order


@dataclass(frozen=True, eq=False)
class Summary:
    """What there is to learn from: the rows that have a label; all rows, if there are no labels.

    Attributes
    ----------
    num_rows
        N, of all rows.
    num_labelled
        How many rows there are to learn from.
    mean, std
        (D,) float64 mean and standard deviation of the features of these rows.
    classes
        (C,) their distinct labels, sorted; None where there are no labels.
    counts
        (C,) how many rows have each.
    """

    num_rows: int
    num_labelled: int
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    classes: NDArray[Any] | None
    counts: NDArray[np.int64] | None


def summarise(rows: Rows) -> Summary:
    """Pass over all rows once.

    Raises
    ------
    RowsError
        If no row has a label, or there are no rows at all.
    """
    count = 0
    offset = mean = squares = np.zeros(len(rows.feature_names))
    counts: dict[Any, int] = {}
    has_labels = False
    for chunk in read_in_order(rows):
        labelled = chunk.labelled
        X = chunk.X[labelled].astype(np.float64)
        if chunk.y is not None:
            has_labels = True
            for name, number in zip(*np.unique(chunk.y[labelled], return_counts=True), strict=True):
                counts[name] = counts.get(name, 0) + int(number)
        if len(X):
            # Chan, Golub & LeVeque (1979): each chunk about its own mean, as one sum of squares would cancel; and all
            # about the first row, as means of numbers that are far from zero are rounded.
            offset = X[0].copy() if count == 0 else offset
            X -= offset
            own = X.mean(axis=0)
            difference = own - mean
            squares = squares + ((X - own) ** 2).sum(axis=0) + difference**2 * (count * len(X) / (count + len(X)))
            count += len(X)
            mean = mean + difference * (len(X) / count)
    if count == 0:
        raise RowsError(f"there is nothing to learn from: none of {rows.num_rows} rows has a label")
    classes = sorted(counts)
    return Summary(
        rows.num_rows,
        count,
        offset + mean,
        np.sqrt(squares / count),
        np.array(classes) if has_labels else None,
        np.array([counts[name] for name in classes], np.int64) if has_labels else None,
    )


def sample(rows: Rows, num: int, *, seed: int) -> Chunk:
    """Return `num` rows that have a label (any rows, if there are no labels), drawn without replacement in one pass.

    Each such row is as likely as any other. They are in the order of the file; all of them, if there are no more than
    `num`. The same seed and rows give the same sample, whatever the format.
    """
    if num < 1:
        raise RowsError(f"a sample of {num} rows was asked for; expected at least one")
    rng = np.random.default_rng(seed)
    kept = rows.read(0, 0)
    keys = np.empty(0)  # a random number for each row: those with the smallest are the sample
    for chunk in read_in_order(rows):
        drawn = rng.random(len(chunk.X))
        chosen = chunk.labelled & (drawn < (keys.max() if len(keys) == num else 1.0))
        keys = np.concatenate([keys, drawn[chosen]])
        kept = join([kept, chunk.take(chosen)])
        if len(keys) > num:
            smallest = np.sort(np.argpartition(keys, num)[:num])
            keys, kept = keys[smallest], kept.take(smallest)
    return kept
