"""Draws from the prior have its covariance; the best possible probabilities agree with quadrature and brute force."""

import numpy as np
import pytest
from scipy.stats import norm

from fermiclass_benchmarks.gp_draws import (
    LatentFunctions,
    bayes_probabilities,
    cell_probabilities,
    sampled_probabilities,
)

HALF_WIDTH = 2.5


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


def cosine(input_dim):
    """Class 0 where cos x₁ is positive, class 1 elsewhere: the boundaries are ±π/2."""
    frequencies = np.zeros((2, 1, input_dim), np.float32)
    frequencies[0, 0, 0] = 1.0
    phases = np.array([[0.0], [np.pi / 2]], np.float32)
    return LatentFunctions(frequencies, phases, np.ones((2, 1), np.float32))


def drawn(input_dim, seed=4):
    """Three functions of a few waves: the rules do not care how many there are, and it saves time."""
    whole = LatentFunctions.draw(3, input_dim, np.random.default_rng(seed), variance=0.5, lengthscale=2.0)
    return LatentFunctions(whole.frequencies[:, 1:33], whole.phases[:, 1:33], whole.amplitudes[:, 1:33])


def by_hand(x, noise_variance):
    """P(class 0) of `cosine`."""
    phi = norm(x, np.sqrt(noise_variance)).cdf
    return (phi(np.pi / 2) - phi(-np.pi / 2)) / (phi(HALF_WIDTH) - phi(-HALF_WIDTH))


def rejection(functions, X, noise_variance):
    """Draws from N(x̃, V) that fall into the box."""
    rng, result = np.random.default_rng(0), []
    for centre in X:
        draws = centre + np.sqrt(noise_variance) * rng.standard_normal((50_000, len(centre)))
        labels = functions.labels(draws[np.all(np.abs(draws) <= HALF_WIDTH, axis=1)])
        result.append(np.bincount(labels, minlength=3) / len(labels))
    return np.array(result)


def observed(num, input_dim, noise_variance):
    rng = np.random.default_rng(9)
    x = rng.uniform(-HALF_WIDTH, HALF_WIDTH, (num, input_dim))
    return x, x + np.sqrt(noise_variance) * rng.standard_normal(x.shape)


@pytest.mark.parametrize("noise_variance", [0.01, 0.5])
@pytest.mark.parametrize(
    ("rule", "input_dim", "tolerance"),
    [(cell_probabilities, 1, 0.001), (cell_probabilities, 2, 0.06), (sampled_probabilities, 2, 0.01)],
)
def test_every_rule_on_a_known_function(rule, input_dim, tolerance, noise_variance):
    X = np.zeros((7, input_dim))
    X[:, 0] = [-3.2, -2.0, -1.5, 0.0, 1.6, 1.8, 2.6]
    p = rule(cosine(input_dim), X, noise_variance, HALF_WIDTH)
    assert np.allclose(p[:, 0], by_hand(X[:, 0], noise_variance), atol=tolerance)
    assert np.allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize("input_dim", [1, 2, 3])
def test_all_dimensions_against_rejection(input_dim):
    functions = drawn(input_dim)
    X = observed(6, input_dim, 0.5)[1]
    expected = rejection(functions, X, 0.5)
    assert np.allclose(bayes_probabilities(functions, X, 0.5, HALF_WIDTH), expected, atol=0.03)
    assert 0.2 < expected.max(axis=1).min() < 0.9  # else there is nothing to tell


@pytest.mark.parametrize("input_dim", [1, 2, 4])
def test_little_noise_gives_the_labels(input_dim):
    functions = drawn(input_dim)
    x, X = observed(100, input_dim, 1e-8)
    p = bayes_probabilities(functions, X, 1e-8, HALF_WIDTH)
    assert np.mean(p[np.arange(100), functions.labels(x)] > 0.9) > 0.97  # all but those beside a boundary of cells
