"""The estimator that knows of wrong labels."""

import numpy as np
import pytest
from scipy.special import entr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fermiclass.nimgp.estimators.robust_classifier import RobustGPClassifier
from tests.nimgp.estimators.scikit_learn import scikit_learn_checks

WRONG = (3, 20, 41, 70)
QUICK = {"tol": 1e-2, "max_rounds": 20, "max_iter": 2}


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        *scikit_learn_checks(RobustGPClassifier(**QUICK), "robust-"),
        *scikit_learn_checks(
            RobustGPClassifier(robust=False, **QUICK), "standard-", lambda name: name != "check_classifiers_train"
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    """Three classes in two dimensions of different units, four labels wrong."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=90)
    centres = np.array([[0.0, 2.0], [-2.0, -1.0], [2.0, -1.0]])
    X = (centres[y] + 0.6 * rng.normal(size=(90, 2))) * [1.0, 1e-3] + [5.0, 0.0]
    y[[*WRONG]] = (y[[*WRONG]] + 1) % 3
    return X, np.array(["bll", "fsrq", "psr"])[y]


@pytest.fixture(scope="module")
def robust(data):
    return RobustGPClassifier().fit(*data)


@pytest.fixture(scope="module")
def standard(data):
    return RobustGPClassifier(robust=False).fit(*data)


def test_wrong_labels_are_found(robust):
    assert robust.converged_
    assert robust.n_iter_ >= 1
    assert robust.outlier_probability_.shape == (90,)
    assert set(np.argsort(-robust.outlier_probability_)[:4]) == set(WRONG)
    assert robust.outlier_probability_[[*WRONG]].min() > 0.7
    assert 0.02 < robust.label_noise_ < 0.12
    assert np.isfinite(robust.log_evidence_)
    np.testing.assert_array_equal(robust.latent_noise_, 0.0)


def test_the_standard_one_knows_of_none(standard):
    assert standard.converged_
    assert standard.outlier_probability_ is None
    assert standard.label_noise_ == 0.0
    assert standard.latent_noise_.shape == (3,)
    assert standard.latent_noise_.max() > 1e-3


@pytest.mark.parametrize("which", ["robust", "standard"])
def test_predictions(which, data, request):
    estimator = request.getfixturevalue(which)
    X, y = data
    P = estimator.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert P.min() >= estimator.label_noise_ / 3
    right = np.delete(np.arange(90), WRONG)
    assert np.mean(estimator.predict(X[right]) == y[right]) > 0.95
    assert set(estimator.predict(X)) <= {"bll", "fsrq", "psr"}


@pytest.mark.parametrize("which", ["robust", "standard"])
def test_what_is_predicted_agrees_with_drawn_latent_functions(which, data, request):
    """Draws of the latent functions' marginals name a winner each; label noise is added by hand."""
    estimator = request.getfixturevalue(which)
    X = data[0][::9]
    predicted = estimator.predict_distribution(X)
    mean, var = estimator._predictor.moments((X - estimator.mean_) / estimator.scale_)
    rng = np.random.default_rng(5)
    f = mean[:, :, None] + np.sqrt(var)[:, :, None] * rng.standard_normal((3, len(X), 40_000))
    guess = estimator.label_noise_ / 3
    p = guess + (1 - estimator.label_noise_) * (f == f.max(axis=0))  # (C, n, S)
    np.testing.assert_allclose(predicted.probabilities, p.mean(axis=2).T, atol=0.01)
    np.testing.assert_allclose(predicted.std, p.std(axis=2).T, atol=0.01)
    mean_entropy = entr(p).sum(axis=0).mean(axis=1)
    np.testing.assert_allclose(predicted.information, predicted.entropy - mean_entropy, atol=1e-6)
    np.testing.assert_array_equal(predicted.probabilities, estimator.predict_proba(X))
    assert np.all(predicted.noise_entropy == 0)


def test_wrong_labels_of_rows_that_were_not_learned_from(data):
    """Bayes' rule: with probability ρ the label is any of the three, else what the functions say."""
    X, y = data
    train = np.arange(90) % 3 < 2
    estimator = RobustGPClassifier().fit(X[train], y[train])
    rho = estimator.label_noise_
    wrong = estimator.predict_wrong_label(X[~train], y[~train])
    label = estimator.predict_proba(X[~train])[np.arange(30), np.searchsorted(estimator.classes_, y[~train])]
    right = (label - rho / 3) / (1 - rho)
    np.testing.assert_allclose(wrong, rho / 3 * (1 - right) / label, rtol=1e-9)
    spoilt = np.isin(np.flatnonzero(~train), WRONG)
    assert spoilt.sum() == 2
    assert wrong[spoilt].min() > 0.5 > np.quantile(wrong[~spoilt], 0.9)


def test_units_do_not_matter(robust, data):
    X, y = data
    other = clone(robust).fit(1e3 * X - 7, y)
    np.testing.assert_allclose(other.lengthscale_, 1e3 * robust.lengthscale_, rtol=1e-5)
    np.testing.assert_allclose(other.predict_proba(1e3 * X - 7), robust.predict_proba(X), atol=1e-6)


def test_rows_without_a_label_are_left_out(robust, data):
    X, y = data
    more, labels = np.concatenate([X[:2] + 1.0, X]), np.concatenate([["", ""], y])
    for given in (labels, labels.astype(object)):
        other = clone(robust).fit(more, given)
        np.testing.assert_array_equal(np.isnan(other.outlier_probability_), labels == "")
        np.testing.assert_array_equal(other.outlier_probability_[2:], robust.outlier_probability_)
        np.testing.assert_array_equal(other.predict_proba(X), robust.predict_proba(X))


def test_input_noise_is_checked_and_ignored(robust, data):
    X, y = data
    X_var = np.full_like(X, 0.3)
    same = clone(robust).fit(X, y, X_var=X_var)
    np.testing.assert_array_equal(same.predict_proba(X, X_var=X_var), robust.predict_proba(X))
    for call in (lambda V: clone(robust).fit(X, y, X_var=V), lambda V: robust.predict_proba(X, X_var=V)):
        with pytest.raises(ValueError, match=r"X_var has shape \(90, 1\), X has \(90, 2\)"):
            call(X_var[:, :1])
        with pytest.raises(ValueError, match="X_var is negative in row 0, column 0"):
            call(-X_var)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_rounds": 2}, "no fixed point after 2 rounds: .* Raise max_rounds, or lower damping"),
        ({"max_iter": 1}, "hyper-parameters still change after 1 steps: .* Raise max_iter"),
    ],
)
def test_what_did_not_converge_is_said(data, settings, message):
    estimator = RobustGPClassifier(robust=False, **settings)
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        estimator.fit(*data)
    assert caught[0].filename == __file__
    assert not estimator.converged_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"robust": "yes"}, "robust=.* is not valid"),
        ({"ard": None}, "ard=.* is not valid"),
        ({"latent_noise": 0.1}, "latent_noise=.* is not valid"),
        ({"label_noise_prior": (0.0, 9.0)}, "label_noise_prior=.* is not valid"),
        ({"damping": 0.0}, "damping=.* is not valid"),
        ({"tol": 0}, "tol=.* is not valid"),
        ({"max_rounds": 0}, "max_rounds=.* is not valid"),
        ({"max_iter": 2.5}, "max_iter=.* is not valid"),
    ],
)
def test_odd_parameters_are_refused(data, settings, message):
    with pytest.raises(ValueError, match=message):
        RobustGPClassifier(**settings).fit(*data)
