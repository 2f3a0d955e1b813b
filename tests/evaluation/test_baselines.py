"""One contract for every baseline."""

import numpy as np
import pytest

from fermiclass.errors import ClassError
from fermiclass.evaluation.baselines import BASELINES, BaselineClassifier, available_baselines
from fermiclass.evaluation.methods import baseline_methods, open_baselines, peak_features

FITTED = {}


def fit(baseline, uncertainties, blobs):
    """Fit once for all tests."""
    if (baseline, uncertainties) not in FITTED:
        X, X_var, y = blobs
        FITTED[baseline, uncertainties] = BaselineClassifier(baseline, uncertainties=uncertainties).fit(
            X, y, X_var=X_var
        )
    return FITTED[baseline, uncertainties]


# The libraries of RealMLP warn of themselves.
NOISY = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(params=[pytest.param(name, marks=NOISY if name == "realmlp" else []) for name in BASELINES])
def baseline(request):
    if request.param not in available_baselines():
        pytest.skip(f"{request.param} is not installed")
    return request.param


@pytest.mark.parametrize("uncertainties", [False, True])
def test_contract(baseline, uncertainties, blobs):
    X, X_var, y = blobs
    model = fit(baseline, uncertainties, blobs)
    p = model.predict_proba(X, X_var=X_var)
    assert p.shape == (90, 3)
    assert p.dtype == np.float64
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert model.classes_.tolist() == ["bll", "fsrq", "psr"]
    assert np.mean(model.predict(X, X_var=X_var) == y) > 0.85  # wrong order of classes: less than 0.5


def test_same_seed_same_result(baseline, blobs):
    X, X_var, y = blobs
    again = BaselineClassifier(baseline).fit(X, y, X_var=X_var)
    np.testing.assert_array_equal(again.predict_proba(X), fit(baseline, False, blobs).predict_proba(X))


def test_uncertainties_are_used_only_if_asked_for(baseline, blobs):
    X, X_var, _ = blobs
    with_them = fit(baseline, True, blobs)
    assert not np.array_equal(with_them.predict_proba(X, X_var=X_var), with_them.predict_proba(X, X_var=25 * X_var))
    without = fit(baseline, False, blobs)
    np.testing.assert_array_equal(without.predict_proba(X, X_var=X_var), without.predict_proba(X))


@pytest.mark.parametrize(("name", "message"), [("logistic", "X_var is missing"), ("oracle", "available are logistic")])
def test_what_cannot_be_fitted(blobs, name, message):
    with pytest.raises(ValueError, match=message):
        BaselineClassifier(name, uncertainties=True).fit(blobs[0], blobs[2])


def test_baseline_methods():
    assert [method.name for method in baseline_methods()] == list(available_baselines())
    pair = baseline_methods(["svm", "svm+unc"], seed=2)
    assert [method.settings for method in pair] == [
        {"baseline": "svm", "uncertainties": uncertainties, "seed": 2} for uncertainties in (False, True)
    ]
    assert all(method.is_baseline for method in pair)
    named = baseline_methods(open_baselines())
    assert len(named) == 3 * (2 * len(available_baselines()) + 2)
    variants = {f"{inputs}{training}" for inputs in ("", "+gas", "-four") for training in ("", ":clear", ":spiders")}
    assert {method.variant for method in named} == variants


def test_peak_features_are_those_of_the_log_parabola(make_catalog):
    """The largest E² dN/dE on a fine grid, and where it is; an energy out of range, and a missing value."""
    alpha, beta = np.array([1.8, 2.4, 2.1, 1.5]), np.array([0.3, 0.2, 0.05, -0.1])
    columns = {"Pivot_Energy": np.full(4, 2e3), "LP_Flux_Density": np.full(4, 1e-13)}
    columns |= {"LP_Index": alpha, "LP_beta": beta, "Variability_Index": [10.0, 100.0, 1000.0, np.nan]}
    found = peak_features(make_catalog(list("abcd"), np.zeros(4), np.zeros(4), [""] * 4, **columns))
    E = np.geomspace(1e2, 1e6, 400_001)
    for k in range(3):
        x = np.log(E / 2e3)
        sed = np.log10(E**2 * 1e-13 * np.exp(-(alpha[k] + beta[k] * x) * x))
        best = sed.argmax()
        np.testing.assert_allclose(found[k, 1:], [sed[best], np.log10(E[best] / 1e3), 2 * beta[k]], atol=1e-4)
    assert found[:, 0].tolist() == [1, 2, 3, 2]
    assert found[3, 2:].tolist() == [3, -0.1]
    # 3FGL has no LogParabola of all sources.
    del columns["LP_Flux_Density"], columns["LP_Index"], columns["LP_beta"]
    alone = peak_features(make_catalog(list("abcd"), np.zeros(4), np.zeros(4), [""] * 4, **columns))
    assert alone[:, 0].tolist() == [1, 2, 3, 2]
    assert np.isfinite(alone).all()


def test_classes_of_few_rows(blobs):
    X, X_var, y = blobs
    keep = np.r_[np.flatnonzero(y != "psr"), np.flatnonzero(y == "psr")[:3]]
    p = BaselineClassifier("svm").fit(X[keep], y[keep], X_var=X_var[keep]).predict_proba(X, X_var=X_var)
    assert p.shape == (90, 3)
    assert np.isfinite(p).all()
    with pytest.raises(ClassError, match=r"'svm' .* needs 2 rows of each class, but one class has 1: leave out"):
        BaselineClassifier("svm").fit(X[keep[:-2]], y[keep[:-2]], X_var=X_var[keep[:-2]])
