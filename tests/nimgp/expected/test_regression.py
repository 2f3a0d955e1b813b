"""Exact regression: GPflow's where inputs are known, and predictions at uncertain inputs by sampling."""

import gpflow
import numpy as np
import pytest

from fermiclass.nimgp.errors import TrainingError
from fermiclass.nimgp.expected import KERNELS
from fermiclass.nimgp.expected.build import build_regression
from fermiclass.nimgp.expected.regression import ExpectedGPR
from fermiclass.nimgp.expected.sources import pack
from fermiclass.nimgp.expected.training import flat_loss, minimise, train
from tests.nimgp.expected.conftest import SCALES, D, covariances, draws, make_kernel

N = 12
MIXTURE = "se+plain-se+linear+quadratic"


@pytest.fixture
def data(rng):
    """Inputs and outputs."""
    X = rng.normal(size=(N, D))
    return X, np.sin(X @ [1.0, 2.0, -1.0]) + 0.1 * rng.normal(size=N)


def make_model(X, y, kernel="se", **settings):
    model = build_regression(kernel, D, X, y, **settings)
    for variable in model.trainable_variables:
        variable.assign_add(0.3 * np.cos(np.arange(1.0, 1 + np.size(variable))).reshape(variable.shape))
    return model


def predict(model, rows, solution):
    return model.predict_mean(rows, solution), model.predict_variance(rows, solution)


def test_known_inputs_are_gpflows_regression(data, rng):
    X, y = data
    kernel = gpflow.kernels.RBF(variance=1.7, lengthscales=SCALES)
    theirs = gpflow.models.GPR((X, y[:, None]), kernel, noise_variance=0.05)
    model = ExpectedGPR(make_kernel("se"), D, pack(X), y, noise_variance=0.05)
    np.testing.assert_allclose(model.maximum_log_likelihood_objective(), theirs.log_marginal_likelihood(), rtol=1e-6)
    new = rng.normal(size=(7, D))
    mean, variance = theirs.predict_f(new)
    got = predict(model, pack(new), model.solve())
    np.testing.assert_allclose(got[0], mean[:, 0], atol=1e-6)
    np.testing.assert_allclose(got[1], variance[:, 0], atol=1e-6)


def test_known_variances_of_outputs(data, rng, form):
    X, y = data
    rows, y_var = pack(X, covariances(rng, N, form)), rng.uniform(0.01, 0.5, N)
    model = make_model(rows, y, MIXTURE, y_var=y_var, jitter=0.0)
    A = model.kernel(rows).numpy() + np.diag(y_var + model.noise_variance.numpy())
    expected = -0.5 * y @ np.linalg.solve(A, y) - 0.5 * np.linalg.slogdet(A)[1] - 0.5 * N * np.log(2 * np.pi)
    np.testing.assert_allclose(model.maximum_log_likelihood_objective(), expected)
    np.testing.assert_allclose(model.solve().alpha, np.linalg.solve(A, y), rtol=1e-8)


@pytest.mark.parametrize("kernel", ["se", "se+plain-se", MIXTURE])
def test_predictions_at_uncertain_inputs_by_sampling(kernel, data, rng, form):
    X, y = data
    model = make_model(pack(X, covariances(rng, N, form)), y, kernel)
    if "plain-se" in kernel:  # which sees u*, not x*: hold it still in this comparison
        plain = next(part for part in model.kernel.kernels if type(part).__name__ == "SquaredExponential")
        plain.lengthscales.assign(np.full(D, 1e6))
    solution = model.solve()
    for _ in range(2):
        u, V = rng.normal(size=D), covariances(rng, 1, form)[0]
        mean, variance = predict(model, pack(u[None], V[None]), solution)
        m, v = predict(model, pack(draws(rng, u, V, 30_000)), solution)
        assert abs(m.mean() - mean[0]) < 4 * m.std() / np.sqrt(len(m))
        second = v + (m - m.mean()) ** 2
        assert abs(second.mean() - variance[0]) < 4 * second.std() / np.sqrt(len(m))


def test_noise_of_new_inputs_in_the_other_form(data, rng):
    X, y = data
    var = covariances(rng, N, "variances")
    new, new_var = rng.normal(size=(3, D)), covariances(rng, 3, "variances")
    one, other = (make_model(pack(X, V), y) for V in (var, var[:, None] * np.eye(D)))
    for model in (one, other):
        for V in (new_var, new_var[:, None] * np.eye(D)):
            got = predict(model, pack(new, V), model.solve())
            np.testing.assert_allclose(got, predict(one, pack(new, new_var), one.solve()), rtol=1e-7)


