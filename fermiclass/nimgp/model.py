"""The sparse multi-class GP with noisy inputs: its parts, composed into one bound."""

from __future__ import annotations

from typing import NamedTuple

import gpflow
import tensorflow as tf

from fermiclass.nimgp.inputs import InputBatch, InputModel
from fermiclass.nimgp.kernels import Kernel
from fermiclass.nimgp.likelihoods import Likelihood
from fermiclass.nimgp.posterior import LatentMoments, SparsePosterior


class Batch(NamedTuple):
    """A minibatch: the sources' inputs and their labels (B,) in 0 … C − 1."""

    inputs: InputBatch
    y: tf.Tensor


class NoisyInputGP(gpflow.Module):
    """Sparse variational multi-class GP whose inputs may be noisy.

    Kernel, likelihood and input model are three independent choices.

    Parameters
    ----------
    kernel, likelihood, input_model, posterior
        The parts.
    num_data
        N, which scales a minibatch's terms.
    """

    def __init__(
        self,
        kernel: Kernel,
        likelihood: Likelihood,
        input_model: InputModel,
        posterior: SparsePosterior,
        *,
        num_data: int,
    ) -> None:
        super().__init__()
        self.kernel = kernel
        self.likelihood = likelihood
        self.input_model = input_model
        self.posterior = posterior
        self.num_data = num_data

    def elbo(self, batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        """Unbiased estimate of the evidence lower bound, a scalar.

        ``(N/B) Σ_i { E_q(x_i) E_q(f) log p(y_i | f(x_i)) + [terms of q(x_i)] } − Σ_c KL(q(u_c) ‖ p(u_c))``
        (Villacampa-Calvo et al. 2021, equation 10 and appendix A, whose scale is inverted in print).

        Parameters
        ----------
        batch
            B of the N sources.
        seed
            Of all draws in this estimate, int32 (2,).
        """
        input_seed, likelihood_seed = tf.unstack(tf.random.experimental.stateless_split(seed, 2))

        def moments(X: tf.Tensor) -> LatentMoments:
            return self.posterior.latent_moments(self.kernel, X)

        latent, input_terms = self.input_model.latent_moments(moments, batch.inputs, input_seed)
        data_terms = self.likelihood.variational_expectations(latent, batch.y, likelihood_seed)
        scale = tf.cast(self.num_data, data_terms.dtype) / tf.cast(tf.shape(batch.y)[0], data_terms.dtype)
        return scale * tf.reduce_sum(data_terms + input_terms) - self.posterior.kl_divergence()

    def log_prior_density(self) -> tf.Tensor:
        """Log density of the hyper-parameters' priors, a scalar."""
        densities = [p.log_prior_density() for p in self.trainable_parameters if p.prior is not None]
        return tf.add_n(densities) if densities else tf.zeros((), self.posterior.q_mu.dtype)
