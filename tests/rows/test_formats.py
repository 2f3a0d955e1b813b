"""Every format gives the same rows, and refuses the same faults."""

import pickle

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

from fermiclass.errors import RowsError
from fermiclass.io.tables import write_table
from fermiclass.rows import Blocked, FITSRows, ParquetRows, open_rows, read_in_order
from tests.rows.conftest import FEATURES, FORMATS, Data, make_rows, write_parquet


def check(chunk, data, start, stop):
    np.testing.assert_array_equal(chunk.X, data.X[start:stop])
    np.testing.assert_array_equal(chunk.X_var, data.X_var[start:stop])
    assert chunk.y.tolist() == data.y[start:stop].tolist()
    assert chunk.y.dtype.kind == "U"


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 1000), (0, 1), (999, 1000), (63, 65), (100, 700), (5, 5), (1000, 1000)]
)
def test_rows_are_those_that_were_written(any_rows, data, start, stop):
    assert (any_rows.num_rows, any_rows.feature_names) == (1000, tuple(FEATURES))
    check(any_rows.read(start, stop), data, start, stop)
    assert any_rows.read(start, stop).X.shape == any_rows.read(start, stop).X_var.shape == (stop - start, 3)


def test_rows_are_sent_as_what_to_open(any_rows, data):
    check(pickle.loads(pickle.dumps(any_rows)).read(100, 700), data, 100, 700)


def test_any_order_of_reading(any_rows, data):
    for start in np.random.default_rng(0).integers(0, 990, 50):
        check(any_rows.read(start, start + 10), data, start, start + 10)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_type_of_chunks(form, data, tmp_path, dtype):
    chunk = make_rows(form, data, tmp_path, dtype=dtype).read(0, 3)
    assert chunk.X.dtype == chunk.X_var.dtype == dtype
    assert chunk.X.dtype.isnative


@pytest.mark.parametrize("form", FORMATS)
def test_other_types_are_refused(form, data, tmp_path):
    with pytest.raises(RowsError, match=r"int32; expected float32 or float64"):
        make_rows(form, data, tmp_path, dtype=np.int32)


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 4), (0, 1001), (1001, 1001)])
def test_rows_that_are_not_there(any_rows, start, stop):
    with pytest.raises(RowsError, match=rf"rows {start} to {stop} of .* do not exist; expected rows from 0 to 1000"):
        any_rows.read(start, stop)


def test_what_was_read_belongs_to_the_reader(any_rows, data):
    chunk = any_rows.read(10, 20)
    for array in chunk[:3]:
        array[:] = array[0]
    check(any_rows.read(10, 20), data, 10, 20)


def test_in_order(any_rows, data):
    chunks = list(read_in_order(any_rows, 300))
    assert [len(chunk.X) for chunk in chunks] == [300, 300, 300, 100]
    for start, chunk in zip((0, 300, 600, 900), chunks, strict=True):
        check(chunk, data, start, min(start + 300, 1000))


@pytest.mark.parametrize("form", FORMATS)
def test_one_row_and_none(form, tmp_path):
    for N in (1, 0):
        (tmp_path / str(N)).mkdir()
        rows = make_rows(form, Data(N), tmp_path / str(N))
        assert rows.num_rows == N
        check(rows.read(0, N), Data(N), 0, N)


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "fits-scaled"])
@pytest.mark.parametrize(("value", "found"), [(np.nan, "nan"), (-np.inf, "-inf"), (1e300, "inf")])
def test_values_that_are_not_finite(form, tmp_path, value, found):
    data = Data()
    data.X[700, 1] = value
    rows = make_rows(form, data, tmp_path, dtype=np.float32)
    rows.read(650, 700)
    with pytest.raises(RowsError, match=rf"has {found} in row 700 \(counted from 0\) of column 'index'.*remove it"):
        rows.read(650, 800)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("sigma", "found"), [(-0.5, "a negative number"), (np.nan, "nan")])
def test_uncertainties_that_are_none(form, tmp_path, sigma, found):
    data = Data()
    data.sigma[999, 0] = sigma
    if form in ("arrays", "npy"):
        data = Signed(data)
    rows = make_rows(form, data, tmp_path)
    with pytest.raises(RowsError, match=rf"has {found} in row 999 .*of column '(e_flux|X_var of flux)', expected"):
        rows.read(990, 1000)


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "fits-scaled"])
def test_small_fluxes_and_times_keep_all_digits(form, tmp_path):
    data = Data()
    data.X = data.X * [1e-33, 1.0, 1e-9] + [0.0, 0.0, 2459000.5]
    data.sigma *= 1e-28
    check(make_rows(form, data, tmp_path).read(640, 800), data, 640, 800)


