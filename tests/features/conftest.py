"""A catalogue made up for the tests of features, and the real releases where they are at hand."""

from __future__ import annotations

from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import pytest
from astropy.table import Table

from fermiclass.catalog import ClassGrouping
from tests.conftest import slim_path

RELEASES = {"DR1": "gll_psc_v20", "DR2": "gll_psc_v27", "DR3": "gll_psc_v29", "DR4": "gll_psc_v35"}


class FakeCatalog:
    """As much of a Catalog as features need, around any table."""

    def __init__(self, table):
        self.table = table
        self.release = SimpleNamespace(name="Made-up release")
        self.source = "made-up.fits"
        self.sha256 = "0" * 64
        self.names = np.array([f"4FGL J{row:04d}" for row in range(len(table))])
        self.classes = np.array([("bll", "fsrq", "psr", "", "bcu")[row % 5] for row in range(len(table))])

    def grouping(self, classes):
        return ClassGrouping.parse("bll,fsrq,psr,other" if classes is None else classes)

    def labels(self, grouping):
        return grouping.assign(self.classes)

    def __len__(self):
        return len(self.table)

    def __getitem__(self, rows):
        chosen = FakeCatalog(self.table[rows])
        chosen.names, chosen.classes = self.names[rows], self.classes[rows]
        return chosen


def made_up_table(n, seed=0, bands=8):
    """Draw a table that has the columns of every defined feature, all values known."""
    rng = np.random.default_rng(seed)
    table = Table()
    table["Signif_Avg"] = 4.0 * np.exp(rng.exponential(1.0, n))
    table["Pivot_Energy"] = np.exp(rng.normal(7.5, 0.8, n))
    table["LP_SigCurv"] = rng.exponential(3.0, n)
    table["PLEC_SigCurv"] = rng.exponential(3.0, n)
    table["Variability_Index"] = np.exp(rng.normal(3.0, 1.0, n))
    for name, value, error in (
        ("Flux1000", 3e-10 * np.exp(rng.normal(0, 1, n)), 3e-11),
        ("Energy_Flux100", 3e-12 * np.exp(rng.normal(0, 1, n)), 3e-13),
        ("LP_Index", rng.normal(2.2, 0.4, n), 0.6),
        ("LP_beta", rng.normal(0.15, 0.2, n), 0.4),
        ("PL_Index", rng.normal(2.3, 0.3, n), 0.4),
        ("Frac_Variability", rng.uniform(0.1, 1.0, n), 0.5),
        ("Npred", rng.uniform(50, 1000, n), 9.0),
    ):
        table[name] = value
        table[f"Unc_{name}"] = error * np.exp(rng.normal(0, 0.2, n)) * (table["Signif_Avg"] / 4.0) ** -0.8
    flux = 10.0 ** (-8.0 - np.arange(bands)) * np.exp(rng.normal(0, 0.3, (n, bands)))
    table["Flux_Band"] = flux
    table["Unc_Flux_Band"] = np.stack([-0.2 * flux, 0.3 * flux], axis=-1)
    table["GLAT"] = rng.normal(0.0, 30.0, n)
    return table


@lru_cache
def _read_release(path):
    from fermiclass.catalog import read_catalog

    return read_catalog(path)


@pytest.fixture(params=list(RELEASES))
def release(request, shared_data):
    """One of the four releases, in full."""
    return _read_release(shared_data / "catalogs" / f"{RELEASES[request.param]}.fit.gz")


@pytest.fixture
def dr1(shared_data):
    return _read_release(shared_data / "catalogs" / f"{RELEASES['DR1']}.fit.gz")


@pytest.fixture
def slim_dr4():
    return _read_release(slim_path("4FGL-DR4"))


@pytest.fixture
def make_catalog():
    """Return a function: number of sources, seed and number of bands to a made-up catalogue."""
    return lambda n=200, seed=0, bands=8: FakeCatalog(made_up_table(n, seed, bands))


@pytest.fixture
def wrap():
    return FakeCatalog
