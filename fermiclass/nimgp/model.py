"""The sparse multi-class GP with noisy inputs. It composes its parts into one objective."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.inputs.models import Batch, InputModel, InputNoise, ObservedInputs
from fermiclass.nimgp.kernels import Kernel
from fermiclass.nimgp.likelihoods.base import Likelihood, Predictive
from fermiclass.nimgp.modules import Module, parameters_of
from fermiclass.nimgp.posterior import SparsePosterior


class NoisyInputGP(Module):
    """Sparse variational multi-class GP whose inputs may be noisy.

    Kernel, likelihood, input model and noise are four independent choices.

    `num_data`, N, scales the terms of a minibatch. `label_weights` (K,) are weights of rows by label, or None for ones.
    """

    def __init__(
        self,
        kernel: Kernel,
        likelihood: Likelihood,
        input_model: InputModel,
        noise: InputNoise,
        posterior: SparsePosterior,
        *,
        num_data: int,
        objective: str = "elbo",
        label_weights: np.ndarray | None = None,
    ) -> None:
        super().__init__()
        self.kernel = kernel
        self.likelihood = likelihood
        self.input_model = input_model
        self.noise = noise
        self.posterior = posterior
        self.num_data = num_data
        self.predictive = objective == "predictive"
        self.label_weights = label_weights

    def objective(self, batch: Batch, seed: tf.Tensor) -> tf.Tensor:
        """Return an unbiased estimate of what training maximises, by default the evidence lower bound.

        ``(N/B) Σ_i { E_q(x_i) E_q(f) log p(y_i | f(x_i)) + [terms of q(x_i)] } − Σ_c KL(q(u_c) ‖ p(u_c))``
        (Villacampa-Calvo et al. 2021, equation 10 and appendix A, which prints the inverse of the scale). With the
        objective ``'predictive'``, ``log E_q(f) p(y_i | f(x_i))`` replaces the expected logarithm, and the sum is not
        a bound (see :class:`~fermiclass.nimgp.likelihoods.base.Predictive`).

        `batch`: B of the N sources.
        `seed`: seed of all draws in this estimate, int32 (2,).
        """
        batch = batch._replace(X_var=self.noise.variances(batch.X_var))
        functions = self.posterior.functions(self.kernel)
        likelihood = Predictive(self.likelihood) if self.predictive else self.likelihood
        terms = self.input_model.source_terms(functions, likelihood, batch, seed)
        if self.label_weights is not None:
            terms *= tf.gather(tf.constant(self.label_weights, terms.dtype), batch.y)
        scale = tf.cast(self.num_data, terms.dtype) / tf.cast(tf.shape(terms)[0], terms.dtype)
        return scale * tf.reduce_sum(terms) - self.posterior.kl_divergence()

    def log_prior_density(self) -> tf.Tensor:
        """Return the log density of the priors of all hyper-parameters."""
        densities = [p.log_prior_density() for p in self.trainable_parameters if p.prior is not None]
        return tf.add_n(densities) if densities else tf.zeros((), self.posterior.q_mu.dtype)

    def diagnosis(self) -> str:
        """Name the parameters that are not finite; if there are none, the condition number of the worst K(Z, Z)."""
        odd = [path for path, parameter in parameters_of(self).items() if not np.all(np.isfinite(parameter.numpy()))]
        if odd:
            return f"the parameters {', '.join(odd[:3])}{', ...' if len(odd) > 3 else ''} are NaN or infinite"
        K = tf.cast(self.kernel.K(self.posterior.Z), tf.float64).numpy()
        if not np.all(np.isfinite(K)):
            return "the covariances K(Z, Z) of the inducing points overflow"
        eigenvalues = np.linalg.eigvalsh(K)
        condition = eigenvalues[..., -1] / np.maximum(eigenvalues[..., 0], 1e-16 * eigenvalues[..., -1])
        worst = int(np.argmax(condition))
        return (
            f"the covariance matrix K(Z, Z) of {K.shape[-1]} inducing points is worst for latent function {worst}: "
            f"its condition number is {condition[worst]:.1g} before the jitter of {self.posterior.jitter.numpy():.1g}"
        )

    def for_prediction(self) -> NoisyInputGP:
        """Return this model without what only training needs."""
        return NoisyInputGP(self.kernel, self.likelihood, ObservedInputs(), self.noise, self.posterior, num_data=0)
