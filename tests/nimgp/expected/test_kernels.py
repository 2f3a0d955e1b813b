"""Expected covariances against sampling, GPflow's kernels and each other."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.expected.kernels import (
    ExpectedKernel,
    ExpectedLinear,
    ExpectedQuadratic,
    ExpectedSquaredExponential,
)
from fermiclass.nimgp.expected.sources import pack
from tests.nimgp.expected.conftest import SCALES, D, covariances, draws, make_kernel

KERNELS = ("se", "linear", "quadratic")
SUMS = (*KERNELS, "se+linear+quadratic")
DRAWS = 1_000_000


def plain(name):
    """GPflow's kernel, of the means."""
    kernel, *rest = name.split("+")
    if rest:
        return plain(kernel) + plain("+".join(rest))
    if kernel == "se":
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


def test_every_kernel_is_tested():
    kinds = {type(make_kernel(name)) for name in KERNELS}
    assert kinds == set(ExpectedKernel.__subclasses__())
    assert kinds == {ExpectedSquaredExponential, ExpectedLinear, ExpectedQuadratic}


@pytest.mark.parametrize("name", SUMS)
def test_within_three_standard_errors_of_sampling(name, form, rng):
    mean, cov = rng.normal(size=(2, D)), covariances(rng, 2, form)
    rows = pack(mean, cov)
    K = make_kernel(name)(rows).numpy()
    x, z = (draws(rng, mean[i], cov[i], DRAWS) for i in range(2))
    for expected, sample in ((K[0, 1], values(name, x, z)), (K[0, 0], values(name, x, x))):
        assert abs(sample.mean() - expected) <= 3 * sample.std() / np.sqrt(DRAWS) + 1e-12
    np.testing.assert_allclose(make_kernel(name)(rows, full_cov=False), np.diag(K), rtol=1e-12)


@pytest.mark.parametrize("name", SUMS)
def test_diagonal_covariances_are_variances(name, rng):
    mean, var = rng.normal(size=(4, D)), covariances(rng, 4, "variances")
    one, other = pack(mean, var), pack(mean, var[:, None] * np.eye(D))
    kernel = make_kernel(name)
    np.testing.assert_allclose(kernel(one), kernel(other), rtol=1e-12)
    np.testing.assert_allclose(kernel.K(one, other), kernel(one, one), rtol=1e-12)
    np.testing.assert_allclose(kernel.K(other, one), kernel(one, one), rtol=1e-12)


@pytest.mark.parametrize("name", SUMS)
def test_known_inputs_have_the_plain_covariances(name, form, rng):
    mean, other = rng.normal(size=(5, D)), rng.normal(size=(4, D))
    shape = (D,) if form == "variances" else (D, D)
    rows, others = pack(mean, np.zeros((5, *shape))), pack(other, np.zeros((4, *shape)))
    kernel, theirs = make_kernel(name), plain(name)
    np.testing.assert_allclose(kernel(rows), theirs(mean), rtol=1e-12)
    np.testing.assert_allclose(kernel(rows, others), theirs(mean, other), rtol=1e-12)
    np.testing.assert_allclose(kernel(rows, full_cov=False), theirs(mean, full_cov=False), rtol=1e-12)


@pytest.mark.parametrize("name", SUMS)
def test_positive_semi_definite(name, form, rng):
    for _ in range(5):
        mean, cov = rng.normal(size=(12, D)), covariances(rng, 12, form) * rng.uniform(0, 5)
        mean[6:], cov[9:] = mean[:6], cov[3:6]  # sources at one place, some with the same noise
        K = make_kernel(name)(pack(mean, cov, source=[*range(9), 3, 4, 5])).numpy()
        np.testing.assert_allclose(K, K.T, rtol=1e-10)
        assert np.linalg.eigvalsh(K).min() > -1e-12 * np.trace(K)


@pytest.mark.parametrize("name", SUMS)
def test_two_sources_at_one_place_are_not_one(name, form, rng):
    mean, cov = np.repeat(rng.normal(size=(1, D)), 2, axis=0), np.repeat(covariances(rng, 1, form), 2, axis=0)
    kernel = make_kernel(name)
    two, one = kernel(pack(mean, cov)).numpy(), kernel(pack(mean, cov, source=[8, 8])).numpy()
    assert two[0, 1] < two[0, 0]
    np.testing.assert_allclose(np.diag(two), np.diag(one))
    np.testing.assert_allclose(one, one[0, 0])  # one source twice: all four are E k(x, x)


