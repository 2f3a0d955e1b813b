"""Likelihoods against Monte Carlo and against closed forms of two classes."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.special import log_softmax, softmax
from scipy.stats import norm

from fermiclass.nimgp.likelihoods import Softmax, Step, gaussian_points
from fermiclass.nimgp.posterior import LatentMoments

from .conftest import SEED

C, n, DRAWS = 3, 6, 400_000
EPSILON = 0.07


@pytest.fixture
def latent(rng):
    return LatentMoments(tf.constant(rng.normal(size=(C, n))), tf.constant(rng.uniform(0.2, 2.0, (C, n))))


@pytest.fixture
def f(latent, rng):
    """Draws of the latent functions, (DRAWS, C, n)."""
    return latent.mean.numpy() + np.sqrt(latent.var.numpy()) * rng.normal(size=(DRAWS, C, n))


def step_probabilities(f, epsilon=EPSILON):
    largest = f.argmax(axis=1)[:, None, :] == np.arange(f.shape[1])[:, None]
    return np.where(largest, 1 - epsilon, epsilon / (f.shape[1] - 1))


def assert_is_mean(value, draws):
    """Each value lies within 5 standard errors (and a little quadrature error) of the draws' mean."""
    error = draws.std(axis=0) / np.sqrt(len(draws))
    np.testing.assert_array_less(np.abs(value - draws.mean(axis=0)), 5 * error + 2e-4)


@pytest.mark.parametrize("epsilon", [1e-3, EPSILON])
def test_step_expectation(latent, f, epsilon):
    y = np.arange(n) % C
    value = Step(C, epsilon=epsilon, num_points=60).variational_expectations(latent, tf.constant(y), SEED)
    assert_is_mean(value.numpy(), np.log(step_probabilities(f, epsilon))[:, y, np.arange(n)])


def test_twenty_quadrature_points_are_enough(latent):
    y = tf.constant(np.arange(n) % C)
    few, many = (Step(C, num_points=H).variational_expectations(latent, y, SEED) for H in (20, 200))
    np.testing.assert_allclose(few, many, atol=2e-3)


def test_step_of_two_classes_in_closed_form(rng):
    mean, var = rng.normal(size=(2, n)), rng.uniform(0.2, 2.0, (2, n))
    P = norm.cdf((mean[0] - mean[1]) / np.sqrt(var.sum(axis=0)))
    moments = Step(2, epsilon=EPSILON, num_points=60).predict(
        LatentMoments(tf.constant(mean), tf.constant(var)), tf.ones_like(mean)
    )
    np.testing.assert_allclose(moments.mean[0], (1 - EPSILON) * P + EPSILON * (1 - P), atol=1e-5)


def test_step_prediction(latent, f):
    moments, p = (
        Step(C, epsilon=EPSILON, num_points=60).predict(latent, tf.ones_like(latent.mean)),
        step_probabilities(f),
    )
    assert_is_mean(moments.mean.numpy(), p)
    assert_is_mean(moments.second.numpy(), p**2)
    assert_is_mean(moments.entropy.numpy(), -np.sum(p * np.log(p), axis=1))


def test_softmax_expectation_is_unbiased(latent, f):
    y = np.arange(n) % C
    value = Softmax(C, num_draws=200_000).variational_expectations(latent, tf.constant(y), SEED)
    exact = log_softmax(f, axis=1)[:, y, np.arange(n)]
    np.testing.assert_allclose(value, exact.mean(axis=0), atol=6 * np.max(exact.std(axis=0)) / np.sqrt(DRAWS))


def test_softmax_prediction(latent, f):
    pi = softmax(f, axis=1)
    moments = Softmax(C, num_points=4096).predict(latent, tf.ones_like(latent.mean))
    assert_is_mean(moments.mean.numpy(), pi)
    assert_is_mean(moments.second.numpy(), pi**2)
    assert_is_mean(moments.entropy.numpy(), -np.sum(pi * np.log(pi), axis=1))


def test_default_softmax_points_are_enough(latent):
    few, many = (
        Softmax(C).predict(latent, tf.ones_like(latent.mean)),
        Softmax(C, num_points=16384).predict(latent, tf.ones_like(latent.mean)),
    )
    np.testing.assert_allclose(few.mean, many.mean, atol=5e-3)


@pytest.mark.parametrize("likelihood", [Step(C), Softmax(C, num_points=4096)], ids=["step", "softmax"])
def test_probabilities_sum_to_one_and_permute_with_the_classes(likelihood, latent):
    moments = likelihood.predict(latent, tf.ones_like(latent.mean))
    np.testing.assert_allclose(tf.reduce_sum(moments.mean, axis=0), 1.0, atol=1e-12)
    order = [2, 0, 1]
    permuted = likelihood.predict(LatentMoments(*(tf.gather(a, order) for a in latent)), tf.ones_like(latent.mean))
    np.testing.assert_allclose(permuted.mean, tf.gather(moments.mean, order), atol=1e-3)


@pytest.mark.parametrize("likelihood", [Step(C, epsilon=EPSILON, num_points=60), Softmax(C, num_points=4096)])
def test_weighed_classes(likelihood, latent, f, rng):
    ratio = rng.uniform(0.2, 3.0, (C, n))
    pi = step_probabilities(f) if isinstance(likelihood, Step) else softmax(f, axis=1)
    Z = np.sum(ratio * pi, axis=1, keepdims=True)
    rho = ratio * pi / Z
    moments = likelihood.predict(latent, tf.constant(ratio))
    assert_is_mean(moments.mean.numpy(), Z * rho)
    assert_is_mean(moments.second.numpy(), Z * rho**2)
    assert_is_mean(moments.entropy.numpy(), -Z[:, 0] * np.sum(rho * np.log(rho), axis=1))


def test_learned_epsilon_has_a_gradient_and_a_fixed_one_has_none(latent):
    y = tf.constant(np.arange(n) % C)
    for learn in (True, False):
        likelihood = Step(C, learn_epsilon=learn)
        assert len(likelihood.trainable_variables) == learn
        with tf.GradientTape() as tape:
            tape.watch(likelihood.epsilon.unconstrained_variable)
            value = tf.reduce_sum(likelihood.variational_expectations(latent, y, SEED))
        assert np.isfinite(tape.gradient(value, likelihood.epsilon.unconstrained_variable))


def test_step_is_finite_far_into_the_tails():
    latent = LatentMoments(tf.constant([[40.0], [-40.0], [0.0]]), tf.fill([3, 1], 1e-6))
    with tf.GradientTape() as tape:
        tape.watch(latent.mean)
        value = Step(3, dtype=tf.float32).variational_expectations(latent, tf.constant([1]), SEED)
    assert np.all(np.isfinite(value))
    assert np.all(np.isfinite(tape.gradient(value, latent.mean)))


def test_gaussian_points_have_the_moments_of_a_gaussian():
    points = gaussian_points(256, 4)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(np.cov(points.T), np.eye(4), atol=0.05)
    np.testing.assert_array_equal(points, gaussian_points(256, 4))
