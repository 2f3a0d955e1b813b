"""Draws from the prior have its covariance, are Gaussian, and are functions."""

import numpy as np
import pytest

from fermiclass.benchmarks.gp_draws import LatentFunctions


def prior(A, B, lengthscale=2.0):
    return 0.5 * np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=-1) / lengthscale)


@pytest.fixture(scope="module", params=[1, 2, 5])
def draws(request):
    """Values (P, 2000) of many functions at a few points (P, D)."""
    X = np.random.default_rng(1).uniform(-1.0, 1.0, (4, request.param))
    functions = LatentFunctions.draw(2000, request.param, np.random.default_rng(2), variance=0.5, lengthscale=2.0)
    return X, functions(X).astype(float)


def test_the_covariance_over_draws_is_that_of_the_prior(draws):
    X, values = draws
    assert np.allclose(values.mean(axis=1), 0.0, atol=4 * np.sqrt(0.5 / 2000))
    assert np.allclose(values @ values.T / 2000, prior(X, X), atol=4 * 0.5 * np.sqrt(2 / 2000))


def test_the_lengthscale_is_a_squared_one():
    X = np.array([[0.0], [2.0]])
    functions = LatentFunctions.draw(4000, 1, np.random.default_rng(3), variance=0.5, lengthscale=2.0)
    values = functions(X).astype(float)
    assert np.mean(values[0] * values[1]) == pytest.approx(0.5 * np.exp(-1.0), abs=0.03)  # exp(−½) if it were not


def test_draws_are_gaussian(draws):
    values = draws[1] / np.sqrt(0.5)
    assert np.allclose(np.mean(values**4, axis=1), 3.0, atol=4 * np.sqrt(96 / 2000))


@pytest.mark.parametrize(("input_dim", "tolerance"), [(1, 0.01), (2, 0.02), (5, 0.08)])
def test_a_single_draw_has_nearly_the_covariance_of_the_prior(input_dim, tolerance):
    functions = LatentFunctions.draw(1, input_dim, np.random.default_rng(4), variance=0.5, lengthscale=2.0)
    offsets = np.random.default_rng(5).uniform(-2.5, 2.5, (500, input_dim))
    given = 0.5 * np.cos(offsets @ functions.frequencies[0].T.astype(float)).mean(axis=1)
    assert np.abs(given - prior(offsets, np.zeros((1, input_dim)))[:, 0]).max() < tolerance


def test_a_value_depends_on_its_point_alone():
    functions = LatentFunctions.draw(3, 2, np.random.default_rng(6), variance=0.5, lengthscale=2.0)
    X = np.random.default_rng(7).uniform(-2.5, 2.5, (700, 2))  # several blocks, and a part of one
    some = [0, 255, 256, 699]
    assert np.allclose(functions(X)[some], functions(X[some]), atol=1e-4)
    assert np.array_equal(functions.labels(X), functions(X).argmax(axis=1))
    assert len(np.unique(functions.labels(X))) == 3


def test_values_are_the_sum_of_waves():
    functions = LatentFunctions.draw(2, 3, np.random.default_rng(8), variance=0.5, lengthscale=2.0)
    x = np.array([0.3, -1.2, 2.0])
    for c in range(2):
        waves = zip(functions.frequencies[c], functions.phases[c], functions.amplitudes[c], strict=True)
        expected = sum(float(a) * np.cos(np.dot(w.astype(float), x) + float(phase)) for w, phase, a in waves)
        assert functions(x[None])[0, c] == pytest.approx(expected, abs=1e-4)


def test_the_generator_decides():
    first, same, other = (
        LatentFunctions.draw(2, 2, np.random.default_rng(seed), variance=0.5, lengthscale=2.0) for seed in (0, 0, 1)
    )
    X = np.ones((1, 2))
    assert np.array_equal(first(X), same(X))
    assert not np.allclose(first(X), other(X), atol=1e-3)
