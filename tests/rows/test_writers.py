"""Tables that grow: the same as if written at once, or not there at all."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest
from astropy.io import fits
from astropy.table import Column, Table

from fermiclass.errors import OutputError
from fermiclass.io.tables import read_table, write_table
from fermiclass.rows import FITSRowWriter, ParquetRowWriter, open_rows, open_writer

ENDINGS = (".parquet", ".fits")


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    made = Table(meta={"catalog": "4FGL-DR4.fits.gz", "features": ["a", "b"], "a_longer_key": 3})
    made["Source_Name"] = Column([f"4FGL J{i:04d}" for i in range(1000)], description="Name", meta={"ucd": "meta.id"})
    made["P_psr"] = Column(rng.random(1000), unit="ph cm-2 s-1", description="Probability", meta={"ucd": "stat"})
    made["small"] = Column(rng.random(1000).astype("f4"), unit="deg")
    made["FLAGS"] = Column(rng.integers(0, 9, 1000).astype("i2"), description="Bits")
    made["count"] = rng.integers(0, 2**60, 1000)
    made["bits"] = rng.integers(0, 2**16, 1000).astype("u2")
    made["good"] = rng.random(1000) < 0.5
    made["CLASS"] = rng.choice(["bll", "", "fsrq"], 1000)
    return made


def blocks(table, edges=(0, 1, 400, 400, 1000)):
    return [table[first:end] for first, end in pairwise(edges)]


def content(path):
    return sorted(entry.name for entry in path.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("as_table", [True, False])
def test_grown_is_the_same_as_written_at_once(table, tmp_path, ending, as_table):
    with open_writer(tmp_path / f"grown{ending}", table, num_rows=1000) as writer:
        for block in blocks(table):
            assert not (tmp_path / f"grown{ending}").exists()
            writer.write(block if as_table else {name: np.asarray(block[name]) for name in reversed(table.colnames)})
    write_table(table, tmp_path / f"whole{ending}")
    assert content(tmp_path) == [f"grown{ending}", f"whole{ending}"]
    if ending == ".fits":  # but for the checksums, which need the whole
        with fits.open(tmp_path / "grown.fits") as grown, fits.open(tmp_path / "whole.fits", checksum=True) as whole:
            del whole[1].header["CHECKSUM"], whole[1].header["DATASUM"]
            assert grown[1].header.tostring() == whole[1].header.tostring()
            assert grown[1].data.tobytes() == whole[1].data.tobytes()
    grown, whole = read_table(tmp_path / f"grown{ending}"), read_table(tmp_path / f"whole{ending}")
    assert grown.colnames == table.colnames
    assert dict(grown.meta) == dict(whole.meta)
    for name in table.colnames:
        np.testing.assert_array_equal(np.asarray(grown[name]), np.asarray(table[name]), err_msg=name)
        assert grown[name].dtype == whole[name].dtype
        for about in ("unit", "description", "meta"):
            assert getattr(grown[name], about) == getattr(whole[name], about), (name, about)
    assert grown["P_psr"].unit == "ph cm-2 s-1"
    assert grown["Source_Name"].meta == {"ucd": "meta.id"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_template_needs_no_rows_and_types_are_the_templates(tmp_path, ending):
    template = Table({"name": np.empty(0, "U7"), "p": np.empty(0, "f4"), "n": np.empty(0, "i2")})
    with open_writer(tmp_path / f"t{ending}", template, num_rows=2) as writer:
        writer.write({"name": ["a"], "p": [0.5], "n": [3]})
        writer.write({"name": np.array([b"longer"]), "p": np.array([1], ">f8"), "n": np.array([4])})
    back = read_table(tmp_path / f"t{ending}")
    assert back["name"].tolist() == ["a", "longer"]
    assert (back["p"].tolist(), back["n"].tolist()) == ([0.5, 1.0], [3, 4])
    assert (back["p"].dtype, back["n"].dtype) == (np.float32, np.int16)


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_rows(table, tmp_path, ending):
    with open_writer(tmp_path / f"t{ending}", table, num_rows=0) as writer:
        writer.write(table[:0])
    back = read_table(tmp_path / f"t{ending}")
    assert back.colnames == table.colnames
    assert len(back) == 0


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_can_be_read_as_rows(table, tmp_path, ending):
    with open_writer(tmp_path / f"t{ending}", table, num_rows=1000) as writer:
        for block in blocks(table):
            writer.write(block)
    rows = open_rows(tmp_path / f"t{ending}", ["P_psr", "FLAGS"], uncertainties=["small", None], label="CLASS")
    chunk = rows.read(300, 900)
    np.testing.assert_array_equal(chunk.X[:, 0], table["P_psr"][300:900])
    assert chunk.y.tolist() == table["CLASS"][300:900].tolist()


def test_what_is_masked_is_missing(tmp_path):
    template = Table({"x": np.empty(0), "name": np.empty(0, "U3")})
    with open_writer(tmp_path / "rows.parquet", template) as writer:
        writer.write({"x": np.ma.array([1.0, 99.0], mask=[0, 1]), "name": np.ma.array(["bll", "psr"], mask=[1, 0])})
    written = read_table(tmp_path / "rows.parquet")
    np.testing.assert_array_equal(written["x"], [1.0, np.nan])
    assert list(written["name"]) == ["", "psr"]


def test_row_groups_are_bounded(tmp_path):
    with ParquetRowWriter(tmp_path / "t.parquet", Table({"a": [0.0]})) as writer:
        writer.write({"a": np.zeros(100_000)})
    metadata = pq.ParquetFile(tmp_path / "t.parquet").metadata
    assert [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)] == [65536, 34464]


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_error_leaves_nothing_behind_and_keeps_the_old_file(table, tmp_path, ending):
    path = tmp_path / f"t{ending}"
    path.write_text("old")

    def interrupted():
        with open_writer(path, table, num_rows=1000) as writer:
            writer.write(table[:10])
            assert len(content(tmp_path)) == 2
            raise FileNotFoundError("of the caller")

    with pytest.raises(FileNotFoundError, match="of the caller"):
        interrupted()
    assert content(tmp_path) == [path.name]
    assert path.read_text() == "old"


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_file_that_cannot_be_put_in_its_place(table, tmp_path, monkeypatch, ending, failing):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync" if failing == "fsync" else "pathlib.Path.replace", fail)
    message = rf"cannot write '.*t\{ending}': No space left on device\. Free some space"
    with (
        pytest.raises(OutputError, match=message),
        open_writer(tmp_path / f"t{ending}", table, num_rows=1000) as writer,
    ):
        writer.write(table)
    assert content(tmp_path) == []


def test_fits_has_as_many_rows_as_were_announced(table, tmp_path):
    with (
        pytest.raises(OutputError, match=r"begun for 1000 rows, but only 999 were written\. Begin it again"),
        FITSRowWriter(tmp_path / "t.fits", table, 1000) as writer,
    ):
        writer.write(table[:999])
    assert content(tmp_path) == []
    with FITSRowWriter(tmp_path / "t.fits", table, 1000) as writer:
        writer.write(table[:999])
        with pytest.raises(OutputError, match=r"begun for 1000 rows, but there are more"):
            writer.write(table[:2])
        writer.write(table[999:])
    assert len(read_table(tmp_path / "t.fits")) == 1000


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"name": ["a"]}, r"lacks n, p; expected the columns name, p, n"),
        ({"name": ["a"], "p": [1.0], "n": [1], "q": [1]}, r"has also q"),
        ({"name": [1], "p": [1.0], "n": [1]}, r"holds int64 of shape \(1,\) in column 'name'.*expected <U3"),
        ({"name": ["a"], "p": ["1"], "n": [1]}, r"holds <U1 of shape \(1,\) in column 'p'"),
        ({"name": ["a"], "p": [[1.0]], "n": [1]}, r"shape \(1, 1\) in column 'p'"),
        ({"name": ["a"], "p": [1.0], "n": [1.5]}, r"holds float64 of shape \(1,\) in column 'n'"),
        ({"name": ["a"], "p": [1.0], "n": [70000]}, r"holds int64 of shape \(1,\) in column 'n'.*expected int16"),
        ({"name": ["a"], "p": [1.0, 2.0], "n": [1]}, r"columns of different lengths: name 1, p 2, n 1"),
    ],
)
def test_blocks_that_do_not_fit(tmp_path, ending, block, message):
    template = Table({"name": np.empty(0, "U3"), "p": np.empty(0), "n": np.empty(0, "i2")})
    with (
        pytest.raises(OutputError, match=message),
        open_writer(tmp_path / f"t{ending}", template, num_rows=1) as writer,
    ):
        writer.write(block)
    assert content(tmp_path) == []


def test_text_that_is_too_long_for_fits(tmp_path):
    with (
        pytest.raises(OutputError, match=r"a text of 6 letters in column 'name' of '.*', expected 3 at most"),
        FITSRowWriter(tmp_path / "t.fits", Table({"name": ["abc"]}), 1) as writer,
    ):
        writer.write({"name": ["abcdef"]})


def test_templates_and_places_that_do_not_fit(table, tmp_path):
    for bad in ({"a": [1j]}, {"a": [[1.0, 2.0]]}):
        with pytest.raises(OutputError, match=r"column 'a' holds .*; expected bool, int, float or text, one a row"):
            ParquetRowWriter(tmp_path / "t.parquet", Table(bad))
    with pytest.raises(OutputError, match=r"there is no folder"):
        open_writer(tmp_path / "missing" / "t.parquet", table)
    with pytest.raises(OutputError, match=r"cannot be written in blocks; expected the ending \.parquet or \.fits"):
        open_writer(tmp_path / "t.fits.gz", table)
    with pytest.raises(OutputError, match=r"needs its number of rows"):
        open_writer(tmp_path / "t.fits", table)


def test_fits_is_as_the_standard_has_it(table, tmp_path):
    with FITSRowWriter(tmp_path / "t.fits", table, 1000) as writer:
        writer.write(table)
    with fits.open(tmp_path / "t.fits") as hdus:
        hdus.verify("exception")
        assert hdus[1].header["NAXIS2"] == 1000
        assert hdus[1].header["TCOMM4"] == "Bits"


@pytest.mark.parametrize("ending", ENDINGS)
def test_memory_is_flat(table, tmp_path, ending):
    peaks = []
    for count in (5, 40):
        with open_writer(tmp_path / f"t{ending}", table, num_rows=1000 * count) as writer:
            writer.write(table)
            tracemalloc.start()
            for _ in range(count - 1):
                writer.write(table)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
