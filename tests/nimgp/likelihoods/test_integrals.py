"""Predictive densities in the tails, against sums over very many points."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from scipy.special import logsumexp
from scipy.stats import norm

from fermiclass.nimgp.from_gpflow import GPflowLikelihood, OrderedProbit
from fermiclass.nimgp.likelihoods.integrals import log_expectation
from fermiclass.nimgp.likelihoods.outputs import make_output_likelihood
from fermiclass.nimgp.posterior import LatentMoments
from fermiclass.nimgp.targets import Outputs

own = gpflow.likelihoods


def found(adapted, mean, var, y):
    latent = LatentMoments(*(tf.constant(np.atleast_2d(a), tf.float64) for a in (mean, var)))
    return adapted.log_density(latent, tf.constant(y, tf.float64)).numpy()


def expected(log_p, hint):
    """``log E p(t)`` for a standard normal t, by the trapezoidal rule with points around 0 and a hint."""
    far = np.sinh(np.linspace(-14, 14, 7_001))
    near = 1e-4 * np.sinh(np.linspace(-12, 12, 14_001))  # dense within 1e-7, and as far as 8
    t = np.unique(np.concatenate([np.linspace(-60, 60, 20_001), far, hint + near]))
    with np.errstate(all="ignore"):
        values = np.nan_to_num(log_p(t) + norm.logpdf(t), nan=-np.inf)
    weights = np.gradient(t)
    return logsumexp(values, b=weights)


UNIT = Outputs.of("heteroskedastic", np.zeros(3))


def grid(*axes):
    return np.stack([a.ravel() for a in np.meshgrid(*axes)])


@pytest.mark.parametrize("name", ["ours", "GPflow's"])
def test_noise_of_uncertain_width(name):
    """The width is a softplus (ours), or an exponential."""
    ours = name == "ours"
    theirs = own.HeteroskedasticTFPConditional()
    adapted = make_output_likelihood("heteroskedastic", UNIT) if ours else GPflowLikelihood(theirs)
    m2, v1, v2, y = grid([-10.0, -3.0, 1.0], [1e-6, 0.3], [0.1, 0.5, 3.0, 30.0], [0, 6, 30, 1e3])
    log_p = found(adapted, np.stack([0 * m2 + 0.2, m2]), np.stack([v1, v2]), y)
    b = adapted.offset.numpy()
    for k in range(len(y)):

        def given(t, k=k):
            width = adapted.likelihood.scale_transform(b[1] + m2[k] + np.sqrt(v2[k]) * t).numpy()
            return norm.logpdf(y[k], 0.2 + b[0], np.sqrt(v1[k] + width**2))

        truth = expected(given, 0.0)
        assert log_p[k] == pytest.approx(truth, abs=1e-3, rel=1e-7), (m2[k], v1[k], v2[k], y[k])


CASES = {
    "poisson": (own.Poisson(), [0, 1, 100, 1000, 1e6], np.log),
    "student-t": (own.StudentT(0.05, df=3.0), [0, 0.3, 3, 30, 1000], lambda y: y),
    "narrow student-t": (own.StudentT(0.001, df=4.0), [0, 0.3, 3, 30, 1000], lambda y: y),
    "exponential": (own.Exponential(), [1e-6, 0.1, 5, 1000], np.log),
    "gamma": (own.Gamma(shape=200.0), [1e-6, 0.1, 5, 1000], lambda y: np.log(y / 200)),
    "beta": (own.Beta(scale=300.0), [1e-6, 0.1, 0.9, 1 - 1e-6], norm.ppf),
    "sharp grades": (OrderedProbit(np.array([-0.8, 0.1, 1.2]), 0.01), [0, 1, 2, 3], lambda y: y - 0.8),
}


@pytest.mark.parametrize(("likelihood", "outputs", "near"), CASES.values(), ids=CASES)
def test_outputs_in_the_tail(likelihood, outputs, near):
    """Also where p(y | f) is much narrower than what is known of f."""
    adapted = GPflowLikelihood(likelihood)
    mean, var, y = grid([-6.0, 1.0, 7.0], [0.1, 1.0, 30.0], outputs)
    log_p = found(adapted, mean, var, y)
    with np.errstate(divide="ignore"):
        hints = np.clip((near(y) - mean) / np.sqrt(var), -1e4, 1e4)
    for k in range(len(y)):

        def given(t, k=k):
            f = tf.constant((mean[k] + np.sqrt(var[k]) * t)[:, None])
            return adapted.likelihood.log_prob(f[:, :0], f, tf.fill(f.shape, y[k])).numpy()

        assert log_p[k] == pytest.approx(expected(given, hints[k]), abs=1e-3, rel=1e-7), (mean[k], var[k], y[k])


def test_gradients_are_those_of_differences():
    """The points move with the parameters; their gradient needs not know."""
    adapted = make_output_likelihood("heteroskedastic", UNIT)
    start = np.array([0.3, -0.4, 0.2, 0.5])

    def log_p(values):
        return adapted.log_density(LatentMoments(values[:2, None], values[2:, None]), tf.constant([4.0], tf.float64))[0]

    values = tf.Variable(start)
    with tf.GradientTape() as tape:
        value = log_p(values)
    step = 1e-5 * np.eye(4)
    slopes = [(log_p(tf.constant(start + s)) - log_p(tf.constant(start - s))) / 2e-5 for s in step]
    np.testing.assert_allclose(tape.gradient(value, values), slopes, rtol=1e-5)


def test_what_cannot_be_has_no_probability():
    nothing = log_expectation(lambda t: tf.fill(tf.shape(t), np.float64(-np.inf)), tf.constant(3))
    np.testing.assert_array_equal(nothing, [-np.inf] * 3)
    assert np.all(np.isneginf(found(GPflowLikelihood(OrderedProbit(np.array([0.0]))), [0.0], [1.0], [0.5])))
