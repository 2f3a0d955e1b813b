"""Minibatches of rows that do not fit into memory: shuffled in a pool, read ahead in the background."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import RowsError
from fermiclass.rows.chunk import Blocked, Chunk, Rows, join

#: A pool of shuffled rows, and the indices of each of its batches, ``(batches, batch_size)``.
_Pool = tuple[Chunk, NDArray[np.int64]]


def shuffled_minibatches(
    rows: Rows, batch_size: int, *, seed: int, pool_rows: int = 65536, chunk_rows: int = 4096, first: int = 0
) -> Generator[Chunk, None, None]:
    """Return endless minibatches of rows that have a label; of all rows, if there are no labels.

    An epoch takes the chunks in a random order, gathers several in a pool, and shuffles that. A row is in one batch of
    an epoch at most; fewer rows than make a batch are left out at the end of an epoch. Chunks of one block, such as a
    row group of a Parquet file, follow each other, so that a block is read once an epoch. Rows that are stored near
    each other come near each other: if they are sorted, such as by class, a pool should be many blocks.

    Memory is that of about three pools. A thread reads the next pool while one is in use, until the generator is closed
    or forgotten; what goes wrong in it is raised here.

    Parameters
    ----------
    rows
        N rows.
    batch_size
        Rows of each batch.
    seed
        The same seed and numbers of rows give the same batches.
    pool_rows
        Rows that are shuffled with each other, at least.
    chunk_rows
        Rows that are read at a time, at most.
    first
        The batch to begin with: those before it are read, as their rows decide what follows, and left out.

    Raises
    ------
    RowsError
        If a batch has more rows than there are; when read, if rows cannot be.
    """
    if min(batch_size, pool_rows, chunk_rows) < 1:
        raise RowsError("batches, pools and chunks need at least one row each")
    if batch_size > rows.num_rows:
        raise RowsError(f"a batch of {batch_size} rows was asked of {rows.num_rows} rows. Choose a smaller batch_size.")
    return _batches(_pools(rows, batch_size, pool_rows, chunk_rows, np.random.default_rng(seed)), first)


def _batches(pools: Iterator[_Pool], first: int) -> Generator[Chunk, None, None]:
    with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as reader:  # leaving it waits for the read under way
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
                f"a batch of {batch_size} rows was asked of {rows.num_rows} rows, of which {labelled} have a label. "
                "Choose a smaller batch_size."
            )
        if gathered >= batch_size:
            order = rng.permutation(gathered)[: gathered - gathered % batch_size]
            yield join(waiting), order.reshape(-1, batch_size)


def _shuffled_spans(rows: Rows, chunk_rows: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """First row and end of each chunk: blocks in a random order, and the chunks of each in a random order."""
    edges = rows.block_edges if isinstance(rows, Blocked) else np.array([0, rows.num_rows])
    for block in rng.permutation(len(edges) - 1):
        first, end = int(edges[block]), int(edges[block + 1])
        for chunk in rng.permutation(-(-(end - first) // chunk_rows)):
            start = first + int(chunk) * chunk_rows
            yield start, min(start + chunk_rows, end)
