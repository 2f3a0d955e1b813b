"""What Parquet and FITS tables have of their own."""

import decimal
import gzip
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from astropy.io import fits
from astropy.table import Table

from fermiclass import open_rows, write_table
from fermiclass.errors import RowsError
from tests.rows.conftest import FEATURES, NAMES, Data, write_fits, write_parquet


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path / "t.parquet")
    return path / "t.parquet"


def fits_table(path, *columns):
    fits.BinTableHDU.from_columns(columns, name="ROWS").writeto(path / "t.fits", overwrite=True)
    return path / "t.fits"


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 0, 1], pa.int8()),
        pa.array([1, 0, 1], pa.uint64()),
        pa.array([1, 0, 1], pa.float32()),
        pa.array(np.array([1, 0, 1], np.float16)),
        pa.array([True, False, True]),
        pa.array([decimal.Decimal(1), decimal.Decimal(0), decimal.Decimal(1)]),
    ],
)
def test_numbers_of_any_type_in_parquet(tmp_path, column):
    assert open_rows(parquet(tmp_path, a=column), ["a"]).read(0, 3).X.tolist() == [[1.0], [0.0], [1.0]]


@pytest.mark.parametrize("kind", ["E", "D", "B", "I", "J", "K", "L", "1D"])
def test_numbers_of_any_type_in_fits(tmp_path, kind):
    path = fits_table(tmp_path, fits.Column("a", kind, array=np.array([1, 0, 1], bool if kind == "L" else "i4")))
    assert open_rows(path, ["a"]).read(0, 3).X.tolist() == [[1.0], [0.0], [1.0]]


@pytest.mark.parametrize(
    "labels",
    [
        pa.array(["bll", None, "psr "]),
        pa.array(["bll", "", "psr"], pa.large_string()),
        pa.array(["bll", None, "psr"]).dictionary_encode(),
        pa.array([b"bll", b"", b"psr"]),
    ],
)
def test_labels_of_text_in_parquet(tmp_path, labels):
    chunk = open_rows(parquet(tmp_path, a=[1.0, 2.0, 3.0], y=labels), ["a"], label="y").read(0, 3)
    assert [str(name) for name in chunk.y] == ["bll", "", "psr"]
    assert chunk.labelled.tolist() == [True, False, True]


def test_labels_that_are_numbers_in_fits(tmp_path):
    path = fits_table(tmp_path, fits.Column("a", "D", array=[1.0, 2.0]), fits.Column("number", "J", array=[3, 1]))
    labels = open_rows(path, ["a"], label="number").read(0, 2).y
    assert labels.tolist() == [3, 1]
    assert labels.dtype.isnative


def test_missing_numbers_in_parquet(tmp_path):
    path = parquet(tmp_path, a=pa.array([1, None, 3]), b=[1.0, 2.0, 3.0])
    with pytest.raises(RowsError, match=r"there is nan in row 1 .* of column 'a'"):
        open_rows(path, ["a"]).read(0, 3)
    with pytest.raises(RowsError, match=r"column 'a' holds .* without missing ones"):
        open_rows(path, ["b"], label="a").read(0, 3)


def test_unsigned_and_missing_integers_in_fits(tmp_path):
    path = fits_table(
        tmp_path,
        fits.Column("a", "J", bzero=2**31, array=np.array([0, 2**32 - 2], "u4")),
        fits.Column("b", "I", null=-99, array=np.array([5, -99], "i2")),
    )
    assert open_rows(path, ["a"]).read(0, 2).X.tolist() == [[0.0], [2.0**32 - 2]]
    rows = open_rows(path, ["b"])
    assert rows.read(0, 1).X.tolist() == [[5.0]]
    with pytest.raises(RowsError, match=r"there is nan in row 1 .* of column 'b'"):
        rows.read(0, 2)


