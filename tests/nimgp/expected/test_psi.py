"""Moments of latent functions at uncertain inputs: against sampling, in their limits, and in the bound."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.from_gpflow import GPflowLikelihood
from fermiclass.nimgp.inputs.models import Batch, output_encoding
from fermiclass.nimgp.kernels import Scales
from fermiclass.nimgp.model import build_model, compose_model
from fermiclass.nimgp.settings import Settings
from tests.nimgp.conftest import perturbed

C, M, D, n = 3, 5, 2, 4
DRAWS = 40_000


def made(kernel, rng, **settings):
    model = build_model(
        Settings("nimgp", kernel=kernel, objective="elbo", **settings),
        rng.normal(size=(M, D)),
        num_data=n,
        num_classes=C,
    )
    return perturbed(model, rng)


@pytest.fixture
def rng():
    return np.random.default_rng(4)


@pytest.fixture(params=["se", "linear", "se+linear", "se+se+linear+linear"])
def model(request, rng):
    return made(request.param, rng, hyper={"lengthscale": 0.8})


@pytest.fixture
def inputs(rng):
    return rng.normal(size=(n, D)), rng.uniform(0.05, 0.8, (n, D))


def in_training(model):
    return model.posterior.functions(model.kernel)


def in_prediction(model):
    return model.posterior.predictor(model.kernel)


@pytest.mark.parametrize("functions", [in_training, in_prediction])
def test_moments_by_sampling(model, inputs, rng, functions):
    mean, var = inputs
    asked = functions(model)
    found = asked.expected_moments(tf.constant(mean), tf.constant(var))
    assert found.mean.shape == found.var.shape == (C, n)
    x = mean + rng.normal(size=(DRAWS, n, D)) * np.sqrt(var)
    latent = asked.moments(tf.constant(x.reshape(-1, D)))
    m, v = (a.numpy().reshape(C, DRAWS, n) for a in latent)
    np.testing.assert_array_less(np.abs(found.mean - m.mean(axis=1)), 4.5 * m.std(axis=1) / np.sqrt(DRAWS) + 1e-9)
    second = v + (m - m.mean(axis=1, keepdims=True)) ** 2
    np.testing.assert_array_less(
        np.abs(found.var - second.mean(axis=1)), 4.5 * second.std(axis=1) / np.sqrt(DRAWS) + 1e-9
    )


def test_single_precision(inputs, rng):
    """What is lost is what the moments at a point lose, too."""
    model = build_model(
        Settings("nimgp", kernel="se+linear", objective="elbo"),
        rng.normal(size=(40, D)),
        num_data=n,
        num_classes=C,
        dtype=tf.float32,
    )
    model.posterior.q_mu.assign(rng.normal(size=(C, 40)))
    functions = in_training(model)
    X = tf.constant(inputs[0], tf.float32)
    at_point, expected = functions.moments(X), functions.expected_moments(X, tf.zeros_like(X))
    np.testing.assert_allclose(expected.mean, at_point.mean, atol=1e-3)
    np.testing.assert_allclose(expected.var, at_point.var, atol=1e-2)


def regression(method, rng):
    likelihood = GPflowLikelihood(gpflow.likelihoods.Gaussian(0.3))
    model = compose_model(
        Settings(method, objective="elbo"),
        rng.normal(size=(M, D)),
        likelihood,
        1,
        output_encoding(0.0, 1.0),
        num_data=n,
        scales=Scales(),
    )
    return perturbed(model, rng, 0.1)


def test_the_bound_of_gaussian_outputs_is_that_of_the_draws(inputs, rng):
    """Exactly what the bound with draws is on average."""
    model = regression("nimgp", rng)
    batch = Batch(None, tf.constant(inputs[0]), tf.constant(inputs[1]), tf.constant(rng.normal(size=n)))
    elbo = tf.function(lambda seed: model.objective(batch, seed))
    drawn = np.array([elbo(tf.constant([5, k])).numpy() for k in range(3000)])
    model.input_model.analytic = True
    found = [model.objective(batch, tf.constant([5, k])).numpy() for k in range(2)]
    assert found[0] == found[1]
    assert found[0] == pytest.approx(drawn.mean(), abs=4 * drawn.std() / np.sqrt(len(drawn)))
    assert drawn.std() > 1e-3
