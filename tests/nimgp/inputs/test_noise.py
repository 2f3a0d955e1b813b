"""Where V comes from: shapes, starting values, and that a bound can learn it."""

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.model import build_model
from fermiclass.nimgp.names import METHODS, NOISES
from fermiclass.nimgp.settings import Settings
from tests.nimgp.conftest import SEED, C, D, M, N, batch_of


@pytest.mark.parametrize(("noise", "shape"), [("given", None), ("shared", (1,)), ("per-feature", (D,))])
def test_noise_by_name(rng, noise, shape):
    model = build_model(
        Settings("nimgp", noise=noise, hyper={"noise": 0.25}), rng.normal(size=(M, D)), num_classes=C, num_data=N
    )
    assert set(NOISES) == {"given", "shared", "per-feature"}
    if shape is None:
        assert model.noise is None
    else:
        np.testing.assert_allclose(model.noise, np.full(shape, 0.25))


@pytest.mark.parametrize("method", METHODS)
def test_a_learned_variance_replaces_what_is_given(make_model, data, method):
    X, X_var, y = data
    model = make_model(method, noise="per-feature")
    value = model.objective(batch_of(X, X_var, y), SEED)
    np.testing.assert_array_equal(model.objective(batch_of(X, np.zeros_like(X), y), SEED), value)
    given = replace(model, noise=None)
    np.testing.assert_array_equal(given.objective(batch_of(X, X * 0.0 + model.noise.numpy(), y), SEED), value)
    model.noise.assign(2 * model.noise)
    assert (model.objective(batch_of(X, X_var, y), SEED) != value) == (method != "mgp")


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"mgp"}))
def test_a_learned_variance_has_the_gradient_of_the_bound(make_model, data, method):
    """By central differences of the bound."""
    model, batch = make_model(method, "step", noise="per-feature"), batch_of(*data)
    variable = model.noise.trainable_variables[0]
    with tf.GradientTape() as tape:
        value = model.objective(batch, SEED)
    gradient, start = tape.gradient(value, variable).numpy(), variable.numpy()
    assert np.all(np.abs(gradient) > 1e-6)
    for j in range(D):
        moved = []
        for sign in (1, -1):
            variable.assign(start + sign * 1e-5 * np.eye(D)[j])
            moved.append(model.objective(batch, SEED).numpy())
        np.testing.assert_allclose((moved[0] - moved[1]) / 2e-5, gradient[j], rtol=1e-4, atol=1e-6)