@pytest.mark.parametrize("name", SUMS)
def test_who_is_who_between_two_sets(name, form, rng):
    mean, cov = rng.normal(size=(4, D)), covariances(rng, 4, form)
    kernel = make_kernel(name)
    rows = pack(mean, cov, source=range(4))
    np.testing.assert_allclose(kernel(rows, rows), kernel(rows), rtol=1e-12)
    np.testing.assert_allclose(kernel(rows, rows[2:]), kernel(rows).numpy()[:, 2:], rtol=1e-12)
    strangers = pack(mean, cov)
    apart = kernel(strangers, strangers).numpy()
    assert np.all(np.diag(apart) < np.diag(kernel(rows)))
    np.testing.assert_allclose(apart[np.triu_indices(4, 1)], kernel(rows).numpy()[np.triu_indices(4, 1)], rtol=1e-12)


@pytest.mark.parametrize("name", SUMS)
def test_the_order_of_sources_is_theirs(name, form, rng):
    rows, order = pack(rng.normal(size=(6, D)), covariances(rng, 6, form)), rng.permutation(6)
    kernel = make_kernel(name)
    np.testing.assert_allclose(kernel(rows[order]), kernel(rows).numpy()[order][:, order], rtol=1e-12)


@pytest.mark.parametrize("name", SUMS)
def test_gradients_flow(name, form, rng):
    kernel, rows = make_kernel(name), pack(rng.normal(size=(5, D)), covariances(rng, 5, form))
    weights = rng.normal(size=(5, 5))

    def total():
        return tf.reduce_sum(weights * kernel(rows))

    with tf.GradientTape() as tape:
        value = total()
    gradients = tape.gradient(value, kernel.trainable_variables)
    for variable, gradient in zip(kernel.trainable_variables, gradients, strict=True):
        step = 1e-6 * tf.constant(rng.normal(size=variable.shape))
        variable.assign_add(step)
        above = total()
        variable.assign_sub(2 * step)
        below = total()
        variable.assign_add(step)
        np.testing.assert_allclose(tf.reduce_sum(gradient * step), (above - below) / 2, rtol=1e-5, atol=1e-13)


def test_gradients_where_sources_coincide(form, rng):
    rows = np.repeat(pack(rng.normal(size=(1, D)), 0 * covariances(rng, 1, form)), 3, axis=0)
    for name in KERNELS:
        kernel = make_kernel(name)
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(kernel(rows))
        assert all(np.all(np.isfinite(g)) for g in tape.gradient(value, kernel.trainable_variables))


def test_the_papers_figure_1():
    kernel = ExpectedSquaredExponential(1)
    K = kernel(pack([[0.0], [1.0]], [[1.0], [1.0]])).numpy()
    assert K[0, 1] == pytest.approx(0.5, abs=0.02)
    assert K[0, 1] == pytest.approx(np.exp(-1 / 6) / np.sqrt(3))


@pytest.mark.parametrize("kind", [ExpectedLinear, ExpectedQuadratic])
def test_without_an_offset(kind, rng):
    kernel = kind(D, offset=0.0)
    mean = rng.normal(size=(2, D))
    power = 1 if kind is ExpectedLinear else 2
    np.testing.assert_allclose(kernel(pack(mean)), (mean @ mean.T) ** power)
    assert len(kernel.trainable_variables) == 1


def test_part_of_a_gpflow_model(form, rng):
    rows, y = pack(rng.normal(size=(8, D)), covariances(rng, 8, form)), rng.normal(size=(8, 1))
    kernel = make_kernel("se") + gpflow.kernels.RBF(lengthscales=SCALES, active_dims=slice(0, D))
    model = gpflow.models.GPR((rows, y), kernel, noise_variance=0.1)
    before = model.training_loss().numpy()
    gpflow.optimizers.Scipy().minimize(model.training_loss, model.trainable_variables, options={"maxiter": 3})
    assert model.training_loss() < before
    mean, variance = model.predict_f(rows[:3])
    assert np.all(np.isfinite(mean))
    assert np.all(variance > 0)


@pytest.mark.parametrize("name", KERNELS)
def test_other_shapes_are_refused(name, rng):
    kernel, good = make_kernel(name), pack(rng.normal(size=(2, D)))
    for rows in (good[:, :-1], good[None]):
        with pytest.raises(ValueError, match=r"3 uncertain inputs are packed as 7 columns"):
            kernel.K(rows)
        with pytest.raises(ValueError, match=r"3 uncertain inputs are packed as 7 columns"):
            kernel.K(good, rows)
        with pytest.raises(ValueError, match=r"3 uncertain inputs are packed as 7 columns"):
            kernel.K_diag(rows)
