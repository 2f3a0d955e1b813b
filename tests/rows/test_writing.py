"""Parquet files that grow: the same as if written at once, or not there at all."""

from itertools import pairwise

import numpy as np
import pytest
from astropy.table import Column, Table

from fermiclass.errors import OutputError
from fermiclass.io.tables import read_table, write_table
from fermiclass.rows import parquet_writer


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    made = Table()
    made["Source_Name"] = Column([f"4FGL J{i:04d}" for i in range(1000)], description="Name", meta={"ucd": "meta.id"})
    made["P_psr"] = Column(rng.random(1000), unit="ph cm-2 s-1", description="Probability", meta={"ucd": "stat"})
    made["small"] = Column(rng.random(1000).astype("f4"), unit="deg")
    made["FLAGS"] = Column(rng.integers(0, 9, 1000).astype("i2"), description="Bits")
    made["count"] = rng.integers(0, 2**60, 1000)
    made["good"] = rng.random(1000) < 0.5
    made["CLASS"] = rng.choice(["bll", "", "fsrq"], 1000)
    return made


def test_grown_is_the_same_as_written_at_once(table, tmp_path):
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
    assert grown["P_psr"].unit == "ph cm-2 s-1"
    assert grown["Source_Name"].meta == {"ucd": "meta.id"}


@pytest.mark.parametrize("block", [{"n": [1.5]}, {"n": [np.nan]}, {"n": [70000]}, {"n": ["a"]}])
def test_rows_that_do_not_fit(tmp_path, block):
    with (
        pytest.raises(OutputError, match="do not fit"),
        parquet_writer(tmp_path / "t.parquet", Table({"n": np.empty(0, "i2")})) as write,
    ):
        write(Table(block))
    assert list(tmp_path.iterdir()) == []
