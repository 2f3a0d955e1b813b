"""Predictive densities in the tails, against sums over very many points."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from scipy.special import logsumexp
from scipy.stats import norm

from fermiclass.nimgp.from_gpflow import GPflowLikelihood
from fermiclass.nimgp.likelihoods.integrals import log_expectation
from fermiclass.nimgp.posterior import LatentMoments

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


def grid(*axes):
    return np.stack([a.ravel() for a in np.meshgrid(*axes)])


CASES = {
    "poisson": (own.Poisson(), [0, 1, 100, 1000, 1e6], np.log),
    "student-t": (own.StudentT(0.05, df=3.0), [0, 0.3, 3, 30, 1000], lambda y: y),
    "narrow student-t": (own.StudentT(0.001, df=4.0), [0, 0.3, 3, 30, 1000], lambda y: y),
    "exponential": (own.Exponential(), [1e-6, 0.1, 5, 1000], np.log),
    "gamma": (own.Gamma(shape=200.0), [1e-6, 0.1, 5, 1000], lambda y: np.log(y / 200)),
    "beta": (own.Beta(scale=300.0), [1e-6, 0.1, 0.9, 1 - 1e-6], norm.ppf),
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


def test_what_cannot_be_has_no_probability():
    nothing = log_expectation(lambda t: tf.fill(tf.shape(t), np.float64(-np.inf)), tf.constant(3))
    np.testing.assert_array_equal(nothing, [-np.inf] * 3)
