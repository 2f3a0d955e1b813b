"""GPflow's likelihoods as ours: against sampling, GPflow's sparse model, and closed forms; with every input model."""

import re
from itertools import product

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy.special import logsumexp
from scipy.stats import norm

from fermiclass.nimgp.errors import KernelError
from fermiclass.nimgp.from_gpflow import GPflowLikelihood, Softplus, check_kernel
from fermiclass.nimgp.inputs.models import Batch
from fermiclass.nimgp.likelihoods.outputs import make_output_likelihood, quantile_given, quantiles_of_draws
from fermiclass.nimgp.model import build_output_model
from fermiclass.nimgp.names import METHODS, RESPONSES
from fermiclass.nimgp.posterior import LatentMoments
from fermiclass.nimgp.prediction.predictor import ResponsePredictor
from fermiclass.nimgp.settings import RegressorSettings
from fermiclass.nimgp.targets import Outputs
from tests.nimgp.conftest import SEED, D, M, N, perturbed

own, kernels = gpflow.likelihoods, gpflow.kernels
DRAWS = 50_000
OFFSET = 0.3

#: GPflow's likelihoods, an output of each row, and whether y is a class.
CASES = {
    "gaussian": (own.Gaussian(0.3), np.array([-1.0, 0.0, 0.4, 2.0])),
    "student-t": (own.StudentT(0.5, df=4.0), np.array([-3.0, 0.0, 0.4, 8.0])),
    "poisson": (own.Poisson(), np.array([0.0, 1.0, 3.0, 12.0])),
    "poisson in bins": (own.Poisson(binsize=2.0), np.array([0.0, 1.0, 3.0, 12.0])),
    "bernoulli": (own.Bernoulli(), np.array([0.0, 1.0, 1.0, 0.0])),
    "heteroskedastic": (own.HeteroskedasticTFPConditional(), np.array([-1.0, 0.0, 0.4, 2.0])),
    "exponential": (own.Exponential(), np.array([0.1, 1.0, 2.0, 5.0])),
    "gamma": (own.Gamma(shape=2.0), np.array([0.1, 1.0, 2.0, 5.0])),
    "beta": (own.Beta(scale=3.0), np.array([0.1, 0.5, 0.6, 0.9])),
    "softmax": (own.Softmax(3), np.array([0, 1, 2, 1])),
    "robust max": (own.MultiClass(3), np.array([0, 1, 2, 1])),
}
OF_CLASSES = ("softmax", "robust max")
WITH_QUANTILES = ("gaussian", "student-t", "poisson", "poisson in bins", "bernoulli")
WHOLE = WITH_QUANTILES[2:]


@pytest.fixture(params=CASES)
def case(request, rng):
    likelihood, y = CASES[request.param]
    adapted = GPflowLikelihood(likelihood, offset=OFFSET, num_draws=20_000, num_points=8192)
    shape = adapted.num_functions, len(y)
    latent = LatentMoments(tf.constant(0.5 * rng.normal(size=shape)), tf.constant(rng.uniform(0.05, 0.4, shape)))
    f = latent.mean.numpy() + rng.normal(size=(DRAWS, *shape)) * np.sqrt(latent.var.numpy()) + OFFSET
    return request.param, adapted, latent, y, f


def log_prob(adapted, f, y):
    """By GPflow's own formula, (S, n)."""
    kind = np.int32 if isinstance(adapted.likelihood, (own.Softmax, own.MultiClass)) else np.float64
    rows = np.moveaxis(f, 1, 2).reshape(-1, f.shape[1])
    y = np.tile(y, len(f)).astype(kind)[:, None]
    return adapted.likelihood.log_prob(np.empty((len(rows), 0)), rows, y).numpy().reshape(len(f), -1)


def assert_is_mean(found, values):
    """Within five standard errors of the mean of draws."""
    error = 5 * values.std(axis=0) / np.sqrt(len(values))
    np.testing.assert_array_less(np.abs(np.asarray(found) - values.mean(axis=0)), error + 2e-3)


def test_expectations_by_sampling(case):
    _, adapted, latent, y, f = case
    log_p = log_prob(adapted, f, y)
    assert_is_mean(adapted.variational_expectations(latent, tf.constant(y), SEED), log_p)
    p = np.exp(log_p)
    assert_is_mean(np.exp(adapted.log_predictive(latent, tf.constant(y), SEED)), p)
    assert_is_mean(np.exp(adapted.log_density(latent, tf.constant(y))), p)


