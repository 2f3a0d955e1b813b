import numpy as np
import pytest

from fermiclass.nimgp.ep.posterior import JITTER, Covariance

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


@pytest.mark.parametrize("gamma", [[0.7], [0.7, 3.0]])
def test_gradient(X, gamma):
    G = np.random.default_rng(1).normal(size=(3, 5, 5))
    G += G.transpose(0, 2, 1)
    at = np.log([*gamma, *np.maximum(NOISE, 0.05)])
    num = len(gamma)

    def value(parameters):
        return np.sum(G * Covariance(np.exp(parameters[:num]), np.exp(parameters[num:])).K(X))

    step = 1e-6 * np.eye(len(at))
    expected = [(value(at + s) - value(at - s)) / 2e-6 for s in step]
    covariance = Covariance(np.exp(at[:num]), np.exp(at[num:]))
    np.testing.assert_allclose(np.concatenate(covariance.gradient(X, G)), expected, rtol=1e-6, atol=1e-8)
