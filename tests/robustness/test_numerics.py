"""Numbers at the limits: no NaN leaves the core, and what fails says where and what to try."""

from dataclasses import fields

import numpy as np
import pytest

from fermiclass import NIMGPClassifier
from fermiclass.nimgp.errors import PredictionError, TrainingWarning

pytestmark = pytest.mark.usefixtures("eagerly")

RNG = np.random.default_rng(1)
N = 40
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0, "a", "b")
VAR = RNG.uniform(0.0, 0.2, size=X.shape)


def tiny(method="nimgp-fo", **settings):
    return NIMGPClassifier(method=method, **{"steps": 4, "num_inducing": 8, "num_draws": 8} | settings)


def with_column(values):
    return np.column_stack([X[:, :2], values])


def one_of_a_class():
    return np.where(np.arange(N) == 7, "c", Y)


HARD = {
    "every row twenty times": (np.repeat(X[:4], 20, axis=0), np.tile(["a", "b"], 40), None, {}),
    "all rows the same": (np.ones((N, 3)), Y, None, {}),
    "a constant feature": (with_column(np.full(N, 3.0)), Y, VAR, {}),
    "a feature of zeros": (with_column(np.zeros(N)), Y, VAR, {}),
    "units larger by 1e20": (X * [1, 1, 1e20], Y, VAR * [1, 1, 1e40], {}),
    "units smaller by 1e20": (X * [1, 1, 1e-20], Y, VAR * [1, 1, 1e-40], {}),
    "a large offset": (X + np.array([0, 0, 1e9]), Y, VAR, {}),
    "one wild value": (np.where(np.arange(N * 3).reshape(N, 3) == 5, 1e30, X), Y, VAR, {}),
    "two features the same": (X[:, [0, 0, 1]], Y, VAR, {}),
    "one source in a class": (X, one_of_a_class(), VAR, {}),
    "variances of all sizes": (X, Y, 10.0 ** RNG.uniform(-300, 300, X.shape), {}),
    "variances of a million": (X, Y, np.full(X.shape, 1e6), {}),
    "nearly the same rows, no white noise": (
        np.repeat(X[:4], 10, axis=0) * 1e-9 + X,
        Y,
        VAR,
        {"hyper": {"white": 1e-9}},
    ),
    "inputs without a clip": (X * np.geomspace(1, 1e6, N)[:, None], Y, VAR, {"inputs": {"clip": None}}),
}


def assert_finite(prediction):
    for field in fields(prediction):
        assert np.all(np.isfinite(getattr(prediction, field.name))), field.name
    np.testing.assert_allclose(prediction.probabilities.sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.* is far outside of")
@pytest.mark.parametrize("method", ["nimgp", "nimgp-fo"])
@pytest.mark.parametrize("name", HARD)
def test_nothing_but_numbers_comes_out(name, method):
    inputs, labels, variances, settings = HARD[name]
    model = tiny(method, **settings).fit(inputs, labels, X_var=variances)
    assert_finite(model.predict_distribution(inputs, X_var=variances))
    far = inputs * 1e3
    assert_finite(model.predict_distribution(far, X_var=np.full(far.shape, 1e6)))


def test_a_training_that_diverges_starts_again_with_smaller_steps():
    with pytest.warns(TrainingWarning, match=r"training diverged \(the objective .*learning rate of"):
        model = tiny("mgp", learning_rate=300.0, steps=30).fit(X, Y)
    assert_finite(model.predict_distribution(X))
    assert np.all(np.isfinite(model.objective_))
    assert len(model.objective_) == 2  # those of the last start only


def test_a_prediction_that_is_no_number_is_refused():
    model = tiny("mgp").fit(X, Y)
    huge = {**model.weights_, "posterior.q_mu": np.full_like(model.weights_["posterior.q_mu"], 1e38)}
    model.restore(huge, model.classes_)
    with pytest.raises(PredictionError, match=r"probabilities of .* are NaN or infinite: .*fewer inducing points"):
        model.predict_proba(X)
