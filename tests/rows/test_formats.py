"""Rows by the ending of a file, the same from every format, which refuse the same faults."""

import os
import pickle

import numpy as np
import pytest
from astropy.table import Table

from fermiclass.catalog import THREE_CLASSES
from fermiclass.errors import RowsError
from fermiclass.features import extract_features
from fermiclass.io.tables import write_table
from fermiclass.rows import open_rows, open_training_rows
from fermiclass.rows.chunk import Columns
from tests.rows.conftest import FEATURES, FORMATS, NAMES, Data, make_rows, write_fits, write_parquet

TABLES = [form for form in FORMATS if form not in ("arrays", "npy")]
EXACT = [form for form in FORMATS if form != "fits-scaled"]


def check(chunk, data, start, stop):
    np.testing.assert_array_equal(chunk.X, data.X[start:stop])
    np.testing.assert_array_equal(chunk.X_var, data.X_var[start:stop])
    assert chunk.X.shape == chunk.X_var.shape == (stop - start, 3)
    assert chunk.X.dtype == chunk.X_var.dtype == np.float64
    assert chunk.y.tolist() == data.y[start:stop].tolist()
    assert chunk.y.dtype.kind == "U"


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 1000), (0, 1), (999, 1000), (63, 65), (100, 700), (5, 5), (1000, 1000)]
)
def test_rows_are_those_that_were_written(any_rows, data, start, stop):
    assert (any_rows.num_rows, any_rows.columns.features) == (1000, tuple(FEATURES))
    check(any_rows.read(start, stop), data, start, stop)


def test_any_order_of_reading_here_and_elsewhere(any_rows, data):
    elsewhere = pickle.loads(pickle.dumps(any_rows))
    for start in np.random.default_rng(0).integers(0, 990, 20):
        check(any_rows.read(start, start + 10), data, start, start + 10)
        check(elsewhere.read(start, start + 10), data, start, start + 10)


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 4), (0, 1001), (1001, 1001)])
def test_rows_that_are_not_there(any_rows, start, stop):
    with pytest.raises(RowsError, match=rf"rows {start} to {stop} .* expected rows from 0 to 1000"):
        any_rows.read(start, stop)


@pytest.mark.parametrize(("form", "N"), [(form, N) for form in FORMATS for N in (0, 1) if (form, N) != ("csv", 0)])
def test_one_row_and_none(form, tmp_path, N):
    rows = make_rows(form, Data(N), tmp_path)
    assert rows.num_rows == N
    check(rows.read(0, N), Data(N), 0, N)


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "arrays"])
def test_files_that_change_while_they_are_read(form, data, tmp_path):
    rows = make_rows(form, data, tmp_path)
    expected, read = rows.read(0, 10), rows._read
    check(pickle.loads(pickle.dumps(rows)).read(0, 10), data, 0, 10)

    def change_meanwhile(*span):
        os.utime(sorted(tmp_path.iterdir())[0], (0, 0))
        return read(*span)

    rows._read = change_meanwhile
    for _ in range(2):  # while it reads, and then at once
        with pytest.raises(RowsError, match="has changed since it was opened"):
            rows.read(0, 10)
    with pytest.raises(RowsError, match="has changed since it was opened"):  # another process opens it again
        pickle.loads(pickle.dumps(rows))
    np.testing.assert_array_equal(read(0, 10).X, expected.X)


@pytest.mark.parametrize("form", EXACT)
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_values_that_are_not_finite(form, tmp_path, value):
    data = Data()
    data.X[700, 1] = value
    rows = make_rows(form, data, tmp_path)
    rows.read(650, 700)
    with pytest.raises(RowsError, match=rf"there is {value} in row 700 \(counted from 0\) of column 'index'"):
        rows.read(650, 800)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("sigma", [-0.5, np.nan])
def test_uncertainties_that_are_none(form, tmp_path, sigma):
    data = Signed()
    data.sigma[999, 0] = sigma
    with pytest.raises(RowsError, match=r"there is (-0.5|-0.25|nan) in row 999 .*of column '(e|X_var of|Unc).flux'"):
        make_rows(form, data, tmp_path).read(990, 1000)


class Signed(Data):
    """Data whose variances are as wrong as the uncertainties."""

    X_var = property(lambda self: self.sigma * np.abs(self.sigma))


