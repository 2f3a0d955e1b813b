"""Covariances with an uncertain x*: their values, means and covariances over x*, by sampling."""

import itertools

import numpy as np
import pytest

from fermiclass.nimgp.expected.profiles import total_covariance
from fermiclass.nimgp.expected.sources import pack
from tests.nimgp.expected.conftest import D, covariances, draws, make_kernel

FORMS = ("variances", "covariances")
N, DRAWS, BATCHES = 3, 100_000, 20


@pytest.mark.parametrize(("training", "new"), [*itertools.product(FORMS, FORMS)])
@pytest.mark.parametrize("name", ["se", "linear", "quadratic", "se+se", "se+linear", "se+linear+quadratic"])
def test_covariances_over_an_uncertain_input(name, training, new, rng):
    rows = pack(0.7 * rng.normal(size=(N, D)), covariances(rng, N, training))
    mean, cov = 0.7 * rng.normal(size=(2, D)), covariances(rng, 2, new)
    kernel = make_kernel(name)
    parts = kernel.kernels if "+" in name else [kernel]
    V = total_covariance([part.profile(rows) for part in parts], mean, cov).numpy()
    assert V.shape == (2, N, N)
    np.testing.assert_allclose(V, V.swapaxes(1, 2), rtol=1e-9, atol=1e-12)
    for n in range(2):
        k = kernel.K(rows, pack(draws(rng, mean[n], cov[n], DRAWS))).numpy()  # (N, draws)
        each = np.array([np.cov(part) for part in np.split(k, BATCHES, axis=1)])
        error = each.std(axis=0) / np.sqrt(BATCHES)
        assert np.all(np.abs(each.mean(axis=0) - V[n]) < 4.5 * error)
        expected = kernel.K(rows, pack(mean[n : n + 1], cov[n : n + 1])).numpy()[:, 0]
        assert np.all(np.abs(k.mean(axis=1) - expected) < 4.5 * k.std(axis=1) / np.sqrt(DRAWS))


@pytest.mark.parametrize("name", ["se", "se+linear+quadratic"])
def test_no_covariance_where_x_is_known(name, form, rng):
    rows = pack(rng.normal(size=(N, D)), covariances(rng, N, form))
    kernel = make_kernel(name)
    profiles = [part.profile(rows) for part in (kernel.kernels if "+" in name else [kernel])]
    np.testing.assert_allclose(total_covariance(profiles, rng.normal(size=(2, D)), np.zeros((2, D))), 0.0, atol=1e-12)
