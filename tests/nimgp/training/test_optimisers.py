"""Natural gradients against GPflow's and a conjugate problem's answer; Adam against its formula."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from fermiclass.nimgp.posterior import SparsePosterior
from fermiclass.nimgp.training.optimisers import Adam, natural_step
from tests.nimgp.conftest import C, D, M


def loss(mean, L):
    """Something with gradients everywhere, convex in S."""
    S = tf.matmul(L, L, transpose_b=True)
    weights = tf.reshape(tf.range(1.0, 1.0 + np.prod(mean.shape), dtype=tf.float64), mean.shape)
    quadratic = tf.reduce_sum(tf.square(mean - 0.1 * weights)) + tf.reduce_sum(weights * tf.linalg.diag_part(S))
    return quadratic - 0.5 * tf.reduce_sum(tf.math.log(tf.square(tf.linalg.diag_part(L))))


def random_sqrt(rng, shape):
    return np.tril(0.3 * rng.normal(size=(*shape, shape[-1]))) + np.eye(shape[-1])


@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_a_step_is_that_of_gpflow(rng, gamma):
    mean, L = rng.normal(size=(2, C, M)), random_sqrt(rng, (2, C, M))
    parameters = tf.Variable(mean), tf.Variable(L)
    with tf.GradientTape() as tape:
        value = loss(parameters[0], tf.linalg.band_part(parameters[1], -1, 0))
    ours = natural_step(*(tf.constant(a) for a in (mean, L)), *tape.gradient(value, parameters), gamma)
    # GPflow's has no leading axes, the functions last in the mean and first in the root.
    q_mu = gpflow.Parameter(mean.reshape(2 * C, M).T)
    q_sqrt = gpflow.Parameter(L.reshape(2 * C, M, M), transform=gpflow.utilities.triangular())

    def of_gpflow():
        return loss(tf.reshape(tf.transpose(q_mu), (2, C, M)), tf.reshape(tf.convert_to_tensor(q_sqrt), (2, C, M, M)))

    gpflow.optimizers.NaturalGradient(gamma).minimize(of_gpflow, [(q_mu, q_sqrt)])
    np.testing.assert_allclose(ours[0], q_mu.numpy().T.reshape(2, C, M), atol=1e-6)
    np.testing.assert_allclose(ours[1], q_sqrt.numpy().reshape(2, C, M, M), atol=1e-6)


def test_a_step_that_would_leave_no_covariance_is_shorter(rng):
    """The first function asks for a negative precision, the second not."""
    mean, L = np.zeros((2, M)), np.broadcast_to(np.eye(M), (2, M, M))
    slopes = np.stack([-3.0 * np.eye(M), 3.0 * np.eye(M)])
    _, sqrt = natural_step(*(tf.constant(a) for a in (mean, L, mean, slopes)), 1.0)
    # I + γ (Φ + Φᵀ) = 1 ∓ 3 γ: γ is halved until that is 0.1 at least.
    np.testing.assert_allclose(sqrt[0], np.eye(M) / np.sqrt(1 - 3 * 0.25), atol=1e-12)
    np.testing.assert_allclose(sqrt[1], np.eye(M) / np.sqrt(1 + 3 * 1.0), atol=1e-12)


def steps_by_hand(x, gradients, rate, steps):
    m = v = 0.0
    for done, g in enumerate(gradients):
        r = rate if steps is None else rate * (0.01 + 0.99 * 0.5 * (1.0 + np.cos(np.pi * min(done / steps, 1.0))))
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        t = done + 1
        x = x - r * np.sqrt(1.0 - 0.999**t) / (1.0 - 0.9**t) * m / (np.sqrt(v) + 1e-7)
    return x


@pytest.mark.parametrize("steps", [None, 8, 20])
@pytest.mark.parametrize(("dtype", "rtol"), [(tf.float32, 1e-4), (tf.float64, 1e-10)])
def test_steps_are_those_of_the_formula(rng, steps, dtype, rtol):
    start = [rng.normal(size=(2, 3)), rng.normal(size=4)]
    gradients = [[rng.normal(size=x.shape) for x in start] for _ in range(12)]
    variables = [tf.Variable(x, dtype=dtype) for x in start]
    adam = Adam(variables, 0.03, steps=steps)
    for of_step in gradients:
        adam.apply_gradients([tf.constant(g, dtype) for g in of_step])
    for k, variable in enumerate(variables):
        expected = steps_by_hand(start[k], [of_step[k] for of_step in gradients], 0.03, steps)
        np.testing.assert_allclose(variable.numpy(), expected, rtol=rtol, atol=rtol)


def test_one_full_step_solves_a_conjugate_problem(rng):
    """Gaussian observations z of v: S⁻¹ = I + τ, m = S τ z."""
    posterior = SparsePosterior(rng.normal(size=(C, M, D)), jitter=1e-6)
    tau, z = 3.0, rng.normal(size=(C, M))
    with tf.GradientTape() as tape:
        variables = posterior.q_mu.unconstrained_variable, posterior.q_sqrt.unconstrained_variable
        tape.watch(variables)
        scatter = tf.reduce_sum(tf.square(posterior.q_mu - z)) + tf.reduce_sum(
            tf.square(tf.linalg.band_part(posterior.q_sqrt, -1, 0))
        )
        value = posterior.kl_divergence() + 0.5 * tau * scatter
    mean, sqrt = natural_step(posterior.q_mu, posterior.q_sqrt, *tape.gradient(value, variables), 1.0)
    np.testing.assert_allclose(mean, tau * z / (1 + tau), rtol=1e-10)
    np.testing.assert_allclose(sqrt, np.broadcast_to(np.eye(M) / np.sqrt(1 + tau), (C, M, M)), atol=1e-10)
