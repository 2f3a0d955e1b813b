"""Problems drawn from the prior are what their cells' names say, and the paper's figures are as printed."""

import numpy as np
import pytest

from fermiclass_benchmarks import synthetic
from fermiclass_benchmarks.synthetic import HALF_WIDTH, Synthetic

BENCHMARK = Synthetic()


@pytest.fixture
def _no_bayes(monkeypatch):
    """Leave out what takes most of the time."""
    monkeypatch.setattr(synthetic, "bayes_probabilities", lambda *_: None)


@pytest.mark.usefixtures("_no_bayes")
@pytest.mark.parametrize("data_set", ["n1000-d2-c3", "n100-d5-c3", "n500-d5-c3", "n1000-d2-c7"])
def test_a_problem_is_what_its_name_says(data_set):
    n, d, c = (int(part[1:]) for part in data_set.split("-"))
    problem = BENCHMARK.problem(f"{data_set}/0.25", 0)
    assert problem.X.shape == problem.X_var.shape == (n, d)
    assert problem.X_test.shape == problem.X_var_test.shape == (1000, d)
    assert np.unique(problem.y).tolist() == ([0, 2, 3, 4, 5, 6] if c == 7 else list(range(c)))  # a class may be absent
    assert np.all(problem.X_var == 0.25)
    assert np.all(problem.X_var_test == 0.25)


@pytest.mark.usefixtures("_no_bayes")
def test_rows_and_noise_are_shared_by_the_noise_levels():
    less, more = (BENCHMARK.problem(f"n1000-d5-c3/{noise}", 3) for noise in ("0.1", "0.5"))
    assert np.array_equal(less.y, more.y)
    for a, b in ((less.X, more.X), (less.X_test, more.X_test)):
        noise = (b - a) / (np.sqrt(0.5) - np.sqrt(0.1))
        x = a - np.sqrt(0.1) * noise
        assert noise.mean() == pytest.approx(0.0, abs=4 / np.sqrt(5000))
        assert noise.var() == pytest.approx(1.0, abs=4 * np.sqrt(2 / 5000))
        assert np.abs(x).max() <= HALF_WIDTH + 1e-9
        assert x.var() == pytest.approx((2 * HALF_WIDTH) ** 2 / 12, rel=0.06)
        assert np.abs(np.corrcoef(x[:, 0], noise[:, 0])[0, 1]) < 4 / np.sqrt(1000)
    assert not np.allclose(less.X[:5], less.X_test[:5])


def test_the_bayes_classifier_errs_as_often_as_it_says():
    problem = BENCHMARK.problem("n1000-d2-c4/0.1", 1)
    assert problem.bayes.shape == (1000, 4)
    expected = 1 - problem.bayes.max(axis=1)
    wrong = problem.bayes.argmax(axis=1) != problem.y_test
    assert abs(wrong.sum() - expected.sum()) < 4 * np.sqrt((expected * (1 - expected)).sum())
    assert 0.05 < wrong.mean() < 0.35


@pytest.mark.usefixtures("_no_bayes")
def test_noise_that_is_to_be_learned_is_not_told():
    given, learned = (BENCHMARK.problem(f"n1000-d2-c3{kind}/0.5", 2) for kind in ("", "-learned"))
    assert np.array_equal(given.X, learned.X)
    assert not learned.X_var.any()
    assert not learned.X_var_test.any()
    assert BENCHMARK.settings("n1000-d2-c3/0.5")["noise"] == "given"
    assert BENCHMARK.settings("n1000-d2-c3-learned/0.5")["noise"] == "shared"
