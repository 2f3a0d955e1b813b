"""The network of NIMGP_NN: where it starts, what it sees, and that it has the moments it says."""

import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.inputs.models import AmortisedInputs, OneHot, PerSourceInputs
from fermiclass.nimgp.model import build_model
from fermiclass.nimgp.settings import Settings
from tests.nimgp.conftest import SEED, C, Coordinates, D, M, N, Recorder, batch_of, mixture, perturbed


@pytest.mark.parametrize("hidden", [(), (7,), (7, 5)])
def test_it_starts_at_the_noise(data, hidden):
    m, s = AmortisedInputs(D, OneHot(C), hidden=hidden).moments(batch_of(*data))
    np.testing.assert_array_equal(m, np.zeros((N, D)))
    np.testing.assert_array_equal(s, np.ones((N, D)))


def test_it_is_a_network_of_rectified_units(data, rng):
    X, X_var, y = data
    model = perturbed(AmortisedInputs(D, OneHot(C), hidden=(7, 5)), rng)
    layer = np.concatenate([X, np.eye(C)[y], np.sqrt(X_var)], axis=1)
    for k, (weights, bias) in enumerate(zip(model.weights, model.biases, strict=True)):
        layer = (np.maximum(layer, 0) if k else layer) @ weights.numpy() + bias.numpy()
    m, s = model.moments(batch_of(X, X_var, y))
    np.testing.assert_allclose(m, layer[:, :D], rtol=1e-12)
    np.testing.assert_allclose(s, np.exp(layer[:, D:]), rtol=1e-12)


def test_its_terms_are_those_of_its_moments(data, rng):
    """As if every source had the network's m and s for its own."""
    prior = mixture(rng)
    model, own = (perturbed(AmortisedInputs(D, OneHot(C), prior=prior), rng), PerSourceInputs((N, D), prior=prior))
    batch = batch_of(*data)
    for parameter, value in zip((own.mean, own.variance), model.moments(batch), strict=True):
        parameter.assign(value)
    terms = [m.source_terms(Coordinates(), Recorder(), batch, SEED) for m in (model, own)]
    np.testing.assert_allclose(*terms, rtol=1e-10)


@pytest.mark.parametrize("sees_noise", [True, False])
def test_what_it_sees(data, rng, sees_noise):
    X, X_var, y = data
    model = perturbed(AmortisedInputs(D, OneHot(C), sees_noise=sees_noise), rng)

    def moments(*batch):
        return np.concatenate(model.moments(batch_of(*batch)))

    usual = moments(X, X_var, y)
    assert np.any(moments(X + 0.1, X_var, y) != usual)
    assert np.any(moments(X, X_var, (y + 1) % C) != usual)
    assert np.any(moments(X, 2 * X_var, y) != usual) == sees_noise


@pytest.mark.parametrize(("noise", "inputs"), [("given", 2 * D + C), ("shared", D + C), ("per-feature", D + C)])
def test_a_learned_noise_is_no_input(rng, noise, inputs):
    settings = Settings("nimgp-nn", noise=noise, inputs={"hidden": (7, 7)})
    model = build_model(settings, rng.normal(size=(M, D)), num_classes=C, num_data=N)
    assert [tuple(w.shape) for w in model.input_model.weights] == [(inputs, 7), (7, 7), (7, 2 * D)]
    assert all(tf.reduce_all(tf.math.is_finite(w)) for w in model.input_model.weights)
