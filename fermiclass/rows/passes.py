"""Passes over the rows: statistics and samples in one, and minibatches in any number."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import RowsError
from fermiclass.io import FloatArray
from fermiclass.nimgp.targets import MOST_CLASSES
from fermiclass.rows.chunk import Chunk, Rows, join

CHUNK_ROWS = 65536  #: Number of rows that a pass in order reads at a time.

#: A pool of rows, and the indices of each of its batches, ``(batches, batch_size)``.
_Pool = tuple[Chunk, NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """Statistics of the rows to learn from: the rows with a label, or all rows if there are no labels."""

    num_labelled: int
    #: Mean and standard deviation ``(D,)``, and least and largest value ``(2, D)`` of their features, within the limits
    #: if some were given.
    mean: FloatArray
    std: FloatArray
    extremes: FloatArray
    num_outliers: NDArray[np.int64]  #: Number of outliers among them, ``(D,)``.
    labels: NDArray[Any] | None  #: Distinct labels, sorted; None if there are no labels.
    #: Digest of all that training depends on: features and variances of these rows, the labels of all rows, and the
    #: blocks in which they are stored.
    digest: str
    samples: tuple[Chunk, ...]  #: Random samples of them.


def row_statistics(
    rows: Rows, samples: Sequence[tuple[int, int]] = (), limits: tuple[FloatArray, FloatArray] | None = None
) -> RowStatistics:
    """Read all rows once.

    Each of `samples` is a number of rows and a seed, to be drawn without replacement, in the order of the file and the
    same in any format. The first of the `limits`, ``(2, D)`` each, are the least and the largest value of each feature,
    which values outside are taken as. Values outside of the second are outliers.

    Raises RowsError if no row has a label, there are no rows, or there are too many distinct labels.
    """
    count = 0
    offset = mean = squares = np.zeros(len(rows.columns.features))
    low, high = np.full(len(offset), np.inf), np.full(len(offset), -np.inf)
    outliers = np.zeros(len(offset), np.int64)
    labels: set[Any] = set()
    drawn = [_Sample(rows, num, seed) for num, seed in samples]
    digest = blake2b(rows.block_edges.tobytes(), digest_size=16)
    has_labels = rows.read(0, 0).y is not None
    for start in range(0, rows.num_rows, CHUNK_ROWS):
        chunk = rows.read(start, min(start + CHUNK_ROWS, rows.num_rows))
        labelled = chunk.labelled
        X = chunk.X[labelled]
        digest.update(X.tobytes() + chunk.X_var[labelled].tobytes())
        if chunk.y is not None:
            names, places = np.unique(chunk.y, return_inverse=True)
            digest.update(repr(names.tolist()).encode("utf-8", "surrogatepass") + places.tobytes())
            labels.update(np.unique(chunk.y[labelled]))
            if len(labels) > MOST_CLASSES:
                raise RowsError(
                    f"there are more than {MOST_CLASSES} distinct labels, such as '{min(labels)}': these are names, or "
                    "measurements. Give the column of the class (--label)."
                )
        for one in drawn:
            one.add(chunk)
        if len(X):
            if limits is not None:
                usual, (lower, upper) = limits
                outliers += np.sum((lower > X) | (upper < X), axis=0)
                X = np.clip(X, *usual)
            low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
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
        np.stack([low, high]),
        outliers,
        np.array(sorted(labels)) if has_labels else None,
        digest.hexdigest(),
        tuple(one.kept for one in drawn),
    )


class _Sample:
    """A random sample of rows that pass by."""

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


def shuffled_minibatches(
    rows: Rows, batch_size: int, *, seed: int, pool_rows: int = 65536, chunk_rows: int = 4096, first: int = 0
) -> Generator[Chunk, None, None]:
    """Yield minibatches without end, of the rows that have a label, or of all rows if there are no labels.

    An epoch takes chunks of up to `chunk_rows` in a random order, gathers `pool_rows` or more in a pool, and shuffles
    it; a rest that does not fill a batch is left out. The chunks of a block follow each other, so that it is read once
    an epoch. If rows are sorted, for example by class, a pool should have many blocks. A thread reads the next pool
    while one is in use, until the generator is closed or deleted; the memory is about that of three pools.

    The same seed and numbers of rows give the same batches. Those before the number `first` are read, because later
    ones depend on them, but not returned. Raises RowsError if rows cannot be read, or too few have a label.
    """
    pools = _pools(rows, batch_size, max(pool_rows, batch_size), chunk_rows, np.random.default_rng(seed))
    with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as reader:  # its end waits for the current read
        upcoming = reader.submit(next, pools)
        while True:
            pool, batches = upcoming.result()
            upcoming = reader.submit(next, pools)
            for index in batches[first:]:
                yield pool.take(index)
            first = max(0, first - len(batches))


def _pools(rows: Rows, batch_size: int, pool_rows: int, chunk_rows: int, rng: np.random.Generator) -> Iterator[_Pool]:
    while True:
        waiting: list[Chunk] = []
        labelled = gathered = 0
        for start, stop in _shuffled_spans(rows, chunk_rows, rng):
            chunk = rows.read(start, stop)
            chunk = chunk.take(chunk.labelled)
            waiting.append(chunk)
            labelled += len(chunk.X)
            gathered += len(chunk.X)
            if gathered >= pool_rows:
                pool = join(waiting)
                order = rng.permutation(gathered)
                gathered %= batch_size
                whole = len(order) - gathered
                waiting = [pool.take(order[whole:])]
                yield pool, order[:whole].reshape(-1, batch_size)
        if labelled < batch_size:
            raise RowsError(
                f"batch_size={batch_size}, but only {labelled} of {rows.num_rows} rows have a label. Choose a smaller "
                "batch_size."
            )
        if gathered >= batch_size:
            order = rng.permutation(gathered)[: gathered - gathered % batch_size]
            yield join(waiting), order.reshape(-1, batch_size)


def _shuffled_spans(rows: Rows, chunk_rows: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Yield first row and end of each chunk, with blocks and the chunks of each block in random order."""
    edges = rows.block_edges
    for block in rng.permutation(len(edges) - 1):
        first, end = int(edges[block]), int(edges[block + 1])
        for chunk in rng.permutation(-(-(end - first) // chunk_rows)):
            start = first + int(chunk) * chunk_rows
            yield start, min(start + chunk_rows, end)
