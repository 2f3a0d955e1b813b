"""A catalogue in parts is the catalogue."""

import warnings

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

from fermiclass import read_catalog
from fermiclass.catalog import CatalogParts, CatalogWarning, open_large_catalog
from fermiclass.catalog.structure import data_sum
from fermiclass.errors import CatalogError
from tests.conftest import slim_path


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """Return a function that gives the path of a release's file, not compressed."""
    import gzip

    folder = tmp_path_factory.mktemp("unpacked")

    def write(release):
        path = folder / f"{release}.fits"
        if not path.exists():
            path.write_bytes(gzip.decompress(slim_path(release).read_bytes()))
        return path

    return write


@pytest.mark.parametrize("release", ["4FGL-DR1", "4FGL-DR4"])
def test_the_parts_are_the_catalogue(unpacked, release):
    path = unpacked(release)
    whole, parts = read_catalog(path), CatalogParts(path, 1000)
    found = list(parts)
    sizes = [len(part) for part in found]
    assert max(sizes) <= 1000
    assert max(sizes) - min(sizes) < len(sizes)
    assert len(parts) == len(whole)
    assert {part.sha256 for part in found} == {whole.sha256}
    assert {part.release.name for part in found} == {release}
    np.testing.assert_array_equal(parts.classes, whole.classes)
    for name in whole.table.colnames:
        column = whole.table[name]
        of_parts = [part.table[name] for part in found]
        assert {(one.dtype, one.unit, one.description) for one in of_parts} == {
            (column.dtype, column.unit, column.description)
        }
        np.testing.assert_array_equal(np.concatenate(of_parts), column)


def changed(path, target, change):
    with fits.open(path) as hdus:
        change(hdus[1])
        hdus.writeto(target, overwrite=True)
    return target


def test_a_warning_is_given_once_and_says_of_which_rows(unpacked, tmp_path):
    def beyond(hdu):
        hdu.data["DEJ2000"][[1200, 1201, 5000]] = 99.0

    parts = CatalogParts(changed(unpacked("4FGL-DR4"), tmp_path / "odd.fits", beyond), 1000)
    with pytest.warns(CatalogWarning) as caught:
        list(parts), list(parts)
    (message,) = {str(warning.message) for warning in caught}
    assert "'odd.fits', rows 901 to 1800: DEJ2000 is beyond ±90 for 2 sources" in message
    assert len(caught) == 1


def test_names_that_repeat_in_different_parts(unpacked, tmp_path):
    def repeated(hdu):
        hdu.data["Source_Name"][6000] = hdu.data["Source_Name"][10]

    parts = CatalogParts(changed(unpacked("4FGL-DR4"), tmp_path / "twice.fits", repeated), 1000)
    with pytest.warns(CatalogWarning, match="1 names of sources more than once, such as 4FGL J"):
        parts.classes  # noqa: B018


def test_unknown_classes_of_different_parts(unpacked, tmp_path):
    def unknown(hdu):
        hdu.data["CLASS1"][[10, 6000]] = "zz1", "zz2"

    parts = CatalogParts(changed(unpacked("4FGL-DR4"), tmp_path / "unknown.fits", unknown), 1000)
    with pytest.warns(CatalogWarning, match=r"unknown classes: zz1 \(1\), zz2 \(1\)"):
        parts.classes  # noqa: B018


def test_bytes_that_are_no_text_and_whole_numbers_without_sign(unpacked, tmp_path):
    """Parts have the types of the whole, whatever is in them."""
    path = unpacked("4FGL-DR4")
    table = Table.read(path, hdu=1)
    table["Flags"] = np.asarray(table["Flags"]).astype(np.uint16) + np.uint16(40_000)
    odd = tmp_path / "odd.fits"
    hdu = fits.table_to_hdu(table)
    hdu.name = "LAT_Point_Source_Catalog"
    hdu.writeto(odd)
    content = odd.read_bytes()
    begin = content.index(b"4FGL J")
    odd.write_bytes(content[:begin] + b"\xff" + content[begin + 1 :])
    with pytest.warns(CatalogWarning):
        whole, parts = read_catalog(odd), list(CatalogParts(odd, 3000))
    for name in ("Flags", "Source_Name"):
        assert {part.table[name].dtype for part in parts} == {whole.table[name].dtype}
        np.testing.assert_array_equal(np.concatenate([part.table[name] for part in parts]), whole.table[name])


