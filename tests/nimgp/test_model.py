"""The bound: its minibatches, and that it is one."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import lognorm

from fermiclass.nimgp.kernels import Matern32, Matern52, SquaredExponential
from fermiclass.nimgp.model import assign_weights, build_model, weights_of
from fermiclass.nimgp.modules import parameters_of
from fermiclass.nimgp.names import LIKELIHOODS, METHODS, NOISES
from fermiclass.nimgp.settings import Settings

from .conftest import KERNEL_SUMS, SEED, C, D, M, N, batch_of

SETTINGS = [
    {},
    *({"method": method} for method in METHODS),
    *({"likelihood": likelihood} for likelihood in LIKELIHOODS),
    *({"kernel": kernel} for kernel in KERNEL_SUMS),
    *({"noise": noise} for noise in NOISES[1:]),
    {"objective": "predictive"},
]


@pytest.mark.parametrize("likelihood", ["step", "softmax"])
def test_minibatches_add_up_to_the_full_bound(make_model, data, likelihood):
    """The scale of a minibatch is N/B: the mean over the parts of the data is the bound of the whole."""
    model = make_model("mgp", likelihood)
    if likelihood == "softmax":
        model.likelihood.num_draws = 200_000
    parts = [model.objective(batch_of(*data, index), SEED) for index in np.split(np.arange(N), 4)]
    np.testing.assert_allclose(np.mean(parts), model.objective(batch_of(*data), SEED), rtol=2e-3)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_bound_is_below_the_evidence(rng, num_classes):
    """``L ≤ log ∫ p(y|f) p(f) df`` of the step likelihood, by drawing f from the prior; close to it after training."""
    from fermiclass.nimgp.training.loop import TrainingData, maximise
    from fermiclass.nimgp.training.optimisers import Schedule

    X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([0, 1, 0])
    model = build_model(
        Settings("mgp", "step", objective="elbo", label_noise=0, hyper={"epsilon": 0.1}),
        X,
        num_classes=num_classes,
        num_data=3,
        jitter=1e-6,
    )
    for parameter in (*parameters_of(model.kernel).values(), model.posterior.Z):
        gpflow.set_trainable(parameter, False)
    K = model.kernel.K(tf.constant(X[None])).numpy()
    f = np.stack([rng.multivariate_normal(np.zeros(3), of_function, size=400_000) for of_function in K], axis=1)
    right = ((f[:, 0] > 0) if num_classes == 2 else f.argmax(axis=1)) == y
    evidence = np.log(np.mean(np.prod(np.where(right, 0.9, 0.1 / (num_classes - 1)), axis=1)))
    batch = batch_of(X, np.zeros_like(X), y)
    start = float(model.objective(batch, SEED))
    list(maximise(model, TrainingData(X, np.zeros_like(X), y), Schedule(steps=400, learning_rate=0.05)))
    end = float(model.objective(batch, SEED))
    assert start < end < evidence
    assert evidence - end < (0.5 if num_classes == 2 else 0.9)


@pytest.mark.parametrize("method", ["mgp", "nimgp-fo", "nimgp-fo-marginal"])
def test_predictive_objective_is_the_log_loss_of_what_is_predicted(make_model, data, rng, method):
    """``Σ log E p(y | f) − KL``, by drawing f, input noise to first order with it; the bound is lower."""
    model, (X, X_var, y) = make_model(method, "step", objective="predictive", hyper={"epsilon": 0.1}), data
    functions = model.posterior.functions(model.kernel)
    latent = functions.moments(tf.constant(X))
    var = latent.var.numpy()
    if method != "mgp":
        var += np.sum(functions.moments_and_gradient(tf.constant(X))[1].numpy() ** 2 * X_var.T, axis=1)
    f = latent.mean.numpy() + np.sqrt(var) * rng.standard_normal((400_000, *var.shape))
    right = np.mean(f.argmax(axis=1) == y, axis=0)
    expected = np.sum(np.log(0.9 * right + 0.05 * (1.0 - right))) - model.posterior.kl_divergence().numpy()
    objective = model.objective(batch_of(*data), SEED)
    np.testing.assert_allclose(objective, expected, atol=0.02)
    model.predictive = False
    assert model.objective(batch_of(*data), SEED) < objective


def test_priors_pull_the_hyper_parameters(make_model):
    """The density of a log-normal prior, as SciPy has it, summed over all that have one."""
    model = make_model(kernel="se", noise="shared")
    density = 0.0
    for parameter in (model.noise, *parameters_of(model.kernel).values()):
        log_normal = lognorm(s=parameter.prior.width, scale=parameter.prior.median)
        density += np.sum(log_normal.logpdf(parameter.numpy()))
    np.testing.assert_allclose(model.log_prior_density(), density, rtol=1e-10)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())))
def test_weights_round_trip(make_model, data, settings):
    model, X = make_model(**settings), tf.constant(data[0])
    weights = weights_of(model)
    again = build_model(Settings(label_noise=0, **settings), weights["posterior.Z"][0], num_classes=C, num_data=0)
    assign_weights(again, weights)
    for ours, theirs in zip(*(m.posterior.functions(m.kernel).moments(X) for m in (model, again)), strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-12)
    assert all(a.dtype == np.float64 for a in weights.values())
    assert ("noise" in weights) == ("noise" in settings)
    assert not any(name.startswith("input_model") for name in weights)
    for name, values in weights_of(again).items():
        np.testing.assert_allclose(values, weights[name], rtol=1e-12, err_msg=name)


def test_settings_reach_the_parts(rng):
    def build(jitter=1e-3, **settings):
        chosen = Settings(**{"method": "nimgp", "objective": "elbo", "label_noise": 0, **settings})
        return build_model(chosen, rng.normal(size=(M, D)), num_classes=C, num_data=N, jitter=jitter)

    polynomial = build(kernel="polynomial", hyper={"degree": 4, "variance": 0.02}).kernel.kernels[0]
    assert polynomial.degree == 4
    np.testing.assert_allclose(polynomial.variance, 0.02, rtol=1e-6)
    assert build(jitter=0.5).posterior.jitter.numpy() == 0.5
    assert build(likelihood="logit").likelihood.noise == 2.897
    fixed = build(likelihood="step", hyper={"epsilon": 1e-3}).likelihood.epsilon
    assert not fixed.trainable_variables
    np.testing.assert_allclose(fixed, 1e-3)
    assert build(likelihood="probit").likelihood.epsilon.trainable_variables
    assert build(method="nimgp-fo-marginal").input_model.marginal
    assert not build(method="nimgp-fo").input_model.marginal
    np.testing.assert_allclose(build(hyper={"lengthscale": 0.4}).kernel.kernels[0].lengthscales, 0.4)
    np.testing.assert_allclose(build(hyper={"white": 0.4}).kernel.white, 0.4)
    np.testing.assert_allclose(build(inputs={"spread": 0.4}).input_model.variance, 0.4)
    np.testing.assert_array_equal(build(inputs={"spread": 0.4}).input_model.mean, 0.0)
    pairs = {"draw_pairs": 7}
    for likelihood in ("softmax", gpflow.likelihoods.Softmax(C)):
        assert build(likelihood=likelihood, training=pairs).likelihood.num_draws == 14
    assert build().input_model.in_units_of_noise
    assert not build(inputs={"units": "inputs"}).input_model.in_units_of_noise
    kinds = [type(part) for part in build(kernel="se+matern32+matern52").kernel.kernels[:3]]
    assert kinds == [SquaredExponential, Matern32, Matern52]
