"""Rows by the ending of a file, and columns by their names."""

import numpy as np
import pytest
from astropy.table import Table

from fermiclass.errors import RowsError
from fermiclass.io.tables import write_table
from fermiclass.rows import ArrayRows, Columns, FITSRows, ParquetRows, open_rows, open_training_rows
from tests.rows.conftest import FEATURES, NAMES, make_rows, write_fits, write_parquet


def test_endings(data, tmp_path):
    write_parquet(tmp_path / "rows.PARQUET", data.columns)
    write_fits(tmp_path / "rows.fits", data.columns)
    write_fits(tmp_path / "rows.fit", data.columns)
    np.save(tmp_path / "alone.npy", data.X)
    for name, kind in (("rows.PARQUET", ParquetRows), ("rows.fits", FITSRows), ("rows.fit", FITSRows)):
        assert isinstance(open_rows(tmp_path / name, FEATURES, **NAMES), kind)
    rows = open_rows(str(tmp_path / "alone.npy"))
    assert isinstance(rows, ArrayRows)
    assert rows.columns.features == ("x0", "x1", "x2")
    assert rows.read(0, 10).y is None


@pytest.mark.parametrize("left_out", ["X_var", "y"])
def test_a_folder_of_arrays(data, tmp_path, left_out):
    make_rows("npy", data, tmp_path)
    (tmp_path / f"{left_out}.npy").unlink()
    chunk = open_rows(tmp_path).read(0, 1000)
    assert (chunk.y is None) == (left_out == "y")
    assert chunk.X_var.any() == (left_out == "y")


def test_what_cannot_be_opened(data, tmp_path):
    write_parquet(tmp_path / "rows.parquet", data.columns)
    np.save(tmp_path / "X.npy", data.X)
    (tmp_path / "rows.csv").write_text("flux\n1\n")
    (tmp_path / "empty").mkdir()
    cases = [
        ("nothing.parquet", {}, "there is no file or folder"),
        ("rows.csv", {}, "does not have the ending of rows"),
        ("rows.parquet", {}, "features of .* are not given"),
        ("X.npy", {"label": "class"}, "has no named columns"),
        (".", {"uncertainties": ["a"]}, "has no named columns"),
        ("empty", {"features": FEATURES}, r"has no file that ends in \.parquet"),
    ]
    for name, options, message in cases:
        with pytest.raises(RowsError, match=message):
            open_rows(tmp_path / name, **options)


@pytest.mark.parametrize("ending", ["parquet", "fits"])
def test_columns_are_found_by_their_names(tmp_path, ending):
    path = tmp_path / f"rows.{ending}"
    write_table(Table({"x": [1.0], "Unc_x": [0.5], "z": [2.0], "CLASS": ["bll"], "kind": [0]}), path)
    assert open_training_rows(path).columns == Columns(("x",), ("Unc_x",), "CLASS")
    assert open_training_rows(path, ["z", "x"]).columns == Columns(("z", "x"), (None, "Unc_x"), "CLASS")
    given = open_training_rows(path, ["z"], uncertainties=["Unc_x"], label="kind")
    assert given.columns == Columns(("z",), ("Unc_x",), "kind")


def test_columns_that_cannot_be_found(tmp_path):
    write_table(Table({"x": [1.0], "z": [2.0]}), tmp_path / "bare.parquet")
    with pytest.raises(RowsError, match=r"no pair of columns such as LP_Index.*--features"):
        open_training_rows(tmp_path / "bare.parquet")
    with pytest.raises(RowsError, match=r"no column 'CLASS'.*--label"):
        open_training_rows(tmp_path / "bare.parquet", ["x"])


def test_arrays_to_learn_from(data, tmp_path):
    make_rows("npy", data, tmp_path)
    assert open_training_rows(tmp_path).columns == Columns(("x0", "x1", "x2"), ("Unc_x0", "Unc_x1", "Unc_x2"), "CLASS")