#: A number and its uncertainty, the type of the chunks, and what cannot be held.
LOST = {
    "square": (1.0, 1e-170, np.float64, "1e-170 .*'e_flux', whose square float64 cannot hold; expected other units"),
    "single square": (1.0, 1e-30, np.float32, "1e-30 .*'e_flux', whose square float32 cannot hold"),
    "single": (1e-60, 1.0, np.float32, "1e-60 .*'flux', which float32 cannot hold; expected fewer digits, or other"),
}


@pytest.mark.parametrize("form", ["parquet", "parquet-folder", "fits"])
@pytest.mark.parametrize(("number", "sigma", "dtype", "message"), LOST.values(), ids=LOST)
def test_numbers_do_not_become_zero(form, tmp_path, number, sigma, dtype, message):
    data = Data()
    data.X[700, 0], data.sigma[700, 0] = number, sigma
    rows = make_rows(form, data, tmp_path, dtype=dtype)
    with pytest.raises(RowsError, match=rf"has {message}"):
        rows.read(650, 800)


@pytest.mark.parametrize("kind", ["parquet", "fits", "npy"])
@pytest.mark.parametrize(("dtype", "most"), [(np.float64, 2**53), (np.float32, 2**24)])
def test_whole_numbers_keep_all_digits(tmp_path, kind, dtype, most):
    def read(*numbers):
        path = tmp_path / f"rows.{kind}"
        if kind == "npy":
            np.save(path, np.array(numbers)[:, None])
        else:
            write_table(Table({"id": numbers}), path)
        return open_rows(path, ["id"], dtype=dtype).read(0, len(numbers)).X[:, 0].tolist()

    assert read(1, -most, most) == [1, -most, most]
    with pytest.raises(RowsError, match=rf"has {most + 1} in row 1 .*'id', which float.. cannot hold; expected fewer"):
        read(1, most + 1)


class Signed:
    """Data whose variances are as wrong as the uncertainties."""

    def __init__(self, data):
        self.X, self.y, self.X_var = data.X, data.y, data.sigma * np.abs(data.sigma)


def test_blocks_are_row_groups(data, tmp_path):
    assert not isinstance(make_rows("arrays", data, tmp_path), Blocked)
    rows = make_rows("parquet-folder", data, tmp_path)
    assert isinstance(rows, Blocked)
    edges = [*range(0, 333, 64), *range(333, 1000, 64), 1000]
    assert sorted(set(rows.block_edges.tolist())) == edges


@pytest.mark.parametrize("form", ["parquet", "parquet-folder", "fits", "fits-scaled"])
def test_columns_that_are_kept(form, data, tmp_path):
    rows = make_rows(form, data, tmp_path, keep=["name", "e_flux", "class"])
    kept = pickle.loads(pickle.dumps(rows)).read(100, 700).kept
    assert list(kept) == ["name", "e_flux", "class"]
    assert kept["name"].tolist() == [f"row {i}" for i in range(100, 700)]
    assert kept["class"].tolist() == data.y[100:700].tolist()
    np.testing.assert_array_equal(kept["e_flux"], data.sigma[100:700, 0])
    some = rows.read(0, 50).take(np.arange(50) % 7 == 1)
    assert some.kept["name"].tolist() == [f"row {i}" for i in range(1, 50, 7)]
    with pytest.raises(RowsError, match=r"has no column 'nme'\. Did you mean name\?"):
        open_rows(next(tmp_path.iterdir()), FEATURES, keep=["nme"])


def test_columns_that_cannot_be_kept(data, tmp_path):
    days = np.arange(1000).astype("datetime64[D]")
    path = write_parquet(tmp_path / "rows.parquet", data.columns | {"day": days})
    with pytest.raises(RowsError, match=r"column 'day' to keep holds datetime64.*; expected numbers or text"):
        ParquetRows(path, FEATURES, keep=["day"])
    made = [fits.Column("flux", "D", array=data.X[:, 0]), fits.Column("bands", "3D", array=data.X)]
    fits.BinTableHDU.from_columns(made).writeto(tmp_path / "rows.fits")
    with pytest.raises(RowsError, match=r"the column 'bands' of .* does not hold one value a row"):
        FITSRows(tmp_path / "rows.fits", ["flux"], keep=["bands"])
