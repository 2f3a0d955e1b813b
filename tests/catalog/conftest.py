"""The slim 4FGL-DR4 as tests change it."""

import gzip

import pytest

from tests.conftest import slim_path


@pytest.fixture(scope="session")
def plain_bytes():
    """The file, uncompressed."""
    return gzip.decompress(slim_path("4FGL-DR4").read_bytes())


@pytest.fixture
def small(dr4):
    """A few sources as a table."""
    return dr4.table[:50].copy()
