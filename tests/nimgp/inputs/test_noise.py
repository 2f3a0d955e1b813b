"""Where V comes from: shapes, starting values, and that a bound can learn it."""

from dataclasses import replace

import numpy as np
import pytest

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
