"""What every combination of input model, likelihood, kernel, noise and p(x) has to do."""

import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.build import ModelSettings, build_model
from fermiclass.nimgp.input_prior import InputPrior
from fermiclass.nimgp.inputs import Batch
from fermiclass.nimgp.names import KERNELS, LIKELIHOODS, METHODS, NOISES
from fermiclass.nimgp.prediction import Predictor

from .conftest import COMBINATIONS, KERNEL_SUMS, SEED, WITH_PRIOR, mixture, perturbed

C, N, M, D = 3, 6, 4, 2
TARGETS = 3
DRAWS = 4


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("fermiclass.nimgp.prediction._POINTS_PER_BLOCK", TARGETS * DRAWS)


def check(settings, rng, priors=None):
    """The contract: shapes, finite gradients, the same seed the same value, probabilities."""
    about = str(settings)
    X, X_var, y = rng.normal(size=(N, D)), rng.uniform(0.05, 0.4, (N, D)), np.arange(N) % C
    model = build_model(settings, rng.normal(size=(M, D)), num_classes=C, num_data=N, input_priors=priors)
    perturbed(model, rng, 0.2)
    batch = Batch(None, tf.constant(X), tf.constant(X_var), tf.constant(y, tf.int32))
    variables = model.trainable_variables
    recorded, source_terms = [], model.input_model.source_terms
    model.input_model.source_terms = lambda *parts: recorded.append((parts, source_terms(*parts))) or recorded[-1][1]
    with tf.GradientTape() as tape:
        elbo = model.elbo(batch, SEED)
    (_, _, asked, _), terms = recorded[0]
    assert asked.X_var.shape == (N, D), about
    assert terms.shape == (N,), about
    assert elbo.shape == (), about
    assert np.isfinite(elbo), about
    assert elbo < 0, about  # of the probability of labels
    if settings.kernel == "se":
        assert model.elbo(batch, SEED) == elbo, about
    unused = model.noise.trainable_variables if settings.method == "mgp" else ()  # which knows of no V
    for gradient, variable in zip(tape.gradient(elbo, variables), variables, strict=True):
        if any(variable is one for one in unused):
            assert gradient is None, about
        else:
            assert np.all(np.isfinite(tf.convert_to_tensor(gradient))), f"{about}: {variable.name}"
            assert np.any(gradient), f"{about}: {variable.name}"
    return model


def check_prediction(model, rng, prior=None, first_order=False):
    """Probabilities that are some, and parts of the entropy that are not negative."""
    predictor = Predictor(model, input_prior=prior, first_order=first_order)
    X, X_var = rng.normal(size=(TARGETS, D)), rng.uniform(0.05, 0.4, (TARGETS, D))
    prediction = predictor.predict(X, X_var, num_draws=DRAWS)
    assert prediction.probabilities.shape == prediction.std.shape == (TARGETS, C)
    np.testing.assert_allclose(prediction.probabilities.sum(axis=1), 1.0, atol=1e-12)
    assert prediction.probabilities.min() > 0
    for values in (prediction.std, prediction.entropy, prediction.information, prediction.noise_entropy):
        assert np.all(np.isfinite(values))
        assert values.min() >= 0


@pytest.mark.parametrize(("method", "likelihood"), COMBINATIONS)
@pytest.mark.usefixtures("eagerly", "small_blocks")
def test_every_kernel_and_noise(method, likelihood, rng):
    for kernel in KERNEL_SUMS:
        for noise in NOISES:
            settings = ModelSettings(method, likelihood, kernel, noise, hyper_priors=False)
            model = check(settings, rng)
        check_prediction(model, rng, first_order=settings.first_order)  # which knows nothing of where V comes from


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("method", WITH_PRIOR)
@pytest.mark.usefixtures("eagerly", "small_blocks")
def test_every_prior_of_the_inputs(method, likelihood, rng):
    X, X_var = rng.normal(size=(40, D)), rng.uniform(0.05, 0.4, (40, D))
    population = InputPrior.population(X, X_var, iterations=5)
    flat, isotropic = (InputPrior.isotropic(D, variance) for variance in (np.inf, 2.0))
    for prior, noise in zip((flat, isotropic, population, mixture(rng, 3)), (*NOISES, "given"), strict=True):
        model = check(ModelSettings(method, likelihood, "se", noise, hyper_priors=False), rng, [prior])
        check_prediction(model, rng, prior)


def test_the_sweep_is_complete():
    assert {method for method, _ in COMBINATIONS} == set(METHODS)
    assert {likelihood for _, likelihood in COMBINATIONS} == set(LIKELIHOODS)
    assert set(KERNELS) < set(KERNEL_SUMS)
    assert set(WITH_PRIOR) < set(METHODS)
