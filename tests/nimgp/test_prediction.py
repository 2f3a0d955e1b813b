"""Prediction: against brute force, what its entropies mean, and independence of the other rows."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.special import softmax

from fermiclass.nimgp.input_prior import InputPrior
from fermiclass.nimgp.prediction import Predictor

from .conftest import COMBINATIONS, D


def predict(model, *data, **options):
    return Predictor(model).predict(*data, **options)


@pytest.fixture
def targets(rng):
    return rng.normal(size=(300, D)), rng.uniform(0.0, 0.8, (300, D))


def brute_force(model, x, var, rng, outer=400, inner=400):
    """p(y | f(x)) of every draw of x (outer) and of f given x (inner): (outer, inner, C)."""
    return brute_force_at(model, x + np.sqrt(var) * rng.normal(size=(outer, len(x))), rng, inner)


def brute_force_at(model, X, rng, inner):
    """p(y | f(x)) of every row of X (n, D) and of draws of f given x (inner): (n, inner, C)."""
    latent = model.posterior.latent_moments(model.kernel, tf.constant(X))
    mean, var = latent.mean.numpy().T[:, None], latent.var.numpy().T[:, None]
    f = mean + np.sqrt(var) * rng.normal(size=(len(X), inner, mean.shape[-1]))
    if hasattr(model.likelihood, "epsilon"):
        eps = float(model.likelihood.epsilon.numpy())
        largest = f.argmax(axis=-1)[..., None] == np.arange(f.shape[-1])
        return np.where(largest, 1 - eps, eps / (f.shape[-1] - 1))
    return softmax(f, axis=-1)


def entropy(p):
    return -np.sum(p * np.log(p), axis=-1)


@pytest.mark.parametrize("likelihood", ["softmax", "step"])
def test_against_brute_force(make_model, targets, rng, likelihood):
    model = make_model("nimgp", likelihood)
    X, X_var = targets[0][:3], targets[1][:3]
    prediction = predict(model, X, X_var, num_draws=256)
    for i in range(3):
        pi = brute_force(model, X[i], X_var[i], rng)
        given_x = pi.mean(axis=1)
        p = given_x.mean(axis=0)
        np.testing.assert_allclose(prediction.probabilities[i], p, atol=0.02)
        np.testing.assert_allclose(prediction.std[i], pi.std(axis=(0, 1)), atol=0.02)
        np.testing.assert_allclose(prediction.entropy[i], entropy(p), atol=0.02)
        np.testing.assert_allclose(prediction.noise_entropy[i], entropy(p) - entropy(given_x).mean(), atol=0.02)
        information = entropy(given_x).mean() - entropy(pi).mean()
        np.testing.assert_allclose(prediction.information[i], information, atol=0.02)


@pytest.mark.parametrize(("method", "likelihood"), COMBINATIONS)
def test_a_source_does_not_depend_on_the_others(make_model, targets, method, likelihood):
    """Bit by bit the same alone, in another order, and in a longer table."""
    model, (X, X_var) = make_model(method, likelihood), targets
    X_var = np.where(np.arange(len(X))[:, None] % 7, X_var, 0.0)  # some without noise
    whole = predict(model, X, X_var).probabilities
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(predict(model, X[order], X_var[order]).probabilities, whole[order])
    np.testing.assert_array_equal(predict(model, X[17:18], X_var[17:18]).probabilities, whole[17:18])
    np.testing.assert_array_equal(predict(model, X[:101], X_var[:101]).probabilities, whole[:101])


def test_probabilities_sum_to_one_and_entropies_are_not_negative(make_model, targets):
    prediction = predict(make_model(), *targets)
    np.testing.assert_allclose(prediction.probabilities.sum(axis=1), 1.0, atol=1e-12)
    for part in (prediction.entropy, prediction.information, prediction.noise_entropy):
        assert np.all(part >= 0)
        assert np.all(part <= np.log(3) + 1e-12)
    assert np.all(prediction.information + prediction.noise_entropy <= prediction.entropy + 1e-9)


@pytest.mark.parametrize("likelihood", ["softmax", "step"])
def test_other_shares_of_the_classes(make_model, targets, rng, likelihood):
    """Probabilities are the plain ones times the ratio, made to sum to 1; the parts of the entropy stay parts of it."""
    model, ratio = make_model("nimgp", likelihood), rng.uniform(0.1, 4.0, (300, 3))
    plain, corrected = predict(model, *targets), predict(model, *targets, ratio=ratio)
    expected = plain.probabilities * ratio
    np.testing.assert_allclose(corrected.probabilities, expected / expected.sum(axis=1, keepdims=True), atol=1e-9)
    assert np.all(corrected.information + corrected.noise_entropy <= corrected.entropy + 1e-9)
    np.testing.assert_allclose(predict(model, *targets, ratio=np.full((300, 3), 2.0)).std, plain.std, atol=1e-9)


def test_no_noise_has_no_noise_entropy(make_model, targets):
    X, X_var = targets
    noiseless = predict(make_model(), X, np.zeros_like(X_var))
    np.testing.assert_allclose(noiseless.noise_entropy, 0.0, atol=1e-12)


def test_vanishing_noise_is_no_noise(make_model, targets):
    X, X_var = targets
    model, exact = make_model(), make_model("nimgp", "step")
    # softmax: up to quasi-Monte Carlo points, of which an input without noise has others
    for m, tolerance in ((model, 5e-3), (exact, 1e-6)):
        tiny, none = predict(m, X, 1e-14 * X_var), predict(m, X, 0 * X_var)
        np.testing.assert_allclose(tiny.probabilities, none.probabilities, atol=tolerance)


def test_more_noise_more_noise_entropy(make_model, targets):
    model, (X, X_var) = make_model(), targets
    means = [predict(model, X, scale * X_var).noise_entropy.mean() for scale in (0.1, 1.0, 4.0)]
    assert means == sorted(means)


@pytest.mark.parametrize("likelihood", ["softmax", "step"])
def test_prior_on_the_inputs_against_brute_force(make_model, targets, rng, likelihood):
    """The noiseless input is drawn from its posterior, weighed by the textbook's formula for Gaussians."""
    model = make_model("nimgp", likelihood)
    prior = InputPrior(np.array([0.5, -1.0]), np.array([[2.0, 0.8], [0.8, 1.0]]))
    X, X_var = targets[0][:3], targets[1][:3] + 0.1
    prediction = Predictor(model, input_prior=prior).predict(X, X_var)
    for i in range(3):
        covariance = np.linalg.inv(np.diag(1 / X_var[i]) + prior.precision)
        mean = covariance @ (X[i] / X_var[i] + prior.precision @ prior.mean)
        pi = brute_force_at(model, rng.multivariate_normal(mean, covariance, size=2000), rng, 200)
        np.testing.assert_allclose(prediction.probabilities[i], pi.mean(axis=(0, 1)), atol=0.02)


def test_temperature_divides_the_latent_functions(make_model, targets, rng):
    model, (X, _) = make_model(), targets
    predictor = Predictor(model)
    latent = model.posterior.latent_moments(model.kernel, tf.constant(X[:3]))
    for temperature in (0.5, 3.0):
        predictor.temperature = temperature
        probabilities = predictor.predict(X[:3], np.zeros((3, D))).probabilities
        f = latent.mean.numpy() + np.sqrt(latent.var.numpy()) * rng.normal(size=(200_000, *latent.mean.shape))
        np.testing.assert_allclose(probabilities, softmax(f / temperature, axis=1).mean(axis=0).T, atol=0.02)
