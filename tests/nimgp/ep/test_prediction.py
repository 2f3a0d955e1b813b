import numpy as np
import pytest
from scipy.stats import norm

from fermiclass.nimgp.ep.posterior import EPPredictor, LatentMoments, class_probabilities


def test_latent_moments(solved):
    """As a Gaussian process whose values at the rows have the posterior's moments."""
    X, covariance, model, found = solved
    new = np.random.default_rng(3).normal(size=(4, 2))
    mean, var = EPPredictor.of(covariance, X, found.posterior).moments(new)
    k = covariance.smooth(new, X)
    for c in range(3):
        K = model.K[min(c, len(model.K) - 1)]
        Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(found.posterior.precision[c]))
        A = np.linalg.solve(K, k.T).T
        np.testing.assert_allclose(mean[c], A @ found.posterior.mean[c], atol=1e-5)
        expected = covariance.variance()[c] - np.diag(A @ k.T) + np.diag(A @ Sigma @ A.T)
        np.testing.assert_allclose(var[c], expected, atol=1e-5)


def test_probabilities_against_draws():
    rng = np.random.default_rng(0)
    latent = LatentMoments(rng.normal(size=(4, 6)), rng.uniform(0.01, 2.0, (4, 6)))
    f = latent.mean + np.sqrt(latent.var) * rng.standard_normal((400_000, 4, 6))
    wins = np.stack([(f.argmax(axis=1) == c).mean(axis=0) for c in range(4)], axis=1)
    np.testing.assert_allclose(class_probabilities(latent, 0.0), wins, atol=4e-3)
    np.testing.assert_allclose(class_probabilities(latent, 0.3), 0.3 / 4 + 0.7 * wins, atol=4e-3)


def test_two_classes_in_closed_form():
    rng = np.random.default_rng(1)
    latent = LatentMoments(rng.normal(size=(2, 50)), rng.uniform(0.1, 2.0, (2, 50)))
    expected = norm.cdf((latent.mean[1] - latent.mean[0]) / np.sqrt(latent.var.sum(axis=0)))
    np.testing.assert_allclose(class_probabilities(latent, 0.0)[:, 1], expected, atol=1e-4)


@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0])
def test_they_sum_to_one(rate):
    rng = np.random.default_rng(2)
    latent = LatentMoments(5 * rng.normal(size=(6, 30)), 10.0 ** rng.uniform(-6, 1, (6, 30)))
    P = class_probabilities(latent, rate)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert P.min() >= rate / 6


def test_many_rows_are_predicted_in_blocks(solved, monkeypatch):
    X, covariance, _, found = solved
    predictor = EPPredictor.of(covariance, X, found.posterior)
    P = predictor.probabilities(X)
    assert P.shape == (len(X), 3)
    monkeypatch.setattr("fermiclass.nimgp.ep.posterior._ROWS_PER_BLOCK", 5)
    np.testing.assert_allclose(predictor.probabilities(X), P, rtol=1e-12)
    assert predictor.probabilities(X[:0]).shape == (0, 3)
