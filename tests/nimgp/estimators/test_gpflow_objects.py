"""Kernels and likelihoods of GPflow in the estimators."""

import json
import pickle

import gpflow
import numpy as np
import pytest
import tensorflow_probability as tfp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from fermiclass import NIMGPClassifier, NIMGPRegressor
from fermiclass.nimgp.settings import Settings, described

own = gpflow.likelihoods
FEW = {"steps": 10, "num_inducing": 8, "num_draws": 8, "learning_rate": 0.2, "training": {"precision": "float64"}}

pytestmark = pytest.mark.usefixtures("eagerly", "unchecked")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, np.array(["a", "b", "c"])[(X[:, 0] > 0) + 1 * (X[:, 1] > 0.4)], np.full(X.shape, 0.05)


def nll(model, X, y, X_var):
    p = model.predict_proba(X, X_var=X_var)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    return -np.mean(np.log(p[np.arange(len(y)), np.searchsorted(model.classes_, y)]))


def composed():
    kernels = gpflow.kernels
    return kernels.RBF() * kernels.Linear(active_dims=[0]) + kernels.Periodic(kernels.RBF()) + kernels.Matern32()


@pytest.mark.parametrize(("method", "likelihood"), [("nimgp", own.Softmax(3)), ("nimgp-fo", own.MultiClass(3))])
def test_any_kernel_and_likelihood(method, likelihood, data):
    """Input models ask for moments of latent functions, and those of first order for their slopes, too."""
    X, y, X_var = data
    kernel = composed()
    before = gpflow.utilities.read_values(kernel)
    model = NIMGPClassifier(method=method, kernel=kernel, likelihood=likelihood, **FEW).fit(X, y, X_var=X_var)
    assert nll(model, X, y, X_var) < 0.9
    np.testing.assert_equal(gpflow.utilities.read_values(kernel), before)  # the user's object does not change


def test_it_is_the_model_of_the_names(data):
    """Without priors, and from the same start, a kernel and a likelihood of GPflow train to what the names train to."""
    X, y, X_var = data
    settings = {**FEW, "hyper": {"priors": False, "lengthscale": 1.0}}
    kernel = gpflow.kernels.RBF(variance=5.0, lengthscales=[1.0, 1.0]) + gpflow.kernels.Linear(variance=0.1)
    named, theirs, both = (
        NIMGPClassifier(method="nimgp-fo", **settings)
        .set_params(**each)
        .fit(X, y, X_var=X_var)
        .predict_proba(X, X_var=X_var)
        for each in ({}, {"kernel": kernel}, {"kernel": kernel, "likelihood": own.Softmax(3)})
    )
    np.testing.assert_allclose(theirs, named, atol=0.02)  # positive numbers have other transformations
    np.testing.assert_allclose(both, theirs, atol=0.02)


def test_two_classes(data):
    X, _, X_var = data
    y = np.where(X[:, 0] > 0, "a", "b")
    model = NIMGPClassifier(method="mgp", kernel=gpflow.kernels.RBF(), likelihood=own.Bernoulli(), **FEW).fit(X, y)
    assert nll(model, X, y, X_var) < 0.6


def test_priors_count(data):
    X, y, _ = data
    kernel = gpflow.kernels.RBF(lengthscales=1.0)
    free = NIMGPClassifier(method="mgp", kernel=kernel, **FEW).fit(X, y)
    kernel.lengthscales.prior = tfp.distributions.LogNormal(np.float64(np.log(5.0)), np.float64(0.01))
    bound = NIMGPClassifier(method="mgp", kernel=kernel, **FEW).fit(X, y)
    name = "kernel.kernels[0].kernels[0].lengthscales"
    assert bound.weights_[name] > free.weights_[name] + 0.2


def test_labels_that_stand_for_sets(data):
    X, y, _ = data
    y = np.where((y != "c") & (np.arange(60) % 2 == 0), "a or b", y)
    sets = {"label_sets": {"a or b": ("a", "b")}, **FEW}
    model = NIMGPClassifier(method="mgp", likelihood=own.Softmax(3), **sets).fit(X, y)
    assert model.predict_proba(X)[y == "a or b", :2].sum(axis=1).mean() > 0.6
    with pytest.raises(ValueError, match="label_sets"):
        NIMGPClassifier(method="mgp", likelihood=own.MultiClass(3), **sets).fit(X, y)