@pytest.mark.parametrize(("kind", "zero", "scale"), [("K", 100, 1), ("J", 2**31, 0.5), ("I", 7, 0.25), ("B", -128, 1)])
def test_scaled_numbers_are_right_or_refused(tmp_path, kind, zero, scale):
    path = fits_table(tmp_path, fits.Column("a", kind, array=np.array([1, 2, 3])))
    fits.setval(path, "TZERO1", value=zero, ext=1)
    fits.setval(path, "TSCAL1", value=scale, ext=1)
    if (kind, zero) in (("K", 100), ("J", 2**31)):
        with pytest.raises(RowsError, match="column 'a' cannot be read"):
            open_rows(path, ["a"]).read(0, 3)
    else:
        assert open_rows(path, ["a"]).read(0, 3).X[:, 0].tolist() == [k * scale + zero for k in (1, 2, 3)]


def test_a_folder_of_parquet_files(tmp_path):
    write_parquet(tmp_path / "a.parquet", Data(10).columns)
    for name in ("_metadata.parquet", ".a.parquet", "_SUCCESS"):  # files of other programs
        (tmp_path / name).write_bytes(b"")
    assert open_rows(tmp_path, FEATURES, **NAMES).num_rows == 10
    write_parquet(tmp_path / "b.parquet", {"flux": np.zeros(5)})
    with pytest.raises(RowsError, match=r"b\.parquet' has no column 'index'"):
        open_rows(tmp_path, FEATURES, **NAMES)


def test_columns_that_do_not_fit(data, tmp_path):
    path = write_parquet(tmp_path / "rows.parquet", data.columns | {"day": np.arange(1000).astype("datetime64[D]")})
    with pytest.raises(RowsError, match=r"column 'day' holds datetime64"):
        open_rows(path, FEATURES, keep=["day"])
    path = fits_table(
        tmp_path,
        fits.Column("flux", "D", array=[1.0]),
        fits.Column("bands", "3D", array=[[1.0, 2.0, 3.0]]),
        fits.Column("any", "PD()", array=np.array([np.zeros(2)], dtype=object)),
        fits.Column("names", "12A", dim="(4,3)", array=[["a", "b", "c"]]),
    )
    for name in ("bands", "any", "names"):
        with pytest.raises(RowsError, match=rf"column '{name}' of .* does not hold one number a row"):
            open_rows(path, ["flux", name])
    for options in ({"label": "names"}, {"keep": ["bands"]}):
        with pytest.raises(RowsError, match="does not hold one value a row"):
            open_rows(path, ["flux"], **options)


def test_hdus_and_packed_files(data, tmp_path):
    path = write_fits(tmp_path / "rows.fits", data.columns)
    assert open_rows(path, FEATURES, hdu="ROWS").num_rows == 1000
    for hdu, message in (("OTHER", "has no HDU 'OTHER'"), (2, "has no HDU 2"), (0, "is not a binary table")):
        with pytest.raises(RowsError, match=message):
            open_rows(path, FEATURES, hdu=hdu)
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(RowsError, match=r"Unpack it first"):
        open_rows(path, FEATURES)


@pytest.mark.parametrize("scaled", [(), ("flux", "index", "e_curvature")])
def test_memory_of_fits_is_flat(tmp_path, scaled):
    peaks = []
    for N in (8000, 8000, 64000):  # the first for what astropy itself keeps
        path = write_fits(tmp_path / f"{len(peaks)}.fits", Data(N).columns, scaled)
        tracemalloc.start()
        rows = open_rows(path, FEATURES, **NAMES)
        for start in range(0, N, 4000):
            rows.read(start, start + 4000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.1 * peaks[1]


@pytest.mark.parametrize("ending", ["parquet", "csv", "fits"])
def test_a_word_for_nothing_is_no_label(tmp_path, ending):
    words = ["psr", "nan", "NaN", "null", "", "None", "bll"]
    table = Table({"x": np.arange(7.0), "CLASS": words})
    path = tmp_path / f"rows.{ending}"
    write_table(table, path)
    chunk = open_rows(path, ["x"], label="CLASS").read(0, 7)
    assert chunk.labelled.tolist() == [True, *[False] * 5, True]
