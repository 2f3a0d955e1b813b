"""The evidence against the paper's formula, its gradient against differences of converged runs, and its maximum."""

import numpy as np
import pytest
from scipy.special import betaln, expit

from fermiclass.nimgp.ep.evidence import EPSettings, covariance_gradient, fit_evidence, log_evidence
from fermiclass.nimgp.ep.factors import LabelNoise, Labels
from fermiclass.nimgp.ep.inference import Rules, find_fixed_point, match
from fermiclass.nimgp.ep.posterior import Covariance, PriorAndLabels

from .conftest import TIGHT, make_data


def log_scale(precision, shift, mean, var):
    """``log ∫ N(f | mean, var) exp(−½ (f − μ̃)² / ν̃) df`` with μ̃ = shift / precision, ν̃ = 1 / precision."""
    site_var, site_mean = 1 / precision, shift / precision
    return -0.5 * np.log1p(var / site_var) - 0.5 * (mean - site_mean) ** 2 / (var + site_var)


def paper(model, found):
    """RMGPC's equations 16 and 17, term by term; without label noise those with a ρ are not there."""
    sites, posterior, labels = found.sites, found.posterior, model.labels
    matches = match(model, sites, posterior)
    cavity, noisy = matches.cavity, model.label_noise is not None
    total = betaln(posterior.a, posterior.b) - betaln(*model.label_noise) if noisy else 0.0
    p = expit(sites.log_odds)
    log_s = matches.label.log_mean.copy()
    log_s -= log_scale(sites.precision, sites.shift, cavity.mean, cavity.var)
    log_s -= log_scale(sites.own_precision, sites.own_shift, cavity.own_mean, cavity.own_var)
    q = expit(cavity.log_odds)
    log_s -= np.log(q * p + (1 - q) * (1 - p))
    total += log_s.sum()
    if noisy:
        of_rate = expit(sites.rate_log_odds)
        total += np.log(of_rate * p.prod(axis=1) + (1 - of_rate) * (1 - p).prod(axis=1)).sum()
        log_odds, a, b = matches.rate_cavity
        q = expit(log_odds)
        total += np.sum(matches.rate.log_mean - np.log(q * of_rate + (1 - q) * (1 - of_rate)))
        total -= np.sum(betaln(a + sites.alpha, b + sites.beta) - betaln(a, b))
    else:
        total += np.log(1 - p).sum()
    tau = labels.by_class(sites.shift**2 / sites.precision, sites.own_shift**2 / sites.own_precision)
    for k in range(labels.num_classes):
        K = model.K[min(k, len(model.K) - 1)]
        M = posterior.precision[k][:, None] * K + np.eye(len(K))
        Sigma = K @ np.linalg.inv(M)
        C = posterior.mean[k] @ np.linalg.solve(Sigma, posterior.mean[k]) - tau[k].sum()
        total += 0.5 * (C - np.linalg.slogdet(M)[1])
    return total


def test_it_is_the_papers(solved):
    _, _, model, found = solved
    assert log_evidence(model, found) == pytest.approx(paper(model, found), rel=1e-7)


def test_gradient_of_converged_runs(solved):
    """Every hyper-parameter moved, and EP run to its end again."""
    X, covariance, model, found = solved
    noisy = bool(np.any(covariance.noise))
    gamma = np.array([1.5, 2.5])
    at = np.log(np.concatenate([gamma, covariance.noise])) if noisy else np.log(gamma)

    def run(parameters):
        noise = np.exp(parameters[2:]) if noisy else np.zeros(3)
        moved = Covariance(np.exp(parameters[:2]), noise)
        there = PriorAndLabels(moved.K(X), model.labels, model.label_noise)
        end = find_fixed_point(there, start=found.sites, rules=TIGHT)
        assert end.converged
        return moved, end, log_evidence(there, end)

    here, end, _ = run(at)
    of_gamma, of_noise = here.gradient(X, covariance_gradient(end.posterior))
    step = 1e-4 * np.eye(len(at))
    expected = [(run(at + s)[2] - run(at - s)[2]) / 2e-4 for s in step]
    np.testing.assert_allclose([*of_gamma, *of_noise][: len(at)], expected, rtol=1e-4, atol=1e-6)
    assert np.abs(expected).min() > 1e-3


# --- training --------------------------------------------------------------------------------------------------------


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
