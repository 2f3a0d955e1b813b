"""What a fit leaves: `set_params` has an effect on the next one only, and one that fails leaves nothing."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError

from fermiclass import NIMGPClassifier, NIMGPRegressor, RobustGPClassifier, UncertainGPRegressor

SMALL = {"steps": 1, "num_inducing": 4, "num_draws": 4}
OTHER = {
    "classifier": (
        NIMGPClassifier(method="nimgp", label_noise=0.1, **SMALL),
        {"method": "mgp", "inputs": {"clip": 0.1}, "num_draws": 1},
    ),
    "robust": (RobustGPClassifier(max_iter=2, tol=1e-2), {"robust": False, "latent_noise": False, "damping": 0.9}),
    "standard": (RobustGPClassifier(robust=False, max_iter=2, tol=1e-2), {"robust": True}),
    "regressor": (
        NIMGPRegressor(method="nimgp-fo", **SMALL),
        {"method": "mgp", "likelihood": "student-t", "kernel": "linear"},
    ),
    "exact regressor": (
        UncertainGPRegressor(starts=1, steps=1),
        {"kernel": "linear", "noise_variance": 9.0, "jitter": 0.5, "hyper_priors": False},
    ),
}


def answers(estimator, X, y, X_var):
    """What an estimator says of rows, and their labels or outputs."""
    if not is_regressor(estimator):
        found = [estimator.predict_proba(X, X_var=X_var)]
        try:
            return [*found, estimator.predict_wrong_label(X, y)]
        except ValueError as error:
            return [*found, str(error)]
    found = [estimator.predict(X, X_var=X_var)]
    return [*found, estimator.log_density(X, y, X_var=X_var)] if hasattr(estimator, "log_density") else found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "new"), OTHER.values(), ids=OTHER)
@pytest.mark.usefixtures("eagerly", "small_blocks")
def test_a_fitted_estimator_keeps_its_settings(estimator, new):
    rng = np.random.default_rng(3)
    X, X_var = rng.normal(size=(12, 2)), rng.gamma(2.0, 0.2, (12, 2))
    y = X[:, 0] if is_regressor(estimator) else np.arange(12) % 2
    fitted = copy.deepcopy(estimator).fit(X, y, X_var=X_var)
    expected = answers(fitted, X, y, X_var)
    fitted.set_params(**new)
    for one in (fitted, pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        for found, before in zip(answers(one, X, y, X_var), expected, strict=True):
            np.testing.assert_array_equal(found, before)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", [estimator for estimator, _ in OTHER.values()], ids=OTHER)
@pytest.mark.usefixtures("eagerly", "small_blocks")
def test_a_fit_that_fails_leaves_nothing_fitted(estimator):
    """Also where another fit went before."""
    X = np.random.default_rng(3).normal(size=(12, 2))
    y = X[:, 0] if is_regressor(estimator) else np.arange(12) % 2
    fitted = copy.deepcopy(estimator).fit(X, y)
    with pytest.raises(ValueError, match=r"the numbers of feature 0 .* more than double precision can square"):
        fitted.fit(1e200 * X, y)
    for left in (fitted, pickle.loads(pickle.dumps(fitted))):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            left.predict(X)
