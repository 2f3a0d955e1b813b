"""The first cases of the fuzzers in `fuzz/`, and what they found."""

import sys

import numpy as np
import pytest
import tensorflow as tf
from astropy.table import MaskedColumn, Table

from fermiclass.rows import FITSRows, ParquetRows
from tests.conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "fuzz"))
import frames
import same_table

sys.path.remove(str(REPOSITORY / "fuzz"))


@pytest.mark.parametrize("seed", range(40))
def test_one_table_in_many_ways(seed, tmp_path):
    same_table.check(seed, tmp_path)


@pytest.mark.parametrize("seed", range(24))
def test_frames_are_arrays_or_refused(seed, eagerly):
    assert tf.executing_eagerly()
    frames.check(seed)


@pytest.mark.parametrize(
    ("form", "scale", "zero"), [("K", 1, 5), ("K", 0.5, -3.25), ("I", 0.5, 2**15), ("J", 1, 2**31), ("B", 1, -128)]
)
def test_scaled_whole_numbers_of_rows(form, scale, zero, tmp_path):
    stored = np.arange(same_table.ROWS).astype(same_table.FORMS[form])
    column = same_table.Written("flux", form, stored, {"TSCAL": scale, "TZERO": zero})
    (tmp_path / "rows.fits").write_bytes(same_table.to_bytes([column]))
    chunk = FITSRows(tmp_path / "rows.fits", ["flux"]).read(3, 9)
    np.testing.assert_array_equal(chunk.X[:, 0], np.arange(3.0, 9.0) * scale + zero)


def test_masks_that_astropy_writes_into_parquet(tmp_path):
    """What is behind a mask is in the file, too, and is no label."""
    table = Table({"flux": np.arange(4.0), "CLASS": MaskedColumn(["psr", "bll", "psr", "bll"], mask=[0, 1, 0, 0])})
    table.write(tmp_path / "rows.parquet", format="parquet")
    chunk = ParquetRows(tmp_path / "rows.parquet", ["flux"], label="CLASS").read(0, 4)
    assert chunk.y.tolist() == ["psr", "", "psr", "bll"]
    table["flux"] = MaskedColumn(table["flux"], mask=[0, 0, 1, 0])
    table.write(tmp_path / "rows.parquet", format="parquet", overwrite=True)
    with pytest.raises(ValueError, match=r"nan in row 2 .* column 'flux'"):
        ParquetRows(tmp_path / "rows.parquet", ["flux"]).read(0, 4)
