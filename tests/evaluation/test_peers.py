"""One contract for every peer."""

import numpy as np
import pytest
from sklearn.base import clone

from fermiclass.errors import ClassError
from fermiclass.evaluation import peers
from fermiclass.evaluation.methods import peer_method, peer_methods
from fermiclass.evaluation.peers import PEERS, PeerClassifier, available_peers

FITTED = {}


def fit(peer, uncertainties, blobs):
    """Fit once for all tests."""
    if (peer, uncertainties) not in FITTED:
        X, X_var, y = blobs
        FITTED[peer, uncertainties] = PeerClassifier(peer, uncertainties=uncertainties).fit(X, y, X_var=X_var)
    return FITTED[peer, uncertainties]


@pytest.fixture(params=list(PEERS))
def peer(request):
    if request.param not in available_peers():
        pytest.skip(f"{request.param} is not installed")
    return request.param


@pytest.mark.parametrize("uncertainties", [False, True])
def test_contract(peer, uncertainties, blobs):
    X, X_var, y = blobs
    model = fit(peer, uncertainties, blobs)
    p = model.predict_proba(X, X_var=X_var)
    assert p.shape == (90, 3)
    assert p.dtype == np.float64
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert model.classes_.tolist() == ["bll", "fsrq", "psr"]
    assert np.mean(model.predict(X, X_var=X_var) == y) > 0.85  # wrong order of classes: less than 0.5


def test_same_seed_same_result(peer, blobs):
    X, X_var, y = blobs
    again = PeerClassifier(peer).fit(X, y, X_var=X_var)
    np.testing.assert_array_equal(again.predict_proba(X), fit(peer, False, blobs).predict_proba(X))


def test_uncertainties_are_used_only_if_asked_for(peer, blobs):
    X, X_var, _ = blobs
    with_them = fit(peer, True, blobs)
    assert not np.array_equal(with_them.predict_proba(X, X_var=X_var), with_them.predict_proba(X, X_var=25 * X_var))
    without = fit(peer, False, blobs)
    np.testing.assert_array_equal(without.predict_proba(X, X_var=X_var), without.predict_proba(X))


def test_missing_uncertainties(blobs):
    with pytest.raises(ValueError, match="X_var is missing"):
        PeerClassifier("logistic", uncertainties=True).fit(blobs[0], blobs[2])


def test_unknown_peer(blobs):
    with pytest.raises(ValueError, match="no peer 'oracle': available are logistic"):
        PeerClassifier("oracle").fit(blobs[0], blobs[2])
    with pytest.raises(ValueError, match="no peer 'oracle': available are logistic"):
        peer_method("oracle+unc")


def test_xgboost_is_left_out_where_it_is_not_installed(monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda name: None if name == "xgboost" else object())
    assert set(available_peers()) == set(PEERS) - {"xgboost"}
    with pytest.raises(ValueError, match="no peer 'xgboost'"):
        peer_method("xgboost")


def test_estimator_can_be_cloned():
    model = PeerClassifier("svm", uncertainties=True, seed=3)
    assert clone(model).get_params() == {"peer": "svm", "uncertainties": True, "seed": 3}


def test_peer_methods():
    assert [method.name for method in peer_methods()] == list(available_peers())
    pair = peer_methods(["svm"], seed=2, uncertainties=True)
    assert [method.name for method in pair] == ["svm", "svm+unc"]
    assert [method.estimator.uncertainties for method in pair] == [False, True]
    assert {method.estimator.seed for method in pair} == {2}


def test_classes_of_few_rows(blobs):
    X, X_var, y = blobs
    keep = np.r_[np.flatnonzero(y != "psr"), np.flatnonzero(y == "psr")[:3]]
    p = PeerClassifier("svm").fit(X[keep], y[keep], X_var=X_var[keep]).predict_proba(X, X_var=X_var)
    assert p.shape == (90, 3)
    assert np.isfinite(p).all()
    with pytest.raises(ClassError, match=r"'svm' .* needs 2 of each class, and a class has 1: leave out"):
        PeerClassifier("svm").fit(X[keep[:-2]], y[keep[:-2]], X_var=X_var[keep[:-2]])
