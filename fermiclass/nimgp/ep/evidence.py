"""The marginal likelihood of EP, and its derivatives with respect to the covariances."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln

from fermiclass.nimgp.arrays import FloatArray
from fermiclass.nimgp.ep.cavities import match
from fermiclass.nimgp.ep.inference import FixedPoint
from fermiclass.nimgp.ep.posterior import Model, Posterior


def log_evidence(model: Model, found: FixedPoint) -> float:
    """``log Z = A(Q) − A(prior) + Σ_j [log Z_j + A(Q without j) − A(Q)]`` over the factors j of the likelihood.

    A is the logarithm of the normaliser of a distribution as a function of its natural parameters. Z_j is the mean of
    factor j under its cavity. The number is that of RMGPC's equation 16, where ``log s̃_j`` is the bracket.

    - Latent functions: ``A(Q) − A(prior) = ½ Σ_k (υ_kᵀ μ_k − log |M_k|)``
    - Gaussian at one point: ``A = ½ (m² / v + log v)``
    - z: ``A = log(1 + exp(log-odds))``
    - ρ: ``A = log B(a, b)``
    """
    posterior = found.posterior
    matches = match(model, found.sites, posterior)
    total = _of_latent(posterior) + float(_A_z(posterior.log_odds).sum() + matches.label.log_mean.sum())
    labels, cavity = model.labels, matches.cavity
    total += float(np.sum(_A_z(cavity.log_odds) - _A_z(posterior.log_odds)[:, None]))
    for k, mean, var in ((labels.others, cavity.mean, cavity.var), (labels.own, cavity.own_mean, cavity.own_var)):
        at = k, labels.rows
        total += float(np.sum(_A_f(mean, var) - _A_f(posterior.mean[at], posterior.var[at])))
    if model.label_noise is not None and matches.rate is not None and matches.rate_cavity is not None:
        log_odds, a, b = matches.rate_cavity
        of_rho = betaln(posterior.a, posterior.b)
        total += float(of_rho - betaln(*model.label_noise) + np.sum(betaln(a, b) - of_rho))
        total += float(np.sum(matches.rate.log_mean + _A_z(log_odds) - _A_z(posterior.log_odds)))
    return total


def covariance_gradient(posterior: Posterior) -> FloatArray:
    """``∂ log Z / ∂K_k = ½ (w_k w_kᵀ − P_k)`` at a fixed point, ``(C, N, N)`` (RMGPC, equation 18).

    At a fixed point log Z is stationary in the sites, so that only its explicit dependence on K_k counts.
    """
    w = posterior.weights
    gradient: FloatArray = 0.5 * (w[:, :, None] * w[:, None, :] - posterior.gain)
    return gradient


def _of_latent(posterior: Posterior) -> float:
    return 0.5 * (float(np.sum(posterior.shift * posterior.mean)) - posterior.log_det)


def _A_f(mean: FloatArray, var: FloatArray) -> FloatArray:
    return 0.5 * (mean**2 / var + np.log(var))


def _A_z(log_odds: FloatArray) -> FloatArray:
    softplus: FloatArray = np.logaddexp(0.0, log_odds)
    return softplus
