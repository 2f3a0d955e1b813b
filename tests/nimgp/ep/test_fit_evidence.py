import numpy as np
import pytest

from fermiclass.nimgp.ep.evidence import EPSettings, covariance_gradient, fit_evidence, log_evidence
from fermiclass.nimgp.ep.factors import LabelNoise, Labels
from fermiclass.nimgp.ep.inference import Rules, find_fixed_point
from fermiclass.nimgp.ep.posterior import Covariance, PriorAndLabels

from .conftest import make_data


@pytest.fixture(scope="module")
def data():
    """Three classes that depend on the first feature alone."""
    X, y = make_data(60, num_wrong=3)
    return X, Labels.of(y, 3)


@pytest.mark.parametrize(
    ("label_noise", "settings"),
    [
        (LabelNoise(), EPSettings()),
        (None, EPSettings(latent_noise=True)),
        (LabelNoise(), EPSettings(ard=True, latent_noise=True)),
    ],
)
def test_it_is_a_maximum(data, label_noise, settings):
    X, labels = data
    trained = fit_evidence(X, labels, label_noise, settings)
    assert trained.found.converged
    assert trained.ended
    assert trained.steps > 0
    assert trained.covariance.gamma.shape == ((2,) if settings.ard else (1,))
    assert bool(np.any(trained.covariance.noise)) == settings.latent_noise
    of_gamma, of_noise = trained.covariance.gradient(X, covariance_gradient(trained.found.posterior))
    inside = (trained.covariance.gamma > 1e-3) & (trained.covariance.gamma < 1e6)
    np.testing.assert_allclose(of_gamma[inside], 0.0, atol=0.1)
    np.testing.assert_allclose(of_noise[trained.covariance.noise > 1e-5], 0.0, atol=0.1)
    for factor in (0.5, 2.0):
        other = Covariance(factor * trained.covariance.gamma, trained.covariance.noise)
        model = PriorAndLabels(other.K(X), labels, label_noise)
        assert log_evidence(model, find_fixed_point(model, start=trained.found.sites)) < trained.log_evidence


def test_a_feature_that_says_nothing_has_a_long_scale(data):
    X, labels = data
    gamma = fit_evidence(X, labels, LabelNoise(), EPSettings(ard=True)).covariance.gamma
    assert gamma[1] > 10 * gamma[0]


def test_the_best_start_wins(data):
    X, labels = data
    one = [fit_evidence(X, labels, LabelNoise(), EPSettings(starts=(start,), max_steps=1)) for start in (1e-3, 1.0)]
    both = fit_evidence(X, labels, LabelNoise(), EPSettings(starts=(1e-3, 1.0), max_steps=1))
    evidences = [trained.log_evidence for trained in one]
    assert abs(evidences[0] - evidences[1]) > 0.1
    assert both.log_evidence == max(evidences)


def test_what_did_not_converge_is_said(data):
    X, labels = data
    short = fit_evidence(X, labels, LabelNoise(), EPSettings(max_steps=1))
    assert not short.ended
    assert short.found.converged
    assert not fit_evidence(X, labels, LabelNoise(), EPSettings(rules=Rules(max_rounds=3))).found.converged


def test_where_rounds_go_in_circles_sites_are_limited():
    """Two overlapping classes, many labels wrong, and a smooth covariance."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(2, size=80)
    labels = Labels.of(np.where(X[:, 0] + rng.normal(size=80) > 0, 1, y), 2)
    rules = Rules(max_rounds=15)  # as if that were for ever
    trained = fit_evidence(X, labels, LabelNoise(), EPSettings(rules=rules))
    free = find_fixed_point(trained.model, rules=rules)
    assert not free.converged
    assert trained.found.posterior.precision.min() >= 0 > free.posterior.precision.min()
    assert np.isfinite(trained.log_evidence)
