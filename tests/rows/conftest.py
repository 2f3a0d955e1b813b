"""The same labelled rows in every format."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from astropy.io import fits
from astropy.table import Table

from fermiclass.io.tables import write_table
from fermiclass.rows import open_rows
from fermiclass.rows.opening import ArrayRows

FORMATS = ("arrays", "npy", "parquet", "parquet-folder", "csv", "fits", "fits-scaled")
FEATURES, NOISE, LABEL = ["flux", "index", "curvature"], ["e_flux", None, "e_curvature"], "class"
NAMES = {"uncertainties": NOISE, "label": LABEL}


class Data:
    """N rows: numbers that float32 and scaled integers hold exactly; `row` of feature 0 is the row's number."""

    def __init__(self, N=1000, seed=0):
        rng = np.random.default_rng(seed)
        self.X = np.column_stack([np.arange(N), rng.integers(-400, 400, (N, 2)) / 4])
        self.sigma = np.column_stack([rng.integers(0, 40, N) / 4, np.zeros(N), rng.integers(0, 40, N) / 4])
        self.y = rng.choice(["bll", "fsrq", "psr", ""], N)

    @property
    def X_var(self):
        return self.sigma**2

    @property
    def columns(self):
        return {
            "name": np.array([f"row {i}" for i in range(len(self.y))]),
            "flux": self.X[:, 0],
            "index": self.X[:, 1],
            "curvature": self.X[:, 2],
            "e_flux": self.sigma[:, 0],
            "e_curvature": self.sigma[:, 2],
            "class": self.y,
        }


def write_parquet(path, columns, group=64):
    pq.write_table(pa.table(columns), path, row_group_size=group)
    return path


def write_fits(path, columns, scaled=()):
    made = []
    for name, values in columns.items():
        if name in scaled:
            made.append(fits.Column(name, "J", array=np.round((values - 250) * 4).astype("i4")))
        else:
            kind = f"{max(values.dtype.itemsize // 4, 1)}A" if values.dtype.kind == "U" else "D"
            made.append(fits.Column(name, kind, array=values))
    fits.BinTableHDU.from_columns(made, name="ROWS").writeto(path)
    for number, name in enumerate(columns, start=1):
        if name in scaled:
            fits.setval(path, f"TSCAL{number}", value=0.25, ext=1)
            fits.setval(path, f"TZERO{number}", value=250.0, ext=1)
    return path


def make_rows(form, data, folder, **options):
    """Store data in a format and open it."""
    if form == "arrays":
        return ArrayRows(data.X, data.y, X_var=data.X_var, feature_names=FEATURES, **options)
    if form == "npy":
        for name, array in {"X": data.X, "X_var": data.X_var, "y": data.y}.items():
            np.save(folder / f"{name}.npy", array)
        return open_rows(folder, FEATURES, **options)
    if form == "parquet":
        return open_rows(write_parquet(folder / "rows.parquet", data.columns), FEATURES, **NAMES, **options)
    if form == "parquet-folder":
        third = len(data.y) // 3
        for k, part in enumerate((slice(0, third), slice(third, third), slice(third, None))):
            write_parquet(folder / f"part-{k}.parquet", {key: a[part] for key, a in data.columns.items()})
        return open_rows(folder, FEATURES, **NAMES, **options)
    if form == "csv":
        write_table(Table(data.columns), folder / "rows.csv")
        return open_rows(folder / "rows.csv", FEATURES, **NAMES, **options)
    scaled = ("flux", "index", "e_curvature") if form == "fits-scaled" else ()
    return open_rows(write_fits(folder / "rows.fits", data.columns, scaled), FEATURES, **NAMES, **options)


@pytest.fixture(scope="session")
def data():
    return Data()


@pytest.fixture(params=FORMATS)
def any_rows(request, data, tmp_path):
    return make_rows(request.param, data, tmp_path)
