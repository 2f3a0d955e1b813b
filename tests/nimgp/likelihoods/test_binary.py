"""Two classes share one latent function: every likelihood against brute-force integration over it."""

import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.likelihoods.named import NOISE_VARIANCE, make_likelihood
from fermiclass.nimgp.names import LIKELIHOODS
from fermiclass.nimgp.posterior import LatentMoments
from tests.nimgp.conftest import SEED
from tests.nimgp.likelihoods.definitions import BOUNDS, EPSILON, PROBABILITIES

n = 6
Y = np.arange(n) % 2
GRID = np.linspace(-9, 9, 20_001)  # standard normal values of f, close enough for a step, too
WEIGHTS = np.exp(-0.5 * GRID**2) / np.exp(-0.5 * GRID**2).sum()


@pytest.fixture
def latent(rng):
    return LatentMoments(tf.constant(rng.normal(size=(1, n))), tf.constant(rng.uniform(0.2, 2.0, (1, n))))


def values_of_f(latent, noise=0.0):
    """Shape (n, grid)."""
    return latent.mean.numpy()[0, :, None] + np.sqrt(latent.var.numpy()[0, :, None] + noise) * GRID


def p_one(kind, f):
    """p(1 | f) for values of f (n, grid)."""
    return PROBABILITIES[kind](f[:, None])[:, 1]


def of_label(p):
    return np.where(Y[:, None] == 1, p, 1 - p)


@pytest.mark.parametrize("kind", sorted(set(LIKELIHOODS) - set(BOUNDS)))
def test_expectation(latent, kind):
    likelihood = make_likelihood(kind, 2, epsilon=EPSILON)
    exact = np.log(of_label(p_one(kind, values_of_f(latent)))) @ WEIGHTS
    np.testing.assert_allclose(likelihood.variational_expectations(latent, tf.constant(Y), SEED), exact, atol=1e-3)


@pytest.mark.parametrize("kind", ["probit", "logit"])
def test_expectation_has_the_noise_outside_of_the_logarithm(latent, kind):
    likelihood = make_likelihood(kind, 2, epsilon=EPSILON)
    g = values_of_f(latent, NOISE_VARIANCE[kind])
    exact = np.log(of_label(p_one("step", g))) @ WEIGHTS
    value = likelihood.variational_expectations(latent, tf.constant(Y), SEED)
    np.testing.assert_allclose(value, exact, atol=1e-3)
    assert np.all(value < np.log(of_label(p_one(kind, values_of_f(latent)))) @ WEIGHTS)  # a bound


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_log_predictive(latent, kind):
    likelihood = make_likelihood(kind, 2, epsilon=EPSILON)
    exact = np.log(of_label(p_one(kind, values_of_f(latent))) @ WEIGHTS)
    np.testing.assert_allclose(likelihood.log_predictive(latent, tf.constant(Y), SEED), exact, atol=1e-3)


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_prediction(latent, rng, kind):
    ratio = rng.uniform(0.2, 3.0, (2, n))
    p = p_one(kind, values_of_f(latent))
    pi = np.stack([1 - p, p])
    Z = np.sum(ratio[..., None] * pi, axis=0)
    rho = ratio[..., None] * pi / Z
    moments = make_likelihood(kind, 2, epsilon=EPSILON).predict(latent, tf.constant(ratio))
    np.testing.assert_allclose(moments.mean, (Z * rho) @ WEIGHTS, atol=3e-3)
    np.testing.assert_allclose(moments.second, (Z * rho**2) @ WEIGHTS, atol=3e-3)
    np.testing.assert_allclose(moments.entropy, -(Z * np.sum(rho * np.log(rho), axis=0)) @ WEIGHTS, atol=3e-3)
