"""Rows of FITS tables."""

import gzip
import tracemalloc

import numpy as np
import pytest
from astropy.io import fits

from fermiclass.errors import RowsError
from fermiclass.rows import FITSRows
from tests.rows.conftest import FEATURES, NAMES, Data, write_fits


def written(path, *columns):
    fits.BinTableHDU.from_columns(columns, name="ROWS").writeto(path / "t.fits", overwrite=True)
    return path / "t.fits"


@pytest.mark.parametrize("kind", ["E", "D", "B", "I", "J", "K", "L", "1D"])
def test_numbers_of_any_type(tmp_path, kind):
    path = written(tmp_path, fits.Column("a", kind, array=np.array([1, 0, 1], bool if kind == "L" else "i4")))
    assert FITSRows(path, ["a"]).read(0, 3).X.tolist() == [[1.0], [0.0], [1.0]]


def test_unsigned_and_missing_integers(tmp_path):
    path = written(
        tmp_path,
        fits.Column("a", "J", bzero=2**31, array=np.array([0, 2**32 - 2], "u4")),
        fits.Column("b", "I", null=-99, array=np.array([5, -99], "i2")),
    )
    assert FITSRows(path, ["a"], dtype=np.float64).read(0, 2).X.tolist() == [[0.0], [2.0**32 - 2]]
    rows = FITSRows(path, ["b"])
    assert rows.read(0, 1).X.tolist() == [[5.0]]
    with pytest.raises(RowsError, match=r"has nan in row 1 .* of column 'b'"):
        rows.read(0, 2)


def test_labels(tmp_path):
    path = written(
        tmp_path,
        fits.Column("a", "D", array=[1.0, 2.0]),
        fits.Column("text", "6A", array=["bll  ", ""]),
        fits.Column("number", "J", array=[3, 1]),
    )
    assert FITSRows(path, ["a"], label="text").read(0, 2).y.tolist() == ["bll", ""]
    labels = FITSRows(path, ["a"], label="number").read(0, 2).y
    assert labels.tolist() == [3, 1]
    assert labels.dtype.isnative
    with pytest.raises(RowsError, match=r"labels in column 'a' are of type"):
        FITSRows(path, ["a"], label="a")


def test_hdu_by_name(data, tmp_path):
    path = write_fits(tmp_path / "rows.fits", data.columns)
    assert FITSRows(path, FEATURES, hdu="ROWS").num_rows == 1000
    with pytest.raises(RowsError, match=r"has no HDU 'OTHER'\. Choose another with hdu"):
        FITSRows(path, FEATURES, hdu="OTHER")
    with pytest.raises(RowsError, match=r"has no HDU 2"):
        FITSRows(path, FEATURES, hdu=2)
    with pytest.raises(RowsError, match=r"HDU 0 of .* is not a binary table"):
        FITSRows(path, FEATURES, hdu=0)


def test_columns_that_do_not_fit(tmp_path):
    path = written(
        tmp_path,
        fits.Column("flux", "D", array=[1.0]),
        fits.Column("bands", "3D", array=[[1.0, 2.0, 3.0]]),
        fits.Column("any", "PD()", array=np.array([np.zeros(2)], dtype=object)),
        fits.Column("names", "12A", dim="(4,3)", array=[["a", "b", "c"]]),
        fits.Column("word", "3A", array=["a"]),
    )
    for name in ("bands", "any", "names", "word"):
        with pytest.raises(RowsError, match=rf"column '{name}' of .* does not hold one number a row"):
            FITSRows(path, ["flux", name])
    with pytest.raises(RowsError, match=r"column 'names' of .* does not hold one value a row"):
        FITSRows(path, ["flux"], label="names")
    with pytest.raises(RowsError, match=r"has no column 'Flux'\. Did you mean flux\?"):
        FITSRows(path, ["Flux"])


def test_files_that_cannot_be_read(data, tmp_path):
    path = tmp_path / "rows.fits"
    with pytest.raises(RowsError, match=r"there is no file '.*rows\.fits'"):
        FITSRows(path, FEATURES)
    with pytest.raises(RowsError, match=r"cannot be read as a FITS file"):
        FITSRows(tmp_path, FEATURES)
    write_fits(path, data.columns)
    whole = path.read_bytes()
    for content, message in (
        (b"", "cannot be read as a FITS file"),
        (b"not a table", "cannot be read as a FITS file"),
        (whole[:20000], "is truncated: its table should end at byte"),
        (gzip.compress(whole), r"is compressed.*Decompress it first \(gunzip\)"),
    ):
        path.write_bytes(content)
        with pytest.raises(RowsError, match=message):
            FITSRows(path, FEATURES)


@pytest.mark.parametrize("scaled", [(), ("flux", "index", "e_curvature")])
def test_memory_is_flat(tmp_path, scaled):
    peaks = []
    for N in (8000, 8000, 64000):  # the first for what astropy itself keeps
        path = write_fits(tmp_path / f"{len(peaks)}.fits", Data(N).columns, scaled)
        tracemalloc.start()
        rows = FITSRows(path, FEATURES, **NAMES)
        for start in range(0, N, 4000):
            rows.read(start, start + 4000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.1 * peaks[1]


def test_read_twice_after_the_file_is_closed(data, tmp_path):
    rows = FITSRows(write_fits(tmp_path / "rows.fits", data.columns), FEATURES, **NAMES)
    first = rows.read(0, 1000)
    np.testing.assert_array_equal(rows.read(500, 1000).X, first.X[500:])
