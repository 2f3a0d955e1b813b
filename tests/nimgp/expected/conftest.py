"""Kernels of every kind, and sources with variances or with covariances."""

import numpy as np
import pytest

from fermiclass.nimgp.expected.kernels import (
    ExpectedLinear,
    ExpectedQuadratic,
    ExpectedSquaredExponential,
    Sum,
    hyper_parameter,
)

D = 3
SCALES = np.array([0.6, 1.1, 1.9])


def make_kernel(name):
    """A kernel, or a sum, with hyper-parameters far from 1."""
    if "+" in name:
        return Sum([make_kernel(part) for part in name.split("+")])
    if name in ("se", "plain-se"):
        return ExpectedSquaredExponential(hyper_parameter(1.7), hyper_parameter(SCALES), plain=name == "plain-se")
    if name == "linear":
        return ExpectedLinear(hyper_parameter(SCALES), hyper_parameter(0.4))
    return ExpectedQuadratic(hyper_parameter(SCALES), hyper_parameter(0.7))


def covariances(rng, n, form):
    """Variances (n, D), or covariances (n, D, D)."""
    if form == "variances":
        return rng.uniform(0.05, 0.6, (n, D))
    A = rng.normal(size=(n, D, D)) * 0.4
    return A @ A.swapaxes(1, 2) + 0.02 * np.eye(D)


def draws(rng, mean, cov, count):
    """Draws of one source, (count, D)."""
    root = np.diag(np.sqrt(cov)) if cov.ndim == 1 else np.linalg.cholesky(cov)
    return mean + rng.standard_normal((count, D)) @ root.T


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture(params=["variances", "covariances"])
def form(request):
    return request.param
