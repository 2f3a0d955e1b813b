"""Catalogues that other tools wrote again: the same sources, the same features, to the last bit."""

import gzip
import warnings
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from astropy.io import fits
from astropy.io.votable import from_table
from astropy.table import Column, Table

from fermiclass import extract_features, read_catalog
from fermiclass.catalog import CatalogWarning
from fermiclass.errors import CatalogError
from fermiclass.labelling.labels import CATALOGUE_COLUMNS
from tests.conftest import slim_path


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    """Every fifth source of DR4 as a FITS file, and what an astropy user reads from it."""
    path = tmp_path_factory.mktemp("some") / "some.fits"
    with fits.open(slim_path("4FGL-DR4")) as hdus:
        fits.BinTableHDU(hdus[1].data[np.arange(len(hdus[1].data)) % 5 == 0], hdus[1].header).writeto(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of units that are not to the letter
        return path, Table.read(path, hdu=1)


def read(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatalogWarning)  # a part of a release is none
        return read_catalog(path)


def votable(table, path, form="tabledata"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table.write(path, format="votable", tabledata_format=form)


def votable_compressed(table, path):
    votable(table, path.with_suffix(".plain"))
    path.write_bytes(gzip.compress(path.with_suffix(".plain").read_bytes()))


def parquet_of_pandas(table, path):
    """Columns of several numbers as Flux_Band_1 and so on, no units."""
    frame = {}
    for name in table.colnames:
        data = table[name]
        data = np.ma.filled(data, "" if data.dtype.kind in "SU" else np.nan)
        data = np.char.strip(np.char.decode(data, "ascii")) if data.dtype.kind == "S" else data
        flat = data.reshape(len(data), -1)
        native = flat.astype(flat.dtype.newbyteorder("="))
        if data.ndim == 1:
            frame[name] = pa.array(native[:, 0].tolist()) if data.dtype.kind == "U" else pa.array(native[:, 0])
        else:
            frame |= {f"{name}_{k + 1}": pa.array(native[:, k].copy()) for k in range(flat.shape[1])}
    pq.write_table(pa.table(frame), path)


def parquet_with_nulls(table, path):
    """As a database writes it: nulls for what is missing, lists, texts from a dictionary."""
    columns = {}
    for name in table.colnames:
        values = table[name].tolist()
        if table[name].dtype.kind == "S":
            values = [str(value).strip() or None if value else None for value in values]
        columns[name] = pa.array(_nulls(values))
    columns["CLASS1"] = columns["CLASS1"].dictionary_encode()
    pq.write_table(pa.table(columns), path)


def _nulls(values):
    return [_nulls(v) if isinstance(v, list) else None if v is None or v != v else v for v in values]


WRITERS = {
    "votable": votable,
    "votable-binary": partial(votable, form="binary2"),
    "votable-gzip": votable_compressed,
    "parquet-astropy": lambda table, path: table.write(path, format="parquet"),
    "parquet-pandas": parquet_of_pandas,
    "parquet-nulls": parquet_with_nulls,
}


def assert_same_features(found, expected):
    for name in ("X", "X_var", "flags", "names", "y"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_the_same_features_from_every_format(some, tmp_path, writer):
    path, table = some
    again = tmp_path / "catalogue.data"  # formats are known by their content
    writer(table, again)
    expected, found = (extract_features(read(file)) for file in (path, again))
    assert_same_features(found, expected)
    without_units = writer in (parquet_of_pandas, parquet_with_nulls)  # the units of positions are known
    expected, found = read(path), read(again)
    for name in CATALOGUE_COLUMNS:
        np.testing.assert_array_equal(found.table[name], expected.table[name], err_msg=name)
        if not without_units or name in ("RAJ2000", "DEJ2000", "GLON", "GLAT"):
            assert found.table[name].unit == expected.table[name].unit, name
    assert found.table["RAJ2000"].meta["ucd"] == "pos.eq.ra;meta.main"
    np.testing.assert_array_equal(found.status, expected.status)


def test_the_release_is_known_by_its_keywords(some, tmp_path):
    """TOPCAT keeps the header of a FITS table as PARAM elements."""
    from astropy.io.votable.tree import Param

    _, table = some
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = from_table(table)
        for name, value in (("CDS-NAME", "4FGL"), ("VERSION", "v35")):
            file.get_first_table().params.append(Param(file, name=name, value=value, datatype="char", arraysize="*"))
        file.to_xml(str(tmp_path / "topcat.vot"))
    assert read_catalog(tmp_path / "topcat.vot").release.name == "4FGL-DR4"


def test_other_tables_in_these_formats(tmp_path):
    table = Table({"a": [1.0], "b": ["x"]})
    for format in ("votable", "parquet", "ascii.ecsv"):
        table.write(tmp_path / "other", format=format, overwrite=True)
        with pytest.raises(CatalogError, match="lacks columns: Source_Name"):
            read_catalog(tmp_path / "other")
    (tmp_path / "empty").write_text('<VOTABLE version="1.4" xmlns="http://www.ivoa.net/xml/VOTable/v1.3"/>')
    with pytest.raises(CatalogError, match="it has no table"):
        read_catalog(tmp_path / "empty")


#: What the six features need.
NEEDED = ["Pivot_Energy", "LP_SigCurv"]
NEEDED += [f"{unc}{name}" for name in ("Flux1000", "LP_Index", "LP_beta") for unc in ("", "Unc_")]
FORMS = (("I", "i2", -32768), ("J", "i4", 2**31 - 1), ("K", "i8", -(10**9)), ("E", "f4", np.nan), ("D", "f8", np.nan))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore::fermiclass.catalog.CatalogWarning")
def test_columns_of_any_type_in_any_order_give_the_same_bits(some, seed, tmp_path):
    """In FITS: whole or real numbers of any width, with TSCAL, TZERO and TNULL, among other columns."""
    rng = np.random.default_rng(seed)
    plain, columns = some[1][:40], []
    for name in NEEDED:
        values, unit = np.asarray(plain[name], float), str(plain[name].unit or "")
        scale = float(f"{np.nanmax(np.abs(values)) / rng.choice([100, 20_000]):.5G}")
        form, kind, null = FORMS[rng.integers(len(FORMS))]
        zero = 0.0 if form == "K" else float(f"{scale * rng.integers(-100, 100):.5G}")  # astropy refuses others
        missing = np.isnan(values) | (rng.random(40) < 0.1)
        whole = np.round((np.where(missing, 0.0, values) - zero) / scale)
        plain[name] = Column(np.where(missing, np.nan, whole * scale + zero), unit=unit)
        stored = np.where(missing, null, whole).astype(kind)
        cards = {"TSCAL": scale, "TZERO": zero} | ({} if np.isnan(null) else {"TNULL": null})
        columns.append((fits.Column(name, form, unit=unit, array=stored), cards))
    others = fits.BinTableHDU(plain[[name for name in plain.colnames if name not in NEEDED]]).columns
    columns += [(column, {}) for column in others]
    columns = [columns[k] for k in rng.permutation(len(columns))]
    hdu = fits.BinTableHDU.from_columns([column for column, _ in columns])
    for number, (_, cards) in enumerate(columns, start=1):
        hdu.header.update({f"{key}{number}": value for key, value in cards.items()})
    hdu.writeto(tmp_path / "any.fits")
    found, expected = (extract_features(read_catalog(each), "six") for each in (tmp_path / "any.fits", plain))
    assert_same_features(found, expected)
