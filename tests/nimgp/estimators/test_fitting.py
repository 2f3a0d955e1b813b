"""Training that starts from another classifier."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fermiclass import NIMGPClassifier
from fermiclass.nimgp.estimators.robust_classifier import RobustGPClassifier
from fermiclass.nimgp.modules import parameters_of
from tests.nimgp.estimators.test_classifier import make_data

SMALL = {"steps": 4, "num_inducing": 12, "num_draws": 16, "learning_rate": 0.1, "training": {"precision": "float64"}}


@pytest.mark.parametrize("noise", ["given", "per-feature"])
def test_a_warm_start_goes_on_where_the_first_ended(noise):
    """Of a method without parameters of single sources, whose bound draws nothing."""
    X, y, X_var = make_data(45, 1)
    settings = SMALL | {"learning_rate": 0.05, "training": {"decay": False, "precision": "float64"}, "noise": noise}
    estimator = NIMGPClassifier(method="nimgp-fo", likelihood="step", **settings | {"steps": 100})
    first = estimator.fit(X, y, X_var=X_var)
    assert np.all(np.diff(first.objective_) > 0)
    again = clone(estimator).set_params(steps=20, learning_rate=1e-6)
    second, cold = clone(again).fit(X, y, X_var=X_var, start=first), clone(again).fit(X, y, X_var=X_var)
    progress = first.objective_[-1] - first.objective_[0]
    assert abs(second.objective_[0] - first.objective_[-1]) < 0.1 * progress
    assert cold.objective_[0] < first.objective_[-1] - 0.9 * progress
    for name, values in first.fitted_.parameters.items():
        np.testing.assert_allclose(second.weights_[name], values, atol=1e-3, err_msg=name)


@pytest.mark.parametrize(
    "changed",
    [
        {"hyper": {"priors": False}},
        {"method": "nimgp", "inputs": {"prior": "population"}},
        {"method": "mgp-aug", "random_state": 2},
    ],
    ids=lambda changed: next(iter(changed)),
)
@pytest.mark.usefixtures("small_blocks")
def test_what_was_trained_before_has_no_effect(changed):
    """Trainings share graphs of TensorFlow where these are the same."""
    X, y, X_var = make_data(45, 1)
    alone = NIMGPClassifier(**SMALL | changed).fit(X, y, X_var=X_var)
    for other in (SMALL | {"method": changed.get("method", "nimgp-fo")}, SMALL | changed):
        NIMGPClassifier(**other).fit(X[5:] + 1.0, y[5:], X_var=2.0 * X_var[5:])
    again = NIMGPClassifier(**SMALL | changed).fit(X, y, X_var=X_var)
    for name, values in alone.weights_.items():
        np.testing.assert_array_equal(again.weights_[name], values, err_msg=name)
    other = NIMGPClassifier(**SMALL | changed).fit(X[5:], y[5:], X_var=X_var[5:])
    p, p_of_other = (each.predict_proba(X, X_var=X_var) for each in (alone, other))
    np.testing.assert_array_equal(again.predict_proba(X, X_var=X_var), p)
    assert np.abs(p - p_of_other).max() > 1e-6


@pytest.mark.usefixtures("eagerly")
def test_a_warm_start_keeps_the_standardisation_and_the_inducing_points():
    """Of data that grow: the parameters mean something in the first data's units."""
    X, y, X_var = make_data(60, 1)
    first = NIMGPClassifier(**SMALL).fit(X[:30], y[:30], X_var=X_var[:30])
    estimator = NIMGPClassifier(**SMALL | {"steps": 1, "learning_rate": 1e-6})
    second = estimator.fit(3 * X + 1, y, X_var=9 * X_var, start=first)
    for name in ("mean_", "scale_"):
        np.testing.assert_array_equal(getattr(second, name), getattr(first, name))
    np.testing.assert_allclose(second.weights_["posterior.Z"], first.weights_["posterior.Z"], atol=1e-5)
    np.testing.assert_allclose(second.weights_["posterior.q_mu"], first.weights_["posterior.q_mu"], atol=1e-5)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("method", ["nimgp", "nimgp-nn"])
def test_a_warm_start_keeps_what_is_known_of_the_noiseless_inputs(method):
    """The network, or q(x) of rows that the first has seen, in any order; q(x) of new rows begins anew."""
    X, y, X_var = make_data(40, 1)
    first = NIMGPClassifier(method=method, **SMALL).fit(X[:30], y[:30], X_var=X_var[:30])
    estimator = NIMGPClassifier(method=method, **SMALL | {"steps": 1, "learning_rate": 1e-6})

    def parameters(of):
        return {name: each.numpy() for name, each in parameters_of(of.fitted_.predictor.model.input_model).items()}

    known = parameters(first)
    second = parameters(estimator.fit(X, y, X_var=X_var, start=first))
    if method == "nimgp-nn":
        for name, values in second.items():
            np.testing.assert_allclose(values, known[name], atol=1e-5)
    else:
        seen = np.abs(second["mean"]).max(axis=1) > 1e-4
        assert seen.sum() == 30
        for name, start in (("mean", 0.0), ("variance", 0.5)):
            np.testing.assert_allclose(np.sort(second[name][seen], axis=0), np.sort(known[name], axis=0), atol=1e-5)
            np.testing.assert_allclose(second[name][~seen], start, atol=1e-5)
    estimator.fit(X, y, X_var=X_var, start=pickle.loads(pickle.dumps(first)))
    for name, values in parameters(estimator).items():
        assert np.any(np.abs(values[:5] - second[name][:5]) > 1e-4)


@pytest.mark.usefixtures("eagerly")
def test_a_start_that_does_not_fit_is_refused():
    X, y, X_var = make_data(30, 1)
    first = NIMGPClassifier(**SMALL).fit(X, y, X_var=X_var)
    with pytest.raises(ValueError, match="with method='nimgp-fo' cannot be the start of one with method='mgp'"):
        NIMGPClassifier(method="mgp", **SMALL).fit(X, y, X_var=X_var, start=first)
    others = np.char.add("other-", y.astype(str))
    with pytest.raises(ValueError, match="cannot be the start of one of other-"):
        NIMGPClassifier(**SMALL).fit(X, others, X_var=X_var, start=first)
    with pytest.raises(ValueError, match=r"of \d features cannot be the start of one of 1 features"):
        NIMGPClassifier(**SMALL).fit(X[:, :1], y, start=first)
    with pytest.raises(ValueError, match="start is RobustGPClassifier"):
        NIMGPClassifier(**SMALL).fit(X, y, start=RobustGPClassifier())
    with pytest.raises(NotFittedError):
        NIMGPClassifier(**SMALL).fit(X, y, start=NIMGPClassifier())
