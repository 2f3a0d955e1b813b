"""Covariance functions against GPflow's, one class at a time, and their derivatives against automatic ones."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.kernels.base import Sum, White
from fermiclass.nimgp.kernels.dot_product import Linear, Polynomial
from fermiclass.nimgp.kernels.stationary import FORMS, Stationary
from fermiclass.nimgp.names import KERNELS
from tests.nimgp.gpflow_kernels import PerClass

C, D, n, M, S = 3, 2, 7, 5, 2
STATIONARY = {"se": gpflow.kernels.RBF, "matern32": gpflow.kernels.Matern32, "matern52": gpflow.kernels.Matern52}


def make(name, leading=(), dtype=tf.float64, seed=1):
    """A kernel of that name with hyper-parameters of each class its own."""
    rng, shape = np.random.default_rng(seed), (*leading, C)
    if name == "linear":
        kernel = Linear(shape, dtype=dtype)
    elif name == "white":
        kernel = White(shape, dtype=dtype)
    elif name == "polynomial":
        kernel = Polynomial(shape, D, degree=3, dtype=dtype)
    elif name == "sum":
        parts = [make(part, leading, dtype, seed + k) for k, part in enumerate(("se", "white", "linear", "matern32"))]
        return Sum(parts)
    else:
        kernel = Stationary(shape, D, form=FORMS[name], dtype=dtype)
    for parameter in kernel.trainable_parameters:
        parameter.assign(tf.cast(rng.uniform(0.5, 2, parameter.shape), dtype))
    return kernel


def gpflow_counterpart(name, kernel):
    variance = kernel.variance.numpy()
    if name == "linear":
        return PerClass([gpflow.kernels.Linear(variance=v) for v in variance])
    if name == "white":
        return PerClass([gpflow.kernels.White(variance=v) for v in variance])
    lengthscales = kernel.lengthscales.numpy()
    if name == "polynomial":  # theirs is (Σ_j v_j x_j x'_j + offset)^p
        offset = variance ** (1 / 3)
        slopes = offset[:, None] / lengthscales**2
        pairs = zip(slopes, offset, strict=True)
        return PerClass([gpflow.kernels.Polynomial(degree=3, variance=v, offset=o) for v, o in pairs])
    pairs = zip(variance, lengthscales, strict=True)
    return PerClass([STATIONARY[name](variance=v, lengthscales=ell) for v, ell in pairs])


@pytest.fixture(params=["shared", "per class"])
def X(rng, request):
    """Inputs of all classes, or of each its own."""
    return tf.constant(rng.normal(size=(1 if request.param == "shared" else C, n, D)))


@pytest.fixture
def Z(rng):
    return tf.constant(rng.normal(size=(C, M, D)))


def test_every_kernel_is_tested():
    assert set(KERNELS) == {*STATIONARY, "linear", "polynomial"}


@pytest.mark.parametrize("name", [*KERNELS, "white"])
def test_it_is_gpflows(name, X, Z):
    kernel = make(name)
    theirs = gpflow_counterpart(name, kernel)
    tolerance = {"rtol": 1e-6, "atol": 1e-10}  # GPflow keeps distances of Matérn kernels off zero by more
    np.testing.assert_allclose(kernel.K(Z), theirs.K(Z), **tolerance)
    np.testing.assert_allclose(kernel.K(X), theirs.K(X), **tolerance)
    np.testing.assert_allclose(kernel.K(Z, X), theirs.K(Z, X), **tolerance)
    np.testing.assert_allclose(kernel.K(X, Z), theirs.K(X, Z), **tolerance)
    np.testing.assert_allclose(kernel.K_diag(X), theirs.K_diag(X), **tolerance)


@pytest.mark.parametrize("name", [*KERNELS, "white", "sum"])
def test_shapes_and_diagonal(name, X, Z):
    kernel = make(name)
    assert kernel.K(X).shape == (C, n, n)
    assert kernel.K(Z, X).shape == (C, M, n)
    assert kernel.K_diag(X).shape == (C, n)
    np.testing.assert_allclose(kernel.K_diag(X), tf.linalg.diag_part(kernel.K(X)), rtol=1e-10)
    assert np.linalg.eigvalsh(kernel.K(X)).min() > -1e-9


@pytest.mark.parametrize("name", [*KERNELS, "white", "sum"])
def test_mean_gradient_is_the_derivative(name, X, Z, rng):
    kernel, weights = make(name), tf.constant(rng.normal(size=(C, M)))
    gradient = kernel.mean_gradient(X, Z, weights)
    assert gradient.shape == (C, n, D)
    np.testing.assert_allclose(gradient, automatic_gradient(kernel, X, Z, weights), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", [*KERNELS, "white", "sum", "of gpflow"])
def test_points_each_by_itself(name, X, Z, rng):
    """Leading axes of the points alone: what prediction does, a source at a time."""
    kernel = gpflow_counterpart("matern32", make("matern32")) if name == "of gpflow" else make(name)
    weights = tf.constant(rng.normal(size=(C, M)))
    together = X[0]  # (n, D)
    alone = together[:, None, None, :]  # (n, 1, 1, D)
    for single, whole in (
        (kernel.K(alone, Z)[..., 0, :], kernel.K(together[None], Z)),
        (kernel.K_diag(alone)[..., 0], kernel.K_diag(together[None])),
        (kernel.mean_gradient(alone, Z, weights)[..., 0, :], kernel.mean_gradient(together[None], Z, weights)),
    ):
        for i in range(n):  # one for all points where they do not matter
            np.testing.assert_allclose(single[i] if len(single.shape) == len(whole.shape) else single, whole[:, i])


def automatic_gradient(kernel, X, Z, weights):
    """``∂/∂x Σ_m w_m k(x, z_m)``, a class at a time."""
    gradients = []
    for c in range(C):
        x = tf.identity(X[min(c, len(X) - 1)])
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(tf.linalg.matvec(kernel.K(x[None], Z), weights)[c])
        gradient = tape.gradient(total, x)
        gradients.append(tf.zeros_like(x) if gradient is None else gradient)
    return tf.stack(gradients)


@pytest.mark.parametrize("name", KERNELS)
def test_mean_gradient_of_gpflows_kernels(name, X, Z, rng):
    kernel, weights = make(name), tf.constant(rng.normal(size=(C, M)))
    theirs = gpflow_counterpart(name, kernel).mean_gradient(X, Z, weights)
    assert theirs.shape == (C, n, D)
    np.testing.assert_allclose(theirs, kernel.mean_gradient(X, Z, weights), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", KERNELS)
def test_derivatives_are_finite_where_points_coincide(name, Z, rng):
    """A distance has no derivative at zero; a mean has, of zero for one that is even about the point."""
    kernel, weights = make(name), tf.constant(rng.normal(size=(C, M)))
    x = tf.identity(Z)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(kernel.K(x)) + tf.reduce_sum(kernel.K(x, Z))
    gradients = tape.gradient(total, [x, *kernel.trainable_variables])
    assert all(np.all(np.isfinite(g)) for g in gradients)
    assert np.all(np.isfinite(kernel.mean_gradient(Z, Z, weights)))


@pytest.mark.parametrize("name", [*KERNELS, "white", "sum"])
def test_models_trained_at_once_are_each_alone(name, rng):
    many = make(name, (S,))
    X, Z, weights = (tf.constant(rng.normal(size=s)) for s in ((S, 1, n, D), (S, C, M, D), (S, C, M)))
    for k in range(S):
        one = make(name)
        for ours, theirs in zip(one.trainable_parameters, many.trainable_parameters, strict=True):
            ours.assign(theirs[k])
        for a, b in (
            (many.K(X), one.K(X[k])),
            (many.K(Z), one.K(Z[k])),
            (many.K(Z, X), one.K(Z[k], X[k])),
            (many.K_diag(X), one.K_diag(X[k])),
            (many.mean_gradient(X, Z, weights), one.mean_gradient(X[k], Z[k], weights[k])),
        ):
            np.testing.assert_allclose(a[k], b, rtol=1e-11, atol=1e-11)


def test_white_noise_knows_the_same_point_from_the_same_place(X):
    kernel = White((C,), variance=0.3)
    np.testing.assert_allclose(kernel.K(X), np.tile(0.3 * np.eye(n), (C, 1, 1)))
    np.testing.assert_array_equal(kernel.K(X, X), np.zeros((C, n, n)))


def test_sum_adds(X, Z, rng):
    weights, kernel = tf.constant(rng.normal(size=(C, M))), make("matern32")
    double = Sum([kernel, kernel])
    np.testing.assert_allclose(double.K(Z, X), 2 * kernel.K(Z, X))
    np.testing.assert_allclose(double.mean_gradient(X, Z, weights), 2 * kernel.mean_gradient(X, Z, weights))


@pytest.mark.parametrize("name", [*KERNELS, "white", "sum"])
def test_single_precision_is_enough_for_standardised_inputs(name, rng):
    X, Z, weights = rng.normal(size=(1, 200, D)), rng.normal(size=(C, M, D)), rng.normal(size=(C, M))
    values = []
    for dtype in (tf.float32, tf.float64):
        kernel, (x, z, w) = make(name, dtype=dtype), (tf.constant(a, dtype) for a in (X, Z, weights))
        of_kernel = kernel.K(x), kernel.K(z, x), kernel.K_diag(x), kernel.mean_gradient(x, z, w)
        assert all(value.dtype == dtype for value in of_kernel)
        values.append(of_kernel)
    for single, double in zip(*values, strict=True):
        np.testing.assert_allclose(single, double, atol=2e-5 * np.max(np.abs(double)))


def test_single_precision_is_enough_for_short_lengthscales(rng):
    X = rng.normal(size=(1, 200, D))
    single, double = (
        Stationary((1,), D, lengthscales=0.3, dtype=t).K(tf.constant(X, t)) for t in (tf.float32, tf.float64)
    )
    np.testing.assert_allclose(single, double, atol=2e-5)
