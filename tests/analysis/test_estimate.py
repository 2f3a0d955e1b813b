"""Estimates of a number: made-up numbers whose scatter is known, what they are worth, and what is refused."""

import numpy as np
import pytest
from astropy.table import Table
from sklearn.metrics import r2_score

import fermiclass as fc
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.errors import CatalogError, FermiclassError
from tests.commands import refuses, run_well

FEATURES = "GLAT,GLON"  # without errors, which would add to the scatter
SCATTER, ERROR = 0.3, 0.4


@pytest.fixture(scope="module")
def some(dr4):
    """AGN, and sources without a class."""
    return dr4[np.isin(dr4.classes, ["bll", "fsrq", ""])][::7]


def numbers(some, seed=0, error=0.0, slope=0.015):
    """A table with a number of every source, and that of the AGN alone."""
    rng = np.random.default_rng(seed)
    exact = 12.0 - slope * some.column("GLAT") + rng.normal(0.0, SCATTER, len(some))
    table = Table({"Source_Name": some.names, "X": exact + rng.normal(0.0, 1.0, len(some)) * error})
    if error:
        table["Unc_X"] = error
    return exact, table, table[some.classes != ""]


def estimated(some, table, column="X", features=FEATURES, steps=5, **options):
    quick = fc.Recipe().with_settings(steps=steps, num_inducing=10)
    return fc.estimate(fc.join(some, table), column, quick, features=features, folds=2, **options)


def of_ours(found):
    return found.scores[found.scores["METHOD"] == "nimgp"]


@pytest.mark.parametrize("error", [pytest.param(0.0, marks=pytest.mark.slow), ERROR])
def test_scatter_and_errors_are_told_apart(some, error):
    exact, _, known = numbers(some, error=error)
    found = estimated(some, known, steps=250)
    bare = np.flatnonzero(some.classes == "")
    assert found.better
    assert list(found.table["Source_Name"]) == list(some.names[bare])
    np.testing.assert_allclose(of_ours(found)["RMSE"][0], np.hypot(SCATTER, error), rtol=0.15)
    assert 0.85 < of_ours(found)["INSIDE"][0] < 0.97
    deviation = (exact[bare] - found.table["X"]) / found.table["Unc_X"]
    assert 0.75 < np.std(deviation) < 1.25
    np.testing.assert_allclose(np.median(found.table["Unc_X"]), SCATTER, rtol=0.25)
    inside = (found.table["X_Q05"] < exact[bare]) & (exact[bare] < found.table["X_Q95"])
    assert 0.82 < inside.mean() < 0.97
    assert np.all((found.table["OOD_SCORE"] >= 0) & (found.table["OOD_SCORE"] <= 1))


def test_no_better_than_the_mean(some, tmp_path):
    """Then there are no estimates, unless they are forced; a command writes nothing."""
    few = some[::4]
    known = numbers(few, slope=0.0)[2]
    known.write(tmp_path / "x.csv")
    fc.write_table(few.table, tmp_path / "some.ecsv")
    (tmp_path / "one.toml").write_text(fc.Recipe(features=FEATURES).to_toml())
    command = ("estimate", "some.ecsv", "--join", "x.csv", "--column", "X", "--config", "one.toml", "--folds", "2")
    refuses(tmp_path, "no better than the mean, so nothing is written", *command, "--quiet", "-o", "no.fits")
    assert "nimgp" in run_well(*command, "--force", "-o", "yes.fits", cwd=tmp_path)
    assert "X_Q05" in fc.read_table(tmp_path / "yes.fits").colnames


@pytest.mark.usefixtures("eagerly")
def test_a_later_table_is_one_more_test(some):
    _, every, known = numbers(some)
    found = estimated(some, known, later=fc.join(some, every), steps=15, force=True)
    assert of_ours(found)["TEST"][-1] == "later table"
    truth, p = np.asarray(every["X"])[some.classes == ""], np.asarray(found.table["X"])
    np.testing.assert_allclose(of_ours(found)["R2"][-1], r2_score(truth, p), rtol=1e-6)
    every["X"] *= -1.0  # where it says something else
    assert not estimated(some, known, later=fc.join(some, every), steps=15).better


@pytest.mark.usefixtures("eagerly")
def test_logarithms_and_the_order_of_rows(some):
    """What is not positive is not known."""
    known = numbers(some)[2]
    known["Y"] = 10.0 ** known["X"]
    known["Y"][:5] = [0.0, -2.0, np.nan, -np.inf, 0.0]
    known["X"][:5] = np.nan
    order = np.random.default_rng(2).permutation(len(some))
    found, other = estimated(some, known, force=True), estimated(some[order], known, "log_Y", force=True).table
    rows = {name: k for k, name in enumerate(other["Source_Name"])}
    index = [rows[name] for name in found.table["Source_Name"]]
    np.testing.assert_allclose(other["log_Y"][index], found.table["X"], rtol=1e-6)
    np.testing.assert_allclose(other["Unc_log_Y"][index], found.table["Unc_X"], rtol=1e-5)


@pytest.mark.usefixtures("eagerly")
def test_limits_are_counted_and_a_number_for_unknown_is_told(some):
    known = numbers(some)[2]
    known["X_UL"] = np.where(np.arange(len(known)) < 7, 5.0, np.nan)
    known["X"][:7] = np.nan
    assert estimated(some, known).limits == 7
    known["X"][7:60] = 5.5
    with pytest.warns(CatalogWarning, match=r"X is 5.5 for 53 of \d+ sources"):
        estimated(some, known)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda x: x[:20], {}, "20 sources have X: expected 30 or more"),
        (lambda x: x, {"column": "Z"}, "has no column Z of numbers. Give a table that has it"),
        (lambda x: x, {"targets": "bcu"}, "No such source lacks X"),
        (lambda x: Table({"Source_Name": x["Source_Name"], "X": np.ones(len(x))}), {}, "X is 1 for every source"),
        (lambda x: x, {"features": "GLAT,ln_X"}, "the feature ln_X is made of X, which is estimated"),
    ],
)
def test_what_is_refused(some, change, options, message):
    with pytest.raises(FermiclassError, match=message):
        estimated(some, change(numbers(some)[2]), **options)


def test_a_later_table_needs_new_numbers(some):
    known = numbers(some)[2]
    with pytest.raises(CatalogError, match="has X of 0 more sources: a test needs 30"):
        estimated(some, known, later=fc.join(some, known))


@pytest.mark.slow
def test_synchrotron_peaks(dr4, shared_data):
    """As good as a forest, and the intervals hold."""
    joined = fc.join(dr4, fc.read_table(shared_data / "data" / "external" / "4lac_dr3_h.fits.gz"))
    ours = of_ours(found := fc.estimate(joined, "log_nu_syn"))
    assert found.better
    assert np.all(ours["RMSE"] <= found.scores[found.scores["METHOD"] == "forest"]["RMSE"])
    assert np.all((ours["INSIDE"] >= 0.85) & (ours["INSIDE"] <= 0.95))
