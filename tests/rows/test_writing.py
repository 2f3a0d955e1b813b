"""Parquet files that grow: the same as if written at once, or not there at all."""

from itertools import pairwise

import numpy as np
import pytest
from astropy.table import Column, Table

from fermiclass.errors import OutputError
from fermiclass.io.tables import read_table, write_table
from fermiclass.rows import parquet_writer


def test_grown_is_the_same_as_written_at_once(data, tmp_path):
    table = Table(data.columns)
    table["P_psr"] = Column(data.X[:, 1], unit="ph cm-2 s-1", description="Probability", meta={"ucd": "stat"})
    table["small"] = Column(data.X[:, 2].astype("f4"), unit="deg")
    table["FLAGS"] = Column((data.X[:, 0] % 9).astype("i2"), description="Bits")
    table["count"], table["good"] = np.arange(1000) * 2**50, data.y == "psr"
    with parquet_writer(tmp_path / "grown.parquet", table[:0]) as write:
        for first, end in pairwise((0, 1, 400, 400, 1000)):
            write(table[first:end])
            assert not (tmp_path / "grown.parquet").exists()
    write_table(table, tmp_path / "whole.parquet")
    grown, whole = read_table(tmp_path / "grown.parquet"), read_table(tmp_path / "whole.parquet")
    assert len(list(tmp_path.iterdir())) == 2
    assert grown.colnames == table.colnames
    for name in table.colnames:
        np.testing.assert_array_equal(np.asarray(grown[name]), np.asarray(table[name]), err_msg=name)
        for about in ("dtype", "unit", "description", "meta"):
            assert getattr(grown[name], about) == getattr(whole[name], about), (name, about)
    assert (grown["P_psr"].unit, grown["P_psr"].meta) == ("ph cm-2 s-1", {"ucd": "stat"})


@pytest.mark.parametrize("block", [{"n": [1.5]}, {"n": [np.nan]}, {"n": [70000]}, {"n": ["a"]}])
def test_rows_that_do_not_fit(tmp_path, block):
    with (
        pytest.raises(OutputError, match="do not fit"),
        parquet_writer(tmp_path / "t.parquet", Table({"n": np.empty(0, "i2")})) as write,
    ):
        write(Table(block))
    assert list(tmp_path.iterdir()) == []
