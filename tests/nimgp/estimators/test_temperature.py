"""Temperature scaling: what is found is the best of the held-out folds, and it is what predictions use."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from fermiclass import NIMGPClassifier
from fermiclass.nimgp.estimators.folds import fold_temperature

SETTINGS = {"steps": 60, "num_inducing": 12, "num_draws": 16, "learning_rate": 0.03}


@pytest.fixture(scope="module")
def problem():
    """Two classes that overlap, one in four labels wrong, and a classifier of too few steps to be calibrated."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(160, 2))
    wrong = rng.uniform(size=160) < 0.25
    y = np.where((X[:, 0] > 0) != wrong, "yes", "no")
    return X, y, np.full(X.shape, 0.05)


@pytest.fixture(scope="module")
def found(problem):
    X, y, X_var = problem
    return fold_temperature(NIMGPClassifier(**SETTINGS), X, y, X_var, seed=3)


@pytest.mark.slow
def test_it_is_the_best_of_the_folds(problem, found):
    X, y, X_var = problem
    folds = StratifiedKFold(5, shuffle=True, random_state=3).split(X, y)
    fitted = [
        (clone(NIMGPClassifier(**SETTINGS)).fit(X[train], y[train], X_var=X_var[train]), test) for train, test in folds
    ]

    def nll(temperature):
        losses = []
        for model, test in fitted:
            p = model.at_temperature(temperature).predict_proba(X[test], X_var=X_var[test])
            losses.append(-np.log(p[np.arange(len(test)), np.searchsorted(model.classes_, y[test])]))
        return np.concatenate(losses).mean()

    assert 0.3 < found < 3.9
    assert nll(found) < min(nll(0.9 * found), nll(found / 0.9))


@pytest.mark.slow
def test_the_classifier_uses_it(problem):
    X, y, X_var = problem
    plain = NIMGPClassifier(**SETTINGS).fit(X, y, X_var=X_var)
    scaled = NIMGPClassifier(**SETTINGS, temperature="folds").fit(X, y, X_var=X_var)
    assert plain.temperature_ == 1.0
    assert scaled.temperature_ != 1.0
    usual = plain.predict_proba(X, X_var=X_var)
    np.testing.assert_array_equal(
        plain.at_temperature(scaled.temperature_).predict_proba(X, X_var=X_var), scaled.predict_proba(X, X_var=X_var)
    )
    flatter = np.abs(plain.at_temperature(4.0).predict_proba(X, X_var=X_var) - 0.5)
    assert np.max(flatter - np.abs(usual - 0.5)) < 1e-3  # the points of the average are not symmetric about the mean


def test_refusals(problem):
    X, y, X_var = problem
    with pytest.raises(ValueError, match="needs at least two sources of every class, 'odd' has one"):
        NIMGPClassifier(**SETTINGS, temperature="folds").fit(X[:9], [*y[:8], "odd"], X_var=X_var[:9])
