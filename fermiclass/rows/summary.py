"""Moments, classes and a sample of the rows, each in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import RowsError
from fermiclass.io.arrays import FloatArray
from fermiclass.rows.chunk import Blocked, Chunk, RowReader, join, read_in_order


@dataclass(frozen=True, eq=False)
class Summary:
    """Summary of the rows to learn from: the rows with a label, or all rows if there are no labels.

    Attributes
    ----------
    num_rows
        Number of all rows, N.
    num_labelled
        Number of rows to learn from.
    mean, std
        (D,) float64 mean and standard deviation of the features of these rows.
    classes
        (C,) distinct labels, sorted; None if there are no labels.
    counts
        (C,) number of rows of each class.
    contents
        Digest of all that training depends on: features and variances of these rows, the labels of all rows, and the
        blocks in which they are stored.
    """

    num_rows: int
    num_labelled: int
    mean: FloatArray
    std: FloatArray
    classes: NDArray[Any] | None
    counts: NDArray[np.int64] | None
    contents: str


def summarise(rows: RowReader) -> Summary:
    """Read all rows once and summarise them.

    Raises
    ------
    RowsError
        If no row has a label, or there are no rows.
    """
    count = 0
    offset = mean = squares = np.zeros(len(rows.feature_names))
    counts: dict[Any, int] = {}
    has_labels = False
    contents = blake2b(rows.block_edges.tobytes() if isinstance(rows, Blocked) else b"", digest_size=16)
    for chunk in read_in_order(rows):
        labelled = chunk.labelled
        X = chunk.X[labelled].astype(np.float64)
        contents.update(X.tobytes() + chunk.X_var[labelled].astype(np.float64).tobytes())
        if chunk.y is not None:
            has_labels = True
            names, places = np.unique(chunk.y, return_inverse=True)
            contents.update(repr(names.tolist()).encode("utf-8", "surrogatepass") + places.tobytes())
            for name, number in zip(*np.unique(chunk.y[labelled], return_counts=True), strict=True):
                counts[name] = counts.get(name, 0) + int(number)
        if len(X):
            # Chan, Golub & LeVeque (1979). Squares are about the mean of each chunk, because one sum of squares would
            # cancel. All is relative to the first row, because means of numbers far from zero lose digits.
            offset = X[0].copy() if count == 0 else offset
            X -= offset
            own = X.mean(axis=0)
            difference = own - mean
            squares = squares + ((X - own) ** 2).sum(axis=0) + difference**2 * (count * len(X) / (count + len(X)))
            count += len(X)
            mean = mean + difference * (len(X) / count)
    if count == 0:
        raise RowsError(
            f"none of {rows.num_rows} rows has a label, so there is nothing to learn from. Check the label."
        )
    classes = sorted(counts)
    return Summary(
        rows.num_rows,
        count,
        offset + mean,
        np.sqrt(squares / count),
        np.array(classes) if has_labels else None,
        np.array([counts[name] for name in classes], np.int64) if has_labels else None,
        contents.hexdigest(),
    )


def sample(rows: RowReader, num: int, *, seed: int) -> Chunk:
    """Return a random sample of `num` rows that have a label, or of all rows if there are no labels.

    The sample is drawn without replacement in one pass, all rows with the same probability. It is in the order of the
    file, and has all rows if there are not more than `num`. The same seed and rows give the same sample in any format.
    """
    if num < 1:
        raise RowsError(f"num={num} rows is not a valid size of a sample; expected at least 1")
    rng = np.random.default_rng(seed)
    kept = rows.read(0, 0)
    keys = np.empty(0)  # a random number for each row; the rows with the smallest numbers are the sample
    for chunk in read_in_order(rows):
        drawn = rng.random(len(chunk.X))
        chosen = chunk.labelled & (drawn < (keys.max() if len(keys) == num else 1.0))
        keys = np.concatenate([keys, drawn[chosen]])
        kept = join([kept, chunk.take(chosen)])
        if len(keys) > num:
            smallest = np.sort(np.argpartition(keys, num)[:num])
            keys, kept = keys[smallest], kept.take(smallest)
    return kept
