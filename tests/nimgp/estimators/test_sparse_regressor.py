"""Regression with any likelihood as an estimator: scikit-learn's own checks, variances, limits, invariances."""

import json

import gpflow
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fermiclass import NIMGPRegressor
from fermiclass.nimgp.names import RESPONSES
from fermiclass.nimgp.settings import RegressorSettings
from tests.nimgp.estimators.scikit_learn import learns, scikit_learn_checks

N, D = 60, 2
FAST = {"num_inducing": 8, "steps": 80, "learning_rate": 0.1, "num_draws": 16}
FEW = FAST | {"steps": 5}  # for what holds after any number of steps


@pytest.mark.parametrize(
    ("estimator", "check"), scikit_learn_checks(NIMGPRegressor(num_inducing=5, num_draws=2, learning_rate=0.1))
)
@pytest.mark.usefixtures("small_blocks")
def test_scikit_learn_contract(estimator, check):
    check(clone(estimator).set_params(steps=25 if learns(check) else 2))


def make_data(n=N, seed=0):
    """Inputs of different units, of which the second says nothing, and outputs of every kind."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.uniform(-3, 3, n), 1e-3 * rng.normal(size=n)])
    X_var = rng.uniform(0.1, 0.6, (n, D)) ** 2 * [1, 1e-6]
    f = 1 + np.sin(x[:, 0])
    y = {
        "gaussian": 100 * (f + 0.1 * rng.normal(size=n)),
        "student-t": f + 0.1 * rng.standard_t(3, size=n),
        "classes": np.digitize(f + 0.1 * rng.normal(size=n), [0.3, 1, 1.7]),
        "poisson": rng.poisson(np.exp(f)),
        "bernoulli": (f + 0.2 * rng.normal(size=n) > 1).astype(int),
    }
    return x + rng.normal(size=x.shape) * np.sqrt(X_var), X_var, y


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def new():
    return make_data(30, seed=1)


def fit(data, likelihood="gaussian", **settings):
    X, X_var, y = data
    name = likelihood if isinstance(likelihood, str) else "gaussian"
    return NIMGPRegressor(likelihood=likelihood, **(FAST | settings)).fit(X, y[name], X_var=X_var)


@pytest.fixture(scope="module", params=RESPONSES)
def fitted(request, data):
    return fit(data, request.param)


@pytest.fixture(scope="module")
def gaussian(data):
    return fit(data)


@pytest.fixture(autouse=True)
def _predicting_eagerly(eagerly, unchecked):
    """A graph for every question costs more than the answer."""


def test_it_predicts(fitted, new):
    X, X_var, y = new
    y = y[fitted.likelihood]
    mean, std = fitted.predict(X, X_var=X_var, return_std=True)
    assert mean.shape == std.shape == (30,)
    np.testing.assert_array_equal(fitted.predict(X, X_var=X_var), mean)
    assert np.corrcoef(mean, y)[0, 1] > 0.5
    assert np.all(std > 0)
    quantiles = fitted.predict_quantiles(X, (0.05, 0.5, 0.95), X_var=X_var)
    assert quantiles.shape == (30, 3)
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    assert np.mean((quantiles[:, 0] <= y) & (y <= quantiles[:, 2])) > 0.8
    log_p = fitted.log_density(X, y, X_var=X_var)
    assert log_p.shape == (30,)
    assert np.all(np.isfinite(log_p))


def test_it_is_restored_from_arrays(fitted, new):
    """And settings as JSON holds them."""
    X, X_var, y = new
    content, weights = json.loads(json.dumps(fitted.fitted_.settings.to_json())), fitted.weights_
    again = NIMGPRegressor(**RegressorSettings.from_json(content).params()).restore(weights)
    assert again.get_params() == fitted.get_params()
    one, other = (
        (*model.predict(X, X_var=X_var, return_std=True), model.log_density(X, y[fitted.likelihood], X_var=X_var))
        for model in (again, fitted)
    )
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(again.predict_quantiles(X, X_var=X_var), fitted.predict_quantiles(X, X_var=X_var))
    for name in ("outputs.mean", "outputs.scale"):
        with pytest.raises(ValueError, match="arrays of outputs are not"):
            NIMGPRegressor(likelihood=fitted.likelihood).restore(weights | {name: np.full((1, 1), -1.0)})


def test_quantiles_of_rows_with_and_without_noise(gaussian, new):
    """At the default number of draws, where they have different numbers of points; each row as if it were alone."""
    X, X_var = new[0][:4], new[1][:4].copy()
    X_var[[1, 2]] = 0.0
    gaussian.num_draws, fast = 128, gaussian.num_draws
    found = gaussian.predict_quantiles(X, (0.1, 0.5), X_var=X_var)
    for i in range(4):
        alone = gaussian.predict_quantiles(X[i : i + 1], (0.1, 0.5), X_var=X_var[i : i + 1])
        np.testing.assert_allclose(found[i : i + 1], alone, rtol=1e-9)
    gaussian.num_draws = fast


def test_quantiles_moments_and_densities_are_of_one_distribution(fitted, new):
    """Sums or integrals of the density, on a grid."""
    X, X_var = new[0][:1], new[1][:1]
    (mean,), (std,) = fitted.predict(X, X_var=X_var, return_std=True)
    levels = np.array([0.2, 0.5, 0.9])
    (quantiles,) = fitted.predict_quantiles(X, levels, X_var=X_var)
    whole = fitted.likelihood in ("poisson", "bernoulli")
    if whole:
        grid, step = np.arange(2.0 if fitted.likelihood == "bernoulli" else 101.0), 1.0
    else:
        grid, step = np.linspace(mean - 20 * std, mean + 20 * std, 321, retstep=True)
    rows = np.ones((len(grid), 1))
    p = step * np.exp(fitted.log_density(rows * X, grid, X_var=rows * X_var))
    loose = 0.02 if fitted.likelihood in ("bernoulli", "poisson") else 0.01  # other draws, and GPflow's jitter
    assert p.sum() == pytest.approx(1, abs=loose)
    assert p @ grid == pytest.approx(mean, rel=0.02, abs=0.02 * std)
    if fitted.likelihood != "student-t":  # whose tails leave any grid
        assert p @ (grid - mean) ** 2 == pytest.approx(std**2, rel=0.1)
    cdf = np.cumsum(p)
    for level, quantile in zip(levels, quantiles, strict=True):
        if whole:
            k = int(quantile)
            assert cdf[k] >= level - 0.03
            assert k == 0 or cdf[k - 1] < level + 0.03
        else:
            assert np.interp(quantile, grid + step / 2, cdf) == pytest.approx(level, abs=0.02)


def test_noise_is_averaged_over_inside_the_logarithm(data, gaussian, new):
    """By draws of the noiseless inputs, of which each is predicted for itself."""
    X, X_var, y = new
    rng = np.random.default_rng(3)
    flat = clone(gaussian).set_params(inputs={"prior": "isotropic", "prior_variance": None}, steps=20, num_draws=256)
    flat.fit(data[0], data[2]["gaussian"], X_var=data[1])
    found = flat.log_density(X[:3], y["gaussian"][:3], X_var=X_var[:3])
    mean = flat.predict(X[:3], X_var=X_var[:3])
    for i in range(3):
        x = X[i] + rng.normal(size=(4000, D)) * np.sqrt(X_var[i])
        p = np.exp(flat.log_density(x, np.full(4000, y["gaussian"][i])))
        assert np.exp(found[i]) == pytest.approx(p.mean(), rel=0.25)
        assert mean[i] == pytest.approx(flat.predict(x).mean(), abs=10)


def test_density_in_the_units_of_y(data, new):
    X, X_var, y = data
    one = fit(data, **FEW)
    other = NIMGPRegressor(**FEW).fit(X * [10, 0.1], 3 * y["gaussian"] + 7, X_var=X_var * [100, 0.01])
    there = new[0] * [10, 0.1], new[1] * [100, 0.01]
    log_p = one.log_density(new[0], new[2]["gaussian"], X_var=new[1]) - np.log(3)
    np.testing.assert_allclose(
        other.log_density(there[0], 3 * new[2]["gaussian"] + 7, X_var=there[1]), log_p, rtol=1e-3, atol=1e-3
    )
    mean, std = one.predict(new[0], X_var=new[1], return_std=True)
    theirs = other.predict(there[0], X_var=there[1], return_std=True)
    np.testing.assert_allclose(theirs[0], 3 * mean + 7, rtol=1e-3)
    np.testing.assert_allclose(theirs[1], 3 * std, rtol=1e-3)


def test_classes_by_gpflow(data, new):
    X, X_var, y = data
    model = NIMGPRegressor(likelihood=gpflow.likelihoods.Softmax(4), **FEW).fit(X, y["classes"], X_var=X_var)
    mean, std = model.predict(new[0], X_var=new[1], return_std=True)
    assert mean.shape == std.shape == (30, 4)
    np.testing.assert_allclose(mean.sum(axis=1), 1)
    assert model.log_density(new[0], new[2]["classes"], X_var=new[1]).shape == (30,)
    with pytest.raises(NotImplementedError, match="likelihood Softmax has no quantiles"):
        model.predict_quantiles(new[0])
    other = clone(model).set_params(training={"draw_pairs": 5}).fit(X, y["classes"], X_var=X_var)
    assert np.all(other.weights_["posterior.q_mu"] != model.weights_["posterior.q_mu"])


def test_the_order_of_rows(data, new):
    X, X_var, y = data
    order = np.random.default_rng(5).permutation(N)
    model = NIMGPRegressor(**FEW).fit(X[order], y["gaussian"][order], X_var=X_var[order])
    np.testing.assert_array_equal(model.predict(new[0], X_var=new[1]), fit(data, **FEW).predict(new[0], X_var=new[1]))


@pytest.mark.usefixtures("small_blocks")
def test_a_row_alone_is_the_row_among_others(fitted, new):
    X, X_var, y = new[0][:6], new[1][:6], new[2][fitted.likelihood][:6]
    X_var = np.where(np.arange(6)[:, None] % 3 == 0, 0.0, X_var)  # some rows without noise
    whole = fitted.log_density(X, y, X_var=X_var), fitted.predict(X, X_var=X_var)
    for i in (3, 4):
        row = slice(i, i + 1)
        np.testing.assert_array_equal(fitted.log_density(X[row], y[row], X_var=X_var[row]), whole[0][row])
        np.testing.assert_array_equal(fitted.predict(X[row], X_var=X_var[row]), whole[1][row])


def test_odd_data_are_refused(data):
    X, _, y = data
    with pytest.raises(ValueError, match=r"the numbers of feature 1 .* more than double precision can square"):
        NIMGPRegressor().fit(X * [1, 1e170], y["gaussian"])
    for likelihood in ("gaussian", "poisson"):
        with pytest.raises(ValueError, match=r"the numbers of y .* more than double precision can square"):
            NIMGPRegressor(likelihood=likelihood).fit(X, np.round(1e200 * np.abs(y["gaussian"])))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        NIMGPRegressor().predict(X)


def test_odd_questions_are_refused(data, new):
    model = fit(data, "bernoulli", steps=1)
    with pytest.raises(ValueError, match="y is 4 in row 0: the likelihood 'bernoulli' needs 0 or 1"):
        model.log_density(new[0], np.full(30, 4))
    with pytest.raises(ValueError, match=r"the levels .* are not valid: expected numbers between 0 and 1"):
        model.predict_quantiles(new[0], (0.5, 1.0))