def test_moments_by_sampling(case):
    name, adapted, latent, y, f = case
    mean, var = (a.numpy() for a in adapted.mean_and_var(latent))
    if name in OF_CLASSES:
        of_class = np.stack([np.exp(log_prob(adapted, f, np.full(len(y), c))) for c in range(3)], axis=-1)
        assert_is_mean(mean, of_class)
        np.testing.assert_allclose(mean.sum(axis=1), 1.0, atol=1e-4)  # by quadrature
        return
    rows = np.moveaxis(f[:20_000], 1, 2)  # (S, n, L)
    given = (adapted.likelihood.conditional_mean, adapted.likelihood.conditional_variance)
    m, v = (np.asarray(of(rows[..., :0], rows))[..., 0] for of in given)
    np.testing.assert_allclose(mean[:, 0], m.mean(axis=0), rtol=0.03, atol=0.02)
    np.testing.assert_allclose(var[:, 0], (v + m**2).mean(axis=0) - m.mean(axis=0) ** 2, rtol=0.06, atol=0.02)


def test_quantiles_are_those_of_the_densities(case):
    """``dy / d level = 1 / p(y)``; for integers, the sum of p(y) up to the quantile is the first above the level."""
    name, adapted, _, y, f = case
    if name not in WITH_QUANTILES:
        with pytest.raises(NotImplementedError, match="has no quantiles"):
            quantiles_of_draws(adapted.likelihood, f, (0.5,))
        return
    f = f[:50, 0]
    for level in (0.1, 0.7):
        value = quantile_given(adapted.likelihood, f, level)
        if name in WHOLE:
            p = np.exp([log_prob(adapted, f[:, None], np.full(len(y), float(k))) for k in range(int(value.max()) + 1)])
            below = np.cumsum(np.concatenate([0.0 * p[:1], p]), axis=0)
            at = value.astype(int)[None]
            slack = 2e-3 if name == "bernoulli" else 1e-9  # GPflow's own jitter
            assert np.all(np.take_along_axis(below, at + 1, axis=0) >= level - slack)
            assert np.all(np.take_along_axis(below, at, axis=0) < level + slack)
        else:
            h = 1e-5
            slope = quantile_given(adapted.likelihood, f, level + h) - quantile_given(adapted.likelihood, f, level - h)
            p = np.exp([log_prob(adapted, f[k : k + 1, None], value[k])[0] for k in range(len(f))])
            right = np.abs(slope / (2 * h) * p - 1.0) < 1e-3
            assert right.mean() > 0.97  # but for values that are rounded to the end of their range


def test_labels_have_probabilities(rng):
    for likelihood, num_classes in ((own.Bernoulli(), 2), (own.Softmax(3), 3)):
        adapted = GPflowLikelihood(likelihood)
        assert adapted.num_classes == num_classes
        latent = LatentMoments(*(tf.constant(rng.uniform(0.1, 1, (adapted.num_functions, 5))) for _ in range(2)))
        moments = adapted.predict(latent, tf.ones((num_classes, 5), tf.float64))
        np.testing.assert_allclose(tf.reduce_sum(moments.mean, axis=0), 1.0, rtol=1e-9)
        for c in range(num_classes):
            y = tf.fill([5], c)
            np.testing.assert_allclose(moments.mean[c], np.exp(adapted.log_density(latent, y)), atol=3e-3)
    assert GPflowLikelihood(own.Poisson()).num_classes == 0


# --- in a model ------------------------------------------------------------------------------------------------------

OUTPUTS = {
    "gaussian": lambda rng: rng.normal(size=N),
    "student-t": lambda rng: rng.normal(size=N),
    "poisson": lambda rng: rng.poisson(3.0, N).astype(float),
    "bernoulli": lambda rng: np.arange(N) % 2.0,
}


def composed(method, likelihood, y, rng):
    settings = RegressorSettings(method, likelihood, training={"draw_pairs": 4})
    outputs = Outputs.of(likelihood, y)
    return perturbed(build_output_model(settings, rng.normal(size=(M, D)), outputs, num_data=N), rng, 0.2)


def batch(rng, y, noise):
    X, X_var = rng.normal(size=(N, D)), rng.uniform(0.05, 0.4, (N, D)) * noise
    return Batch(None, tf.constant(X), tf.constant(X_var), tf.constant(y))


