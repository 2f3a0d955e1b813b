"""Properties that hold whatever the bytes and the numbers are: an answer that is finite, or a refusal."""

import gzip
import warnings
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermiclass import read_catalog
from fermiclass.errors import CatalogError, FermiclassError
from fermiclass.features import extract_features
from fermiclass.nimgp.archives import read_arrays
from tests.robustness.damage import Base

NUMBERS = (
    "Flux1000",
    "Unc_Flux1000",
    "LP_Index",
    "Unc_LP_Index",
    "LP_beta",
    "Unc_LP_beta",
    "Signif_Avg",
    "Pivot_Energy",
)


@pytest.fixture(scope="module")
def base():
    return Base()


def read_or_refuse(source):
    """Read a catalogue and check its features; return None where it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            table = extract_features(read_catalog(source), "six")
        except FermiclassError:
            return None
    assert np.all(np.isfinite(table.X))
    assert np.all(np.isfinite(table.X_var))
    assert np.all(table.X_var >= 0)
    return table


@given(
    flips=st.lists(st.tuples(st.integers(0, 2**40), st.integers(1, 255)), min_size=1, max_size=8), cut=st.integers(0, 3)
)
def test_flipped_bytes_of_a_file(base, tmp_path, flips, cut):
    content = bytearray(base.content[: len(base.content) - 1000 * cut])
    for place, mask in flips:
        content[place % len(content)] ^= mask
    (tmp_path / "catalog.fits").write_bytes(bytes(content))
    table = read_or_refuse(tmp_path / "catalog.fits")
    if table is not None:
        assert len(table) == 720


def unpacks_to(packed, content):
    """Whether a packed file is intact for those who only want what is in it."""
    try:
        return gzip.decompress(packed) == content
    except (OSError, EOFError, zlib.error):
        return False


@given(places=st.lists(st.integers(0, 2**40), min_size=1, max_size=4), mask=st.integers(1, 255))
def test_flipped_bytes_of_a_packed_file_are_seen(base, tmp_path, places, mask):
    packed = gzip.compress(base.content, compresslevel=1, mtime=0)
    spoilt = bytearray(packed)
    for place in places:
        spoilt[10 + place % (len(packed) - 10)] ^= mask
    (tmp_path / "catalog.fits.gz").write_bytes(bytes(spoilt))
    if unpacks_to(bytes(spoilt), base.content):  # as where a repeated byte is copied from another place
        assert read_or_refuse(tmp_path / "catalog.fits.gz") is not None
        return
    with pytest.raises(CatalogError, match=r"gzip|FITS"):
        read_catalog(tmp_path / "catalog.fits.gz")


@given(data=st.data())
def test_any_numbers_in_any_columns(base, data):
    table = base.table
    for name in data.draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3, unique=True)):
        rows = data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=20))
        table[name][rows] = data.draw(st.floats(width=64))
    found = read_or_refuse(table)
    assert found is not None
    assert len(found) == len(table)


@given(content=st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(lambda b: b"PK\x03\x04" + b)))
def test_archives_of_any_bytes(content):
    try:
        arrays = read_arrays(content)
    except ValueError:
        return
    assert arrays == {}
