"""What training starts from, and what is kept of it: standardised inputs, p(x), arrays by name."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import KMeans

from fermiclass import NIMGPClassifier
from fermiclass.nimgp.estimators.fitted import Fitted, Scaling
from fermiclass.nimgp.estimators.fitting import schedule
from fermiclass.nimgp.estimators.preparation import cluster_centres, input_prior
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.prediction.prediction import join
from fermiclass.nimgp.settings import Settings


def test_the_schedule_counts_passes():
    assert schedule(Settings(steps=7), 100, 0).steps == 7
    steps = [schedule(Settings(epochs=3, batch_size=10), rows, 0).steps for rows in (100, 101)]
    assert steps == [30, 33]  # the last batch counts
    assert schedule(Settings(epochs=3), 100, 0).steps == 3
    few, many, most = (schedule(Settings(), number, 0) for number in (5_000, 100_000, 10**8))
    assert few.steps == schedule(Settings(), 500, 0).steps < many.steps < most.steps
    assert many.steps * many.batch_size == pytest.approx(10 * 100_000, rel=1e-2)
    assert few.batch_size == many.batch_size < 5_000
    assert schedule(Settings("nimgp"), 5_000, 0).batch_size is None
    replaced = schedule(Settings(epochs=3, batch_size=10), 100, 5, batch_size=50)
    assert (replaced.steps, replaced.batch_size, replaced.seed) == (6, 50, 5)


# --- k-means ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "features", "number"), [(2000, 4, 30), (115, 7, 100), (600, 2, 2)])
def test_centres_are_those_of_scikit_learn(rows, features, number):
    X = np.random.default_rng(2).normal(size=(rows, features)) * 3.0 + np.arange(features)
    expected = KMeans(number, n_init=1, random_state=0).fit(X).cluster_centers_
    np.testing.assert_allclose(cluster_centres(X, number), expected, atol=1e-12)


def test_every_group_has_a_centre():
    """Of groups that are far apart, also where their rows nearly agree, and there are more centres than groups."""
    rng = np.random.default_rng(2)
    groups = rng.normal(size=(12, 3))
    X = np.repeat(groups, 40, axis=0) + 1e-9 * rng.normal(size=(480, 3))
    for number in (12, 20, 480):
        centres = cluster_centres(X, number)
        assert centres.shape == (number, 3)
        squares = np.sum(np.square(groups[:, None] - centres), axis=2)
        for axis in (0, 1):
            np.testing.assert_allclose(squares.min(axis=axis), 0.0, atol=1e-15)


@pytest.mark.parametrize("X", [[[0.0]], [[0.0], [1e-200]], [[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]]])
def test_rows_that_are_all_centres(X):
    found = cluster_centres(np.array(X), len(X))
    np.testing.assert_allclose(np.sort(found, axis=0), X, atol=1e-15)


# --- standardisation and p(x) ----------------------------------------------------------------------------------------


def standardise(X, X_var, **settings):
    return Scaling.of(X.mean(axis=0), X.std(axis=0), X_var).apply(X, X_var, Settings(**settings))


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1e-3, 1e3] + [0.0, 1.0, 1e4]


def test_standardised_inputs_and_variances(X):
    X_std, V_std = standardise(X, 0.25 * np.tile(X.var(axis=0), (50, 1)), inputs={"clip": None})
    np.testing.assert_allclose(X_std.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(X_std.std(axis=0), 1)
    np.testing.assert_allclose(V_std, 0.25)


def test_limits_of_inputs_and_variances(X):
    X_var = np.tile(X.var(axis=0) * [0.1, 9.0, 1e30], (50, 1))
    X_std, V_std = standardise(X, X_var, inputs={"clip": 1.5})
    assert (X_std.min(), X_std.max()) == (-1.5, 1.5)
    np.testing.assert_allclose(V_std, np.tile([0.1, 9.0, 1e9], (50, 1)))


@pytest.mark.parametrize(("kind", "components"), [("isotropic", 1), ("population", 1), ("mixture", 2)])
def test_prior_by_name(X, kind, components):
    X_std, V = (X - X.mean(axis=0)) / X.std(axis=0), np.full(X.shape, 0.2)
    chosen = {"prior": kind, "components": 2}
    flat = input_prior(Settings(inputs={**chosen, "prior_variance": None}), X_std, V, 0)
    np.testing.assert_array_equal(flat.precision, np.zeros((1, 3, 3)))
    prior = input_prior(Settings(inputs=chosen), X_std, V, 0)
    assert prior.mean.shape == (components, 3)
    expected = InputPrior.isotropic(3, 1.0)
    if kind != "isotropic":
        expected = InputPrior.population(X_std, V, components=components, seed=0)
    np.testing.assert_allclose(np.linalg.inv(prior.precision), 3.0 * np.linalg.inv(expected.precision))
    np.testing.assert_array_equal(prior.mean, expected.mean)
    prior = input_prior(Settings("mgp", inputs=chosen), X_std, V, 0)  # which does without
    np.testing.assert_array_equal(prior.precision, InputPrior.isotropic(3, 3.0).precision)


SPOILT = {
    "input_prior.weights": [lambda a: a[:1], lambda a: a[None]],
    "input_prior.mean": [lambda a: a[:, :1], lambda a: a[0], lambda a: a[:0]],
    "input_prior.precision": [lambda a: a[0], lambda a: a[:, :1]],
    "temperature": [lambda a: 0 * a, lambda a: -a, lambda a: a[None]],
    "mean": [lambda a: a[:1]],
    "scale": [lambda a: a[:1], lambda a: 0 * a],
    "posterior.Z": [lambda a: a[0]],
    "posterior.q_mu": [lambda a: a[:, :-1]],
}


@pytest.fixture(scope="module", params=["nimgp-nn", "nimgp-fo"])
def fitted(request):
    X = np.random.default_rng(1).normal(size=(60, 2))
    settings = {"steps": 1, "num_inducing": 5, "inputs": {"prior": "mixture", "components": 2}}
    return NIMGPClassifier(method=request.param, **settings).fit(X, X[:, 0] > 0).fitted_


def test_arrays_round_trip(fitted):
    arrays = fitted.to_arrays()
    again = Fitted.from_arrays(fitted.settings, fitted.classes, arrays)
    assert again.to_arrays().keys() == arrays.keys()
    for name, array in again.to_arrays().items():
        np.testing.assert_array_equal(array, arrays[name], err_msg=name)
    X = np.zeros((3, 2))
    one, other = (join(list(each.blocks(X, X + 0.1))) for each in (again, fitted))
    np.testing.assert_array_equal(one.probabilities, other.probabilities)


@pytest.mark.parametrize("name", SPOILT)
def test_arrays_that_cannot_be_are_refused(fitted, name):
    arrays = fitted.to_arrays()
    for change in SPOILT[name]:
        with pytest.raises(ValueError, match=r"p\(x\)|temperature|posterior"):
            Fitted.from_arrays(fitted.settings, fitted.classes, arrays | {name: change(arrays[name])})
    del arrays[name]
    with pytest.raises(ValueError, match=name):
        Fitted.from_arrays(fitted.settings, fitted.classes, arrays)


def test_arrays_of_another_model_are_refused(fitted):
    with pytest.raises(ValueError, match=r"likelihood\.epsilon differ"):
        Fitted.from_arrays(replace(fitted.settings, likelihood="step"), fitted.classes, fitted.to_arrays())
    with pytest.raises(ValueError, match=r"noise differ"):
        Fitted.from_arrays(replace(fitted.settings, noise="shared"), fitted.classes, fitted.to_arrays())
