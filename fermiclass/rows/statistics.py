"""Moments, classes and samples of the rows, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import RowsError
from fermiclass.io.arrays import FloatArray
from fermiclass.rows.chunk import Chunk, Rows, join, read_in_order


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """Statistics of the rows to learn from: the rows with a label, or all rows if there are no labels.

    Attributes
    ----------
    num_labelled
        Number of rows to learn from.
    mean, std
        (D,) mean and standard deviation of the features of these rows.
    labels
        Distinct labels, sorted; None if there are no labels.
    digest
        Digest of all that training depends on: features and variances of these rows, the labels of all rows, and the
        blocks in which they are stored.
    samples
        Random samples of the rows to learn from.
    """

    num_labelled: int
    mean: FloatArray
    std: FloatArray
    labels: NDArray[Any] | None
    digest: str
    samples: tuple[Chunk, ...]


def row_statistics(rows: Rows, samples: Sequence[tuple[int, int]] = ()) -> RowStatistics:
    """Read all rows once.

    Parameters
    ----------
    rows
        The rows.
    samples
        Number of rows and seed of each sample to draw, without replacement and in the order of the file. The same seed
        and rows give the same sample in any format.

    Raises
    ------
    RowsError
        If no row has a label, or there are no rows.
    """
    count = 0
    offset = mean = squares = np.zeros(len(rows.columns.features))
    labels: set[Any] = set()
    drawn = [_Sample(rows, num, seed) for num, seed in samples]
    digest = blake2b(rows.block_edges.tobytes(), digest_size=16)
    has_labels = rows.read(0, 0).y is not None
    for chunk in read_in_order(rows):
        labelled = chunk.labelled
        X = chunk.X[labelled]
        digest.update(X.tobytes() + chunk.X_var[labelled].tobytes())
        if chunk.y is not None:
            names, places = np.unique(chunk.y, return_inverse=True)
            digest.update(repr(names.tolist()).encode("utf-8", "surrogatepass") + places.tobytes())
            labels.update(np.unique(chunk.y[labelled]))
        for one in drawn:
            one.add(chunk)
        if len(X):
            # Chan, Golub & LeVeque (1979). Squares are about the mean of each chunk, because one sum of squares would
            # cancel. All is relative to the first row, because means of numbers far from zero lose digits.
            offset = X[0].copy() if count == 0 else offset
            X = X - offset
            own = X.mean(axis=0)
            difference = own - mean
            squares = squares + ((X - own) ** 2).sum(axis=0) + difference**2 * (count * len(X) / (count + len(X)))
            count += len(X)
            mean = mean + difference * (len(X) / count)
    if count == 0:
        raise RowsError(
            f"none of {rows.num_rows} rows has a label, so there is nothing to learn from. Check the label."
        )
    return RowStatistics(
        count,
        offset + mean,
        np.sqrt(squares / count),
        np.array(sorted(labels)) if has_labels else None,
        digest.hexdigest(),
        tuple(one.kept for one in drawn),
    )


class _Sample:
    """A random sample of rows that pass by; all rows have the same probability."""

    def __init__(self, rows: Rows, num: int, seed: int) -> None:
        self.kept = rows.read(0, 0)
        self._num = num
        self._rng = np.random.default_rng(seed)
        self._keys = np.empty(0)  # a random number for each row; the rows with the smallest numbers are the sample

    def add(self, chunk: Chunk) -> None:
        """Let the rows of a chunk pass by."""
        keys = self._rng.random(len(chunk.X))
        chosen = chunk.labelled & (keys < (self._keys.max() if len(self._keys) == self._num else 1.0))
        self._keys = np.concatenate([self._keys, keys[chosen]])
        self.kept = join([self.kept, chunk.take(chosen)])
        if len(self._keys) > self._num:
            smallest = np.sort(np.argpartition(self._keys, self._num)[: self._num])
            self._keys, self.kept = self._keys[smallest], self.kept.take(smallest)
