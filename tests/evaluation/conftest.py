"""Made-up releases, real ones, and made-up evaluations."""

import numpy as np
import pytest

from fermiclass.catalog import read_catalog
from fermiclass.evaluation import Evaluation, Method, Population, Result, Targets
from tests.conftest import make_up_catalog, slim_path

CLASSES = ("bll", "fsrq", "psr")


@pytest.fixture
def make_catalog():
    """Return a function: names, positions, classes, release and more columns to a catalogue."""

    def make(names, lon, lat, classes, release="4FGL-DR1", **columns):
        return make_up_catalog(classes, release, Source_Name=names, RAJ2000=lon, DEJ2000=lat, **columns)

    return make


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


def make_up_evaluation(noise, *, n=200, floor=1e-5):
    """Return an evaluation on n made-up sources; in the last ten nothing is known of the class.

    `noise` says how much of each method's probabilities is noise: 0 for the truth, 1 for none of it. Methods whose name
    begins with "base" are baselines.
    """
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), n)
    truth = np.arange(3) == np.array([rng.choice(3, p=row) for row in P])[:, None]
    truth[-10:] = True
    status, low = np.where(rng.random(n) < 0.3, "", "bcu"), rng.random(n) < 0.4
    each = {name: (name,) for name in CLASSES}
    two = {"agn": ("bll", "fsrq"), "psr": ("psr",)}
    populations = {
        "all": Population(np.full(n, True), each, "all"),
        "unassociated": Population(status == "", each, "unassociated"),
        "agn_or_pulsar": Population(low, two, "agn, psr"),
    }
    names = np.array([f"s{k}" for k in range(n)])
    about = {"features": ["a", "b"], "grouping": "bll,fsrq,psr", "class_priors": "trained"}
    targets = Targets(
        "4FGL.fits", "made up", "made-up sources", CLASSES, truth, names, status, rng.uniform(4, 30, n), low,
        populations, [], floor, meta=about,
    )  # fmt: skip
    results = {}
    for k, (name, share) in enumerate(noise.items()):
        p = (1 - share) * P + share * np.random.default_rng(k + 1).dirichlet(np.ones(3), n)
        results[name] = Result(Method(name, None, name.startswith("base")), p, 1.25)
    return Evaluation(targets, results)
