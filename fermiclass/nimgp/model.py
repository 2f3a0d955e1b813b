"""The sparse multi-class GP with noisy inputs: its parts, composed into one bound."""

from __future__ import annotations

import gpflow
import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs import Batch, InputModel
from fermiclass.nimgp.kernels import Kernel
from fermiclass.nimgp.likelihoods import Likelihood, Predictive
from fermiclass.nimgp.noise import InputNoise
from fermiclass.nimgp.posterior import SparsePosterior


class NoisyInputGP(gpflow.Module):
    """Sparse variational multi-class GP whose inputs may be noisy, or several of them that are trained at once.

    Kernel, likelihood, input model and noise are four independent choices.

    Parameters
    ----------
    kernel, likelihood, input_model, noise, posterior
        The parts, all with the same leading axes.
    num_data
        N, which scales a minibatch's terms: a number, or one for each model.
    objective
        One of :data:`fermiclass.nimgp.names.OBJECTIVES`; see :meth:`elbo`.
    """

    def __init__(
        self,
        kernel: Kernel,
        likelihood: Likelihood,
        input_model: InputModel,
        noise: InputNoise,
        posterior: SparsePosterior,
        *,
        num_data: int | np.ndarray,
        objective: str = "elbo",
    ) -> None:
        super().__init__()
        self.kernel = kernel
        self.likelihood = likelihood
        self.input_model = input_model
        self.noise = noise
        self.posterior = posterior
        self.num_data = num_data
        self.objective = objective

    def elbo(self, batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        """Unbiased estimate of the evidence lower bound of each model, shape ``(...)``.

        ``(N/B) Σ_i { E_q(x_i) E_q(f) log p(y_i | f(x_i)) + [terms of q(x_i)] } − Σ_c KL(q(u_c) ‖ p(u_c))``
        (Villacampa-Calvo et al. 2021, equation 10 and appendix A, whose scale is inverted in print). With the objective
        ``'predictive'`` it is no bound: ``log E_q(f) p(y_i | f(x_i))`` stands in the place of the expected logarithm
        (see :class:`~fermiclass.nimgp.likelihoods.Predictive`).

        Parameters
        ----------
        batch
            B of the N sources.
        seed
            Of all draws in this estimate, int32 (2,).
        """
        batch = batch._replace(X_var=self.noise.variances(batch.X_var))
        functions = self.posterior.functions(self.kernel)
        likelihood = self.likelihood if self.objective == "elbo" else Predictive(self.likelihood)
        terms = self.input_model.source_terms(functions, likelihood, batch, seed)
        if batch.weight is None:
            total, count = tf.reduce_sum(terms, axis=-1), tf.cast(tf.shape(terms)[-1], terms.dtype)
        else:
            total, count = tf.reduce_sum(terms * batch.weight, axis=-1), tf.reduce_sum(batch.weight, axis=-1)
        return tf.cast(self.num_data, terms.dtype) / count * total - self.posterior.kl_divergence()

    def log_prior_density(self) -> tf.Tensor:
        """Log density of the hyper-parameters' priors, summed over all models, a scalar."""
        densities = [p.log_prior_density() for p in self.trainable_parameters if p.prior is not None]
        return tf.add_n(densities) if densities else tf.zeros((), self.posterior.q_mu.dtype)
