"""Likelihoods against Monte Carlo, quadrature and closed forms of two classes."""

from functools import partial

import numpy as np
import pytest
import tensorflow as tf
from scipy.integrate import quad
from scipy.special import ndtr, softmax
from scipy.stats import norm

from fermiclass.nimgp.likelihoods.base import ClassLikelihood, antithetic_draws
from fermiclass.nimgp.likelihoods.named import NOISE_VARIANCE, Softmax, SoftmaxBound, make_likelihood
from fermiclass.nimgp.likelihoods.robustmax import Argmax, RobustMax
from fermiclass.nimgp.names import LIKELIHOODS
from fermiclass.nimgp.posterior import LatentMoments
from tests.nimgp.conftest import SEED
from tests.nimgp.likelihoods.definitions import BOUNDS, EPSILON, PROBABILITIES

C, n, DRAWS = 3, 6, 400_000
NOISES = sorted(NOISE_VARIANCE.values())
Y = np.arange(n) % C


def moments_of(rng, num_functions):
    shape = num_functions, n
    return LatentMoments(tf.constant(rng.normal(size=shape)), tf.constant(rng.uniform(0.2, 2.0, shape)))


@pytest.fixture
def latent(rng):
    return moments_of(rng, C)


@pytest.fixture(params=[2, C], ids=["two", "three"])
def case(request, rng):
    """Labels, the number of classes, and moments of latent functions, of which two classes share one."""
    return np.arange(n) % request.param, request.param, moments_of(rng, 1 if request.param == 2 else C)


def draws(latent, rng, count=DRAWS, noise=0.0):
    """Draws of the latent functions, with Gaussian noise added, (count, L, n)."""
    return latent.mean.numpy() + np.sqrt(latent.var.numpy() + noise) * rng.normal(size=(count, *latent.mean.shape))


def assert_is_mean(value, values, extra=2e-4):
    """Each value lies within 5 standard errors (and a little quadrature error) of the draws' mean."""
    error = values.std(axis=0) / np.sqrt(len(values))
    np.testing.assert_array_less(np.abs(value - values.mean(axis=0)), 5 * error + extra)


def made(kind, num_classes=C):
    """A likelihood with many draws and points."""
    likelihood = make_likelihood(kind, num_classes, epsilon=EPSILON)
    likelihood.num_draws, likelihood.num_points = 100_000, 4096
    return likelihood


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_expectation(kind, case, rng):
    """``E_q log p(y | f)``, or a bound of it."""
    y, num_classes, latent = case
    value = made(kind, num_classes).variational_expectations(latent, tf.constant(y), SEED).numpy()
    log_p = np.log(PROBABILITIES[kind](draws(latent, rng, 40_000)))[:, y, np.arange(n)]
    if kind in BOUNDS:
        assert np.all(value < log_p.mean(axis=0) - 1e-3)
    else:
        assert_is_mean(value, log_p, 3e-3)


@pytest.mark.parametrize("kind", NOISE_VARIANCE)
def test_expectation_has_the_noise_outside_of_the_logarithm(kind, case, rng):
    y, num_classes, latent = case
    value = made(kind, num_classes).variational_expectations(latent, tf.constant(y), SEED).numpy()
    noisy = draws(latent, rng, noise=NOISE_VARIANCE[kind])
    assert_is_mean(value, np.log(PROBABILITIES["step"](noisy))[:, y, np.arange(n)])


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_log_predictive(kind, case, rng):
    y, num_classes, latent = case
    p = np.exp(made(kind, num_classes).log_predictive(latent, tf.constant(y), SEED))
    assert_is_mean(p, PROBABILITIES[kind](draws(latent, rng, 40_000))[:, y, np.arange(n)], 3e-3)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_prediction(kind, weighed, case, rng):
    """Any noise of f is part of p(y | f), whose second moment and entropy it changes."""
    _, num_classes, latent = case
    ratio = rng.uniform(0.2, 3.0, (num_classes, n)) if weighed else np.ones((num_classes, n))
    pi = PROBABILITIES[kind](draws(latent, rng, 40_000))
    Z = np.sum(ratio * pi, axis=1, keepdims=True)
    rho = ratio * pi / Z
    moments = made(kind, num_classes).predict(latent, tf.constant(ratio))
    extra = (0.02 if weighed else 4e-3) if kind in ("probit", "logit") else 2e-4  # quasi-Monte Carlo of few points
    assert_is_mean(moments.mean.numpy(), Z * rho, extra)
    assert_is_mean(moments.second.numpy(), Z * rho**2, extra)
    assert_is_mean(moments.entropy.numpy(), -Z[:, 0] * np.sum(rho * np.log(rho), axis=1), extra)


