"""Minibatches: every labelled row once an epoch, the same for the same seed, in memory that stays flat."""

import gc
import threading
import tracemalloc
from itertools import islice

import numpy as np
import pytest

from fermiclass.errors import RowsError
from fermiclass.rows.opening import ArrayRows
from fermiclass.rows.passes import shuffled_minibatches
from tests.rows.conftest import FORMATS, Data, make_rows


def numbered(N, **options):
    """Rows whose only feature is their number."""
    return ArrayRows(np.arange(N)[:, None], **options)


def taken(rows, batch_size, count, **options):
    """The numbers of the rows in each of the first batches, (count, batch_size)."""
    batches = shuffled_minibatches(rows, batch_size, **({"seed": 0} | options))
    numbers = np.array([batch.X[:, 0] for batch in islice(batches, count)], int)
    batches.close()
    return numbers


def readers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("read-ahead")]


@pytest.mark.parametrize("pool_rows", [1, 300, 65536])
@pytest.mark.parametrize("chunk_rows", [1, 50, 4096])
@pytest.mark.parametrize("batch_size", [1, 30, 499, 500])
def test_an_epoch_has_every_row_once(batch_size, pool_rows, chunk_rows):
    count = 500 // batch_size
    numbers = taken(numbered(500), batch_size, 3 * count, pool_rows=pool_rows, chunk_rows=chunk_rows)
    for epoch in numbers.reshape(3, -1):
        assert len(set(epoch)) == len(epoch) == count * batch_size
    assert not np.array_equal(numbers[:count], numbers[count : 2 * count])


@pytest.mark.parametrize("form", FORMATS)
def test_rows_without_a_label_are_skipped(form, data, tmp_path):
    rows = make_rows(form, data, tmp_path)
    labelled = np.flatnonzero(data.y)
    whole = len(labelled) // 40
    batches = shuffled_minibatches(rows, 40, seed=1, pool_rows=200, chunk_rows=50)
    epoch = list(islice(batches, whole))
    batches.close()
    numbers = np.concatenate([batch.X[:, 0] for batch in epoch]).astype(int)
    assert len(set(numbers)) == whole * 40
    assert set(numbers) <= set(labelled)
    for name, column in (("X", data.X), ("X_var", data.X_var), ("y", data.y)):
        np.testing.assert_array_equal(np.concatenate([getattr(batch, name) for batch in epoch]), column[numbers])


def test_rows_from_far_apart_are_in_one_batch():
    numbers = taken(numbered(10000), 100, 100, pool_rows=1000, chunk_rows=50)
    # Sorted rows: a batch of neighbours would have a spread of 29, one of all rows 2887.
    assert numbers.std(axis=1).min() > 1500
    assert abs(np.diff(numbers.ravel())).mean() > 1500


def test_batches_too_large():
    rows = numbered(10, y=["a", "", "b", "", "", "", "", "", "", ""])
    with pytest.raises(RowsError, match=r"batch_size=3, but only 2 of 10 rows have a label"):
        next(shuffled_minibatches(rows, 3, seed=0))
    assert not readers()


def test_what_goes_wrong_in_the_background_is_raised():
    X = np.arange(100.0)[:, None]
    X[42] = np.nan
    batches = shuffled_minibatches(ArrayRows(X), 5, seed=0, pool_rows=10, chunk_rows=5)
    with pytest.raises(RowsError, match=r"nan in row 42"):
        list(islice(batches, 21))
    assert not readers()


def test_the_thread_ends_with_the_iterator():
    batches = shuffled_minibatches(numbered(1000), 10, seed=0, pool_rows=100, chunk_rows=10)
    next(batches)
    assert len(readers()) == 1
    del batches
    gc.collect()
    assert not readers()


def test_memory_is_flat(tmp_path):
    peaks = []
    for N in (20_000, 160_000):
        np.save(tmp_path / f"{N}.npy", Data(N).X_var)
        rows = ArrayRows(tmp_path / f"{N}.npy", X_var=tmp_path / f"{N}.npy")
        tracemalloc.start()
        batches = shuffled_minibatches(rows, 100, seed=0, pool_rows=4000, chunk_rows=500)
        for _ in range(2 * N // 100):
            next(batches)
        batches.close()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] > 4000 * 6 * 4  # what a pool takes is seen
    assert peaks[1] < 1.1 * peaks[0]
