import bz2
import gzip
import hashlib
import lzma

import numpy as np
import pytest
from astropy import units as u
from astropy.io import fits
from astropy.table import QTable, Table

from fermiclass.catalog import CatalogWarning, read_catalog
from fermiclass.errors import CatalogError
from tests.conftest import slim_path


def assert_same(catalog, expected):
    assert catalog.release is expected.release
    assert catalog.table.colnames == expected.table.colnames
    for name in expected.table.colnames:
        np.testing.assert_array_equal(catalog.table[name], expected.table[name], err_msg=name)
        assert catalog.table[name].unit == expected.table[name].unit, name


def test_units_ucds_and_native_numbers(slim_catalog):
    table = slim_catalog.table
    assert table["Flux1000"].unit == u.ph / u.cm**2 / u.s
    assert table["Energy_Flux100"].unit == u.erg / u.cm**2 / u.s
    assert table["Pivot_Energy"].unit == u.MeV
    assert table["RAJ2000"].meta["ucd"] == "pos.eq.ra;meta.main"
    assert table["Flux1000"].meta["ucd"] == "phot.count;em.gamma"
    for name in table.colnames:
        assert table[name].dtype.isnative, name
        assert table[name].dtype.kind in "Ufi", name
        if table[name].dtype.kind == "U":
            assert all(text == text.strip() for text in table[name]), name


def test_descriptions_are_kept(shared_data):
    table = read_catalog(shared_data / "catalogs" / "gll_psc_v35.fit.gz").table
    assert table["PL_Index"].description == "Column name for PowerLaw_Index"


def test_checksum_is_that_of_the_file(dr4):
    assert dr4.sha256 == hashlib.sha256(slim_path("4FGL-DR4").read_bytes()).hexdigest()
    assert dr4.source == "4FGL-DR4.fits.gz"


@pytest.mark.parametrize(
    ("ending", "compress"), [("fits", bytes), ("fits.gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_any_compression(dr4, plain_bytes, tmp_path, ending, compress):
    path = tmp_path / f"catalog.{ending}"
    path.write_bytes(compress(plain_bytes))
    assert_same(read_catalog(str(path)), dr4)


def test_from_tables(dr4):
    for kind in (Table, QTable):
        with_bytes = kind.read(slim_path("4FGL-DR4"), hdu=1)
        catalog = read_catalog(with_bytes)
        assert_same(catalog, dr4)
        assert catalog.source == "<Table>"
        assert catalog.sha256 == read_catalog(with_bytes).sha256


def test_a_catalog_s_own_table_is_read_again_and_not_shared(dr4):
    table = dr4.table.copy()
    again = read_catalog(table)
    assert_same(again, dr4)
    table["Flux1000"] = 0.0
    assert_same(again, dr4)


def test_the_digest_of_a_table_follows_its_content(small):
    before = read_catalog(small).sha256
    small["Flux1000"][0] *= 2
    assert read_catalog(small).sha256 != before


@pytest.mark.parametrize("spelling", ["photon cm-2 s-1", "ph cm-2 s-1", "cm-2 ph s-1", "photon / (s cm2)"])
def test_spellings_of_units(small, plain_bytes, tmp_path, spelling):
    path = tmp_path / "catalog.fits"
    with fits.HDUList.fromstring(plain_bytes) as hdus:
        number = hdus[1].columns.names.index("Flux1000") + 1
        hdus[1].header[f"TUNIT{number}"] = spelling
        hdus.writeto(path)
    assert read_catalog(path).table["Flux1000"].unit == u.ph / u.cm**2 / u.s


def test_masked_values_are_nan_or_empty(small):
    table = Table(small, masked=True)
    table["LP_beta"].mask[3] = True
    table["CLASS1"].mask[4] = True
    table["Flags"].mask[5] = True
    catalog = read_catalog(table)
    assert np.isnan(catalog.table["LP_beta"][3])
    assert catalog.classes[4] == ""
    assert np.isnan(catalog.table["Flags"][5])
    assert not hasattr(catalog.table["LP_beta"], "mask")


def test_flags_of_any_type_mean_the_same_or_are_refused(small, tmp_path):
    expected = np.asarray(read_catalog(small).table["Flags"])
    for same in (expected.astype(str), expected.astype(float), expected.astype(bytes), expected.astype(object)):
        small["Flags"] = same
        np.testing.assert_array_equal(read_catalog(small).table["Flags"], expected)
    small["Flags"] = expected
    bits = (expected[:, None] >> np.arange(15, -1, -1) & 1).astype(bool)
    fits.table_to_hdu(small).writeto(tmp_path / "bits.fits")
    with fits.open(tmp_path / "bits.fits") as hdus:
        columns = [column for column in hdus[1].columns if column.name != "Flags"]
        in_fits = fits.BinTableHDU.from_columns([*columns, fits.Column("Flags", "16X", array=bits)], hdus[1].header)
        with pytest.raises(CatalogError, match="Flags"):
            read_catalog(Table.read(in_fits))
    for odd in (bits, bits.any(axis=1), np.full(50, "faint"), expected + 0.5):
        small["Flags"] = odd
        with pytest.raises(CatalogError, match="Flags"):
            read_catalog(small)


def test_galactic_coordinates_are_computed_where_missing(small):
    expected = small["GLON"].data.copy(), small["GLAT"].data.copy()
    small.remove_columns(["GLON", "GLAT"])
    catalog = read_catalog(small)
    np.testing.assert_allclose(catalog.table["GLON"], expected[0], atol=2e-3)
    np.testing.assert_allclose(catalog.table["GLAT"], expected[1], atol=2e-3)
    assert catalog.table["GLON"].unit == u.deg


def test_repeated_names_are_reported(small):
    small["Source_Name"][:2] = "a b"
    with pytest.warns(CatalogWarning, match="1 names of sources more than once, such as a b"):
        assert len(read_catalog(small)) == len(small)


def test_the_sole_fitting_table_needs_no_name(plain_bytes, dr4, tmp_path):
    path = tmp_path / "catalog.fits"
    with fits.HDUList.fromstring(plain_bytes) as hdus:
        del hdus[1].header["EXTNAME"]
        hdus[1].name = ""
        hdus.writeto(path)
    assert_same(read_catalog(path), dr4)
