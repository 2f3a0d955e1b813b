"""A catalogue made up for the tests of features, and the real releases where they are at hand."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from tests.conftest import make_up_catalog

RELEASES = {"DR1": "gll_psc_v20", "DR2": "gll_psc_v27", "DR3": "gll_psc_v29", "DR4": "gll_psc_v35"}


def made_up_catalog(n, seed=0, bands=8):
    """Draw a catalogue that has the columns of every defined feature, all values known."""
    rng = np.random.default_rng(seed)
    catalog = make_up_catalog(np.resize(["bll", "fsrq", "psr", "", "bcu"], n))
    table = catalog.table
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
    table["GLAT"], table["GLON"] = rng.normal(0.0, 30.0, n), rng.uniform(0.0, 360.0, n)
    table["Flags"] = rng.choice([0, 33], n)
    return catalog


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
def make_catalog():
    """Return a function: number of sources, seed and number of bands to a made-up catalogue."""
    return lambda n=200, seed=0, bands=8: made_up_catalog(n, seed, bands)
