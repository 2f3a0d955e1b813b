"""The bound: its minibatches, and that it is one."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.build import ModelSettings, build_model, model_from_weights, weights_of

from .conftest import COMBINATIONS, SEED, C, N, batch_of


@pytest.mark.parametrize("likelihood", ["step", "softmax"])
def test_minibatches_add_up_to_the_full_bound(make_model, data, likelihood):
    """The scale of a minibatch is N/B: the mean over the parts of the data is the bound of the whole."""
    model = make_model("mgp", likelihood)
    if likelihood == "softmax":
        model.likelihood.num_draws = 200_000
    parts = [model.elbo(batch_of(*data, index), SEED) for index in np.split(np.arange(N), 4)]
    np.testing.assert_allclose(np.mean(parts), model.elbo(batch_of(*data), SEED), rtol=2e-3)


def test_bound_is_below_the_evidence(rng):
    """``L ≤ log ∫ p(y|f) p(f) df`` of the step likelihood, by drawing f from the prior; close to it after training."""
    from fermiclass.nimgp.training import TrainingSettings, train

    X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([0, 1, 0])
    model = build_model(ModelSettings("mgp", "step", epsilon=0.1, jitter=1e-6), X, num_classes=2, num_data=3)
    for parameter in (*model.kernel.trainable_parameters, model.posterior.Z):
        gpflow.set_trainable(parameter, False)
    K = model.kernel.K(tf.constant(X)).numpy()
    f = np.stack([rng.multivariate_normal(np.zeros(3), K[c], size=400_000) for c in range(2)], axis=1)
    right = f.argmax(axis=1) == y
    evidence = np.log(np.mean(np.prod(np.where(right, 0.9, 0.1), axis=1)))
    batch = batch_of(X, np.zeros_like(X), y)
    start = float(model.elbo(batch, SEED))
    list(train(model, X, np.zeros_like(X), y, TrainingSettings(steps=400, learning_rate=0.05)))
    end = float(model.elbo(batch, SEED))
    assert start < end < evidence
    assert evidence - end < 0.5


def test_priors_enter_only_where_asked_for(make_model):
    with_priors, without = make_model(), make_model(hyper_priors=False)
    assert with_priors.log_prior_density() != 0
    assert without.log_prior_density() == 0


@pytest.mark.parametrize(("method", "likelihood"), COMBINATIONS)
def test_weights_round_trip(make_model, data, method, likelihood):
    model, X = make_model(method, likelihood), data[0]
    weights = weights_of(model)
    again = model_from_weights(ModelSettings(method, likelihood), weights)
    ours, theirs = (m.posterior.latent_moments(m.kernel, tf.constant(X)) for m in (model, again))
    np.testing.assert_allclose(theirs.mean, ours.mean, rtol=1e-12)
    np.testing.assert_allclose(theirs.var, ours.var, rtol=1e-12)
    assert all(a.dtype == np.float64 for a in weights.values())


def test_weights_that_do_not_fit_are_refused(make_model):
    weights = weights_of(make_model())
    settings = ModelSettings()
    with pytest.raises(ValueError, match=r"no inducing points 'posterior\.Z'"):
        model_from_weights(settings, {})
    with pytest.raises(ValueError, match=r"posterior\.q_mu differ"):
        model_from_weights(settings, {k: v for k, v in weights.items() if k != "posterior.q_mu"})
    with pytest.raises(ValueError, match=rf"q_mu have shape \({C},\), a model with these inducing points needs"):
        model_from_weights(settings, weights | {"posterior.q_mu": np.zeros(C)})


def test_unknown_choices_are_refused():
    with pytest.raises(ValueError, match="method='svm' is unknown: choose one of mgp, nimgp"):
        ModelSettings(method="svm")
    with pytest.raises(ValueError, match="likelihood='gauss' is unknown: choose one of softmax, step"):
        ModelSettings(likelihood="gauss")