@pytest.mark.parametrize(
    ("method", "name"),
    [
        *product(METHODS, ("gaussian", "softmax")),
        *product(("nimgp", "nimgp-fo"), RESPONSES[1:]),
    ],
)
@pytest.mark.usefixtures("eagerly", "unchecked", "small_blocks")
def test_every_input_model(method, name, rng):
    """A bound with gradients of all parameters, the likelihood's own among them, and predictions of both kinds."""
    y = OUTPUTS[name](rng) if name in OUTPUTS else np.arange(N) % 3
    model = composed(method, own.Softmax(3) if name == "softmax" else name, y, rng)
    data = batch(rng, y, 1.0)
    with tf.GradientTape() as tape:
        elbo = model.objective(data, SEED)
    assert elbo.shape == ()
    variables = model.trainable_variables
    for variable, gradient in zip(variables, tape.gradient(elbo, variables), strict=True):
        assert np.all(np.isfinite(tf.convert_to_tensor(gradient))), variable.name
        assert np.any(gradient), variable.name
    assert model.objective(data, SEED) == elbo
    if method in ("nimgp", "nimgp-fo"):  # others predict as one of these
        predictor = ResponsePredictor(model, first_order=method == "nimgp-fo")
        log_p = predictor.log_density(data.X.numpy(), data.X_var.numpy(), y, num_draws=4)
        assert np.all(np.isfinite(log_p))
        mean, var = predictor.moments(data.X.numpy(), data.X_var.numpy(), num_draws=4)
        assert mean.shape == var.shape == (N, 3 if name == "softmax" else 1)
        assert var.min() >= 0


def gpflows(model):
    """The same sparse model, by GPflow."""
    (se, linear), white = model.kernel.kernels, model.kernel.white
    kernel = (
        gpflow.kernels.RBF(se.variance[0], lengthscales=se.lengthscales[0])
        + gpflow.kernels.Linear(linear.variance[0])
        + gpflow.kernels.White(white[0])
    )
    return gpflow.models.SVGP(
        kernel,
        model.likelihood.likelihood,
        gpflow.inducing_variables.InducingPoints(model.posterior.Z.numpy()[0]),
        mean_function=gpflow.functions.Constant(model.likelihood.offset.numpy()),
        q_mu=model.posterior.q_mu.numpy().T,
        q_sqrt=np.tril(model.posterior.q_sqrt.numpy()),
        num_data=N,
    )


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.usefixtures("eagerly", "unchecked", "small_blocks")
def test_no_noise_is_gpflows_sparse_model(name, rng):
    y = OUTPUTS[name](rng)
    model = composed("mgp", name, y, rng)
    model.posterior.jitter.assign(0.0)
    data = batch(rng, y, 0.0)
    Y = y[:, None]
    with gpflow.config.as_context(gpflow.config.Config(jitter=0.0)):
        theirs = gpflows(model)
        np.testing.assert_allclose(model.objective(data, SEED), theirs.elbo((data.X, Y)), rtol=1e-8)
        new = rng.normal(size=(5, D))
        predictor = ResponsePredictor(model)
        for ours, expected in zip(predictor.moments(new, np.zeros_like(new)), theirs.predict_y(new), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-7)
        ours = predictor.log_density(new, np.zeros_like(new), y[:5])
        if name in ("gaussian", "bernoulli"):  # in closed form; by 20 points theirs are up to 0.08 off
            np.testing.assert_allclose(ours, theirs.predict_log_density((new, Y[:5])), rtol=1e-6, atol=1e-7)
        expected = on_a_grid(model.likelihood, *theirs.predict_f(new), y[:5])
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-4)


def on_a_grid(adapted, mean, var, y):
    """``log E p(y | f)`` over f of mean and variance (n, 1), by sums over many points."""
    nodes = np.linspace(-8, 8, 1601)
    f = np.transpose(mean) + np.sqrt(np.transpose(var)) * nodes[:, None, None]
    log_weights = norm.logpdf(nodes)
    return logsumexp(log_prob(adapted, f, y) + (log_weights - logsumexp(log_weights))[:, None], axis=0)


@pytest.mark.parametrize(
    ("likelihood", "message"),
    [
        ("poisson", "'poisson' is no likelihood: expected .*GPflow"),
        (own.SwitchedLikelihood([own.Gaussian()]), "SwitchedLikelihood has several outputs a row: expected one"),
        (own.Ordinal(np.array([0.0, 1.0])), "Ordinal of GPflow is NaN for its outermost grades: expected another"),
        (own.Gaussian(scale=gpflow.functions.Linear()), "scale of the likelihood Gaussian depends on the inputs"),
    ],
)
def test_odd_likelihoods_are_refused(likelihood, message):
    with pytest.raises(ValueError, match=message):
        GPflowLikelihood(likelihood)


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("poisson", [1.0, -1.0], "y is -1 in row 1: the likelihood 'poisson' needs whole numbers of 0 or more"),
        ("poisson", [0.0, 0.5], "y is 0.5 in row 1: the likelihood 'poisson' needs whole numbers"),
        ("bernoulli", [0.0, 2.0], "y is 2 in row 1: the likelihood 'bernoulli' needs 0 or 1"),
    ],
)
def test_odd_outputs_are_refused(name, y, message):
    with pytest.raises(ValueError, match=message):
        Outputs.of(name, np.array(y))


