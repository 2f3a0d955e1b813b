"""Input models: their terms of the bound, their limits, and a contract that every one of them keeps."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import multivariate_normal, norm

from fermiclass.nimgp.build import METHODS
from fermiclass.nimgp.input_prior import InputPrior
from fermiclass.nimgp.inputs import InputBatch, ObservedInputs, PerSourceInputs

from .conftest import COMBINATIONS, SEED, C, D, N, batch_of, perturbed


def per_source_terms(model, X, X_var):
    batch = InputBatch(tf.range(len(X)), tf.constant(X), tf.constant(X_var))
    return model.latent_moments(lambda x: x, batch, SEED)[1].numpy()


def test_per_source_terms_against_monte_carlo(data, rng):
    """Up to constants, ``E_q log N(x̃|x,V) − KL(q‖p) = E_q [log N(x̃|x,V) + log p(x) − log q(x)]`` of Gaussians in x."""
    X, X_var, _ = data
    A = rng.normal(size=(D, D))
    prior = InputPrior(rng.normal(size=D), A @ A.T + 0.1 * np.eye(D))
    model = perturbed(PerSourceInputs(N, D, prior=prior), rng)
    mu, sd = X + np.sqrt(X_var) * model.mean.numpy(), np.sqrt(X_var * model.variance.numpy())
    x = mu + sd * rng.normal(size=(200_000, N, D))
    log_ratio = (norm.logpdf(X, x, np.sqrt(X_var)) - norm.logpdf(x, mu, sd)).sum(axis=-1)
    log_ratio += multivariate_normal(prior.mean, np.linalg.inv(prior.precision)).logpdf(x)
    constant = 0.5 * (np.linalg.slogdet(prior.precision)[1] - D * np.log(2 * np.pi))
    terms = per_source_terms(model, X, X_var) + constant
    np.testing.assert_allclose(terms, log_ratio.mean(axis=0), atol=0.05)


def test_flat_prior_adds_nothing_where_q_is_the_noise(data):
    X, X_var, _ = data
    model = PerSourceInputs(N, D)
    model.variance.assign(tf.ones_like(model.variance))  # q(x) = N(x̃, V)
    np.testing.assert_allclose(per_source_terms(model, X, X_var), 0.0, atol=1e-12)


def test_draws_of_x_have_the_moments_of_q(rng):
    count = 200_000
    model = perturbed(PerSourceInputs(1, D), rng)
    X, X_var = np.array([[0.3, -1.0]]), np.array([[0.2, 0.5]])
    batch = InputBatch(
        tf.zeros(count, tf.int32), tf.constant(np.tile(X, (count, 1))), tf.constant(np.tile(X_var, (count, 1)))
    )
    x = model.latent_moments(lambda x: x, batch, SEED)[0].numpy()
    np.testing.assert_allclose(x.mean(axis=0), (X + np.sqrt(X_var) * model.mean.numpy())[0], atol=0.01)
    np.testing.assert_allclose(x.var(axis=0), (X_var * model.variance.numpy())[0], rtol=0.02)


@pytest.mark.parametrize("likelihood", ["softmax", "step"])
def test_no_noise_is_mgp(make_model, data, likelihood):
    """With V = 0 the bound is MGP's but for the KL divergence of a q(ξ) that nothing depends on: zero at the prior."""
    X, _, y = data
    model = make_model("nimgp", likelihood)
    inputs = model.input_model
    inputs.mean.assign(tf.zeros_like(inputs.mean))
    inputs.variance.assign(tf.ones_like(inputs.variance))
    batch = batch_of(X, np.zeros_like(X), y)
    nimgp = model.elbo(batch, SEED)
    model.input_model = ObservedInputs()
    np.testing.assert_allclose(nimgp, model.elbo(batch, SEED), rtol=1e-12)


@pytest.mark.parametrize(("method", "likelihood"), COMBINATIONS)
def test_contract(make_model, data, method, likelihood):
    """Every input model with every likelihood: shapes, finite gradients, the same seed the same value."""
    X, X_var, y = data
    model, batch = make_model(method, likelihood), batch_of(X, X_var, y)
    latent, terms = model.input_model.latent_moments(
        lambda x: model.posterior.latent_moments(model.kernel, x), batch.inputs, SEED
    )
    assert latent.mean.shape == latent.var.shape == (C, N)
    assert terms.shape == (N,)
    with tf.GradientTape() as tape:
        loss = -model.elbo(batch, SEED) - model.log_prior_density()
    for gradient, variable in zip(
        tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True
    ):
        assert np.all(np.isfinite(tf.convert_to_tensor(gradient))), variable.name
    np.testing.assert_array_equal(model.elbo(batch, SEED), model.elbo(batch, SEED))


def test_contract_covers_every_method():
    assert {method for method, _ in COMBINATIONS} == set(METHODS)