def test_as_an_estimator(data):
    """Copies, pickles, searches; equal seeds give equal results."""
    X, y, X_var = data
    model = NIMGPClassifier(method="mgp", kernel=gpflow.kernels.RBF() + gpflow.kernels.Linear(), **FEW | {"steps": 4})
    assert clone(model).get_params()["kernel"] is not model.kernel
    fitted = clone(model).fit(X, y, X_var=X_var)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    further = clone(model).fit(X, y, X_var=X_var, start=again)
    assert further.objective_[-1] > fitted.objective_[0]
    search = GridSearchCV(model, {"kernel": [gpflow.kernels.RBF(), gpflow.kernels.Constant()]}, cv=2).fit(X, y)
    assert isinstance(search.best_params_["kernel"], gpflow.kernels.RBF)


def test_in_regression(data):
    X, _, X_var = data
    y = np.sin(X[:, 0])
    settings = {"steps": 30, "num_inducing": 12, "learning_rate": 0.2, "num_draws": 8}
    model = NIMGPRegressor(likelihood=own.StudentT(), kernel=gpflow.kernels.RBF() + gpflow.kernels.Linear(), **settings)
    fitted = clone(model).fit(X, y, X_var=X_var)
    assert np.corrcoef(fitted.predict(X), y)[0, 1] > 0.9
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"kernel": gpflow.kernels.RBF}, "kernel"),  # a class
        ({"kernel": own.Softmax(3)}, "kernel"),
        ({"likelihood": gpflow.kernels.RBF()}, "likelihood"),
        ({"likelihood": own.Softmax(4)}, "4 classes"),
        ({"likelihood": own.Poisson()}, "no classes"),
    ],
)
def test_what_is_refused(settings, word, data):
    X, y, _ = data
    with pytest.raises(ValueError, match=word):
        NIMGPClassifier(**{**FEW, **settings}).fit(X, y)


@pytest.mark.parametrize("fixed", [False, True])
def test_files_hold_objects_of_gpflow(fixed, data):
    kernel, likelihood = composed(), own.MultiClass(3, invlink=own.RobustMax(3, epsilon=0.02))
    kernel.kernels[0].kernels[0].lengthscales.assign(2.5)
    gpflow.set_trainable(kernel.kernels[1], not fixed)
    settings = Settings(kernel=kernel, likelihood=likelihood)
    back = Settings.from_json(json.loads(json.dumps(settings.to_json())))
    np.testing.assert_allclose(back.kernel.K(data[0]), kernel.K(data[0]))
    for ours, theirs in ((back.kernel, kernel), (back.likelihood, likelihood)):
        np.testing.assert_equal(*map(gpflow.utilities.read_values, (ours, theirs)))
        assert len(ours.trainable_parameters) == len(theirs.trainable_parameters)
    text = settings.to_json(objects=described)
    assert (text["kernel"], text["likelihood"]) == (
        "((SquaredExponential * Linear) + Periodic + Matern32)",
        "MultiClass",
    )


def bound():
    kernel = gpflow.kernels.RBF()
    kernel.variance.prior = tfp.distributions.Gamma(np.float64(2.0), np.float64(3.0))
    return kernel


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"kernel": bound()}, "variance"),
        ({"kernel": type("Own", (gpflow.kernels.RBF,), {})()}, "Own"),
        ({"likelihood": own.Bernoulli(invlink=np.tanh)}, "pickle"),
    ],
)
def test_what_files_cannot_hold(settings, word):
    with pytest.raises(TypeError, match=word):
        Settings(**settings).to_json()
    damaged = Settings(kernel=gpflow.kernels.RBF()).to_json()
    damaged["kernel"]["class"] = "Kernels"
    with pytest.raises(ValueError, match="damaged"):
        Settings.from_json(damaged)
