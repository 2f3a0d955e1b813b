"""The main paper's sources."""

import numpy as np
import pytest
from sklearn.base import clone

from fermiclass.errors import BenchmarkError
from fermiclass_benchmarks.astro454 import Astro454
from fermiclass_benchmarks.methods import MethodOptions


@pytest.fixture
def benchmark(shared_data):
    return Astro454(shared_data / "data")


def test_a_split_has_every_source_once(benchmark, shared_data):
    problem = benchmark.problem("six", 17)
    assert problem.X.shape == problem.X_var.shape == (408, 6)
    assert problem.X_test.shape == problem.X_var_test.shape == (46, 6)
    columns = np.loadtxt(shared_data / "data" / "astro454" / "features.csv", delimiter=",", skiprows=1)
    X, X_var = np.vstack([problem.X, problem.X_test]), np.vstack([problem.X_var, problem.X_var_test])
    order, theirs = np.lexsort(X.T), np.lexsort(columns[:, [0, 2, 3, 4, 6, 8]].T)
    np.testing.assert_array_equal(X[order], columns[theirs][:, [0, 2, 3, 4, 6, 8]])
    np.testing.assert_array_equal(X_var[order][:, [0, 3, 4]], columns[theirs][:, [1, 5, 7]] ** 2)
    assert np.all(X_var[:, [1, 2, 5]] == 0)
    labels, counts = np.unique(np.concatenate([problem.y, problem.y_test]), return_counts=True)
    assert dict(zip(labels, counts, strict=True)) == {"bll": 184, "fsrq": 168, "psr": 102}


def test_splits_differ(benchmark):
    assert not np.array_equal(benchmark.problem("six", 0).y_test, benchmark.problem("six", 1).y_test)
    assert benchmark.problem("six", benchmark.num_splits - 1).y.shape == (408,)


def test_without_the_significances(benchmark):
    six, four = benchmark.problem("six", 3), benchmark.problem("four", 3)
    np.testing.assert_array_equal(four.X, six.X[:, [0, 2, 3, 4]])
    np.testing.assert_array_equal(four.X_var_test, six.X_var_test[:, [0, 2, 3, 4]])
    np.testing.assert_array_equal(four.y, six.y)


def test_methods_that_large_steps_lead_astray_keep_small_ones(benchmark):
    def rate(method):
        return benchmark.estimator("six", method, MethodOptions()).learning_rate

    large = [rate(method) for method in ("mgp", "nimgp", "nimgp-fo")]
    assert all(rate(method) < min(large) for method in ("nimgp-nn", "nimgp@authors", "nimgp-fo-marginal"))


@pytest.mark.parametrize("method", ["mgp", "nimgp-fo"])
def test_fewer_large_steps_end_at_the_bound_of_small_ones(benchmark, method):
    problem, large = benchmark.problem("six", 0), benchmark.estimator("six", method, MethodOptions())
    small = clone(large).set_params(steps=350, learning_rate=0.03)
    bounds = [one.fit(problem.X, problem.y, X_var=problem.X_var).objective_[-1] for one in (large, small)]
    assert bounds[0] == pytest.approx(bounds[1], abs=5)


def test_no_data(tmp_path):
    with pytest.raises(BenchmarkError, match=r"'astro454' cannot be read from '.*astro454'.*--data"):
        Astro454(tmp_path).problem("six", 0)
