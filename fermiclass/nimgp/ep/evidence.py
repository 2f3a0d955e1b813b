"""The marginal likelihood of EP, its derivatives, and the hyper-parameters that maximise it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import betaln
from threadpoolctl import threadpool_limits

from fermiclass.nimgp.arrays import FloatArray
from fermiclass.nimgp.ep.factors import LabelNoise, Labels, Sites
from fermiclass.nimgp.ep.inference import FixedPoint, Rules, find_fixed_point, match
from fermiclass.nimgp.ep.posterior import Covariance, Posterior, PriorAndLabels


def log_evidence(model: PriorAndLabels, found: FixedPoint) -> float:
    """``log Z = A(Q) − A(prior) + Σ_j [log Z_j + A(Q without j) − A(Q)]`` over the factors j of the likelihood.

    A is the log normaliser of a distribution as a function of its natural parameters, Z_j the mean of factor j under
    its cavity. The number is that of RMGPC's equation 16, where ``log s̃_j`` is the bracket.

    - Latent functions: ``A(Q) − A(prior) = ½ Σ_k (υ_kᵀ μ_k − log |M_k|)``
    - Gaussian at one point: ``A = ½ (m² / v + log v)``
    - z: ``A = log(1 + exp(log-odds))``
    - ρ: ``A = log B(a, b)``
    """
    posterior = found.posterior
    matches = match(model, found.sites, posterior)
    of_latent = 0.5 * (float(np.sum(posterior.shift * posterior.mean)) - posterior.log_det)
    total = of_latent + float(_A_z(posterior.log_odds).sum() + matches.label.log_mean.sum())
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
    """``∂ log Z / ∂K_k = ½ (w_k w_kᵀ − P_k)``, ``(C, N, N)``, where log Z is stationary in the sites (equation 18)."""
    w = posterior.weights
    return 0.5 * (w[:, :, None] * w[:, None, :] - posterior.gain)


def _A_f(mean: FloatArray, var: FloatArray) -> FloatArray:
    return 0.5 * (mean**2 / var + np.log(var))


def _A_z(log_odds: FloatArray) -> FloatArray:
    return np.asarray(np.logaddexp(0.0, log_odds))


_NOISE = 0.1  # initial ϑ²
_MAX_FAILURES = 2  # number of EP runs in a search that may fail
_MANY = 1000  # number of rows from which matrices are large
_LIMIT_STATUS = 1  # SciPy's status of a search that a limit stopped


@dataclass(frozen=True)
class EPSettings:
    """Settings of the search for hyper-parameters."""

    ard: bool = False  #: Whether each feature has its own γ.
    latent_noise: bool = False  #: Whether each class has latent noise ϑ².
    #: Initial values of γ in units of D, for standardised inputs. The result with the largest evidence is kept.
    starts: tuple[float, ...] = (0.1, 1.0)
    max_steps: int = 100  #: Largest number of L-BFGS steps from each start.
    rules: Rules = Rules()  # noqa: RUF009 (immutable)


@dataclass(frozen=True, eq=False)
class Trained:
    """Result of training: `steps` are those of L-BFGS from the best start, which `ended` at a maximum or not."""

    covariance: Covariance
    model: PriorAndLabels
    found: FixedPoint
    log_evidence: float
    steps: int
    ended: bool


def fit_evidence(X: FloatArray, labels: Labels, label_noise: LabelNoise | None, settings: EPSettings) -> Trained:
    """Maximise log Z over log γ and log ϑ² by L-BFGS, for standardised inputs.

    EP starts from the sites of the best hyper-parameters so far. If it finds no fixed point at first, or fails often,
    the search starts again with limited sites; see :class:`fermiclass.nimgp.ep.inference.Rules`.
    """
    limited = replace(settings, rules=replace(settings.rules, limited=True))

    def attempt(start: float) -> Trained:
        try:
            return _ascend(X, labels, label_noise, settings, start)
        except _NoFixedPointError:
            return _ascend(X, labels, label_noise, limited, start)

    with threadpool_limits(1 if len(X) < _MANY else None):  # several threads are slower on small matrices
        return max(map(attempt, settings.starts), key=lambda trained: trained.log_evidence)


class _NoFixedPointError(ArithmeticError):
    """EP did not converge."""


def _ascend(
    X: FloatArray, labels: Labels, label_noise: LabelNoise | None, settings: EPSettings, start: float
) -> Trained:
    """Search from one start. The best point so far is kept, as the evidence jumps if EP finds another fixed point."""
    num_gamma = X.shape[1] if settings.ard else 1
    num_noise = labels.num_classes if settings.latent_noise else 0
    at = np.log(np.repeat([X.shape[1] * start, _NOISE], [num_gamma, num_noise]))
    best, failures = -np.inf, 0
    sites: Sites | None = None

    def solved(parameters: FloatArray) -> tuple[Covariance, PriorAndLabels, FixedPoint, float]:
        noise = np.exp(parameters[num_gamma:]) if num_noise else np.zeros(labels.num_classes)
        covariance = Covariance(np.exp(parameters[:num_gamma]), noise)
        model = PriorAndLabels(covariance.K(X), labels, label_noise)
        found = find_fixed_point(model, start=sites, rules=settings.rules)
        return covariance, model, found, log_evidence(model, found)

    def minus_log_evidence(parameters: FloatArray) -> tuple[float, FloatArray]:
        nonlocal at, best, failures, sites
        covariance, _, found, value = solved(parameters)
        settled = found.converged or settings.rules.limited
        failures += not settled
        if failures > (_MAX_FAILURES if sites is not None else 0):
            raise _NoFixedPointError
        if settled and value > best:
            best, at, sites = value, parameters.copy(), found.sites
        gradient = np.concatenate(covariance.gradient(X, covariance_gradient(found.posterior)))
        return -value, -gradient[: num_gamma + num_noise]

    bounds = [(-7.0, 14.0)] * num_gamma + [(-14.0, 7.0)] * num_noise
    options = {"maxiter": settings.max_steps, "ftol": 1e-6, "gtol": 1e-3}
    ended = minimize(minus_log_evidence, at, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return Trained(*solved(at), int(ended.nit), ended.status != _LIMIT_STATUS)
