"""p(x): its posterior against the textbook, and the population found behind noise."""

import numpy as np
import pytest

from fermiclass.nimgp.input_prior import InputPrior

D = 3


@pytest.fixture
def prior(rng):
    A = rng.normal(size=(D, D))
    return InputPrior(rng.normal(size=D), A @ A.T + 0.1 * np.eye(D))


def test_posterior_is_the_textbooks(prior, rng):
    """Precisions add: (V⁻¹ + P)⁻¹, with the mean weighed by them."""
    X, X_var = rng.normal(size=(5, D)), rng.uniform(0.05, 3.0, (5, D))
    mean, factor = prior.condition(X, X_var)
    for i in range(5):
        covariance = np.linalg.inv(np.diag(1 / X_var[i]) + prior.precision)
        np.testing.assert_allclose(factor[i] @ factor[i].T, covariance, atol=1e-12)
        expected = covariance @ (X[i] / X_var[i] + prior.precision @ prior.mean)
        np.testing.assert_allclose(mean[i], expected, atol=1e-12)


def test_an_exact_input_is_what_was_observed(prior, rng):
    X, X_var = rng.normal(size=(4, D)), rng.uniform(0.1, 1.0, (4, D))
    X_var[:, 1] = 0.0
    mean, factor = prior.condition(X, X_var)
    np.testing.assert_array_equal(mean[:, 1], X[:, 1])
    np.testing.assert_array_equal(factor[:, 1], 0.0)
    mean, factor = prior.condition(X, np.zeros_like(X))
    np.testing.assert_array_equal(mean, X)
    np.testing.assert_array_equal(factor, 0.0)


def test_a_flat_prior_leaves_the_noise(prior, rng):
    X, X_var = rng.normal(size=(4, D)), rng.uniform(0.1, 1.0, (4, D))
    for flat in (prior.widened(None), InputPrior.isotropic(D, np.inf)):
        mean, factor = flat.condition(X, X_var)
        np.testing.assert_array_equal(mean, X)
        np.testing.assert_allclose(factor, np.sqrt(X_var)[:, :, None] * np.eye(D), rtol=1e-15)


def test_a_source_does_not_depend_on_the_others(prior, rng):
    X, X_var = rng.normal(size=(50, D)), rng.uniform(0.0, 1.0, (50, D))
    for part, whole in zip(prior.condition(X[7:9], X_var[7:9]), prior.condition(X, X_var), strict=True):
        np.testing.assert_array_equal(part, whole[7:9])


def test_widened_covariance(prior):
    np.testing.assert_allclose(np.linalg.inv(prior.widened(4.0).precision), 4.0 * np.linalg.inv(prior.precision))


def test_population_is_found_behind_noise_of_all_sizes(rng):
    """The observed covariance is Σ + V̄, three times Σ and more; what is found is Σ."""
    A = np.array([[1.0, 0.0, 0.0], [0.8, 0.3, 0.0], [-0.5, 0.2, 0.6]])
    m, covariance, count = np.array([1.0, -2.0, 0.5]), A @ A.T, 40_000
    X_var = np.exp(rng.normal(0.0, 1.0, (count, D)))
    X = m + rng.normal(size=(count, D)) @ A.T + np.sqrt(X_var) * rng.normal(size=(count, D))
    assert np.all(X.var(axis=0) > 2.5 * np.diag(covariance))
    prior = InputPrior.population(X, X_var, iterations=300)
    np.testing.assert_allclose(prior.mean, m, atol=0.03)
    np.testing.assert_allclose(np.linalg.inv(prior.precision), covariance, atol=0.05)


def test_population_never_loses_likelihood(rng):
    """Each step of expectation maximisation raises ``Σ_i log N(x̃_i | m, Σ + V_i)``."""
    X_var = rng.uniform(0.1, 2.0, (60, D))
    X = rng.normal(size=(60, D)) @ rng.normal(size=(D, D)) + np.sqrt(X_var) * rng.normal(size=(60, D))

    def log_likelihood(prior):
        total = np.linalg.inv(prior.precision) + X_var[:, :, None] * np.eye(D)
        offset = X - prior.mean
        square = np.einsum("ni,nij,nj->n", offset, np.linalg.inv(total), offset)
        return -0.5 * np.sum(square + np.linalg.slogdet(total)[1])

    trace = [log_likelihood(InputPrior.population(X, X_var, iterations=k)) for k in (0, 1, 2, 5, 20, 100)]
    assert np.all(np.diff(trace) > 0)


def test_a_single_input_and_one_that_does_not_vary():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]])
    prior = InputPrior.population(X, np.zeros_like(X))
    np.testing.assert_allclose(prior.mean, [7 / 3, 5.0])
    assert np.all(np.isfinite(prior.precision))
    prior = InputPrior.population(X[:, :1], np.zeros((3, 1)))
    np.testing.assert_allclose(1 / prior.precision, [[X[:, 0].var()]], rtol=1e-3)
