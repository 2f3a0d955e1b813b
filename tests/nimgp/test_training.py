"""Training: what it yields, that it is reproducible, and how it fails."""

import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.build import ModelSettings, build_model, weights_of
from fermiclass.nimgp.inducing import initial_inducing_points
from fermiclass.nimgp.training import TrainingError, TrainingSettings, train

from .conftest import COMBINATIONS


@pytest.fixture
def problem(rng):
    y = rng.integers(0, 3, 90)
    centres = np.array([[0.0, 1.5], [1.5, -1.0], [-1.5, -1.0]])
    return centres[y] + 0.3 * rng.normal(size=(90, 2)), np.full((90, 2), 0.09), y


def trained(problem, settings, dtype=tf.float64, **model_settings):
    X, X_var, y = problem
    Z = initial_inducing_points(X, 12, "kmeans", np.random.default_rng(0))
    model = build_model(ModelSettings(**model_settings), Z, num_classes=3, num_data=len(y), dtype=dtype)
    return model, list(train(model, X, X_var, y, settings))


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("batch_size", [None, 20])
@pytest.mark.parametrize(("method", "likelihood"), COMBINATIONS)
def test_bound_rises(problem, method, likelihood, batch_size, dtype):
    settings = TrainingSettings(steps=100, batch_size=batch_size, learning_rate=0.05)
    model, states = trained(problem, settings, dtype, method=method, likelihood=likelihood)
    assert [s.step for s in states] == [20, 40, 60, 80, 100]
    assert states[-1].elbo > states[0].elbo
    assert model.posterior.q_mu.dtype == dtype


def test_same_seed_same_bits_another_seed_others(problem):
    runs = [trained(problem, TrainingSettings(steps=40, batch_size=20, seed=s))[0] for s in (0, 0, 1)]
    first, again, other = (weights_of(model) for model in runs)
    assert all(np.array_equal(first[key], again[key]) for key in first)
    assert not np.array_equal(first["posterior.q_mu"], other["posterior.q_mu"])


def test_a_bound_that_is_no_number_is_an_error(problem):
    X, X_var, y = problem
    X_var = X_var.copy()
    X_var[3, 0] = np.nan
    with pytest.raises(TrainingError, match="the bound became nan between steps 0 and 20: try a smaller learning rate"):
        trained((X, X_var, y), TrainingSettings(steps=20))


def test_inducing_points(rng):
    X = np.repeat(rng.normal(size=(30, 2)), 2, axis=0)
    for method in ("kmeans", "random"):
        Z = initial_inducing_points(X, 10, method, np.random.default_rng(0))
        assert Z.shape == (10, 2)
        np.testing.assert_array_equal(Z, initial_inducing_points(X, 10, method, np.random.default_rng(0)))
    assert initial_inducing_points(X, 100, "kmeans", np.random.default_rng(0)).shape == (30, 2)
    with pytest.raises(ValueError, match="unknown method 'grid' for the inducing points: choose one of kmeans, random"):
        initial_inducing_points(X, 10, "grid", np.random.default_rng(0))
