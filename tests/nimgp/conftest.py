"""Small models with parameters far from their starting values."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.build import LIKELIHOODS, METHODS, ModelSettings, build_model
from fermiclass.nimgp.inputs import InputBatch
from fermiclass.nimgp.model import Batch

C, N, M, D = 3, 12, 5, 2
SEED = tf.constant([3, 4], tf.int32)
COMBINATIONS = list(itertools.product(METHODS, LIKELIHOODS))


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture
def data(rng):
    """Inputs, variances and labels of N sources."""
    return rng.normal(size=(N, D)), rng.uniform(0.05, 0.4, (N, D)), np.arange(N) % C


def perturbed(model, rng, scale=0.3):
    """The same model, every unconstrained parameter moved."""
    for variable in model.trainable_variables:
        variable.assign_add(tf.cast(scale * rng.normal(size=variable.shape), variable.dtype))
    return model


@pytest.fixture
def make_model(rng):
    """A perturbed model of the method and likelihood asked for."""

    def make(method="nimgp", likelihood="softmax", **settings):
        model = build_model(
            ModelSettings(method, likelihood, **settings), rng.normal(size=(M, D)), num_classes=C, num_data=N
        )
        return perturbed(model, rng)

    return make


def batch_of(X, X_var, y, index=None):
    index = np.arange(len(y)) if index is None else index
    inputs = InputBatch(tf.constant(index), tf.constant(X[index]), tf.constant(X_var[index]))
    return Batch(inputs, tf.constant(y[index], tf.int32))
