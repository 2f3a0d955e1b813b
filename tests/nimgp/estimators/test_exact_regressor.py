"""Regression with uncertain inputs as an estimator: scikit-learn's own checks, variances, limits, invariances."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fermiclass import UncertainGPRegressor
from tests.nimgp.estimators.scikit_learn import learns, scikit_learn_checks

N = 40


@pytest.mark.parametrize(("estimator", "check"), scikit_learn_checks(UncertainGPRegressor(starts=1)))
@pytest.mark.usefixtures("eagerly")
@pytest.mark.filterwarnings("ignore:the best of 1 starts is not at a maximum")
def test_scikit_learn_contract(estimator, check):
    check(clone(estimator).set_params(steps=12 if learns(check) else 2))


def make_data(n=N, seed=0):
    """A sine, whose inputs and outputs have noise of known variances, beside an input of other units."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.uniform(-3, 3, n), 1e-3 * rng.uniform(-1, 1, n)])
    X_var, y_var = rng.uniform(0, 0.6, (n, 2)) ** 2 * [1, 1e-6], rng.uniform(0.02, 0.2, n) ** 2
    y = 5 + np.sin(x[:, 0]) + 0.3e3 * x[:, 1]
    X = x + rng.normal(size=x.shape) * np.sqrt(X_var)
    return X, y + rng.normal(size=n) * np.sqrt(y_var), X_var, y_var


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def new():
    X, _, X_var, _ = make_data(20, seed=1)
    return X, X_var


def fit(data, kernel="se", **settings):
    X, y, X_var, y_var = data
    return UncertainGPRegressor(kernel=kernel, **({"starts": 2} | settings)).fit(X, y, X_var=X_var, y_var=y_var)


@pytest.fixture(scope="module", params=["se", "se+plain-se", "linear+quadratic"])
def fitted(request, data):
    return fit(data, request.param)


@pytest.fixture(scope="module")
def usual(data):
    return fit(data)


def as_matrices(variances):
    return variances[:, :, None] * np.eye(variances.shape[1])


def test_it_learns(usual):
    x = np.column_stack([np.linspace(-2.5, 2.5, 50), np.zeros(50)])
    mean, std = usual.predict(x, return_std=True)
    truth = 5 + np.sin(x[:, 0])
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.2
    assert np.mean(np.abs(mean - truth) < 2 * std) > 0.8
    assert usual.converged_
    assert usual.n_steps_ > 0
    assert usual.noise_variance_ > 0


def test_noisy_outputs_count_less(data, new):
    X, y, X_var, y_var = data
    wrong, distrusted = y.copy(), y_var.copy()
    wrong[::4] += 50
    distrusted[::4] = 1e8
    estimator = fit((X, wrong, X_var, distrusted))
    assert np.abs(estimator.predict(new[0]) - fit(data).predict(new[0])).max() < 1.5


def test_a_row_alone_is_the_row_among_others(fitted, new):
    X, X_var = new
    alone = fitted.predict(X[3:4], X_var=X_var[3:4], return_std=True)
    np.testing.assert_allclose(np.ravel(alone), [a[3] for a in fitted.predict(X, X_var=X_var, return_std=True)])


def test_units_do_not_matter(data, usual, new):
    X, y, X_var, y_var = data
    units = np.array([1e3, 1e-3])
    other = fit((X * units, 7 * y - 3, X_var * units**2, 49 * y_var))
    got = other.predict(new[0] * units, X_var=new[1] * units**2, return_std=True)
    mean, std = usual.predict(new[0], X_var=new[1], return_std=True)
    np.testing.assert_allclose(got[0], 7 * mean - 3, rtol=1e-3)
    np.testing.assert_allclose(got[1], 7 * std, rtol=1e-2)


def test_a_fixed_noise_variance(data):
    assert fit(data, noise_variance=0.04).noise_variance_ == pytest.approx(0.04)
    assert fit(data, noise_variance=0.0).noise_variance_ == 0


# --- what is refused -------------------------------------------------------------------------------------------------

ODD = {
    "shape of matrices": ("X_var", lambda v: as_matrices(v)[1:], "X_var has shape"),
    "negative": ("X_var", lambda v: v - 1, "X_var is negative in row 0, column 0"),
    "no number in a matrix": ("X_var", lambda v: as_matrices(v) * np.nan, "finite"),
    "indefinite": ("X_var", lambda v: -as_matrices(v), "row 0 is not positive semi-definite"),
    "lopsided": ("X_var", lambda v: as_matrices(v) + np.eye(2, k=1), "row 0 is not symmetric"),
    "too few": ("y_var", lambda v: v[1:], "y_var has shape"),
    "below zero": ("y_var", lambda v: -v, "y_var is negative in row 0: variances are"),
}


@pytest.mark.parametrize(("which", "change", "message"), ODD.values(), ids=ODD)
def test_odd_variances_are_refused(data, usual, which, change, message):
    X, y, X_var, y_var = data
    noise = {"X_var": X_var, "y_var": y_var}
    noise[which] = change(noise[which])
    with pytest.raises(ValueError, match=message):
        UncertainGPRegressor().fit(X, y, **noise)
    if which == "X_var":
        with pytest.raises(ValueError, match=message):
            usual.predict(X, X_var=noise[which])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "rbf"}, "kernel='rbf' is unknown: join some of se, linear, quadratic, plain-se by"),
        ({"kernel": "se+"}, "is unknown: join some of"),
        ({"starts": 0}, "starts=.* is not valid"),
        ({"steps": 1.5}, "steps=.* is not valid"),
        ({"jitter": -1}, "jitter=.* is not valid"),
        ({"noise_variance": "given"}, "noise_variance=.* is not valid"),
    ],
)
def test_odd_parameters_are_refused(data, settings, message):
    with pytest.raises(ValueError, match=message):
        UncertainGPRegressor(**settings).fit(data[0], data[1])


def test_too_few_steps(data):
    X, y, X_var, y_var = data
    with pytest.warns(ConvergenceWarning, match="not at a maximum .no minimum after 1 steps.: raise steps, now 1"):
        estimator = UncertainGPRegressor(starts=1, steps=1).fit(X, y, X_var=X_var, y_var=y_var)
    assert not estimator.converged_