def made(likelihood, y):
    return make_output_likelihood(likelihood, Outputs.of(likelihood, y))


def test_a_likelihood_of_the_user_is_left_as_it_is():
    theirs = own.Gaussian(0.5)
    response = made(theirs, np.zeros(3))
    response.likelihood.variance.assign(2.0)
    assert theirs.variance.numpy() == pytest.approx(0.5)


@pytest.mark.parametrize("low", [None, np.float64(1e-3)])
def test_softplus_is_the_librarys(low):
    x = np.linspace(-30, 30, 13)
    expected = tfp.bijectors.Softplus(low=low)
    own = Softplus(low)
    unpacked = tf.nest.flatten(own, expand_composites=True)
    for one in (own, own.copy(), gpflow.utilities.deepcopy(own), tf.nest.pack_sequence_as(own, unpacked, True)):
        np.testing.assert_allclose(one.forward(x), expected.forward(x), rtol=1e-12)
        np.testing.assert_allclose(one.inverse(expected.forward(x)), expected.inverse(expected.forward(x)))
        np.testing.assert_allclose(
            one.forward_log_det_jacobian(x, 0), expected.forward_log_det_jacobian(x, 0), rtol=1e-12
        )


def in_single_precision(make):
    with gpflow.config.as_context(gpflow.config.Config(float=np.float32)):
        return make()


def with_prior(part, name, dtype):
    getattr(part, name).prior = tfp.distributions.LogNormal(*(tf.constant(value, dtype) for value in (0.0, 1.0)))
    return part


#: Kernels that do not fit three features, and a word of the message.
UNFIT = {
    "a feature too many": (kernels.RBF(active_dims=[0, 7]), "features 0 to 2"),
    "from the end": (kernels.RBF(active_dims=[-1]), "features 0 to 2"),
    "a slice too long": (kernels.RBF(active_dims=slice(1, 4)), "features 0 to 2"),
    "no feature": (kernels.RBF(active_dims=[]), "features 0 to 2"),
    "inside": (kernels.Linear() * kernels.Periodic(kernels.RBF(active_dims=[3])), "features 0 to 2"),
    "two lengthscales": (kernels.RBF(lengthscales=[1.0, 2.0]), "lengthscales of shape (2,)"),
    "two periods": (kernels.Periodic(kernels.RBF(), period=[1.0, 2.0]), "Incompatible shapes"),
    "change points": (kernels.ChangePoints([kernels.RBF(), kernels.Linear()], [0.0]), "1D"),
    "outputs": (kernels.Coregion(2, 1, active_dims=[0]), "not in [0, 2)"),
    "several outputs": (kernels.SharedIndependent(kernels.RBF(), 3), "one finite number for each pair"),
    "single precision": (in_single_precision(kernels.RBF), "double precision"),
    "prior": (with_prior(kernels.RBF(), "variance", tf.float32), "variance of SquaredExponential or its prior"),
}


@pytest.mark.parametrize("unfit", UNFIT)
def test_kernels_that_do_not_fit_are_refused_in_a_sentence(unfit):
    kernel, word = UNFIT[unfit]
    with pytest.raises(KernelError, match=re.escape(word)) as caught:
        check_kernel(kernel, 3)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dims", [None, slice(1, None), slice(0, 3, 2), slice(-2, None), [2, 0], [1]])
def test_kernels_of_some_features_are_taken(dims):
    check_kernel(kernels.RBF(active_dims=dims) + kernels.Linear(active_dims=[2]), 3)
    check_kernel(with_prior(kernels.Matern32(lengthscales=[1.0, 2.0, 3.0]), "lengthscales", tf.float64), 3)


def test_likelihoods_in_single_precision_are_refused():
    for likelihood in (in_single_precision(own.Gaussian), with_prior(own.StudentT(), "scale", tf.float32)):
        with pytest.raises(ValueError, match="or its prior is not in double precision"):
            GPflowLikelihood(likelihood)
