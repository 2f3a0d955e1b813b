"""Covariance functions against GPflow's, one latent function at a time. Gradients are tested in the posterior."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.from_gpflow import GPflowKernel
from fermiclass.nimgp.kernels import NAMED, Starts, Sum
from fermiclass.nimgp.modules import Parameter, parameters_of
from fermiclass.nimgp.names import KERNELS
from fermiclass.nimgp.settings import HyperOptions

C, D, n, M, S = 3, 2, 7, 5, 2


def _polynomial(variance, lengthscales):  # theirs is (Σ_j v_j x_j x'_j + offset)^p
    offset = variance ** (1 / 3)
    return gpflow.kernels.Polynomial(degree=3, variance=offset / lengthscales**2, offset=offset)


#: GPflow's kernel for each name, as a function of its parameters.
THEIRS = {
    "se": gpflow.kernels.RBF,
    "matern32": gpflow.kernels.Matern32,
    "matern52": gpflow.kernels.Matern52,
    "linear": gpflow.kernels.Linear,
    "polynomial": _polynomial,
}
ALL = [*THEIRS, "sum"]


def make(name, dtype=tf.float64, seed=1):
    """A kernel of that name with hyper-parameters of each class its own."""
    rng = np.random.default_rng(seed)

    if name == "sum":
        parts = [make(part, dtype, seed + k) for k, part in enumerate(("se", "linear", "matern32"))]
        return Sum(parts, Parameter(rng.uniform(0.5, 2, C), dtype=dtype))
    kernel = NAMED[name](Starts(HyperOptions(), C, D, dtype=dtype))
    for parameter in parameters_of(kernel).values():
        parameter.assign(tf.cast(rng.uniform(0.5, 2, parameter.shape), dtype))
    return kernel


def per_function(kernels):
    """Kernels of GPflow as one, a kernel for each latent function."""
    adapted = GPflowKernel(kernels[0], 0)
    adapted.kernels = list(kernels)
    return adapted


def counterpart(name, kernel):
    values = {name: parameter.numpy() for name, parameter in parameters_of(kernel).items()}
    return per_function([THEIRS[name](**{key: each[c] for key, each in values.items()}) for c in range(C)])


@pytest.fixture(params=["shared", "per class"])
def X(rng, request):
    """Inputs of all classes, or of each its own."""
    return tf.constant(rng.normal(size=(1 if request.param == "shared" else C, n, D)))


@pytest.fixture
def Z(rng):
    return tf.constant(rng.normal(size=(C, M, D)))


@pytest.mark.parametrize("name", THEIRS)
def test_it_is_gpflows(name, X, Z):
    kernel = make(name)
    theirs = counterpart(name, kernel)
    tolerance = {"rtol": 1e-6, "atol": 1e-10}  # GPflow keeps distances of Matérn kernels off zero by more
    for points in ((Z,), (X,), (Z, X), (X, Z)):
        np.testing.assert_allclose(kernel.K(*points), theirs.K(*points), **tolerance)
    np.testing.assert_allclose(kernel.K_diag(X), theirs.K_diag(X), **tolerance)


@pytest.mark.parametrize("name", KERNELS)
def test_derivatives_are_finite_where_points_coincide(name, Z):
    """A distance has no derivative at zero; a mean has, of zero for one that is even about the point."""
    kernel, x = make(name), tf.identity(Z)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(kernel.K(x)) + tf.reduce_sum(kernel.K(x, Z))
    gradients = tape.gradient(total, [x, *kernel.trainable_variables])
    assert all(np.all(np.isfinite(g)) for g in gradients)


@pytest.mark.parametrize("name", [*KERNELS, "gpflow", "sum"])
def test_gradient_of_a_weighted_sum(name, rng, Z):
    X, weights = tf.constant(rng.normal(size=(1, n, D))), tf.constant(rng.normal(size=(C, M)))
    if name == "sum":
        kernel = Sum([make("se"), make("linear")], Parameter(np.full(C, 0.3)))
    else:
        kernel = counterpart("matern32", make("matern32")) if name == "gpflow" else make(name)
    a, b = tf.constant(rng.normal(size=(C, M, n))), tf.constant(rng.normal(size=(C, D, n)))

    def automatic():
        with tf.GradientTape() as tape:
            tape.watch(of_each := tf.tile(X, [C, 1, 1]))
            total = tf.reduce_sum(weights[:, :, None] * (k := kernel.K(Z, of_each)))
        return k, tf.linalg.matrix_transpose(tape.gradient(total, of_each))

    found = []
    for compute in (lambda: kernel.K_and_gradient(Z, X, weights), automatic):
        with tf.GradientTape() as tape:  # training needs the derivatives of both by what is learned
            tape.watch([Z, weights])
            k, gradient = compute()
            total = tf.reduce_sum(a * k) + tf.reduce_sum(b * gradient)
        learned = [Z, weights, *kernel.trainable_variables]
        by_learned = tape.gradient(total, learned, unconnected_gradients="zero")
        found.append([k, tf.broadcast_to(gradient, b.shape), *by_learned])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_white_noise_knows_the_same_point_from_the_same_place(X):
    linear = make("linear")
    kernel = Sum([linear], Parameter(np.full(C, 0.3)))
    np.testing.assert_allclose(kernel.K(X) - linear.K(X), np.tile(0.3 * np.eye(n), (C, 1, 1)), atol=1e-12)
    np.testing.assert_array_equal(kernel.K(X, X), linear.K(X, X))


@pytest.mark.parametrize("name", ALL)
def test_single_precision_is_enough_for_standardised_inputs(name, rng):
    X, Z = rng.normal(size=(1, 200, D)), rng.normal(size=(C, M, D))
    values = []
    for dtype in (tf.float32, tf.float64):
        kernel, (x, z) = make(name, dtype=dtype), (tf.constant(a, dtype) for a in (X, Z))
        of_kernel = kernel.K(x), kernel.K(z, x), kernel.K_diag(x)
        assert all(value.dtype == dtype for value in of_kernel)
        values.append(of_kernel)
    for single, double in zip(*values, strict=True):
        np.testing.assert_allclose(single, double, atol=2e-5 * np.max(np.abs(double)))