def test_other_tables_do_not_count(unpacked, tmp_path):
    path = tmp_path / "with-intervals.fits"
    with fits.open(unpacked("4FGL-DR4")) as hdus:
        intervals = fits.BinTableHDU(Table({"START": np.arange(50_000.0)}), name="GTI")
        fits.HDUList([*hdus, intervals]).writeto(path)
        empty = fits.HDUList([hdus[0], fits.BinTableHDU(hdus[1].data[:0], hdus[1].header), intervals])
        empty.writeto(tmp_path / "empty.fits")
    assert open_large_catalog(path) is None
    assert len(open_large_catalog(path, 5000)) == 7195
    with pytest.raises(CatalogError, match="has no rows"):
        CatalogParts(tmp_path / "empty.fits")


def test_a_file_that_changes_meanwhile(unpacked, tmp_path):
    path = tmp_path / "changing.fits"
    path.write_bytes(unpacked("4FGL-DR4").read_bytes())
    parts = iter(CatalogParts(path, 1000))
    next(parts)
    path.write_bytes(unpacked("4FGL-DR1").read_bytes())
    with pytest.raises(CatalogError, match="was changed while it was read"):
        next(parts)
    path.unlink()
    with pytest.raises(CatalogError, match="cannot be read in parts"):
        CatalogParts(path)


def test_the_smaller_ones_are_read_whole(unpacked, tmp_path):
    path = unpacked("4FGL-DR4")
    assert open_large_catalog(path, 7195) is None
    assert len(open_large_catalog(path, 7194)) == 7195
    assert open_large_catalog(path) is None
    assert open_large_catalog(slim_path("4FGL-DR4"), 10) is None  # compressed
    assert open_large_catalog(tmp_path, 10) is None
    assert open_large_catalog(tmp_path / "none.fits", 10) is None


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-2880], "is truncated"),
        (lambda content: content + b"more", "bytes after the end"),
        (lambda content: content.replace(b"'LP_SigCurv'", b"'LP_SigCuvr'"), "lacks columns"),
        (lambda content: content.replace(b"NAXIS1  =", b"NAXIS1  =  1", 1), "damaged"),
    ],
)
def test_damage_is_refused_as_in_the_whole(unpacked, tmp_path, damage, message):
    path = tmp_path / "damaged.fits"
    path.write_bytes(damage(unpacked("4FGL-DR4").read_bytes()))
    for read in (read_catalog, lambda path: CatalogParts(path, 1000)):
        with pytest.raises(CatalogError, match=message):
            read(path)


def test_a_flipped_bit_and_a_checksum(unpacked, tmp_path):
    path = tmp_path / "summed.fits"
    with fits.open(unpacked("4FGL-DR4")) as hdus:
        hdus.writeto(path, checksum=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(CatalogParts(path, 5000))) == 2
    content = bytearray(path.read_bytes())
    content[-9000] ^= 1
    path.write_bytes(content)
    for read in (read_catalog, CatalogParts):
        with pytest.raises(CatalogError, match="DATASUM"):
            read(path)


@pytest.mark.parametrize("size", [0, 4, 2880, 70_000 * 4])
def test_the_sum_of_data_is_astropys(size):
    data = np.random.default_rng(size).integers(200, 256, size, dtype=np.uint8)
    hdu = fits.BinTableHDU(Table({"a": data}))
    hdu.add_datasum()
    filled = data.tobytes() + bytes(-size % 2880)
    pieces = [filled[k : k + 4000] for k in range(0, len(filled), 4000)]
    assert str(data_sum(pieces)) == hdu.header["DATASUM"]


def test_what_is_no_plain_fits_file_is_refused():
    with pytest.raises(CatalogError, match=r"compressed.* cannot be read in parts"):
        CatalogParts(slim_path("4FGL-DR4"))
