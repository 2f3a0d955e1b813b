"""Prediction: against brute force, what its entropies mean, and independence of the other rows."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.special import softmax

from fermiclass.nimgp.prediction.predictor import ClassPredictor
from tests.nimgp.conftest import C, D, M, draw, mixture
from tests.nimgp.likelihoods.definitions import robust_max


def predict(model, *data, **options):
    return ClassPredictor(model).predict(*data, **options)


@pytest.fixture
def targets(rng):
    return rng.normal(size=(300, D)), rng.uniform(0.0, 0.8, (300, D))


@pytest.fixture
def make_steep(make_model, rng):
    """A model whose latent functions are well known and vary within an error bar."""

    def make(method="nimgp", likelihood="softmax"):
        model = make_model(method, likelihood)
        model.kernel.kernels[0].lengthscales.assign(rng.uniform(0.6, 1.0, (C, D)))
        model.posterior.q_mu.assign(1.5 * rng.normal(size=(C, M)))
        model.posterior.q_sqrt.assign(0.3 * model.posterior.q_sqrt)
        return model

    return make


def latent_at(model, X):
    """Means and variances of the latent functions at X (n, D): (n, C), (n, C)."""
    latent = model.posterior.functions(model.kernel).moments(tf.constant(X))
    return latent.mean.numpy().T, latent.var.numpy().T


def brute_force(model, x, var, rng, outer=1200, inner=150):
    """p(y | f(x)) of every draw of x (outer) and of f given x (inner): (outer, inner, C)."""
    return brute_force_at(model, x + np.sqrt(var) * rng.normal(size=(outer, len(x))), rng, inner)


def brute_force_at(model, X, rng, inner):
    """p(y | f(x)) of every row of X (n, D) and of draws of f given x (inner): (n, inner, C)."""
    mean, var = (a[:, None] for a in latent_at(model, X))
    return given_functions(model.likelihood, mean + np.sqrt(var) * rng.normal(size=(len(X), inner, C)))


def given_functions(likelihood, f):
    """p(y | f), (..., C)."""
    if not hasattr(likelihood, "epsilon"):
        return softmax(f, axis=-1)
    return robust_max(f[..., None], likelihood.noise, float(likelihood.epsilon.numpy()))[..., 0]


def entropy(p):
    return -np.sum(p * np.log(p), axis=-1)


@pytest.mark.parametrize("likelihood", ["softmax", "step", "probit"])
def test_against_brute_force(make_steep, targets, rng, likelihood):
    model = make_steep("nimgp", likelihood)
    X, X_var = targets[0][:3], targets[1][:3]
    prediction = predict(model, X, X_var, num_draws=256)
    for i in range(3):
        pi = brute_force(model, X[i], X_var[i], rng)
        given_x = pi.mean(axis=1)
        p = given_x.mean(axis=0)
        np.testing.assert_allclose(prediction.probabilities[i], p, atol=0.02)
        np.testing.assert_allclose(prediction.std[i], pi.std(axis=(0, 1)), atol=0.02)
        np.testing.assert_allclose(prediction.entropy[i], entropy(p), atol=0.02)
        np.testing.assert_allclose(prediction.noise_entropy[i], entropy(p) - entropy(given_x).mean(), atol=0.025)
        information = entropy(given_x).mean() - entropy(pi).mean()
        np.testing.assert_allclose(prediction.information[i], information, atol=0.025)
    assert prediction.noise_entropy.max() > 0.05


@pytest.mark.parametrize("components", [1, 3])
def test_prior_on_the_inputs_against_brute_force(make_steep, targets, rng, components):
    """The noiseless input is drawn from its posterior: draws of p(x), weighed by the density of what was observed."""
    model, prior = make_steep(), mixture(rng, components)
    X, X_var = targets[0][:3], targets[1][:3] + 0.3
    prediction = ClassPredictor(model, input_prior=prior).predict(X, X_var)
    flat = ClassPredictor(model).predict(X, X_var)
    for i in range(3):
        x = draw(prior, 200_000, rng)
        density = np.exp(-0.5 * np.sum((x - X[i]) ** 2 / X_var[i], axis=1))
        x = x[rng.choice(len(x), 2000, p=density / density.sum())]
        pi = brute_force_at(model, x, rng, 50)
        p, given_x = pi.mean(axis=(0, 1)), pi.mean(axis=1)
        np.testing.assert_allclose(prediction.probabilities[i], p, atol=0.025)
        np.testing.assert_allclose(prediction.std[i], pi.std(axis=(0, 1)), atol=0.025)
        assert abs(prediction.noise_entropy[i] - (entropy(p) - entropy(given_x).mean())) < 0.03
    assert np.abs(prediction.probabilities - flat.probabilities).max() > 0.03


@pytest.mark.parametrize("likelihood", ["softmax", "step"])
def test_first_order_against_brute_force(make_steep, targets, rng, likelihood):
    """Noise of the latent functions by their slopes at the observed input, found by differences."""
    model = make_steep("nimgp-fo", likelihood)
    X, X_var = targets[0][:3], targets[1][:3]
    prediction = ClassPredictor(model, first_order=True).predict(X, X_var)
    mean, var = latent_at(model, X)
    for j in range(D):
        step = 1e-5 * np.eye(D)[j]
        var += X_var[:, j : j + 1] * ((latent_at(model, X + step)[0] - latent_at(model, X - step)[0]) / 2e-5) ** 2
    pi = given_functions(model.likelihood, mean + np.sqrt(var) * rng.normal(size=(20_000, 3, C)))
    np.testing.assert_allclose(prediction.probabilities, pi.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(prediction.std, pi.std(axis=0), atol=0.02)
    np.testing.assert_allclose(prediction.noise_entropy, 0.0, atol=1e-12)
    exact = ClassPredictor(model, first_order=True).predict(X, 0 * X_var)
    np.testing.assert_allclose(exact.probabilities, predict(model, X, 0 * X_var).probabilities, atol=1e-12)
    assert np.abs(exact.probabilities - prediction.probabilities).max() > 0.01


@pytest.mark.parametrize("likelihood", ["softmax", "logit"])
def test_other_shares_of_the_classes(make_model, targets, rng, likelihood):
    """Probabilities are the plain ones times the ratio, made to sum to 1; the parts of the entropy stay parts of it."""
    model, ratio = make_model("nimgp", likelihood), rng.uniform(0.1, 4.0, (300, 3))
    plain, corrected, doubled = (
        predict(model, *targets, num_draws=32, ratio=r) for r in (None, ratio, np.full((300, 3), 2.0))
    )
    expected = plain.probabilities * ratio
    np.testing.assert_allclose(corrected.probabilities, expected / expected.sum(axis=1, keepdims=True), atol=1e-9)
    assert np.all(corrected.information + corrected.noise_entropy <= corrected.entropy + 1e-9)
    np.testing.assert_allclose(doubled.std, plain.std, atol=1e-9)


def test_vanishing_noise_is_no_noise(make_model, targets):
    X, X_var = targets
    model, exact = make_model(), make_model("nimgp", "step")
    # softmax: up to quasi-Monte Carlo points, of which an input without noise has others
    for m, tolerance in ((model, 5e-3), (exact, 1e-6)):
        tiny, none = predict(m, X, 1e-14 * X_var), predict(m, X, 0 * X_var)
        np.testing.assert_allclose(tiny.probabilities, none.probabilities, atol=tolerance)


def test_temperature_divides_the_latent_functions(make_model, targets, rng):
    model, (X, _) = make_model(), targets
    predictor = ClassPredictor(model)
    mean, var = latent_at(model, X[:3])
    for temperature in (0.5, 3.0):
        probabilities = predictor.predict(X[:3], np.zeros((3, D)), temperature=temperature).probabilities
        f = mean + np.sqrt(var) * rng.normal(size=(200_000, *mean.shape))
        np.testing.assert_allclose(probabilities, softmax(f / temperature, axis=-1).mean(axis=0), atol=0.02)
