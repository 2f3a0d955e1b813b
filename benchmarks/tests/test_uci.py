"""UCI data sets: splits and noise are the authors'."""

from urllib.error import URLError

import numpy as np
import pytest

from fermiclass.errors import BenchmarkError
from fermiclass_benchmarks.methods import MethodOptions
from fermiclass_benchmarks.uci import NOISE, UCI


@pytest.fixture
def benchmark(shared_data):
    return UCI(shared_data / "data")


def naive(X, y, split, level):
    """A split as the authors make it: everything drawn in turn by one generator."""
    rng = np.random.RandomState(0)
    splits = rng.permutation(len(X))
    for _ in range(99):
        splits = np.vstack((splits, rng.permutation(len(X))))
    noises = [np.zeros((100, *X.shape))]
    for variance in (0.1, 0.25, 0.5):
        noises.append(rng.normal(size=(100, *X.shape)) * np.sqrt(variance))
    train, test = splits[split][: int(len(X) * 0.9)], splits[split][int(len(X) * 0.9) :]
    noise = noises[level][split]
    mean, scale = np.mean(X[train], 0), np.std(X[train], 0)
    return (X[train] - mean) / scale + noise[train], y[train], (X[test] - mean) / scale + noise[test], y[test]


@pytest.mark.parametrize("data_set", ["glass", "wine"])
@pytest.mark.parametrize("level", range(4))
def test_splits_and_noise_are_the_authors(benchmark, shared_data, data_set, level):
    home = shared_data / "data" / "uci" / data_set
    problem = benchmark.problem(f"{data_set}/{NOISE[level]}", 41)
    X, y, X_test, y_test = naive(np.loadtxt(home / "X.txt"), np.loadtxt(home / "Y.txt"), 41, level)
    np.testing.assert_array_equal(problem.y, y)
    np.testing.assert_array_equal(problem.y_test, y_test)
    np.testing.assert_allclose(problem.X, X, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(problem.X_test, X_test, rtol=1e-12, atol=1e-12)
    assert not np.any(problem.X_var)


def test_no_data(tmp_path):
    with pytest.raises(BenchmarkError, match=r"'glass' of the benchmark 'uci' cannot be read from .*--data.*--openml"):
        UCI(tmp_path).problem("glass/0", 0)


def test_rows_that_do_not_fit(tmp_path):
    home = tmp_path / "uci" / "glass"
    home.mkdir(parents=True)
    np.savetxt(home / "X.txt", np.ones((5, 2)))
    np.savetxt(home / "Y.txt", np.arange(4), fmt="%d")
    with pytest.raises(BenchmarkError, match="5 rows and 4 classes"):
        UCI(tmp_path).problem("glass/0", 0)


def test_a_fixed_noise_is_given_and_not_learned(benchmark):
    """It is as if every input had it as its variance: the MGP, which knows no noise, is what it is without."""
    names = ("mgp@step-fixed", "mgp@fixed", "nimgp-fo@fixed")
    made = [benchmark.estimator("wine/0.1", name, MethodOptions(paper=True, steps=20)) for name in names]
    made = [estimator.set_params(learning_rate=0.05) for estimator in made]
    plain, mgp, fixed = (benchmark.run("wine/0.1", estimator, 0) for estimator in made)
    assert mgp["nll"] == pytest.approx(plain["nll"])
    problem = benchmark.problem("wine/0.1", 0)
    V, v = (np.full_like(X, 0.1) for X in (problem.X, problem.X_test))
    p = made[2].fit(problem.X, problem.y, X_var=V).predict_proba(problem.X_test, X_var=v)
    assert fixed["nll"] == pytest.approx(-np.mean(np.log(p[np.arange(len(p)), problem.y_test])))
    assert fixed["nll"] != pytest.approx(plain["nll"], abs=1e-3)
    assert "noise" not in fixed


@pytest.mark.parametrize("method", UCI.methods)
def test_the_papers_protocol_starts_near_the_paper(benchmark, method):
    """After a fiftieth of its epochs, with larger steps: no noise that is wider than the data."""
    estimator = benchmark.estimator("svmguide2/0", method, MethodOptions(paper=True))
    estimator.set_params(epochs=20, learning_rate=0.01)
    record = benchmark.run("svmguide2/0", estimator, 0)
    assert max(record.get("noise", [0.0])) < 0.3
    assert record["error"] == pytest.approx(benchmark.published["svmguide2/0", method]["error"], abs=0.15)


@pytest.fixture
def offline(monkeypatch):
    """Replace OpenML; returns what was asked of it."""
    asked = []

    def fetch(name, **options):
        asked.append((name, options["version"]))
        if name == "glass":
            raise URLError("no network")
        X = np.random.default_rng(0).normal(size=(30, 2))
        return X, np.array(["one", "two", "three"] * 10, dtype=object)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    return asked


def test_openml_only_for_what_is_not_there(tmp_path, shared_data, offline):
    assert UCI(shared_data / "data", openml=True).problem("wine/0", 0).X.shape == (160, 13)
    assert offline == []
    problem = UCI(tmp_path, openml=True).problem("new-thyroid/0.1", 0)
    assert offline == [("thyroid-new", 1)]
    assert problem.X.shape == (27, 2)
    assert set(problem.y) == {0, 1, 2}
