"""Made-up releases, and two real ones."""

import numpy as np
import pytest
from astropy.table import Table

from fermiclass.catalog import RELEASES, Catalog, read_catalog
from fermiclass.evaluation import Evaluation, MethodResult, Scores
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


CLASSES = ("bll", "fsrq", "psr")


def make_up_evaluation(variants, *, some_unassociated=True, features=None, n=200, meta=None, shares=None):
    """Return an evaluation on the same n made-up sources.

    `variants` maps each variant to how much of its probabilities is noise: 0 for the truth, 1 for none of it. `shares`
    gives those of the variants that are corrected.
    """
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(3), n)
    y = np.array([rng.choice(CLASSES, p=row) for row in truth])
    status = np.where(rng.random(n) < 0.3, "" if some_unassociated else "bcu", "bcu")
    significance = rng.uniform(4.0, 30.0, n)
    bare = status == ""
    features = features or {"six": ("a", "b")}
    methods = {}
    for k, (variant, noise) in enumerate(variants.items()):
        p = (1 - noise) * truth + noise * np.random.default_rng(k + 1).dirichlet(np.ones(3), n)
        scores = Scores.of(p, y, CLASSES, significance=significance)
        alone = Scores.of(p[bare], y[bare], CLASSES) if bare.any() else None
        own = shares if shares and variant.correction else {}
        methods[variant.name(len(features) > 1)] = MethodResult(variant, scores, alone, 1.25, 0.5, p, own)
    names = np.array([f"s{k}" for k in range(n)])
    return Evaluation("4FGL.fits", "made up", CLASSES, features, names, y, status, significance, methods, meta or {})
