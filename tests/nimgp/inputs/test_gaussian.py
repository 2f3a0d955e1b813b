"""Closed forms of a Gaussian q(x) against TensorFlow Probability and Monte Carlo."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from fermiclass.nimgp.inputs.models import expected_log_prior, kl_to_noise
from fermiclass.nimgp.inputs.prior import InputPrior
from tests.nimgp.conftest import mixture

from .test_models import log_density

B, D = 5, 3


@pytest.fixture
def q(rng):
    return rng.normal(size=(B, D)), rng.uniform(0.1, 1.5, (B, D))


def test_kl_divergence_against_tensorflow_probability(q):
    normal = tfp.distributions.MultivariateNormalDiag
    m, s = (tf.constant(a) for a in q)
    expected = normal(m, tf.sqrt(s)).kl_divergence(normal(tf.zeros_like(m), tf.ones_like(m)))
    np.testing.assert_allclose(kl_to_noise(m, s), expected, rtol=1e-12)
    np.testing.assert_array_equal(kl_to_noise(tf.zeros_like(m), tf.ones_like(m)), np.zeros(B))


def constant_of(prior):
    of_one = 0.5 * np.linalg.slogdet(prior.precision[0])[1] if len(prior.weights) == 1 else 0.0
    return of_one - 0.5 * D * np.log(2 * np.pi)


def test_expected_log_prior_of_a_gaussian_is_exact(q, rng):
    prior, (mean, var) = mixture(rng, 1, D), q
    x = mean + np.sqrt(var) * rng.normal(size=(200_000, B, D))
    log_p = log_density(prior, x)
    value = expected_log_prior(*(tf.constant(a) for a in q), prior) + constant_of(prior)
    np.testing.assert_array_less(np.abs(value - log_p.mean(axis=0)), 5 * log_p.std(axis=0) / np.sqrt(len(x)))


def test_expected_log_prior_of_a_mixture_is_a_lower_bound(q, rng):
    prior, (mean, var) = mixture(rng, 3, D), q
    gaps = []
    for scale in (1.0, 0.1, 0.0):
        x = mean + np.sqrt(scale * var) * rng.normal(size=(100_000, B, D))
        log_p = log_density(prior, x)
        value = expected_log_prior(tf.constant(mean), tf.constant(scale * var), prior) + constant_of(prior)
        assert np.all(value < log_p.mean(axis=0) + 5 * log_p.std(axis=0) / np.sqrt(len(x)) + 1e-9)
        gaps.append(np.mean(log_p.mean(axis=0) - value))
    assert gaps[0] > gaps[1] > 0
    assert abs(gaps[2]) < 1e-9  # nothing is averaged over


def test_a_mixture_of_the_same_component_is_that_component(q, rng):
    prior = mixture(rng, 1, D)
    twice = InputPrior(np.array([0.3, 0.7]), np.repeat(prior.mean, 2, 0), np.repeat(prior.precision, 2, 0))
    q = [tf.constant(a) for a in q]
    one, two = (expected_log_prior(*q, p) + constant_of(p) for p in (prior, twice))
    np.testing.assert_allclose(one, two, rtol=1e-12)


def test_a_flat_prior_says_nothing(q):
    value = expected_log_prior(*(tf.constant(a) for a in q), InputPrior.isotropic(D, np.inf))
    np.testing.assert_array_equal(value, np.zeros(B))
