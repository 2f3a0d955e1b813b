"""The sparse posterior against dense linear algebra, GPflow and TensorFlow Probability."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from tests.nimgp.conftest import C, M


@pytest.fixture
def parts(make_model):
    model = make_model("mgp")
    model.posterior.jitter.assign(1e-6)
    return model.posterior, model.kernel


def test_moments_against_dense_formulae(parts, rng):
    posterior, kernel = parts
    X = rng.normal(size=(9, 2))
    moments, x = posterior.functions(kernel).moments(tf.constant(X)), tf.constant(X[None])
    K, k, k_diag = kernel.K(posterior.Z).numpy(), kernel.K(posterior.Z, x).numpy(), kernel.K_diag(x).numpy()
    for c in range(C):
        K_c = K[c] + 1e-6 * np.mean(np.diag(K[c])) * np.eye(M)
        L = np.linalg.cholesky(K_c)
        S_sqrt = np.tril(posterior.q_sqrt.numpy()[c])
        m, S = L @ posterior.q_mu.numpy()[c], L @ S_sqrt @ S_sqrt.T @ L.T  # of u, not of v
        A = np.linalg.solve(K_c, k[c])
        np.testing.assert_allclose(moments.mean[c], A.T @ m, rtol=1e-8)
        var = k_diag[c] - np.sum(k[c] * A, 0) + np.sum(A * (S @ A), 0)
        np.testing.assert_allclose(moments.var[c], var, rtol=1e-8)


def test_predictor_gives_the_same_moments(parts, rng):
    posterior, kernel = parts
    X = tf.constant(rng.normal(size=(9, 2)))
    training, prepared = posterior.functions(kernel), posterior.predictor(kernel)
    for ours, theirs in zip(prepared.moments(X), training.moments(X), strict=True):
        assert ours.shape == (C, 9)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_gradients_of_moments_are_those_of_the_predictor(parts, rng):
    """The one has closed forms of gradients, the other inverses that TensorFlow differentiates."""
    posterior, kernel = parts
    X, a, b = (tf.constant(rng.normal(size=shape)) for shape in ((9, 2), (C, 9), (C, 9)))
    variables = [*posterior.trainable_variables, *kernel.trainable_variables]
    gradients = []
    for prepare in (posterior.functions, posterior.predictor):
        with tf.GradientTape() as tape:
            mean, var = prepare(kernel).moments(X)
            total = tf.reduce_sum(a * mean + b * var)
        gradients.append(tape.gradient(total, variables))
    for ours, theirs in zip(*gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5 * np.abs(theirs).max())


@pytest.mark.parametrize("prepare", ["functions", "predictor"])
def test_moments_and_the_gradient_of_the_mean(parts, rng, prepare):
    posterior, kernel = parts
    functions, X = getattr(posterior, prepare)(kernel), tf.constant(rng.normal(size=(9, 2)))
    moments, gradient = functions.moments_and_gradient(X)
    for ours, alone in zip(moments, functions.moments(X), strict=True):
        np.testing.assert_allclose(ours, alone, rtol=1e-9)
    assert gradient.shape == (C, 2, 9)
    for c in range(C):
        with tf.GradientTape() as tape:
            tape.watch(X)
            total = tf.reduce_sum(functions.moments(X).mean[c])
        np.testing.assert_allclose(gradient[c], tf.transpose(tape.gradient(total, X)), rtol=1e-7, atol=1e-9)


def test_kl_divergence_against_tensorflow_probability(parts):
    posterior, _ = parts
    normal = tfp.distributions.MultivariateNormalTriL
    q = normal(tf.convert_to_tensor(posterior.q_mu), tf.linalg.band_part(posterior.q_sqrt, -1, 0) * _signs(posterior))
    p = normal(tf.zeros_like(posterior.q_mu), tf.eye(M, batch_shape=[C], dtype=tf.float64))
    np.testing.assert_allclose(posterior.kl_divergence(), tf.reduce_sum(q.kl_divergence(p)), rtol=1e-10)


def _signs(posterior):
    """Columns' signs that make the diagonal positive, as the other library wants it; S is the same."""
    return tf.sign(tf.linalg.diag_part(posterior.q_sqrt))[:, None, :]
