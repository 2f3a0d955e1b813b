"""One pass over the rows: moments, classes, samples."""

import numpy as np
import pytest

from fermiclass.errors import RowsError
from fermiclass.rows import passes
from fermiclass.rows.opening import ArrayRows
from fermiclass.rows.passes import row_statistics


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Many chunks of the few rows here."""
    monkeypatch.setattr(passes, "CHUNK_ROWS", 77)


def sample(rows, num, seed):
    return row_statistics(rows, [(num, seed)]).samples[0]


def test_statistics_are_those_of_the_labelled_rows(any_rows, data):
    found = row_statistics(any_rows)
    labelled = data.y != ""
    assert found.num_labelled == labelled.sum()
    np.testing.assert_allclose(found.mean, data.X[labelled].mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.std, data.X[labelled].std(axis=0), rtol=1e-13)
    assert found.labels.tolist() == ["bll", "fsrq", "psr"]


def test_a_large_offset():
    X = 1e9 + np.random.default_rng(0).standard_normal((5000, 2)) * [1.0, 1e-3]
    found = row_statistics(ArrayRows(X))
    near = X - 1e9  # exact, and so are its moments; NumPy's own moments of X are rounded more
    np.testing.assert_allclose(found.mean - 1e9, near.mean(axis=0), atol=2e-7)
    np.testing.assert_allclose(found.std, near.std(axis=0), rtol=1e-13)


def test_labels_that_are_no_text():
    found = row_statistics(ArrayRows(np.zeros((200, 1)), np.arange(200) % 3))
    assert found.labels.tolist() == [0, 1, 2]
    assert found.labels.dtype.kind == "i"
    assert found.std.tolist() == [0.0]
    found = row_statistics(ArrayRows(np.arange(100)[:, None]))
    assert (found.num_labelled, found.labels) == (100, None)


@pytest.mark.parametrize("rows", [ArrayRows(np.zeros((2, 1)), ["", ""]), ArrayRows(np.zeros((0, 1)))])
def test_nothing_to_learn_from(rows):
    with pytest.raises(RowsError, match=r"none of (0|2) rows has a label"):
        row_statistics(rows)


def test_sample(any_rows, data):
    found = sample(any_rows, 100, 3)
    numbers = found.X[:, 0].astype(int)
    assert sorted(set(numbers)) == numbers.tolist()
    assert len(numbers) == 100
    np.testing.assert_array_equal(found.X, data.X[numbers])
    np.testing.assert_array_equal(found.X_var, data.X_var[numbers])
    assert found.y.tolist() == data.y[numbers].tolist()
    assert "" not in found.y
    # Of any format and chunks the same.
    in_memory = ArrayRows(data.X, data.y)
    assert sample(in_memory, 100, 3).X[:, 0].tolist() == numbers.tolist()
    assert sample(in_memory, 100, 4).X[:, 0].tolist() != numbers.tolist()


def test_a_sample_is_uniform():
    rows = ArrayRows(np.arange(160)[:, None])
    assert len(sample(rows, 1000, 0).X) == 160
    counts = np.zeros(160)
    for drawn in row_statistics(rows, [(20, seed) for seed in range(2000)]).samples:
        counts[drawn.X[:, 0].astype(int)] += 1
    expected, deviation = 250, np.sqrt(250 * (1 - 20 / 160))
    assert np.abs(counts - expected).max() < 5 * deviation
    assert counts.std() == pytest.approx(deviation, rel=0.25)


@pytest.mark.parametrize("part", ["X", "X_var", "y", "order", "blocks", None])
def test_the_digest_tells_what_is_learned_from(data, part):
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
    first = row_statistics(ArrayRows(data.X, data.y, X_var=data.X_var)).digest
    rows = ArrayRows(X, y.astype("<U9"), X_var=X_var)
    if part == "blocks":
        rows.block_edges = np.array([0, 500, 1000])
    assert (row_statistics(rows).digest == first) == (part is None)
