"""Variability_Index of other numbers of time bins."""

import numpy as np
import pytest

from fermiclass import read_sources
from fermiclass.catalog import CatalogWarning
from fermiclass.catalog.releases import RELEASES, warn_of_other_release
from fermiclass.catalog.time_bins import in_bins_of, rescale
from fermiclass.errors import CatalogError
from fermiclass.labelling.recipe import Recipe


@pytest.mark.parametrize(("bins", "to"), [(8, 14), (11, 14), (48, 14), (5, 14), (14, 48), (14, 14)])
def test_a_steady_source_of_other_bins_is_steady(bins, to):
    """Mean and variance are those of χ²; the order stays; and the way back is the inverse."""
    index = np.random.default_rng(1).chisquare(bins - 1, 100_000)
    found = rescale(index, np.full(len(index), bins), to)
    assert found.mean() == pytest.approx(to - 1, rel=0.05)
    assert found.var() == pytest.approx(2 * (to - 1), rel=0.25)
    assert np.all(np.diff(found[np.argsort(index)]) >= 0)
    assert found.min() > 0
    np.testing.assert_allclose(rescale(found, np.full(len(index), to), bins), index)


def test_the_bins_of_releases_give_their_thresholds(slim_catalog):
    """VARMIN in the headers is the 99 % point of χ²."""
    from astropy.io import fits
    from scipy.stats import chi2

    from tests.conftest import slim_path

    header = fits.getheader(slim_path(slim_catalog.release.name), 1)
    assert chi2.isf(0.01, slim_catalog.release.bins - 1) == pytest.approx(header["VARMIN"], rel=1e-4)


COLUMNS = ("Source_Name", "RAJ2000", "DEJ2000", "Signif_Avg", "Flux1000", "Unc_Flux1000", "PL_Index", "Unc_PL_Index")


def test_variability_of_ones_own(dr4):
    """It is left out, scaled with the number of bins, and stays in rows of the training catalogue."""
    table = dr4.table[:4][[*COLUMNS, "Variability_Index"]]
    table.meta.clear()
    index = np.asarray(table["Variability_Index"], float)
    table["Source_Name"][0] = "mine"
    table["Variability_Index"][1] *= 2.0
    own = read_sources(table)
    with pytest.warns(CatalogWarning, match="not known for 2 sources"):
        kept = in_bins_of(own, dr4.release.name, dr4)
    np.testing.assert_allclose(kept.column("Variability_Index"), [np.nan, np.nan, *index[2:]])
    with pytest.warns(CatalogWarning, match="not known for 4 sources"):
        assert np.isnan(in_bins_of(own, dr4.release.name).column("Variability_Index")).all()
    said = in_bins_of(read_sources(table, variability_bins=11), dr4.release.name, dr4)
    expected = rescale(np.asarray(table["Variability_Index"], float), np.full(4, 11.0), 14)
    np.testing.assert_allclose(said.column("Variability_Index"), expected)
    np.testing.assert_array_equal(in_bins_of(said, dr4.release.name).table["Variability_Index"], expected)
    table["variability_bins"] = [14.0, 11.0, 11.0, np.nan]
    both = in_bins_of(read_sources(table, variability_bins=11), dr4.release.name).column("Variability_Index")
    np.testing.assert_allclose(both, [index[0], *expected[1:]])
    for bins in (float("nan"), float("inf"), "12", 1, 2.5):
        with pytest.raises(CatalogError, match="no number of time bins"):
            read_sources(table, variability_bins=bins)


@pytest.mark.filterwarnings("ignore:.*Variability_Index depends")
def test_what_is_not_known_is_no_feature(dr4):
    row = dict(zip(COLUMNS, dr4.table[0][list(COLUMNS)], strict=True)) | {
        "Source_Name": "mine",
        "Variability_Index": 6.3,
    }
    assert "ln_Variability_Index" in Recipe().check(dr4, read_sources(row)).left_out
    assert "ln_Variability_Index" not in Recipe().check(dr4, read_sources(row, variability_bins=11)).left_out


def test_another_exposure_is_told():
    by_name = {release.name: release for release in RELEASES}
    with pytest.warns(CatalogWarning, match="3FGL has 4 years.*Train on 3FGL"):
        warn_of_other_release("4FGL-DR4", by_name["3FGL"], ())
    warn_of_other_release("4FGL-DR4", by_name["4FGL-DR3"], ())


def test_a_column_that_no_feature_needs_is_told(dr4):
    own = read_sources({"PL_Index": 2.2, "n": 100.0, "s": 8.0}, {"npred": "n", "Signif_Avg": "s"})
    with pytest.warns(CatalogWarning, match="npred not used, as no feature needs it"):
        Recipe().check(dr4, own)
    Recipe(features="PL_Index,ln_Npred,ln_Signif_Avg").check(dr4, own)
