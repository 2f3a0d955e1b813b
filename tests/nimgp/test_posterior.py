"""The sparse posterior against dense linear algebra, GPflow and TensorFlow Probability."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from fermiclass.nimgp.kernels import PerClass

from .conftest import C, M


@pytest.fixture
def parts(make_model):
    model = make_model("mgp")
    model.posterior.jitter = 1e-6
    return model.posterior, model.kernel


def test_moments_against_dense_formulae(parts, rng):
    posterior, kernel = parts
    X = rng.normal(size=(9, 2))
    moments = posterior.latent_moments(kernel, tf.constant(X))
    K, k, k_diag = kernel.K(posterior.Z).numpy(), kernel.K(posterior.Z, X).numpy(), kernel.K_diag(X).numpy()
    for c in range(C):
        K_c = K[c] + 1e-6 * np.mean(np.diag(K[c])) * np.eye(M)
        L = np.linalg.cholesky(K_c)
        S_sqrt = np.tril(posterior.q_sqrt.numpy()[c])
        m, S = L @ posterior.q_mu.numpy()[c], L @ S_sqrt @ S_sqrt.T @ L.T  # of u, not of v
        A = np.linalg.solve(K_c, k[c])
        np.testing.assert_allclose(moments.mean[c], A.T @ m, rtol=1e-8)
        var = k_diag[c] - np.sum(k[c] * A, 0) + np.sum(A * (S @ A), 0)
        np.testing.assert_allclose(moments.var[c], var, rtol=1e-8)


def test_moments_against_gpflows_svgp(parts, rng):
    posterior, kernel = parts
    X = rng.normal(size=(9, 2))
    se = kernel.kernels[0]
    moments = posterior.latent_moments(se, tf.constant(X))
    for c in range(C):
        svgp = gpflow.models.SVGP(
            gpflow.kernels.RBF(variance=se.variance[c], lengthscales=se.lengthscales[c].numpy()),
            gpflow.likelihoods.Gaussian(),
            gpflow.inducing_variables.InducingPoints(posterior.Z.numpy()[c]),
            q_mu=posterior.q_mu.numpy()[c][:, None],
            q_sqrt=np.tril(posterior.q_sqrt.numpy()[c])[None],
        )
        # the same jitter: GPflow's is absolute, ours relative to the variance
        jitter = 1e-6 * float(se.variance[c])
        with gpflow.config.as_context(gpflow.config.Config(jitter=jitter)):
            mean, var = svgp.predict_f(X)
        np.testing.assert_allclose(moments.mean[c], mean[:, 0], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(moments.var[c], var[:, 0], rtol=1e-6, atol=1e-9)


def test_kl_divergence_against_tensorflow_probability(parts):
    posterior, _ = parts
    normal = tfp.distributions.MultivariateNormalTriL
    q = normal(tf.convert_to_tensor(posterior.q_mu), tf.linalg.band_part(posterior.q_sqrt, -1, 0) * _signs(posterior))
    p = normal(tf.zeros_like(posterior.q_mu), tf.eye(M, batch_shape=[C], dtype=tf.float64))
    np.testing.assert_allclose(posterior.kl_divergence(), tf.reduce_sum(q.kl_divergence(p)), rtol=1e-10)


def _signs(posterior):
    """Columns' signs that make the diagonal positive, as the other library wants it; S is the same."""
    return tf.sign(tf.linalg.diag_part(posterior.q_sqrt))[:, None, :]


def test_kl_divergence_vanishes_at_the_prior(parts):
    posterior, _ = parts
    posterior.q_mu.assign(tf.zeros_like(posterior.q_mu))
    posterior.q_sqrt.assign(tf.eye(M, batch_shape=[C], dtype=tf.float64))
    np.testing.assert_allclose(posterior.kl_divergence(), 0.0, atol=1e-12)


def test_predictor_gives_the_same_moments(parts, rng):
    posterior, kernel = parts
    X = tf.constant(rng.normal(size=(9, 2)))
    direct, prepared = posterior.latent_moments(kernel, X), posterior.predictor(kernel).latent_moments(kernel, X)
    np.testing.assert_allclose(prepared.mean, direct.mean, rtol=1e-6)
    np.testing.assert_allclose(prepared.var, direct.var, rtol=1e-6)


def test_a_gpflow_kernel_plugs_in(parts, rng):
    posterior, kernel = parts
    X = tf.constant(rng.normal(size=(9, 2)))
    se, white, linear = kernel.kernels
    theirs = PerClass(
        [
            gpflow.kernels.RBF(variance=se.variance[c], lengthscales=se.lengthscales[c].numpy())
            + gpflow.kernels.White(variance=white.variance[c])
            + gpflow.kernels.Linear(variance=linear.variance[c])
            for c in range(C)
        ]
    )
    ours, plugged = posterior.latent_moments(kernel, X), posterior.latent_moments(theirs, X)
    np.testing.assert_allclose(plugged.mean, ours.mean, rtol=1e-8)
    np.testing.assert_allclose(plugged.var, ours.var, rtol=1e-8)
