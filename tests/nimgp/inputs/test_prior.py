"""p(x): its posterior against the textbook, and the population found behind noise."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fermiclass.nimgp.inputs.prior import InputPrior
from tests.nimgp.conftest import mixture

D = 3


@pytest.fixture
def prior(rng):
    return mixture(rng, 1, D)


@pytest.fixture
def several(rng):
    return mixture(rng, 3, D)


def covariances(conditional):
    return conditional.factor @ conditional.factor.swapaxes(-1, -2)


def test_posterior_of_each_component_is_the_textbooks(several, rng):
    """Precisions add: (V⁻¹ + P)⁻¹, with the mean weighed by them."""
    X, X_var = rng.normal(size=(5, D)), rng.uniform(0.05, 3.0, (5, D))
    conditional = several.condition(X, X_var)
    assert [a.shape for a in conditional] == [(5, 3), (5, 3, D), (5, 3, D, D)]
    for i in range(5):
        for k, (centre, precision) in enumerate(zip(several.mean, several.precision, strict=True)):
            covariance = np.linalg.inv(np.diag(1 / X_var[i]) + precision)
            np.testing.assert_allclose(covariances(conditional)[i, k], covariance, atol=1e-12)
            expected = covariance @ (X[i] / X_var[i] + precision @ centre)
            np.testing.assert_allclose(conditional.mean[i, k], expected, atol=1e-12)


def test_weights_are_those_of_the_observed_densities(several, rng):
    """``w_k N(x̃ | m_k, Σ_k + V)``, made to sum to 1."""
    X, X_var = 2 * rng.normal(size=(6, D)), rng.uniform(0.05, 3.0, (6, D))
    for i, weights in enumerate(several.condition(X, X_var).weights):
        total = np.linalg.inv(several.precision) + np.diag(X_var[i])
        densities = [multivariate_normal(m, S).pdf(X[i]) for m, S in zip(several.mean, total, strict=True)]
        expected = several.weights * densities
        np.testing.assert_allclose(weights, expected / expected.sum(), rtol=1e-9)
    np.testing.assert_array_equal(mixture(rng, 1, D).condition(X, X_var).weights, np.ones((6, 1)))


def test_moments_are_those_of_draws(several, rng):
    X, X_var = rng.normal(size=(4, D)), rng.uniform(0.2, 2.0, (4, D))
    mean, var = several.moments(X, X_var)
    conditional = several.condition(X, X_var)
    for i in range(4):
        component = rng.choice(3, size=200_000, p=conditional.weights[i])
        draws = conditional.mean[i][component]
        draws = draws + np.einsum("nij,nj->ni", conditional.factor[i][component], rng.normal(size=draws.shape))
        np.testing.assert_allclose(mean[i], draws.mean(axis=0), atol=0.02)
        np.testing.assert_allclose(var[i], draws.var(axis=0), rtol=0.03)


@pytest.mark.parametrize("components", [1, 3])
def test_an_exact_input_is_what_was_observed(rng, components):
    prior, (X, X_var) = mixture(rng, components, D), (rng.normal(size=(4, D)), rng.uniform(0.1, 1.0, (4, D)))
    X_var[:, 1] = 0.0
    _, mean, factor = prior.condition(X, X_var)
    np.testing.assert_array_equal(mean[..., 1], np.repeat(X[:, 1:2], components, axis=1))
    np.testing.assert_array_equal(factor[:, :, 1], 0.0)
    weights, mean, factor = prior.condition(X, np.zeros_like(X))
    np.testing.assert_array_equal(mean, np.repeat(X[:, None], components, axis=1))
    np.testing.assert_array_equal(factor, 0.0)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)


def test_a_flat_prior_leaves_the_noise(prior, several, rng):
    X, X_var = rng.normal(size=(4, D)), rng.uniform(0.1, 1.0, (4, D))
    for flat in (prior.widened(None), several.widened(None), InputPrior.isotropic(D, np.inf)):
        weights, mean, factor = flat.condition(X, X_var)
        np.testing.assert_array_equal(weights, np.ones((4, 1)))
        np.testing.assert_array_equal(mean[:, 0], X)
        np.testing.assert_allclose(factor[:, 0], np.sqrt(X_var)[:, :, None] * np.eye(D), rtol=1e-15)


def test_a_far_away_input_belongs_to_some_component(several):
    """Densities that underflow have a ratio all the same."""
    conditional = several.condition(np.array([[1e6, -1e6, 1e6]]), np.full((1, D), 0.1))
    np.testing.assert_allclose(conditional.weights.sum(), 1.0)
    assert all(np.all(np.isfinite(a)) for a in conditional)


def test_population_is_found_behind_noise_of_all_sizes(rng):
    """The observed covariance is Σ + V̄, three times Σ and more; what is found is Σ."""
    A = np.array([[1.0, 0.0, 0.0], [0.8, 0.3, 0.0], [-0.5, 0.2, 0.6]])
    m, covariance, count = np.array([1.0, -2.0, 0.5]), A @ A.T, 10_000
    X_var = np.exp(rng.normal(0.0, 1.0, (count, D)))
    X = m + rng.normal(size=(count, D)) @ A.T + np.sqrt(X_var) * rng.normal(size=(count, D))
    assert np.all(X.var(axis=0) > 2.5 * np.diag(covariance))
    prior = InputPrior.population(X, X_var, iterations=200)
    np.testing.assert_allclose(prior.mean[0], m, atol=0.06)
    np.testing.assert_allclose(np.linalg.inv(prior.precision[0]), covariance, atol=0.1)


def log_likelihood(prior, X, X_var):
    """``Σ_i log Σ_k w_k N(x̃_i | m_k, Σ_k + V_i)``."""
    densities = 0.0
    for weight, mean, precision in zip(prior.weights, prior.mean, prior.precision, strict=True):
        total = np.linalg.inv(precision) + X_var[:, :, None] * np.eye(D)
        offset = X - mean
        square = np.einsum("ni,nij,nj->n", offset, np.linalg.inv(total), offset)
        densities = densities + weight * np.exp(-0.5 * square) / np.sqrt(np.linalg.det(2 * np.pi * total))
    return np.sum(np.log(densities))


def two_clusters(rng, count=3000):
    """Two narrow clusters behind noise that hides the gap between them."""
    second = rng.uniform(size=count) < 0.3
    X_var = np.exp(rng.normal(-0.5, 0.7, (count, D)))
    X = np.where(second[:, None], [3.0, 0.0, 1.0], [0.0, 2.0, 0.0]) + 0.3 * rng.normal(size=(count, D))
    return X + np.sqrt(X_var) * rng.normal(size=(count, D)), X_var


def test_two_components_are_found_behind_noise(rng):
    X, X_var = two_clusters(rng)
    prior = InputPrior.population(X, X_var, components=2)
    order = np.argsort(prior.weights)[::-1]
    np.testing.assert_allclose(prior.weights[order], [0.7, 0.3], atol=0.03)
    np.testing.assert_allclose(prior.mean[order], [[0.0, 2.0, 0.0], [3.0, 0.0, 1.0]], atol=0.15)
    assert prior.weights.sum() == pytest.approx(1.0)
    # 0.09, to which the pull to the whole's covariance and unfinished iterations add; with the noise 0.9 and more
    spread = np.diagonal(np.linalg.inv(prior.precision), axis1=1, axis2=2)
    assert np.all((spread > 0.05) & (spread < 0.5))
    one = InputPrior.population(X, X_var)
    assert log_likelihood(prior, X, X_var) > log_likelihood(one, X, X_var) + 100


def test_components_depend_on_seed_and_number_of_inputs_only(rng):
    X, X_var = two_clusters(rng, 39)
    found = [len(InputPrior.population(X, X_var, components=k, iterations=2).weights) for k in (1, 2, 3, 9)]
    assert found == [1, 2, 3, 3]
    assert len(InputPrior.population(X[:19], X_var[:19], components=3, iterations=2).weights) == 1
    first, again = (InputPrior.population(X, X_var, components=2, iterations=5, seed=4) for _ in range(2))
    for name in ("weights", "mean", "precision"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))


def test_components_do_not_collapse_onto_repeated_inputs(rng):
    """Without the pull a component on one point would have no width at all."""
    X = np.concatenate([rng.normal(size=(40, D)), np.full((20, D), 5.0)])
    prior = InputPrior.population(X, np.zeros_like(X), components=2)
    widths = np.linalg.eigvalsh(np.linalg.inv(prior.precision))
    assert widths.min() > 0.01


def test_a_single_input_and_one_that_does_not_vary():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]])
    prior = InputPrior.population(X, np.zeros_like(X))
    np.testing.assert_allclose(prior.mean, [[7 / 3, 5.0]])
    assert np.all(np.isfinite(prior.precision))
    prior = InputPrior.population(X[:, :1], np.zeros((3, 1)))
    np.testing.assert_allclose(1 / prior.precision, [[[X[:, 0].var()]]], rtol=1e-3)


def test_population_never_loses_likelihood(rng):
    """Each step of expectation maximisation raises ``Σ_i log N(x̃_i | m, Σ + V_i)``."""
    X_var = rng.uniform(0.1, 2.0, (60, D))
    X = rng.normal(size=(60, D)) @ rng.normal(size=(D, D)) + np.sqrt(X_var) * rng.normal(size=(60, D))

    trace = [log_likelihood(InputPrior.population(X, X_var, iterations=k), X, X_var) for k in (0, 1, 2, 5, 20, 100)]
    assert np.all(np.diff(trace) > 0)
