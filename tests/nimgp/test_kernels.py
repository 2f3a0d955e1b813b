"""Covariance functions against GPflow's, one class at a time."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.kernels import Linear, PerClass, SquaredExponential, Sum, White

C, D = 3, 2


@pytest.fixture
def X(rng):
    return rng.normal(size=(7, D))


@pytest.fixture
def Z(rng):
    return rng.normal(size=(C, 5, D))


@pytest.fixture
def squared_exponential(rng):
    kernel = SquaredExponential(C, D)
    kernel.variance.assign(rng.uniform(0.5, 2, C))
    kernel.lengthscales.assign(rng.uniform(0.5, 2, (C, D)))
    return kernel


def gpflow_counterpart(kernel):
    return PerClass(
        [gpflow.kernels.RBF(variance=kernel.variance[c], lengthscales=kernel.lengthscales[c].numpy()) for c in range(C)]
    )


def test_squared_exponential_is_gpflows(squared_exponential, X, Z):
    theirs = gpflow_counterpart(squared_exponential)
    np.testing.assert_allclose(squared_exponential.K(X), theirs.K(X), atol=1e-12)
    np.testing.assert_allclose(squared_exponential.K(Z), theirs.K(Z), atol=1e-12)
    np.testing.assert_allclose(squared_exponential.K(Z, X), theirs.K(Z, tf.constant(X)), atol=1e-12)
    np.testing.assert_allclose(squared_exponential.K_diag(X), theirs.K_diag(X), atol=1e-12)


def test_linear_is_gpflows(rng, X, Z):
    kernel = Linear(C)
    kernel.variance.assign(rng.uniform(0.5, 2, C))
    theirs = PerClass([gpflow.kernels.Linear(variance=kernel.variance[c]) for c in range(C)])
    np.testing.assert_allclose(kernel.K(X), theirs.K(X), atol=1e-12)
    np.testing.assert_allclose(kernel.K(Z), theirs.K(Z), atol=1e-12)
    np.testing.assert_allclose(kernel.K(Z, X), theirs.K(Z, tf.constant(X)), atol=1e-12)
    np.testing.assert_allclose(kernel.K_diag(X), theirs.K_diag(X), atol=1e-12)


def test_diagonal_is_that_of_the_matrix(squared_exponential, X):
    kernel = Sum([squared_exponential, White(C, variance=0.3), Linear(C, variance=0.7)])
    np.testing.assert_allclose(kernel.K_diag(X), np.diagonal(kernel.K(X), axis1=1, axis2=2), rtol=1e-12)


def test_white_noise_knows_the_same_point_from_the_same_place(X):
    kernel = White(C, variance=0.3)
    np.testing.assert_allclose(kernel.K(X), np.tile(0.3 * np.eye(len(X)), (C, 1, 1)))
    np.testing.assert_array_equal(kernel.K(X, X), np.zeros((C, len(X), len(X))))


def test_sum_adds(squared_exponential, X, Z):
    double = Sum([squared_exponential, squared_exponential])
    np.testing.assert_allclose(double.K(Z, X), 2 * squared_exponential.K(Z, X))


def test_single_precision_is_enough_for_standardised_inputs(rng):
    X = rng.normal(size=(200, D))
    single, double = (
        SquaredExponential(1, D, lengthscales=0.3, dtype=t).K(tf.constant(X, t)) for t in (tf.float32, tf.float64)
    )
    np.testing.assert_allclose(single, double, atol=2e-5)
