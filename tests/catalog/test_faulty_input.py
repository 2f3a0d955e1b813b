"""What users meet has one clear message, and no wrong number comes without a word."""

import gzip
import io
import sys

import numpy as np
import pytest
from astropy.io import fits
from astropy.io.votable.tree import VOTableFile
from astropy.table import Table

from fermiclass.brought.sources import read_sources
from fermiclass.catalog import CatalogWarning, read_catalog
from fermiclass.catalog.releases import REQUIRED_COLUMNS
from fermiclass.errors import CatalogError


@pytest.mark.parametrize("place", [1, 1000, 2880, 4000, 2880 * 3, 0.1, 0.5, 0.9, -2881])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_truncated_files(plain_bytes, tmp_path, place, compress):
    content = compress(plain_bytes)
    (tmp_path / "catalog.fits").write_bytes(content[: int(place * len(content)) if 0 < place < 1 else place])
    with pytest.raises(CatalogError, match=r"catalog\.fits' cannot be read .*Download it"):
        read_catalog(tmp_path / "catalog.fits")


@pytest.mark.parametrize("content", [b"Source_Name,CLASS1\nx,bll\n", b"\x89PNG\r\n\x1a\n" + bytes(500), b"<html>404"])
def test_not_fits(tmp_path, content):
    for wrapped in (content, gzip.compress(content)):
        (tmp_path / "catalog.fits").write_bytes(wrapped)
        with pytest.raises(CatalogError, match="not a FITS"):
            read_catalog(tmp_path / "catalog.fits")


def test_empty_missing_and_folder(tmp_path):
    (tmp_path / "empty.fits").touch()
    for name, message in (("empty.fits", "is empty"), ("nowhere.fits", "there is no file"), (".", "directory")):
        with pytest.raises(CatalogError, match=message):
            read_catalog(tmp_path / name)


def test_nothing_on_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(CatalogError, match=r"'-' is empty\. Check what writes it"):
        read_sources("-")


def test_fits_without_a_table(tmp_path):
    fits.PrimaryHDU(np.zeros((3, 3))).writeto(tmp_path / "image.fits")
    with pytest.raises(CatalogError, match="has no table"):
        read_catalog(tmp_path / "image.fits")


def test_several_tables(plain_bytes, tmp_path):
    """The table of extended sources has names, too; two lists of sources are refused."""
    other = fits.BinTableHDU.from_columns([fits.Column("Source_Name", "18A", array=["x"])])
    with fits.HDUList.fromstring(plain_bytes) as hdus:
        fits.HDUList([hdus[0], other, hdus[1]]).writeto(tmp_path / "other.fits")
        fits.HDUList([hdus[0], hdus[1], hdus[1]]).writeto(tmp_path / "two.fits")
    assert len(read_catalog(tmp_path / "other.fits")) == 7195
    tables = [Table({"Source_Name": ["x"]}), *[read_catalog(tmp_path / "other.fits").table[:40][REQUIRED_COLUMNS]] * 2]
    for number, name in ((2, "other.vot"), (3, "two.vot")):
        file = VOTableFile.from_table(tables[0])
        file.resources[0].tables.extend(VOTableFile.from_table(one).get_first_table() for one in tables[1:number])
        file.to_xml(str(tmp_path / name))
    with pytest.warns(CatalogWarning, match="not of a known release"):
        assert len(read_catalog(tmp_path / "other.vot")) == 40
    for name in ("two.fits", "two.vot"):
        with pytest.raises(CatalogError, match="2 tables"):
            read_catalog(tmp_path / name)


def test_table_without_rows(small):
    with pytest.raises(CatalogError, match="has no rows"):
        read_catalog(small[:0])


@pytest.mark.parametrize("name", REQUIRED_COLUMNS)
def test_each_required_column(small, name):
    small.remove_column(name)
    with pytest.raises(CatalogError, match=f"<Table> lacks columns: {name}"):
        read_catalog(small)


def test_a_column_in_another_case(small):
    small.rename_column("Flux1000", "flux1000")
    with pytest.raises(CatalogError, match="another case: flux1000"):
        read_catalog(small)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Flux1000", np.full(50, "bright")),
        ("CLASS1", np.zeros(50)),
        ("LP_beta", np.zeros((50, 2))),
        ("LP_beta", np.zeros(50, complex)),
        ("GLON", np.full(50, "0h")),  # none of those that are needed
        ("Flux_Band", np.full((50, 8), "faint")),
    ],
)
def test_columns_of_the_wrong_type(small, name, values):
    small.replace_column(name, Table({name: values})[name])
    with pytest.raises(CatalogError, match=f"column '?{name}'? (holds|is of type)"):
        read_catalog(small)


def test_another_catalogue_is_named_with_what_it_lacks(small):
    small.remove_column("LP_Index")
    small.meta["CDS-NAME"] = "2FGL"
    with pytest.raises(CatalogError, match=r"lacks .*LP_Index.*2FGL.*Use a 4FGL release"):
        read_catalog(small)


@pytest.mark.parametrize("source", [None, 5, {"Source_Name": ["x"]}, b"path"])
def test_what_is_no_catalogue_at_all(source):
    with pytest.raises(CatalogError, match="expected a path or an astropy table"):
        read_catalog(source)


def test_a_text_ends_at_its_first_nul(plain_bytes, tmp_path):
    spoilt = plain_bytes.replace(b"bll\0\0", b"bll\0z", 1)
    assert spoilt != plain_bytes
    (tmp_path / "catalog.fits").write_bytes(spoilt)
    assert np.sum(read_catalog(tmp_path / "catalog.fits").classes == "bll") == 1490


def test_other_letters_than_ascii_are_replaced(plain_bytes, tmp_path):
    (tmp_path / "catalog.fits").write_bytes(plain_bytes.replace(b"4FGL J", b"4FGL \xe9", 1))
    with pytest.warns(CatalogWarning, match="not ASCII for 1 source"):
        read_catalog(tmp_path / "catalog.fits")