def test_blocks_are_the_whole(data, rng, form, monkeypatch):
    X, y = data
    noise = covariances(rng, N, form)
    model = make_model(pack(X, noise), y, MIXTURE)
    new, solution = pack(rng.normal(size=(5, D)), covariances(rng, 5, form)), model.solve()
    whole = predict(model, new, solution)
    monkeypatch.setattr("fermiclass.nimgp.expected.regression._ENTRIES_A_BLOCK", 2 * N * pack(X, noise).size)
    np.testing.assert_allclose(predict(model, new, solution), whole, rtol=1e-9)
    assert predict(model, new[:0], solution)[0].shape == (0,)


def test_a_prediction_does_not_know_who_it_is_for(data, rng):
    X, y = data
    V = covariances(rng, N, "variances")
    model = make_model(pack(X, V, source=range(N)), y)
    solution = model.solve()
    named, nameless = pack(X, V, source=range(N)), pack(X, V)
    np.testing.assert_array_equal(predict(model, named, solution), predict(model, nameless, solution))


def test_variables_by_name_and_gradients(data, rng):
    X, y = data
    model = build_regression(MIXTURE, D, pack(X, covariances(rng, N, "variances")), y)
    assert len(model.trainable_variables) == len(gpflow.utilities.parameter_dict(model)) == 9
    loss = flat_loss(model)
    start = rng.normal(size=sum(int(np.prod(v.shape)) for v in model.trainable_variables))
    step = 1e-6 * rng.normal(size=start.size)
    change = (loss(start + step)[0] - loss(start - step)[0]) / 2
    assert loss(start)[1] @ step == pytest.approx(change, rel=1e-4)


def test_every_kernel_can_be_asked_for(data):
    X, y = data
    for name in KERNELS:
        model = build_regression(name, D, pack(X), y)
        assert np.isfinite(model.maximum_log_likelihood_objective())


def test_training_finds_the_best_start(data):
    X, y = data
    model = build_regression("se", D, pack(X), y)
    one = train(model, starts=1, steps=50, spread=1.0, rng=np.random.default_rng(0))
    assert one.failure == ""
    np.testing.assert_allclose(model.training_loss(), one.loss)
    again = build_regression("se", D, pack(X), y)
    assert train(again, starts=3, steps=50, spread=2.0, rng=np.random.default_rng(0)).loss <= one.loss + 1e-6


@pytest.mark.usefixtures("eagerly")
def test_no_factor(rng):
    X = np.zeros((4, D))
    model = build_regression("se", D, pack(X), rng.normal(size=4), noise_variance=0.0, jitter=0.0)
    with pytest.raises(TrainingError, match="all 2 starts failed: the covariance matrix of 4 training outputs is not"):
        train(model, starts=2, steps=5, spread=1.0, rng=rng)
    with pytest.raises(TrainingError, match="raise the jitter, now 0, or learn the noise variance, or give larger"):
        model.solve()


def bowl(position):
    return float(position @ position), 2 * position


def test_a_minimum():
    optimum = minimise(bowl, np.ones(2), steps=50)
    np.testing.assert_allclose(optimum.position, 0.0, atol=1e-5)
    assert optimum.failure == ""
    assert 0 < optimum.steps < 50


def test_too_few_steps():
    def valley(x):
        return float((1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2), np.array(
            [-2 * (1 - x[0]) - 400 * x[0] * (x[1] - x[0] ** 2), 200 * (x[1] - x[0] ** 2)]
        )

    optimum = minimise(valley, np.array([-1.2, 1.0]), steps=3)
    assert optimum.failure == "no minimum after 3 steps"
    assert optimum.loss == valley(optimum.position)[0]


def test_the_best_before_the_loss_was_no_number():
    calls = []

    def breaks(position):
        calls.append(position.copy())
        return (np.nan, position) if len(calls) > 2 else bowl(0.9 ** len(calls) * position)

    optimum = minimise(breaks, np.ones(2), steps=50)
    assert optimum.failure == "the loss was not finite"
    assert np.isfinite(optimum.loss)
    assert minimise(lambda x: (np.nan, x), np.ones(2), steps=50).loss == np.inf


def test_kernels_that_do_not_add_up(data):
    X, y = data
    rows, expected = pack(X), make_kernel("se")
    with pytest.raises(ValueError, match=r"SquaredExponential would see variances .* active_dims=slice\(0, 3\)"):
        ExpectedGPR(expected + gpflow.kernels.RBF(), D, rows, y)
    with pytest.raises(ValueError, match="Linear would see variances"):
        ExpectedGPR(expected + gpflow.kernels.Linear(active_dims=[3]), D, rows, y)
    with pytest.raises(ValueError, match="Product inside a kernel: expected kernels can only be added"):
        ExpectedGPR(expected * expected, D, rows, y)
