"""First-order methods with p(x): each input is its mean under p(x | x̃), with the variances there."""

import numpy as np
import pytest
from sklearn.base import clone

from fermiclass import NIMGPClassifier
from fermiclass.nimgp.estimators.preparation import labelled_rows, prepare
from fermiclass.nimgp.settings import Settings
from fermiclass.rows import fit_rows
from fermiclass.rows.opening import ArrayRows

SETTINGS = {"num_inducing": 8, "steps": 20}
METHODS = ["nimgp-fo", "nimgp-fo-marginal"]

pytestmark = pytest.mark.usefixtures("eagerly")


@pytest.fixture(scope="module")
def data():
    """Two classes along the first of two inputs that are nearly the same, each with much noise."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    x = rng.normal(size=(300, 1)) + 3.0 * y[:, None] + 0.1 * rng.normal(size=(300, 2))
    X_var = np.full_like(x, 1.0)
    return x + rng.normal(size=x.shape), y, X_var


@pytest.mark.parametrize("method", METHODS)
def test_it_is_what_the_method_makes_of_these_inputs(data, method):
    X, y, X_var = data
    model = NIMGPClassifier(method=method, inputs={"prior": "mixture", "prior_variance": 1.0, "clip": None}, **SETTINGS)
    model.fit(X, y, X_var=X_var)
    scaled = model.fitted_.scaling.apply(X, X_var, model.fitted_.settings)
    mean, var = model.fitted_.prior.moments(*scaled)
    assert var.mean() < 0.7 * np.mean(X_var / model.scale_**2)  # the other input tells of this one
    plain = clone(model).set_params(inputs={"prior": "isotropic"})
    plain.restore(model.weights_ | {"mean": np.zeros(2), "scale": np.ones(2)}, model.classes_)
    expected = plain.predict_proba(mean, X_var=var)
    np.testing.assert_allclose(model.predict_proba(X, X_var=X_var), expected, atol=1e-9)
    as_observed = plain.predict_proba(scaled[0], X_var=X_var / model.scale_**2)
    assert np.abs(as_observed - expected).max() > 0.01


@pytest.mark.parametrize("method", METHODS)
def test_training_sees_them_too(data, method):
    X, y, X_var = data
    both = (Settings(method, inputs={"prior": prior}, **SETTINGS) for prior in ("population", "isotropic"))
    problem, plain = (prepare(settings, labelled_rows(settings, X, X_var, y)) for settings in both)
    mean, var = problem.prior.moments(plain.X, plain.X_var)
    np.testing.assert_array_equal(problem.X, mean)
    np.testing.assert_array_equal(problem.X_var, var)
    assert problem.X.std() < plain.X.std()
    assert np.abs(problem.Z).max() <= np.abs(mean).max()


def test_rows_on_disk_are_refused(data):
    X, y, X_var = data
    rows = ArrayRows(X, X_var=X_var, y=y)
    with pytest.raises(ValueError, match="the prior 'mixture' is not for 'nimgp-fo' with rows on disk"):
        fit_rows(NIMGPClassifier(method="nimgp-fo", inputs={"prior": "mixture"}, **SETTINGS), rows)
