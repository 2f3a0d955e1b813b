"""One pass over the rows: moments, classes, samples."""

import tracemalloc

import numpy as np
import pytest

from fermiclass.errors import RowsError
from fermiclass.rows import ArrayRows, chunk, sample, summarise
from tests.rows.conftest import Data


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Many chunks of the few rows here."""
    monkeypatch.setattr(chunk.read_in_order, "__defaults__", (77,))


def test_summary_is_that_of_the_labelled_rows(any_rows, data):
    found = summarise(any_rows)
    labelled = data.y != ""
    assert (found.num_rows, found.num_labelled) == (1000, labelled.sum())
    np.testing.assert_allclose(found.mean, data.X[labelled].mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.std, data.X[labelled].std(axis=0), rtol=1e-13)
    classes, counts = np.unique(data.y[labelled], return_counts=True)
    assert found.classes.tolist() == classes.tolist() == ["bll", "fsrq", "psr"]
    assert found.counts.tolist() == counts.tolist()


def test_a_large_offset():
    X = 1e9 + np.random.default_rng(0).standard_normal((5000, 2)) * [1.0, 1e-3]
    found = summarise(ArrayRows(X, dtype=np.float64))
    near = X - 1e9  # exact, and so are its moments; NumPy's own moments of X are rounded more
    np.testing.assert_allclose(found.mean - 1e9, near.mean(axis=0), atol=2e-7)
    np.testing.assert_allclose(found.std, near.std(axis=0), rtol=1e-13)


def test_chunks_that_differ():
    X = np.repeat([1.0, 1e6, -3.0], [77, 500, 1])[:, None]
    found = summarise(ArrayRows(X))
    np.testing.assert_allclose([found.mean, found.std], [X.mean(axis=0), X.std(axis=0)], rtol=1e-13)


def test_whole_numbers_as_labels():
    found = summarise(ArrayRows(np.zeros((200, 1)), np.arange(200) % 3))
    assert found.classes.tolist() == [0, 1, 2]
    assert found.classes.dtype.kind == "i"
    assert found.counts.tolist() == [67, 67, 66]
    assert found.std.tolist() == [0.0]


def test_no_labels():
    found = summarise(ArrayRows(np.arange(100)[:, None]))
    assert found.num_labelled == 100
    assert found.classes is found.counts is None
    assert found.mean == 49.5


@pytest.mark.parametrize("rows", [ArrayRows(np.zeros((2, 1)), ["", ""]), ArrayRows(np.zeros((0, 1)))])
def test_nothing_to_learn_from(rows):
    with pytest.raises(RowsError, match=r"none of (0|2) rows has a label"):
        summarise(rows)


def test_sample(any_rows, data):
    found = sample(any_rows, 100, seed=3)
    numbers = found.X[:, 0].astype(int)
    assert len(set(numbers)) == 100
    assert sorted(numbers) == numbers.tolist()
    np.testing.assert_array_equal(found.X, data.X[numbers])
    np.testing.assert_array_equal(found.X_var, data.X_var[numbers])
    assert found.y.tolist() == data.y[numbers].tolist()
    assert "" not in found.y
    # Of any format and chunks the same.
    in_memory = ArrayRows(data.X, data.y)
    assert sample(in_memory, 100, seed=3).X[:, 0].tolist() == numbers.tolist()
    assert sample(in_memory, 100, seed=4).X[:, 0].tolist() != numbers.tolist()


def test_a_sample_of_more_than_there_are():
    rows = ArrayRows(np.arange(200)[:, None])
    for num in (200, 1000):
        assert sample(rows, num, seed=0).X[:, 0].tolist() == list(range(200))
    assert sample(ArrayRows(np.zeros((3, 1)), ["", "", ""]), 2, seed=0).X.shape == (0, 1)
    with pytest.raises(RowsError, match=r"num=0.*expected at least 1"):
        sample(rows, 0, seed=0)


def test_a_sample_is_uniform():
    rows = ArrayRows(np.arange(160)[:, None])
    counts = np.zeros(160)
    for seed in range(2000):
        counts[sample(rows, 20, seed=seed).X[:, 0].astype(int)] += 1
    expected, deviation = 250, np.sqrt(250 * (1 - 20 / 160))
    assert np.abs(counts - expected).max() < 5 * deviation
    assert counts.std() == pytest.approx(deviation, rel=0.25)


def test_memory_is_flat(tmp_path, monkeypatch):
    monkeypatch.setattr(chunk.read_in_order, "__defaults__", (4096,))
    peaks = []
    for N in (20_000, 160_000):
        np.save(tmp_path / f"{N}.npy", Data(N).X)
        rows = ArrayRows(tmp_path / f"{N}.npy")
        tracemalloc.start()
        summarise(rows)
        sample(rows, 500, seed=0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


@pytest.mark.parametrize("part", ["X", "X_var", "y", "order", "blocks", None])
def test_contents_tell_what_is_learned_from(data, part):
    """One bit of a number, one label, two rows swapped, other blocks; not what stands in a row without a label."""
    X, X_var, y = data.X.copy(), data.X_var.copy(), data.y.copy()
    labelled, unlabelled = np.flatnonzero(y != "")[-2:], np.flatnonzero(y == "")[0]
    last = labelled[-1]
    if part in ("X", "X_var"):
        number = {"X": X, "X_var": X_var}[part]
        number[last, 2] = np.nextafter(number[last, 2], np.inf)
    elif part == "y":
        y[last] = "psr" if y[last] == "bll" else "bll"
    elif part == "order":
        X[labelled], X_var[labelled], y[labelled] = X[labelled[::-1]], X_var[labelled[::-1]], y[labelled[::-1]]
    elif part is None:
        X[unlabelled] = 0.5
    first = summarise(ArrayRows(data.X, data.y, X_var=data.X_var, dtype=float)).contents
    rows = ArrayRows(X, y.astype("<U9"), X_var=X_var, dtype=float)
    if part == "blocks":
        rows.block_edges = np.array([0, 500, 1000])
    assert (summarise(rows).contents == first) == (part is None)
