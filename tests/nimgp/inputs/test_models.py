"""Input models: their terms of the bound, and their limits."""

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import norm

from fermiclass.nimgp.inputs.models import (
    AmortisedInputs,
    AugmentedInputs,
    Batch,
    FirstOrderInputs,
    ObservedInputs,
    PerSourceInputs,
    SampledInputs,
    expected_log_prior,
    label_encoding,
    split,
)
from fermiclass.nimgp.kernels import Linear, Starts
from fermiclass.nimgp.likelihoods.robustmax import Argmax, RobustMax
from fermiclass.nimgp.names import METHODS
from fermiclass.nimgp.posterior import SparsePosterior
from fermiclass.nimgp.settings import HyperOptions
from tests.nimgp.conftest import SEED, C, Coordinates, D, M, N, Recorder, batch_of, mixture, perturbed


def terms_alone(model, X, X_var):
    """What an input model adds to the bound besides the likelihood."""
    return model.source_terms(Coordinates(), Recorder(), batch_of(X, X_var, np.zeros(len(X))), SEED).numpy()


@pytest.mark.parametrize("components", [1, 3])
def test_per_source_terms_against_monte_carlo(data, rng, components):
    """Up to constants, ``E_q log N(x̃|x,V) − KL(q‖p) = E_q [log N(x̃|x,V) + log p(x) − log q(x)]`` of Gaussians in x.

    With a mixture they are a lower bound.
    """
    X, X_var, _ = data
    prior = mixture(rng, components)
    model = perturbed(PerSourceInputs((N, D), prior=prior), rng)
    mu, sd = X + np.sqrt(X_var) * model.mean.numpy(), np.sqrt(X_var * model.variance.numpy())
    x = mu + sd * rng.normal(size=(200_000, N, D))
    log_ratio = (norm.logpdf(X, x, np.sqrt(X_var)) - norm.logpdf(x, mu, sd)).sum(axis=-1) + log_density(prior, x)
    error = 5 * log_ratio.std(axis=0) / np.sqrt(len(x))
    constant = -0.5 * D * np.log(2 * np.pi)
    if components == 1:
        constant += 0.5 * np.linalg.slogdet(prior.precision[0])[1]
    gap = log_ratio.mean(axis=0) - terms_alone(model, X, X_var) - constant
    assert np.all(gap > -error)
    assert np.all(gap < (error if components == 1 else 0.3))


def log_density(prior, x):
    """``log p(x)`` of draws (..., D)."""
    total = 0.0
    for weight, mean, precision in zip(prior.weights, prior.mean, prior.precision, strict=True):
        square = np.einsum("...i,ij,...j->...", x - mean, precision, x - mean)
        total = total + weight * np.sqrt(np.linalg.det(precision / (2 * np.pi))) * np.exp(-0.5 * square)
    return np.log(total)