@pytest.mark.parametrize("form", EXACT)
def test_small_fluxes_and_times_keep_all_digits(form, tmp_path):
    data = Data()
    data.X = data.X * [1e-33, 1.0, 1e-9] + [0.0, 0.0, 2459000.5]
    data.sigma *= 1e-28
    check(make_rows(form, data, tmp_path).read(640, 800), data, 640, 800)


@pytest.mark.parametrize("form", TABLES)
def test_columns_that_are_kept(form, data, tmp_path):
    rows = make_rows(form, data, tmp_path, keep=["name", "e_flux", "class"])
    kept = pickle.loads(pickle.dumps(rows)).read(100, 700).kept
    assert list(kept) == ["name", "e_flux", "class"]
    assert kept["name"].tolist() == [f"row {i}" for i in range(100, 700)]
    assert kept["class"].tolist() == data.y[100:700].tolist()
    np.testing.assert_array_equal(kept["e_flux"], data.sigma[100:700, 0])
    some = rows.read(0, 50).take(np.arange(50) % 7 == 1)
    assert some.kept["name"].tolist() == [f"row {i}" for i in range(1, 50, 7)]


@pytest.mark.parametrize("form", ["parquet", "fits"])
@pytest.mark.parametrize(
    ("features", "options", "message"),
    [
        (["flux", "Index"], {}, r"no column 'Index'\. Did you mean index\?"),
        (["flux"], {"keep": ["nme"]}, r"no column 'nme'\. Did you mean name\?"),
        (["flux"], {"label": "index"}, r"column 'index' holds .*; expected text"),
        (["name"], {}, r"column 'name' of .* does not hold one number a row"),
        (["flux"], {"uncertainties": ["e_flux", None]}, r"2 columns of uncertainties were named for 1 features"),
        (["flux", "flux"], {}, r"named twice in flux, flux"),
        ("flux", {}, r"given as one text"),
    ],
)
def test_columns_that_do_not_fit(form, data, tmp_path, features, options, message):
    path = make_rows(form, data, tmp_path).source
    with pytest.raises(RowsError, match=message):
        open_rows(path, features, **options)


@pytest.mark.parametrize("form", ["parquet", "fits", "npy"])
@pytest.mark.parametrize("damage", ["empty", "other", "half"])
def test_damaged_files(form, data, tmp_path, damage):
    rows = make_rows(form, data, tmp_path)
    path = tmp_path / "X.npy" if form == "npy" else tmp_path / f"rows.{form}"
    whole = path.read_bytes()
    path.write_bytes({"empty": b"", "other": b"not a table", "half": whole[: len(whole) // 2]}[damage])
    with pytest.raises(RowsError, match=rf"{path.name}' cannot be read as a"):
        open_rows(tmp_path if form == "npy" else path, FEATURES)
    with pytest.raises(RowsError, match="has changed since it was opened"):
        rows.read(0, 1)


@pytest.mark.parametrize("ending", [".parquet", ".fits"])
def test_rows_are_the_feature_table_of_a_catalogue(ending, dr4, tmp_path):
    features = extract_features(dr4, "extended", THREE_CLASSES)
    write_table(features.to_table(), tmp_path / f"features{ending}")
    rows = open_training_rows(tmp_path / f"features{ending}")
    assert rows.columns.features == tuple(feature.name for feature in features.features)
    chunk = rows.read(0, 7195)
    np.testing.assert_array_equal(chunk.X, features.X)
    np.testing.assert_allclose(chunk.X_var, features.X_var, rtol=1e-15)
    assert chunk.y.tolist() == features.y.tolist()


def test_endings(data, tmp_path):
    write_parquet(tmp_path / "rows.PARQUET", data.columns)
    write_fits(tmp_path / "rows.fit", data.columns)
    np.save(tmp_path / "alone.npy", data.X)
    for name in ("rows.PARQUET", "rows.fit"):
        assert open_rows(tmp_path / name, FEATURES, **NAMES).num_rows == 1000
    rows = open_rows(str(tmp_path / "alone.npy"))
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
    (tmp_path / "rows.doc").write_text("flux\n1\n")
    (tmp_path / "rows.csv").write_text("")
    (tmp_path / "empty").mkdir()
    cases = [
        ("nothing.parquet", {}, "there is no file or folder"),
        ("rows.doc", {}, "does not have the ending of rows"),
        ("rows.csv", {"features": FEATURES}, "is empty"),
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
