"""What every input model has to do with every likelihood, kernel, noise and p(x)."""

from itertools import product

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.inputs.models import Batch
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.model import NoisyInputGP, build_model
from fermiclass.nimgp.names import FIRST_ORDER, LIKELIHOODS, NOISES
from fermiclass.nimgp.prediction.predictor import ClassPredictor
from fermiclass.nimgp.settings import Settings

from .conftest import COMBINATIONS, KERNEL_SUMS, SEED, WITH_PRIOR, mixture, perturbed

C, N, M, D = 3, 6, 4, 2
TARGETS = 3
DRAWS = 4


class Recorded(gpflow.Module):
    """An input model that keeps what it was asked for and what it returned."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.calls = inner, []

    def source_terms(self, functions, log_p, batch, seed):
        terms = self.inner.source_terms(functions, log_p, batch, seed)
        self.calls.append((batch, terms))
        return terms


def built(method="mgp", likelihood="step", kernel="se", noise="given", prior=None):
    """A model by name, its parameters moved."""
    rng = np.random.default_rng(5)
    settings = Settings(method, likelihood, kernel, noise=noise, objective="elbo", hyper={"priors": False})
    Z = rng.normal(size=(M, D))
    return perturbed(build_model(settings, Z, num_classes=C, num_data=N, input_prior=prior), rng, 0.2)


@pytest.fixture(scope="module")
def functions():
    """Models of every kernel and noise, of which the sweep takes these and the inducing points."""
    return {(kernel, noise): built(kernel=kernel, noise=noise) for kernel in KERNEL_SUMS for noise in NOISES}


def composed(own, functions):
    """Input model and likelihood of the one, kernel, noise and inducing points of the other."""
    parts = functions.kernel, own.likelihood, Recorded(own.input_model), functions.noise, functions.posterior
    return NoisyInputGP(*parts, num_data=N, predictive=own.predictive)


def check(model, about, *, knows_noise, seed_too):
    """Shapes, finite gradients, the same seed the same value."""
    rng = np.random.default_rng(6)
    X, X_var, y = rng.normal(size=(N, D)), rng.uniform(0.05, 0.4, (N, D)), np.arange(N) % C
    batch = Batch(None, tf.constant(X), tf.constant(X_var), tf.constant(y, tf.int32))
    variables = model.trainable_variables
    with tf.GradientTape() as tape:
        elbo = model.objective(batch, SEED)
    ((asked, terms),) = model.input_model.calls
    assert asked.X_var.shape == (N, D), about
    assert terms.shape == (N,), about
    assert elbo.shape == (), about
    assert np.isfinite(elbo), about
    assert elbo < 0, about  # of the probability of labels
    unused = () if knows_noise or model.noise is None else model.noise.trainable_variables
    for gradient, variable in zip(tape.gradient(elbo, variables), variables, strict=True):
        if any(variable is one for one in unused):
            assert gradient is None, about
        else:
            assert np.all(np.isfinite(tf.convert_to_tensor(gradient))), (about, variable.name)
            assert np.any(gradient), (about, variable.name)
    if seed_too:
        assert model.objective(batch, SEED) == elbo, about


def check_prediction(model, rng, prior=None, first_order=False):
    """Probabilities that are some, and parts of the entropy that are not negative."""
    predictor = ClassPredictor(model, input_prior=prior, first_order=first_order)
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
def test_every_kernel_and_noise(functions, rng, method, likelihood):
    """A likelihood meets moments of latent functions, and no kernel: one of them has all kernels."""
    own = {noise: built(method, likelihood, noise=noise) for noise in NOISES}
    for kernel, noise in product(KERNEL_SUMS if likelihood == "softmax" else ("se+linear",), NOISES):
        model = composed(own[noise], functions[kernel, noise])
        check(model, (kernel, noise), knows_noise=method != "mgp", seed_too=kernel == "se+linear")
        if noise == "given":  # prediction knows nothing of where V comes from
            check_prediction(model, rng, first_order=method in FIRST_ORDER)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("method", WITH_PRIOR)
@pytest.mark.usefixtures("eagerly", "small_blocks")
def test_every_prior_of_the_inputs(functions, rng, method, likelihood):
    X, X_var = rng.normal(size=(40, D)), rng.uniform(0.05, 0.4, (40, D))
    population = InputPrior.population(X, X_var, iterations=5)
    flat, isotropic = (InputPrior.isotropic(D, variance) for variance in (np.inf, 2.0))
    for prior, noise in zip((flat, isotropic, population, mixture(rng, 3)), (*NOISES, "given"), strict=True):
        model = composed(built(method, likelihood, noise=noise, prior=prior), functions["se", noise])
        check(model, (prior, noise), knows_noise=True, seed_too=False)
        check_prediction(model, rng, prior)
