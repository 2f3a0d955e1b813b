"""Made-up releases, and two real ones."""

import numpy as np
import pytest
from astropy.table import Table

from fermiclass.catalog import RELEASES, Catalog, read_catalog
from tests.conftest import slim_path

_RELEASE = {release.name: release for release in RELEASES}


def make_up_catalog(names, lon, lat, classes, release="4FGL-DR1", **columns):
    table = Table({"Source_Name": names, "RAJ2000": lon, "DEJ2000": lat, "CLASS1": classes, **columns})
    return Catalog(table, _RELEASE[release], f"{release}.fits", "0" * 64)


@pytest.fixture
def make_catalog():
    """Return a function: names, positions, classes, release and more columns to a catalogue."""
    return make_up_catalog


@pytest.fixture(scope="session")
def dr1():
    return read_catalog(slim_path("4FGL-DR1"))


@pytest.fixture
def blobs():
    """Three overlapping classes in two dimensions, with error bars: X, X_var, y."""
    rng = np.random.default_rng(3)
    y = np.repeat(["psr", "bll", "fsrq"], 30)
    centre = {"bll": (0.0, 0.0), "fsrq": (3.0, 0.0), "psr": (0.0, 3.0)}
    X = np.array([centre[name] for name in y]) + rng.normal(size=(90, 2))
    return X, rng.uniform(0.01, 0.2, X.shape), y
