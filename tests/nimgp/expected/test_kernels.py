"""Expected covariances against sampling, GPflow's kernels and each other."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.expected.kernels import Sources, covariance
from tests.nimgp.expected.conftest import SCALES, D, covariances, draws, make_kernel

SUMS = ("se", "linear", "quadratic", "se+linear+quadratic")
DRAWS = 1_000_000


def plain(name):
    """GPflow's kernel, of the means."""
    kernel, *rest = name.split("+")
    if rest:
        return plain(kernel) + plain("+".join(rest))
    if kernel in ("se", "plain-se"):
        return gpflow.kernels.RBF(variance=1.7, lengthscales=SCALES)
    if kernel == "linear":
        return gpflow.kernels.Linear(variance=SCALES) + gpflow.kernels.Constant(0.4)
    return gpflow.kernels.Polynomial(degree=2, variance=SCALES, offset=0.7)


def values(name, x, z):
    """k(x_n, z_n) of each pair, written out once more, (n,)."""
    inner = (x * SCALES * z).sum(axis=1)
    of_name = {
        "se": lambda: 1.7 * np.exp(-0.5 * (((x - z) / SCALES) ** 2).sum(axis=1)),
        "linear": lambda: inner + 0.4,
        "quadratic": lambda: (inner + 0.7) ** 2,
    }
    return sum(of_name[part]() for part in name.split("+"))


@pytest.mark.parametrize("name", SUMS)
def test_within_three_standard_errors_of_sampling(name, form, rng):
    mean, cov = rng.normal(size=(2, D)), covariances(rng, 2, form)
    K = covariance(make_kernel(name), Sources.of(mean, cov)).numpy()
    x, z = (draws(rng, mean[i], cov[i], DRAWS) for i in range(2))
    for expected, sample in ((K[0, 1], values(name, x, z)), (K[0, 0], values(name, x, x))):
        assert abs(sample.mean() - expected) <= 3 * sample.std() / np.sqrt(DRAWS) + 1e-12


@pytest.mark.parametrize("name", SUMS)
def test_diagonal_covariances_are_variances(name, rng):
    mean, var = rng.normal(size=(4, D)), covariances(rng, 4, "variances")
    one, other = Sources.of(mean, var), Sources.of(mean, var[:, None] * np.eye(D))
    kernel = make_kernel(name)
    np.testing.assert_allclose(covariance(kernel, one), covariance(kernel, other), rtol=1e-12)
    np.testing.assert_allclose(kernel.between(one, other), kernel.between(one, one), rtol=1e-12)
    np.testing.assert_allclose(kernel.between(other, one), kernel.between(one, one), rtol=1e-12)


@pytest.mark.parametrize("name", [*SUMS, "plain-se"])
def test_known_inputs_have_the_plain_covariances(name, form, rng):
    mean, other = rng.normal(size=(5, D)), rng.normal(size=(4, D))
    shape = (D,) if form == "variances" else (D, D)
    noise = covariances(rng, 5, form) if name == "plain-se" else np.zeros((5, *shape))
    sources, others = Sources.of(mean, noise), Sources.of(other, np.zeros((4, *shape)))
    kernel, theirs = make_kernel(name), plain(name)
    np.testing.assert_allclose(covariance(kernel, sources), theirs(mean), rtol=1e-12)
    np.testing.assert_allclose(kernel.between(sources, others), theirs(mean, other), rtol=1e-12)
    np.testing.assert_allclose(kernel.variance_of(sources), theirs(mean, full_cov=False), rtol=1e-12)


@pytest.mark.parametrize("name", SUMS)
def test_positive_semi_definite(name, form, rng):
    for _ in range(5):
        mean, cov = rng.normal(size=(12, D)), covariances(rng, 12, form) * rng.uniform(0, 5)
        mean[6:], cov[9:] = mean[:6], cov[3:6]  # sources at one place, some with the same noise
        K = covariance(make_kernel(name), Sources.of(mean, cov)).numpy()
        np.testing.assert_allclose(K, K.T, rtol=1e-10)
        assert np.linalg.eigvalsh(K).min() > -1e-12 * np.trace(K)
        assert np.all(K[np.arange(6, 9), np.arange(3)] < np.diag(K)[:3])  # two sources at one place are not one


def test_gradients_where_sources_coincide():
    sources = Sources.of(np.ones((3, D)))
    for name in SUMS:
        kernel = make_kernel(name)
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(covariance(kernel, sources))
        assert all(np.all(np.isfinite(g)) for g in tape.gradient(value, kernel.trainable_variables))
