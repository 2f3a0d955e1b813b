"""Rows of arrays and .npy files."""

import numpy as np
import pandas as pd
import pytest

from fermiclass.errors import RowsError
from fermiclass.rows.opening import ArrayRows


def test_defaults():
    rows = ArrayRows(np.arange(6).reshape(3, 2))
    chunk = rows.read(1, 3)
    assert rows.columns.features == ("x0", "x1")
    assert chunk.X.tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert not chunk.X_var.any()
    assert chunk.y is None
    assert chunk.labelled.tolist() == [True, True]


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([3, 0, 3], [3, 0, 3]),
        ([True, False, True], [True, False, True]),
        (np.array([b"bll ", b"", b"psr"]), ["bll", "", "psr"]),
        (np.array(["bll", "", "psr  "], dtype=object), ["bll", "", "psr"]),
        (np.array([2, 1, 2], ">i2"), [2, 1, 2]),
    ],
)
def test_labels(y, expected):
    chunk = ArrayRows(np.zeros((3, 1)), y).read(0, 3)
    assert chunk.y.tolist() == expected
    assert chunk.y.dtype.isnative
    assert chunk.labelled.tolist() == [label != "" for label in expected]


def test_frames_go_by_names():
    X = pd.DataFrame({"a": [1.0], "b": [2.0]})
    assert ArrayRows(X, X_var=X[["b", "a"]]).read(0, 1).X_var.tolist() == [[1.0, 2.0]]


def test_files_stay_on_disk(tmp_path):
    np.save(tmp_path / "X.npy", np.asfortranarray(np.arange(20.0).reshape(10, 2)))
    rows = ArrayRows(str(tmp_path / "X.npy"), X_var=tmp_path / "X.npy")
    assert isinstance(rows._X, np.memmap)
    chunk = rows.read(4, 6)
    assert chunk.X_var.tolist() == [[8.0, 9.0], [10.0, 11.0]]
    assert chunk.X.flags.c_contiguous  # sums over rows do not depend on the order in the file
    assert chunk.X_var.flags.c_contiguous


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.zeros(3)}, r"X has the shape \(3,\); expected \(N, D\)"),
        ({"X": np.full((3, 1), "a")}, "X holds <U1; expected numbers"),
        ({"X": np.zeros((3, 2)), "X_var": np.zeros((3, 1))}, r"X_var has the shape \(3, 1\); expected \(3, 2\)"),
        ({"X": np.zeros((3, 2)), "y": ["a"]}, r"y has the shape \(1,\); expected \(3,\)"),
        ({"X": np.zeros((3, 2)), "y": [0.5, 1.0, 2.0]}, "'y' holds float64; expected text"),
        ({"X": np.ma.masked_equal(np.zeros((3, 2)), 0.0)}, r"X has 6 masked value\(s\)"),
        ({"X": np.zeros((1, 2)), "y": np.ma.array(["a"], mask=True)}, r"y has 1 masked value\(s\)"),
        ({"X": pd.DataFrame({"a": [1.0]}), "X_var": pd.DataFrame({"b": [1.0]})}, "X_var has the columns b, X has a"),
        ({"X": pd.DataFrame({"a": [1.0]}), "y": pd.Series(["bll"], [3])}, "the rows of y have other names"),
    ],
)
def test_what_does_not_fit(arguments, message):
    with pytest.raises(RowsError, match=message):
        ArrayRows(**arguments)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(RowsError, match=r"there is no file '.*X\.npy'"):
        ArrayRows(tmp_path / "X.npy")
    np.save(tmp_path / "X.npy", np.array([[None]]), allow_pickle=True)
    with pytest.raises(RowsError, match=r"X\.npy' cannot be read as a \.npy file"):
        ArrayRows(tmp_path / "X.npy")