def test_the_papers_parameters_are_the_same_q(data, rng):
    """With μ = x̃ + √V m and v = V s the terms and draws are those of m and s; an input without noise is exact."""
    X, X_var, y = data
    X_var = X_var.copy()
    X_var[:4, 0] = 0.0
    noise = perturbed(PerSourceInputs((N, D), prior=mixture(rng, 1)), rng)
    own = PerSourceInputs((N, D), in_units_of_noise=False, prior=noise.prior)
    own.mean.assign(np.sqrt(X_var) * noise.mean)
    own.variance.assign(np.where(X_var > 0.0, X_var * noise.variance, 0.3))
    rows = np.array([5, 0, 7])
    exact = PerSourceInputs((N, D), prior=noise.prior)  # where there is no noise, q(ξ) is N(0, 1)
    exact.mean.assign(np.where(X_var > 0.0, noise.mean, 0.0))
    exact.variance.assign(np.where(X_var > 0.0, noise.variance, 1.0))
    found = []
    for model in (own, exact):
        recorder = Recorder()
        terms = model.source_terms(Coordinates(), recorder, batch_of(X, X_var, y, rows), SEED)
        found.append((terms.numpy(), recorder.asked[0].mean.numpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9)
    np.testing.assert_array_equal(found[0][1][0, 1], X[0, 0])
    with tf.GradientTape() as tape:
        terms = tf.reduce_sum(own.source_terms(Coordinates(), Recorder(), batch_of(X, X_var, y), SEED))
    assert all(np.all(np.isfinite(slope)) for slope in tape.gradient(terms, own.trainable_variables))


@pytest.mark.parametrize("kind", [PerSourceInputs, SampledInputs, AugmentedInputs])
def test_draws_have_the_moments_of_the_noise(kind, rng):
    """Those of q(x) with N(m, diag s) in units of the noise, of one source that stands in all rows."""
    count, X, X_var, m, s = 200_000, np.array([0.3, -1.0]), np.array([0.2, 0.5]), 0.0, 1.0
    batch = batch_of(np.tile(X, (count, 1)), np.tile(X_var, (count, 1)), np.zeros(count))
    model, recorder = SampledInputs() if kind is SampledInputs else AugmentedInputs(count, D), Recorder()
    if kind is PerSourceInputs:
        model, batch = perturbed(PerSourceInputs((1, D)), rng), batch._replace(rows=tf.zeros(count, tf.int32))
        m, s = model.mean.numpy()[0], model.variance.numpy()[0]
    model.source_terms(Coordinates(), recorder, batch, SEED)
    x = [latent.mean.numpy().T for latent in recorder.asked]
    if kind is AugmentedInputs:
        np.testing.assert_array_equal(x.pop(0), batch.X)
        assert abs(np.corrcoef(x[0][:, 0], x[1][:, 0])[0, 1]) < 0.01
    for drawn in x:
        np.testing.assert_allclose(drawn.mean(axis=0), X + np.sqrt(X_var) * m, atol=0.01)
        np.testing.assert_allclose(drawn.var(axis=0), X_var * s, rtol=0.02)


def test_augmented_inputs_are_the_same_every_step_and_sampled_ones_are_not(data):
    X, X_var, y = data
    later = tf.constant([5, 6], tf.int32)
    for model, same in ((AugmentedInputs(N, D), True), (SampledInputs(), False)):
        recorder = Recorder()
        for seed in (SEED, later):
            model.source_terms(Coordinates(), recorder, batch_of(X, X_var, y), seed)
        first, second = np.split(np.array([latent.mean for latent in recorder.asked]), 2)
        assert np.array_equal(first, second) == same


def test_augmented_inputs_go_with_their_sources(data):
    X, X_var, y = data
    model, whole, part = AugmentedInputs(N, D), Recorder(), Recorder()
    model.source_terms(Coordinates(), whole, batch_of(X, X_var, y), SEED)
    rows = np.array([7, 2, 9])
    model.source_terms(Coordinates(), part, batch_of(X, X_var, y, rows), SEED)
    for a, b in zip(whole.asked, part.asked, strict=True):
        np.testing.assert_array_equal(a.mean.numpy()[:, rows], b.mean)


def test_first_order_variance_is_that_of_the_slopes(make_model, data):
    """``var_c + ∇mean_cᵀ V ∇mean_c``, with the gradient by automatic differentiation."""
    X, X_var, y = data
    model = make_model("nimgp-fo", kernel="se+linear")
    functions, recorder = model.posterior.functions(model.kernel), Recorder()
    model.input_model.source_terms(functions, recorder, batch_of(X, X_var, y), SEED)
    x = tf.constant(X)
    for c in range(C):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(functions.moments(x).mean[c])
        noise = np.sum(tape.gradient(total, x).numpy() ** 2 * X_var, axis=1)
        np.testing.assert_allclose(recorder.asked[0].var[c], functions.moments(x).var[c] + noise, rtol=1e-8)
    np.testing.assert_allclose(recorder.asked[0].mean, functions.moments(x).mean, rtol=1e-10)


def linear_functions(rng):
    """Latent functions whose mean is linear in the input."""
    posterior = SparsePosterior(rng.normal(size=(C, M, D)), jitter=1e-6)
    posterior.q_mu.assign(rng.normal(size=(C, M)))
    kernel = Linear(Starts(HyperOptions(), C, D))
    kernel.variance.assign(np.full(C, 0.7))
    return posterior.functions(kernel)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_marginal_first_order_against_monte_carlo(rng, noise):
    """``E_q log E_noise p(y | f + noise)``, never below ``E_q E_noise log p`` of the same noise (Jensen)."""
    count, likelihood = 40_000, RobustMax(Argmax(C), noise=noise, epsilon=0.1)
    X, X_var, y = np.array([0.4, -0.8]), np.array([0.5, 0.9]), 1
    functions = linear_functions(rng)
    batch = batch_of(np.tile(X, (count, 1)), np.tile(X_var, (count, 1)), np.full(count, y))
    marginal = FirstOrderInputs(marginal=True).source_terms(functions, likelihood.log_predictive, batch, SEED).numpy()
    one = Batch(None, batch.X[:1], batch.X_var[:1], batch.y[:1])
    plain = FirstOrderInputs().source_terms(functions, likelihood.variational_expectations, one, SEED).numpy()[0]

    latent = functions.moments(one.X)
    step = np.sqrt(X_var) * functions.moments_and_gradient(one.X)[1].numpy()[:, :, 0]  # (C, D)
    mean, scale = latent.mean.numpy()[:, 0], np.sqrt(latent.var.numpy()[:, 0])
    total = np.sum(step**2, axis=1)
    f = mean + scale * rng.normal(size=(1000, 1, C))
    g = f + np.sqrt(total + noise) * rng.normal(size=(1000, 4000, C))
    right = np.mean(g.argmax(axis=-1) == y, axis=1)
    log_p = np.log(right * 0.9 + (1 - right) * 0.05)
    error = 5 * np.hypot(log_p.std() / np.sqrt(1000), marginal.std() / np.sqrt(count)) + 2e-3
    np.testing.assert_allclose(marginal.mean(), log_p.mean(), atol=error)
    outside = np.mean(np.where(g.argmax(axis=-1) == y, np.log(0.9), np.log(0.05)))
    np.testing.assert_allclose(plain, outside, atol=0.02)
    assert marginal.mean() > plain + 0.05


@pytest.mark.parametrize("likelihood", ["softmax", "step"])
@pytest.mark.parametrize("method", sorted(set(METHODS) - {"nimgp-fo-marginal"}))
def test_no_noise_is_mgp(make_model, data, method, likelihood):
    """With V = 0 the bound is MGP's, once for each copy; the KL divergence of a q(ξ) at the prior is zero."""
    X, _, y = data
    model = make_model(method, likelihood)
    inputs, batch = model.input_model, batch_of(X, np.zeros_like(X), y)
    if method == "nimgp":
        inputs.mean.assign(tf.zeros_like(inputs.mean))
        inputs.variance.assign(tf.ones_like(inputs.variance))
    elif method == "nimgp-nn":
        for parameter in (inputs.weights[-1], inputs.biases[-1]):
            parameter.assign(tf.zeros_like(parameter))
    copies = 3 if method == "mgp-aug" else 1
    value, kl = model.objective(batch, SEED), model.posterior.kl_divergence()
    model.input_model = ObservedInputs()
    draws_inputs = method in ("nimgp", "nimgp-nn", "mgp-sampling")
    mgp = model.objective(batch, split(SEED)[1] if draws_inputs else SEED)
    np.testing.assert_allclose(value + kl, copies * (mgp + kl), rtol=1e-12)


def test_marginal_needs_no_gradient_of_what_is_not_there(make_model, data):
    """The derivative of the bound is finite at V = 0 too, where the noise is no noise."""
    X, _, y = data
    for method in METHODS:
        model = make_model(method, "step")
        with tf.GradientTape() as tape:
            value = model.objective(batch_of(X, np.zeros_like(X), y), SEED)
        for gradient in tape.gradient(value, model.trainable_variables):
            assert np.all(np.isfinite(tf.convert_to_tensor(gradient))), method


# --- the network of NIMGP_NN -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [(), (7,), (7, 5)])
def test_it_starts_at_the_noise(data, hidden):
    m, s = AmortisedInputs(D, label_encoding(C), hidden=hidden).moments(batch_of(*data))
    np.testing.assert_array_equal(m, np.zeros((N, D)))
    np.testing.assert_array_equal(s, np.ones((N, D)))


def test_it_is_a_network_of_rectified_units(data, rng):
    X, X_var, y = data
    model = perturbed(AmortisedInputs(D, label_encoding(C), hidden=(7, 5)), rng)
    layer = np.concatenate([X, np.eye(C)[y], np.sqrt(X_var)], axis=1)
    for k, (weights, bias) in enumerate(zip(model.weights, model.biases, strict=True)):
        layer = (np.maximum(layer, 0) if k else layer) @ weights.numpy() + bias.numpy()
    m, s = model.moments(batch_of(X, X_var, y))
    np.testing.assert_allclose(m, layer[:, :D], rtol=1e-12)
    np.testing.assert_allclose(s, np.exp(layer[:, D:]), rtol=1e-12)


def test_its_terms_are_those_of_its_moments(data, rng):
    """As if every source had the network's m and s for its own."""
    prior = mixture(rng)
    model, own = (
        perturbed(AmortisedInputs(D, label_encoding(C), prior=prior), rng),
        PerSourceInputs((N, D), prior=prior),
    )
    batch = batch_of(*data)
    for parameter, value in zip((own.mean, own.variance), model.moments(batch), strict=True):
        parameter.assign(value)
    terms = [m.source_terms(Coordinates(), Recorder(), batch, SEED) for m in (model, own)]
    np.testing.assert_allclose(*terms, rtol=1e-10)


@pytest.mark.parametrize("sees_noise", [True, False])
def test_what_it_sees(data, rng, sees_noise):
    X, X_var, y = data
    model = perturbed(AmortisedInputs(D, label_encoding(C), sees_noise=sees_noise), rng)

    def moments(*batch):
        return np.concatenate(model.moments(batch_of(*batch)))

    usual = moments(X, X_var, y)
    assert np.any(moments(X + 0.1, X_var, y) != usual)
    assert np.any(moments(X, X_var, (y + 1) % C) != usual)
    assert np.any(moments(X, 2 * X_var, y) != usual) == sees_noise


# --- learned noise ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_learned_variance_replaces_what_is_given(make_model, data, method):
    X, X_var, y = data
    model = make_model(method, noise="per-feature")
    value = model.objective(batch_of(X, X_var, y), SEED)
    np.testing.assert_array_equal(model.objective(batch_of(X, np.zeros_like(X), y), SEED), value)
    given = replace(model, noise=None)
    np.testing.assert_array_equal(given.objective(batch_of(X, X * 0.0 + model.noise.numpy(), y), SEED), value)
    model.noise.assign(2 * model.noise)
    assert (model.objective(batch_of(X, X_var, y), SEED) != value) == (method != "mgp")


def test_expected_log_prior_is_exact(rng):
    """Of one Gaussian it is the mean over the points m ± √(D v_j) e_j, as log p is a square; of a mixture at x."""
    one, several = mixture(rng, 1), mixture(rng, 3)
    mean, var = rng.normal(size=(N, D)), rng.uniform(0.1, 1.5, (N, D))
    points = [mean + sign * np.sqrt(D * var) * np.eye(D)[j] for j in range(D) for sign in (1, -1)]
    constant = 0.5 * D * np.log(2 * np.pi)
    value = expected_log_prior(tf.constant(mean), tf.constant(var), one) + 0.5 * np.linalg.slogdet(one.precision[0])[1]
    np.testing.assert_allclose(value - constant, np.mean([log_density(one, x) for x in points], axis=0), rtol=1e-9)
    value = expected_log_prior(tf.constant(mean), tf.zeros_like(mean), several)
    np.testing.assert_allclose(value - constant, log_density(several, mean), rtol=1e-9)
