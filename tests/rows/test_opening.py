"""Rows by the ending of a file."""

import gzip
import subprocess
import sys

import numpy as np
import pytest

from fermiclass.errors import RowsError
from fermiclass.rows import ArrayRows, FITSRows, ParquetRows, open_rows
from tests.rows.conftest import FEATURES, NAMES, make_rows, write_fits, write_parquet


def test_endings(data, tmp_path):
    write_parquet(tmp_path / "rows.PARQUET", data.columns)
    write_fits(tmp_path / "rows.fits", data.columns)
    write_fits(tmp_path / "rows.fit", data.columns)
    np.save(tmp_path / "alone.npy", data.X)
    for name, kind in (("rows.PARQUET", ParquetRows), ("rows.fits", FITSRows), ("rows.fit", FITSRows)):
        rows = open_rows(tmp_path / name, FEATURES, **NAMES, dtype="f8")
        assert isinstance(rows, kind)
        np.testing.assert_array_equal(rows.read(0, 1000).X_var, data.X_var)
    rows = open_rows(str(tmp_path / "alone.npy"))
    assert isinstance(rows, ArrayRows)
    assert rows.feature_names == ("x0", "x1", "x2")
    assert rows.read(0, 10).y is None


@pytest.mark.parametrize("left_out", ["X_var", "y"])
def test_a_folder_of_arrays(data, tmp_path, left_out):
    make_rows("npy", data, tmp_path)
    (tmp_path / f"{left_out}.npy").unlink()
    chunk = open_rows(tmp_path).read(0, 1000)
    assert (chunk.y is None) == (left_out == "y")
    assert chunk.X_var.any() == (left_out == "y")


def test_a_folder_of_tables(data, tmp_path):
    make_rows("parquet-folder", data, tmp_path)
    assert isinstance(open_rows(tmp_path, FEATURES), ParquetRows)


def test_what_cannot_be_opened(data, tmp_path):
    write_parquet(tmp_path / "rows.parquet", data.columns)
    np.save(tmp_path / "X.npy", data.X)
    (tmp_path / "rows.csv").write_text("flux\n1\n")
    (tmp_path / "rows.fits.gz").write_bytes(gzip.compress(write_fits(tmp_path / "t.fits", data.columns).read_bytes()))
    (tmp_path / "empty").mkdir()
    cases = [
        ("nothing.parquet", {}, r"there is no file or folder '.*nothing\.parquet'"),
        ("rows.csv", {}, r"rows\.csv' does not have the ending of rows; expected a Parquet file or a folder"),
        ("rows.parquet", {}, r"features of '.*rows\.parquet' are not given\. Name"),
        ("rows.fits.gz", {"features": FEATURES}, r"rows\.fits\.gz' is compressed.* Decompress it first"),
        ("X.npy", {"label": "class"}, r"X\.npy' has no named columns: put the variances and labels into X_var\.npy"),
        (".", {"uncertainties": ["a"]}, r"has no named columns"),
        ("empty", {"features": FEATURES}, r"has no file that ends in \.parquet"),
    ]
    for name, options, message in cases:
        with pytest.raises(RowsError, match=message):
            open_rows(tmp_path / name, **options)


def test_import_is_light():
    heavy = ("astropy", "pyarrow", "pandas", "tensorflow")
    code = f"import sys, fermiclass.rows; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
