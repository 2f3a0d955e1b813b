"""Exact regression: GPflow's where inputs are known, and predictions at uncertain inputs by sampling."""

import gpflow
import numpy as np
import pytest

from fermiclass.nimgp.errors import TrainingError
from fermiclass.nimgp.expected.kernels import Sources, covariance
from fermiclass.nimgp.expected.regression import ExpectedGPR, fit_starts, minimise
from tests.nimgp.expected.conftest import SCALES, D, covariances, draws, make_kernel

N = 12
MIXTURE = "se+plain-se+linear+quadratic"


@pytest.fixture
def data(rng):
    """Inputs and outputs."""
    X = rng.normal(size=(N, D))
    return X, np.sin(X @ [1.0, 2.0, -1.0]) + 0.1 * rng.normal(size=N)


def make_model(X, y, kernel="se", **settings):
    model = ExpectedGPR(kernel, X, y, **settings)
    for variable in model.trainable_variables:
        variable.assign_add(0.3 * np.cos(np.arange(1.0, 1 + np.size(variable))).reshape(variable.shape))
    return model


def predict(model, new):
    solution = model.solve()
    return model.predict_mean(new, solution), model.predict_variance(new, solution)


def test_known_inputs_are_gpflows_regression(data, rng):
    X, y = data
    kernel = gpflow.kernels.RBF(variance=1.7, lengthscales=SCALES)
    theirs = gpflow.models.GPR((X, y[:, None]), kernel, noise_variance=0.05)
    model = ExpectedGPR(make_kernel("se"), Sources.of(X), y, noise_variance=0.05)
    np.testing.assert_allclose(model.log_likelihood(), theirs.log_marginal_likelihood(), rtol=1e-6)
    new = rng.normal(size=(7, D))
    mean, variance = theirs.predict_f(new)
    got = predict(model, Sources.of(new))
    np.testing.assert_allclose(got[0], mean[:, 0], atol=1e-6)
    np.testing.assert_allclose(got[1], variance[:, 0], atol=1e-6)


def test_known_variances_of_outputs(data, rng, form):
    X, y = data
    sources, y_var = Sources.of(X, covariances(rng, N, form)), rng.uniform(0.01, 0.5, N)
    model = make_model(sources, y, MIXTURE, y_var=y_var, jitter=0.0)
    A = covariance(model.kernel, sources).numpy() + np.diag(y_var + model.noise_variance.numpy())
    expected = -0.5 * y @ np.linalg.solve(A, y) - 0.5 * np.linalg.slogdet(A)[1] - 0.5 * N * np.log(2 * np.pi)
    np.testing.assert_allclose(model.log_likelihood(), expected)
    np.testing.assert_allclose(model.solve().alpha, np.linalg.solve(A, y), rtol=1e-8)


@pytest.mark.parametrize("kernel", ["se", "linear", "se+plain-se", MIXTURE])
def test_predictions_at_uncertain_inputs_by_sampling(kernel, data, rng, form):
    X, y = data
    model = make_model(Sources.of(X, covariances(rng, N, form)), y, kernel)
    for _ in range(2):
        u, V = rng.normal(size=D), covariances(rng, 1, form)[0]
        mean, variance = predict(model, Sources.of(u[None], V[None]))
        drawn = Sources.of(draws(rng, u, V, 30_000))
        m, v = predict(model, drawn._replace(observed=np.repeat(u[None], 30_000, axis=0)))  # plain-se sees u*, not x*
        assert abs(m.mean() - mean[0]) < 4 * m.std() / np.sqrt(len(m))
        second = v + (m - m.mean()) ** 2
        assert abs(second.mean() - variance[0]) < 4 * second.std() / np.sqrt(len(m)) + 0.01 * variance[0]


def test_training_finds_the_best_start(data):
    X, y = data
    model = ExpectedGPR("se", Sources.of(X), y)
    one = fit_starts(model, starts=1, steps=50, rng=np.random.default_rng(0))
    assert one.failure == ""
    np.testing.assert_allclose(model.loss(), one.loss)
    again = ExpectedGPR("se", Sources.of(X), y)
    assert fit_starts(again, starts=3, steps=50, rng=np.random.default_rng(0)).loss <= one.loss + 1e-6


@pytest.mark.usefixtures("eagerly")
def test_no_factor(rng):
    model = ExpectedGPR("se", Sources.of(np.zeros((4, D))), rng.normal(size=4), noise_variance=0.0, jitter=0.0)
    with pytest.raises(TrainingError, match="all 2 starts failed"):
        fit_starts(model, starts=2, steps=5, rng=rng)
    with pytest.raises(TrainingError, match="raise the jitter"):
        model.solve()


def bowl(position):
    return float(position @ position), 2 * position


def test_the_best_before_the_loss_was_no_number():
    calls = []

    def breaks(position):
        calls.append(position.copy())
        return (np.nan, position) if len(calls) > 2 else bowl(0.9 ** len(calls) * position)

    optimum = minimise(breaks, np.ones(2), steps=50)
    assert optimum.failure == "the loss was not finite"
    assert np.isfinite(optimum.loss)
    assert minimise(lambda x: (np.nan, x), np.ones(2), steps=50).loss == np.inf
