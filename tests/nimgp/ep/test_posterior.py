"""Covariance, prior times sites, and predictions, against plain linear algebra and draws."""

import numpy as np
import pytest

from fermiclass.nimgp.ep.factors import LabelNoise, Sites
from fermiclass.nimgp.ep.posterior import JITTER, Covariance, ImproperError, Posterior, class_probabilities

from .conftest import make_data, make_model

N, C = 18, 3


def some_sites(rng, scale):
    """Precisions of both signs."""
    pairs = [scale * rng.uniform(-0.4, 1.0, (N, C - 1)) for _ in range(2)]
    shifts = [rng.normal(size=(N, C - 1)) for _ in range(3)]
    rows = rng.uniform(0, 1, (3, N))
    return Sites(pairs[0], shifts[0], pairs[1], shifts[1], shifts[2], *rows)


@pytest.mark.parametrize("noise", [0.0, np.array([0.1, 0.3, 0.2])])
def test_against_plain_linear_algebra(noise):
    rng = np.random.default_rng(4)
    X, y = make_data()
    covariance, model = make_model(X, y, LabelNoise(), gamma=0.3, noise=noise)
    sites = some_sites(rng, 0.5)
    posterior = Posterior.of(model, sites)
    assert posterior.precision.min() < 0 < posterior.precision.max()
    log_det = 0.0
    for k in range(C):
        K = covariance.K(X)[min(k, len(covariance.K(X)) - 1)]
        precision, shift = np.zeros(N), np.zeros(N)
        for i in range(N):
            for r, other in enumerate((y[i] + np.arange(1, C)) % C):
                if other == k:
                    precision[i] += sites.precision[i, r]
                    shift[i] += sites.shift[i, r]
                if y[i] == k:
                    precision[i] += sites.own_precision[i, r]
                    shift[i] += sites.own_shift[i, r]
        np.testing.assert_allclose(posterior.precision[k], precision)
        np.testing.assert_allclose(posterior.shift[k], shift)
        inverse = np.linalg.inv(K)
        Sigma = np.linalg.inv(inverse + np.diag(precision))
        np.testing.assert_allclose(posterior.mean[k], Sigma @ shift, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(posterior.var[k], np.diag(Sigma), rtol=1e-6)
        np.testing.assert_allclose(posterior.weights[k], inverse @ Sigma @ shift, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(posterior.gain[k], inverse - inverse @ Sigma @ inverse, rtol=1e-5, atol=1e-5)
        log_det += np.linalg.slogdet(np.eye(N) + precision[:, None] * K)[1]
    assert posterior.log_det == pytest.approx(log_det)
    np.testing.assert_allclose(posterior.log_odds, sites.log_odds.sum(axis=1) + sites.rate_log_odds)
    assert posterior.rate == pytest.approx((1 + sites.alpha.sum()) / (10 + sites.alpha.sum() + sites.beta.sum()))


def test_what_has_no_distribution_is_refused():
    X, y = make_data()
    _, model = make_model(X, y, LabelNoise())
    empty = Sites.empty(model.labels, model.label_noise)
    with pytest.raises(ImproperError, match="no distribution of latent function 0"):
        Posterior.of(model, empty._replace(precision=empty.precision - 5.0))
    with pytest.raises(ImproperError, match="no distribution of the share of random labels"):
        Posterior.of(model, empty._replace(beta=empty.beta - 1.0))


NOISE = np.array([0.1, 0.0, 0.4])


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(5, 2))


@pytest.mark.parametrize("gamma", [[0.7], [0.7, 3.0]])
def test_formula(X, gamma):
    covariance = Covariance(np.array(gamma), NOISE)
    K = covariance.K(X)
    assert K.shape == (3, 5, 5)
    for c, i, j in np.ndindex(K.shape):
        expected = np.exp(-0.5 * np.sum((X[i] - X[j]) ** 2 / gamma)) + (i == j) * (NOISE[c] + JITTER)
        assert K[c, i, j] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(covariance.variance(), K[:, 0, 0])
    np.testing.assert_allclose(covariance.smooth(X[:2], X), K[1, :2] - JITTER * np.eye(2, 5))


def test_probabilities_against_draws():
    rng = np.random.default_rng(0)
    mean, var = rng.normal(size=(4, 6)), rng.uniform(0.01, 2.0, (4, 6))
    f = mean + np.sqrt(var) * rng.standard_normal((400_000, 4, 6))
    wins = np.stack([(f.argmax(axis=1) == c).mean(axis=0) for c in range(4)], axis=1)
    np.testing.assert_allclose(class_probabilities(mean, var, 0.0), wins, atol=4e-3)
    np.testing.assert_allclose(class_probabilities(mean, var, 0.3), 0.3 / 4 + 0.7 * wins, atol=4e-3)
