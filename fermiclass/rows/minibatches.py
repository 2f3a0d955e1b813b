"""Minibatches of rows that do not fit into memory, shuffled in a pool and read ahead in the background."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import RowsError
from fermiclass.rows.chunk import Chunk, Rows, join

#: A pool of rows, and the indices of each of its batches, ``(batches, batch_size)``.
_Pool = tuple[Chunk, NDArray[np.int64]]


def shuffled_minibatches(
    rows: Rows, batch_size: int, *, seed: int, pool_rows: int = 65536, chunk_rows: int = 4096, first: int = 0
) -> Generator[Chunk, None, None]:
    """Return endless minibatches of the rows that have a label, or of all rows if there are no labels.

    An epoch takes the chunks in a random order, gathers several in a pool, and shuffles the pool. A row is in at most
    one batch of an epoch; rows that do not fill a batch at the end of an epoch are left out. The chunks of a block,
    such as a row group of a Parquet file, follow each other, so a block is read once an epoch. Rows that are stored
    near each other stay near each other: if the rows are sorted, for example by class, a pool should have many blocks.

    The memory is about that of three pools. A thread reads the next pool while one is in use, until the generator is
    closed or deleted. Errors in the thread are raised here.

    Parameters
    ----------
    rows
        The N rows.
    batch_size
        Number of rows in a batch.
    seed
        Seed. The same seed and numbers of rows give the same batches.
    pool_rows
        Least number of rows that are shuffled with each other.
    chunk_rows
        Largest number of rows that are read at a time.
    first
        Number of the first batch to return. Earlier batches are read, because the later ones depend on them.

    Raises
    ------
    RowsError
        If a batch has more rows than there are; while reading, if rows cannot be read.
    """
    if min(batch_size, pool_rows, chunk_rows) < 1:
        raise RowsError("a batch, pool or chunk has no rows; expected at least one row in each")
    if batch_size > rows.num_rows:
        raise RowsError(
            f"batch_size={batch_size}, but there are only {rows.num_rows} rows. Choose a smaller batch_size."
        )
    return _batches(_pools(rows, batch_size, pool_rows, chunk_rows, np.random.default_rng(seed)), first)


def _batches(pools: Iterator[_Pool], first: int) -> Generator[Chunk, None, None]:
    with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as reader:  # its end waits for the current read
        upcoming = reader.submit(next, pools)
        while True:
            pool, batches = upcoming.result()
            upcoming = reader.submit(next, pools)
            for index in batches[first:]:
                yield pool.take(index)
            first = max(0, first - len(batches))


def _pools(
    rows: Rows, batch_size: int, pool_rows: int, chunk_rows: int, rng: np.random.Generator
) -> Generator[_Pool, None, None]:
    while True:
        waiting: list[Chunk] = []
        labelled = gathered = 0
        for start, stop in _shuffled_spans(rows, chunk_rows, rng):
            chunk = rows.read(start, stop)
            chunk = chunk.take(chunk.labelled)
            waiting.append(chunk)
            labelled += len(chunk.X)
            gathered += len(chunk.X)
            if gathered >= max(pool_rows, batch_size):
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
