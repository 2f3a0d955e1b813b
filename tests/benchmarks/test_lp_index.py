"""Spectral indices across releases: who learns, who is predicted, and that every method answers."""

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from fermiclass import read_catalog
from fermiclass.benchmarks import lp_index
from fermiclass.errors import FermiclassError
from tests.conftest import REPOSITORY, slim_path


@pytest.fixture(scope="module")
def problem():
    return lp_index.load(REPOSITORY / "catalogs")


@pytest.fixture
def few(problem, monkeypatch):
    """So few rows and steps that all methods can be asked."""
    monkeypatch.setattr(lp_index, "_SETTINGS", {"num_inducing": 5, "batch_size": 50, "steps": 3, "num_draws": 2})
    first, last = slice(0, 5000, 50), slice(0, 2000, 50)
    return replace(
        problem,
        X=problem.X[first],
        X_var=problem.X_var[first],
        y=problem.y[first],
        X_test=problem.X_test[last],
        X_var_test=problem.X_var_test[last],
        y_test=problem.y_test[last],
    )


def test_who_learns_and_who_is_predicted(problem):
    first, last = (read_catalog(slim_path(release)) for release in ("4FGL-DR1", "4FGL-DR4"))
    assert problem.X.shape == problem.X_var.shape == (len(first), 16)
    assert len(last) - len(first) <= len(problem.y_test) < 2500  # some sources of the first are gone
    np.testing.assert_array_equal(problem.y, np.asarray(first.table["LP_Index"], float))
    assert not any(np.array_equal(column, problem.y) for column in problem.X.T)
    noise, of_train = problem.X_var_test.mean(axis=0), problem.X_var.mean(axis=0)
    assert np.sum(noise > of_train) > np.sum(noise < of_train)
    assert np.all(np.isfinite(problem.X_test))


def test_independent_errors(problem):
    other = lp_index.with_independent_errors(problem)
    for name, variances in (("X", problem.X_var), ("X_test", problem.X_var_test)):
        off = (getattr(other, name) - getattr(problem, name))[variances > 0] / np.sqrt(variances[variances > 0])
        assert off.std() == pytest.approx(1, abs=0.02)
        assert off.mean() == pytest.approx(0, abs=0.02)
    np.testing.assert_array_equal(other.y, problem.y)
    np.testing.assert_array_equal(lp_index.with_independent_errors(problem).X, other.X)


def test_peers_learn(problem):
    spread = problem.y_test.std()
    for predict in (lp_index._boosting, lp_index._linear):
        mean, log_p = predict("", problem)
        assert np.sqrt(np.mean((mean - problem.y_test) ** 2)) < 0.8 * spread
        assert log_p.shape == problem.y_test.shape


def test_every_method_answers(few, monkeypatch):
    monkeypatch.setattr(lp_index, "load", lambda folder: few)
    results = lp_index.run(folder=None, problems=("independent errors",))
    assert (results["train"], results["test"]) == (len(few.y), len(few.y_test))
    (methods,) = results["cells"].values()
    assert list(methods) == list(lp_index.METHODS)
    for score in methods.values():
        assert 0 < score["rmse"] < 10
        assert np.isfinite(score["log_density"])
        assert score["log_density_se"] > 0
    console = Console(width=100, highlight=False)
    with console.capture() as capture:
        lp_index.print_results(results, console)
    assert all(method in capture.get() for method in lp_index.METHODS)
    assert "…" not in capture.get()


def test_no_catalogue(tmp_path):
    with pytest.raises(FermiclassError, match=r"4FGL-DR1\.fits\.gz"):
        lp_index.load(tmp_path)
