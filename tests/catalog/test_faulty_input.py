import gzip
import io

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

from fermiclass.catalog import REQUIRED_COLUMNS, read_catalog
from fermiclass.errors import CatalogError
from fermiclass.features import extract_features
from tests.conftest import slim_path


@pytest.fixture(scope="session")
def plain_bytes():
    return gzip.decompress(slim_path("4FGL-DR4").read_bytes())


@pytest.fixture
def small(dr4):
    return dr4.table[:50].copy()


@pytest.fixture
def written(tmp_path):
    """Return a function that writes bytes and gives the path."""

    def write(content, name="catalog.fits"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


# The table's header, its first rows, its middle, and its last value.
PLACES = (1, 1000, 2880, 4000, 2880 * 3, 0.1, 0.5, 0.9)


@pytest.mark.parametrize("place", PLACES)
def test_truncated_plain_file(plain_bytes, written, place):
    cut = int(place * len(plain_bytes)) if place < 1 else place
    with pytest.raises(CatalogError, match=r"catalog\.fits' .*(truncated|damaged|not a FITS file|has no table)"):
        read_catalog(written(plain_bytes[:cut]))


def test_table_that_lacks_its_last_byte(plain_bytes, written):
    with fits.HDUList.fromstring(plain_bytes) as hdus:
        header = hdus[1].header
        end = len(plain_bytes) - (-(header["NAXIS1"] * header["NAXIS2"]) % 2880)
    with pytest.raises(CatalogError, match="truncated: it ends at byte"):
        read_catalog(written(plain_bytes[: end - 1]))


@pytest.mark.parametrize("place", [3, 100, 0.1, 0.5, 0.99, -1])
def test_truncated_gzip_file(written, place):
    content = slim_path("4FGL-DR4").read_bytes()
    cut = int(place * len(content)) if 0 < place < 1 else place
    with pytest.raises(CatalogError, match="damaged or truncated gzip file"):
        read_catalog(written(content[:cut], "catalog.fits.gz"))


def test_damaged_gzip_file(written):
    content = bytearray(slim_path("4FGL-DR4").read_bytes())
    content[len(content) // 2] ^= 0xFF
    with pytest.raises(CatalogError, match="damaged or truncated gzip file"):
        read_catalog(written(bytes(content), "catalog.fits.gz"))


@pytest.mark.parametrize(
    "content",
    [b"Source_Name,CLASS1\nx,bll\n", b"\x89PNG\r\n\x1a\n" + bytes(500), b"\x00" * 5000, bytes(range(256)) * 20, b"S"],
    ids=["csv", "png", "zeros", "garbage", "one byte"],
)
def test_not_fits(written, content):
    for name, wrapped in (("catalog.fits", content), ("catalog.fits.gz", gzip.compress(content))):
        with pytest.raises(CatalogError, match=f"'.*{name}' is not a FITS file"):
            read_catalog(written(wrapped, name))


def test_empty_missing_and_folder(written, tmp_path):
    with pytest.raises(CatalogError, match="is empty"):
        read_catalog(written(b""))
    with pytest.raises(CatalogError, match=r"there is no file '.*nowhere\.fits'"):
        read_catalog(tmp_path / "nowhere.fits")
    with pytest.raises(CatalogError, match="is a folder"):
        read_catalog(tmp_path)


def test_no_permission(written, monkeypatch):
    path = written(b"SIMPLE  =")

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "read_bytes", refuse)
    with pytest.raises(CatalogError, match="cannot be read: Permission denied"):
        read_catalog(path)


def test_fits_without_a_table(written, tmp_path):
    path = tmp_path / "image.fits"
    fits.PrimaryHDU(np.zeros((3, 3))).writeto(path)
    with pytest.raises(CatalogError, match="has no table 'LAT_Point_Source_Catalog'"):
        read_catalog(path)


def test_table_without_rows(small):
    with pytest.raises(CatalogError, match="has no rows"):
        read_catalog(small[:0])


@pytest.mark.parametrize("name", REQUIRED_COLUMNS)
def test_each_required_column(small, name):
    small.remove_column(name)
    with pytest.raises(CatalogError, match=f"<Table> lacks columns: {name}"):
        read_catalog(small)


def test_columns_of_the_wrong_type(small):
    for name, values, wanted in (
        ("Flux1000", np.full(50, "bright"), "numbers"),
        ("CLASS1", np.zeros(50), "text"),
        ("LP_beta", np.zeros((50, 2)), "numbers"),
        ("GLON", np.full(50, "0h"), "numbers"),  # none of those that are needed
        ("Flux_Band", np.full((50, 8), "faint"), "numbers"),
    ):
        table = small.copy()
        table.replace_column(name, Table({name: values})[name])
        with pytest.raises(CatalogError, match=f"column {name} holds .* expected {wanted}"):
            read_catalog(table)


def test_3fgl_is_named_with_what_it_lacks(shared_data):
    with pytest.raises(CatalogError, match=r"gll_psc_v16.fit.gz' lacks .*LP_Index.*3FGL.*Use a 4FGL release"):
        read_catalog(shared_data / "catalogs" / "gll_psc_v16.fit.gz")


@pytest.mark.parametrize("source", [None, 5, {"Source_Name": ["x"]}, b"path"])
def test_what_is_no_catalogue_at_all(source):
    with pytest.raises(CatalogError, match="expected a path, an astropy table or an open FITS file"):
        read_catalog(source)


@pytest.mark.parametrize(("null", "format"), [(-999, "J"), (9999, "I"), (-1, "K")])
def test_the_null_of_whole_numbers_is_no_number(plain_bytes, written, null, format):
    """TNULL, also where the stored numbers are scaled."""
    with fits.open(io.BytesIO(plain_bytes)) as hdus:
        data = hdus[1].data[:40]
        units = {column.name: column.unit for column in hdus[1].columns}
        stored = np.rint(np.maximum(data["LP_SigCurv"], 0.0)).astype("i8")
        stored[3:6] = null
        columns = [
            fits.Column(column.name, column.format, unit=units[column.name], array=data[column.name])
            for column in hdus[1].columns
            if column.name not in ("LP_SigCurv", "Npred")
        ]
        columns.append(fits.Column("LP_SigCurv", format, null=null, array=stored))
        table = fits.BinTableHDU.from_columns(columns, name="LAT_Point_Source_Catalog")
        table.header.update({"CDS-NAME": "4FGL", "VERSION": "v35"})
        path = written(b"")
        table.writeto(path, overwrite=True)
    values = np.asarray(read_catalog(path).table["LP_SigCurv"], float)
    assert np.flatnonzero(np.isnan(values)).tolist() == [3, 4, 5]
    np.testing.assert_array_equal(np.delete(values, [3, 4, 5]), np.delete(stored, [3, 4, 5]))
    features = extract_features(read_catalog(path), "asinh_LP_SigCurv")
    assert np.flatnonzero(features.imputed_value[:, 0]).tolist() == [3, 4, 5]


def test_a_text_ends_at_its_first_nul(plain_bytes, written):
    catalog = read_catalog(written(plain_bytes))
    row = int(np.flatnonzero(catalog.classes == "bll")[0])
    with fits.open(io.BytesIO(plain_bytes)) as hdus:
        layout = hdus[1].data.dtype.fields["CLASS1"]
        start = hdus.info(output=False) and hdus[1]._data_offset + row * hdus[1].data.dtype.itemsize + layout[1]
    damaged = bytearray(plain_bytes)
    width = layout[0].itemsize
    damaged[start : start + width] = (b"bll\0" + width * b"z")[:width]
    again = read_catalog(written(bytes(damaged), "again.fits"))
    assert again.classes[row] == "bll"
