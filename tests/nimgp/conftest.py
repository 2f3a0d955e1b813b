"""Small models with parameters far from their starting values, and parts that stand in for others."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.inputs.models import Batch
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.model import build_model
from fermiclass.nimgp.names import KERNELS, LIKELIHOODS, METHODS
from fermiclass.nimgp.posterior import LatentMoments
from fermiclass.nimgp.settings import Settings

C, N, M, D = 3, 12, 5, 2
SEED = tf.constant([3, 4], tf.int32)
COMBINATIONS = list(itertools.product(METHODS, LIKELIHOODS))
KERNEL_SUMS = (*KERNELS, "se+linear", "matern32+polynomial")
#: Methods whose bound has a q(x), and so a p(x).
WITH_PRIOR = ("nimgp", "nimgp-nn")


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture
def small_blocks(monkeypatch):
    """Few rows are not filled up to blocks of many."""
    monkeypatch.setattr("fermiclass.nimgp.prediction.predictor._POINTS_PER_BLOCK", 128)


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

    def make(method="nimgp", likelihood="softmax", input_prior=None, **settings):
        model = build_model(
            Settings(method, likelihood, **{"objective": "elbo", "label_noise": 0, **settings}),
            rng.normal(size=(M, D)),
            num_classes=C,
            num_data=N,
            input_prior=input_prior,
        )
        return perturbed(model, rng)

    return make


def batch_of(X, X_var, y, rows=None):
    """All sources, or those in `rows`."""
    chosen = slice(None) if rows is None else rows
    index = None if rows is None else tf.constant(rows, tf.int32)
    return Batch(index, tf.constant(X[chosen]), tf.constant(X_var[chosen]), tf.constant(y[chosen], tf.int32))


def mixture(rng, components=2, input_dim=D):
    """p(x) of several components of different shapes."""
    A = rng.normal(size=(components, input_dim, input_dim))
    precision = A @ A.swapaxes(-1, -2) + 0.3 * np.eye(input_dim)
    return InputPrior(rng.dirichlet(np.full(components, 5.0)), rng.normal(size=(components, input_dim)), precision)


def draw(prior, count, rng):
    """Draws of p(x), (count, D)."""
    component = rng.choice(len(prior.weights), size=count, p=prior.weights)
    factors = np.linalg.cholesky(np.linalg.inv(prior.precision))
    normal = rng.normal(size=(count, prior.mean.shape[1]))
    return prior.mean[component] + np.einsum("nij,nj->ni", factors[component], normal)


class Coordinates:
    """Latent functions that are known exactly, f^d(x) = x_d: their means are the inputs they are asked for."""

    def moments(self, X):
        mean = tf.linalg.matrix_transpose(X)
        return LatentMoments(mean, tf.zeros_like(mean))


class Recorder:
    """An expectation over f that says nothing and keeps what it was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, latent, y, seed):
        self.asked.append(latent)
        return tf.zeros(tf.shape(y), latent.mean.dtype)