@pytest.mark.parametrize(("factor", "tolerance"), [(1.0, 1e-6), (2.0, 1e-6), (4.0, 1e-6), (8.0, 1e-4), (12.0, 1e-3)])
def test_argmax_where_the_scales_of_functions_differ(factor, tolerance):
    """In training and prediction, against adaptive quadrature, for the worst of many means."""
    means = np.linspace(-2.0, 2.0, 41) * factor
    mean = tf.constant(np.stack([means, np.zeros(41), np.full(41, 0.3)]))
    var = tf.constant(np.repeat([[factor**2], [1.0], [1.0]], 41, axis=1))
    expected = [
        quad(lambda g, m=m: norm.pdf(g, m, factor) * ndtr(g) * ndtr(g - 0.3), m - 9 * factor, m + 9 * factor,
             points=[0.0], limit=200)[0]
        for m in means
    ]  # fmt: skip
    latent, rule = LatentMoments(mean, var), Argmax(3)
    np.testing.assert_allclose(rule.of_label(latent, tf.zeros(41, tf.int32)), expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(rule.of_all(latent)[0], expected, rtol=0, atol=tolerance)


def test_argmax_of_known_functions_has_points_enough(rng):
    f = tf.constant(3.0 * rng.normal(size=(5, 400)))
    same = LatentMoments(f, tf.fill(f.shape, tf.constant(2.0, tf.float64)))
    np.testing.assert_allclose(Argmax(5).of_all(same, 25), Argmax(5).of_all(same), rtol=0, atol=1e-6)


@pytest.mark.parametrize("var", [(1e-6, 1e-6, 1e-6), (1e-6, 1e3, 1.0), (1.0, 1e-4, 1e3)])
@pytest.mark.parametrize("epsilon", [0.05, 1e-37])
@pytest.mark.parametrize("noise", NOISES)
def test_argmax_is_finite_far_into_the_tails(noise, epsilon, var):
    latent = LatentMoments(tf.constant([[40.0], [-40.0], [0.0]]), tf.constant(var)[:, None])
    likelihood = RobustMax(Argmax(3), noise=noise, epsilon=epsilon, dtype=tf.float32)
    for method in (likelihood.variational_expectations, likelihood.log_predictive):
        with tf.GradientTape() as tape:
            tape.watch(latent.mean)
            tape.watch(latent.var)
            value = method(latent, tf.constant([1]), SEED)
        assert np.all(np.isfinite(value))
        assert np.all(np.isfinite(tape.gradient(value, [*latent])))
    for values in likelihood.predict(latent, tf.ones([3, 1])):
        assert np.all(np.isfinite(values))


@pytest.mark.parametrize("num_classes", [2, C])
@pytest.mark.parametrize("sets", [None, "pairs"])
@pytest.mark.parametrize("mean", ["log_predictive", "variational_expectations"])
def test_gradient_of_the_softmax_is_the_automatic_one(num_classes, sets, mean, latent):
    table = None if sets is None else np.array([*np.eye(num_classes), np.arange(num_classes) < 2], float)
    likelihood = Softmax(num_classes, sets=table)
    latent = LatentMoments(*(a[: 1 if num_classes == 2 else C] for a in latent))
    y, found = tf.constant(np.arange(n) % (num_classes + (table is not None))), []
    for of_draws in (getattr(likelihood, mean), partial(getattr(ClassLikelihood, mean), likelihood)):
        with tf.GradientTape() as tape:
            tape.watch(latent)
            value = of_draws(latent, y, SEED)
            total = tf.reduce_sum(value * tf.constant(np.arange(1.0, n + 1)))
        found.append([value, *tape.gradient(total, latent)])
    for ours, automatic in zip(*found, strict=True):
        np.testing.assert_allclose(ours, automatic, rtol=1e-10, atol=1e-12)


def test_softmax_of_single_precision_knows_where_to_go_from_far():
    mean = tf.constant([[300.0], [-300.0], [0.0]])
    for y in range(3):
        with tf.GradientTape() as tape:
            tape.watch(mean)
            value = Softmax(3).log_predictive(LatentMoments(mean, tf.fill([3, 1], 1e-4)), tf.constant([y]), SEED)
        expected = np.eye(3)[y] - [1.0, 0.0, 0.0]
        np.testing.assert_allclose(tape.gradient(value, mean)[:, 0], expected, atol=1e-5)
        assert value.numpy() <= 0.0


@pytest.mark.parametrize("likelihood", [Softmax(C), Softmax(C, num_draws=2)], ids=["eight", "two"])
def test_draws_of_f_have_its_moments(likelihood, latent):
    repeated = LatentMoments(*(tf.repeat(a, 50_000, axis=1) for a in latent))
    f = antithetic_draws(repeated, likelihood.num_draws, SEED).numpy().reshape(likelihood.num_draws, C, n, -1)
    np.testing.assert_allclose(f.mean(axis=(0, 3)), latent.mean, atol=1e-10)  # antithetic
    np.testing.assert_allclose(f.var(axis=(0, 3)), latent.var, rtol=0.03)
    scaled = (f[0] - latent.mean.numpy()[..., None]) / np.sqrt(latent.var.numpy()[..., None])
    correlation = np.corrcoef(scaled.reshape(C * n, -1))
    np.testing.assert_allclose(correlation, np.eye(C * n), atol=0.03)


def test_draws_of_f_do_not_depend_on_how_many_sources_follow(latent):
    """A table that is filled up to the length of another has the draws of the table alone."""
    longer = LatentMoments(*(tf.concat([a, a[:, :2]], axis=1) for a in latent))
    alone, filled = antithetic_draws(latent, 8, SEED), antithetic_draws(longer, 8, SEED)
    np.testing.assert_array_equal(filled[..., :n], alone)


def test_softmax_bound_is_equation_25(latent):
    value = SoftmaxBound(C).variational_expectations(latent, tf.constant(Y), SEED).numpy()
    mean, var = (a.numpy() for a in latent)
    for i, y in enumerate(Y):
        others = sum(np.exp(mean[c, i] + var[c, i] / 2) for c in range(C) if c != y)
        expected = -np.log(1 + np.exp(var[y, i] / 2 - mean[y, i]) * others)
        np.testing.assert_allclose(value[i], expected, rtol=1e-10)


def test_softmax_bound_is_finite_far_from_zero():
    latent = LatentMoments(tf.constant([[300.0], [-300.0], [0.0]]), tf.fill([3, 1], 50.0))
    for y in range(3):
        with tf.GradientTape() as tape:
            tape.watch(latent.mean)
            value = SoftmaxBound(3).variational_expectations(latent, tf.constant([y]), SEED)
        assert np.all(np.isfinite(value))
        assert np.all(np.isfinite(tape.gradient(value, latent.mean)))


def test_draws_of_one_input_cover_f_together(latent, rng):
    """Each of many draws of an input has few points of f, all of them together many."""
    repeated = LatentMoments(*(tf.repeat(a, 256, axis=1) for a in latent))
    moments = Softmax(C).predict(repeated, tf.ones_like(repeated.mean), num_draws=256)
    together = moments.mean.numpy().reshape(C, n, 256).mean(axis=-1)
    assert_is_mean(together, softmax(draws(latent, rng), axis=1), 5e-4)
