"""Several models in one graph: the same as each alone."""

import numpy as np
import pytest

import fermiclass.nimgp.training.loop as loop
from fermiclass import NIMGPClassifier
from fermiclass.nimgp.estimators.classifier import fit_copies
from tests.nimgp.estimators.test_classifier import make_data

PAPER = {"likelihood": "step", "objective": "elbo", "inputs": {"prior": "isotropic", "prior_variance": 1e3}}
SETTINGS = {
    "mgp": {"method": "mgp", **PAPER},
    "nimgp": {"method": "nimgp", **PAPER},
    "network": {"method": "nimgp-nn", **PAPER},
    "default": {"method": "nimgp-fo", "kernel": "matern32+linear", "label_noise": "learned"},
    "learned noise": {"method": "nimgp-fo", "noise": "per-feature", "training": {"mean": True}},
}
SMALL = {"steps": 25, "num_inducing": 8, "batch_size": 20, "learning_rate": 0.05}


def parts_of(sizes):
    data = [make_data(size, seed) for seed, size in enumerate(sizes)]
    return [{"X": X, "y": y, "X_var": X_var, "sample_weight": 0.5 + X_var[:, 0]} for X, y, X_var in data]


@pytest.fixture
def together(monkeypatch):
    """The numbers of models that were trained in one graph."""
    seen, maximise = [], loop.maximise_together

    def spy(models, *rest, **options):
        seen.append(len(models))
        return maximise(models, *rest, **options)

    monkeypatch.setattr(loop, "maximise_together", spy)
    return seen


def check_same(fitted, estimator, parts):
    X, _, X_var = make_data(30, 99)
    for one, part in zip(fitted, parts, strict=True):
        alone = NIMGPClassifier(**estimator.get_params()).fit(**part)
        np.testing.assert_allclose(one.fitted_.objective, alone.fitted_.objective, rtol=1e-8)
        found, expected = (each.predict_proba(X, X_var=X_var) for each in (one, alone))
        np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("name", SETTINGS)
def test_each_is_as_alone(name, together):
    settings = SETTINGS[name]
    precise = {"training": {"precision": "float64", **settings.get("training", {})}}
    estimator, parts = NIMGPClassifier(**SMALL | settings | precise), parts_of([60, 60, 60])
    check_same(fit_copies(estimator, parts), estimator, parts)
    assert together == [3]


@pytest.mark.parametrize(
    "change", [{"batch_size": None}, {"training": {"natural_gradient": 0.1}}, {"num_inducing": 59}]
)
def test_others_are_trained_alone(change, together):
    """All sources in a step, natural gradients, numbers of sources that differ, and a single one."""
    precise = {"training": {"precision": "float64", **change.get("training", {})}}
    sizes = {"num_inducing": [60, 80], "steps": [60]}.get(next(iter(change)), [60, 60])
    estimator, parts = NIMGPClassifier(method="mgp", **SMALL | change | precise), parts_of(sizes)
    check_same(fit_copies(estimator, parts), estimator, parts)
    assert together == []


def test_one_that_is_not_finite_is_trained_again_alone(monkeypatch):
    """And does not change the others."""
    maximise, found = loop.maximise_together, []

    def with_nan(models, data, *rest, **options):
        data[1].X[:] = np.nan
        found.extend(maximise(models, data, *rest, **options))
        return found

    monkeypatch.setattr(loop, "maximise_together", with_nan)
    estimator = NIMGPClassifier(method="mgp", training={"precision": "float64"}, **SMALL)
    parts = parts_of([60, 60, 60])
    check_same(fit_copies(estimator, parts), estimator, parts)
    assert [history is None for history in found] == [False, True, False]
