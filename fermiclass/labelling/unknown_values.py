"""Values of a source that are not known: an average over what the training sources with its other features have."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermiclass.features import FeatureTable
from fermiclass.io import FloatArray
from fermiclass.nimgp.domain import TrainingDomain
from fermiclass.nimgp.prediction.prediction import Prediction, entropy_of

COMPANIONS = 32  #: Number of training sources that stand for the population.


class Companions(NamedTuple):
    """The distribution of n sources' features: weights ``(n, K)``, means ``(n, K, D)`` and variances ``(n, K, D)``."""

    weights: FloatArray
    X: FloatArray
    X_var: FloatArray

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of each feature, ``(n, D)`` each."""
        mean = np.einsum("nk,nkd->nd", self.weights, self.X)
        spread = np.einsum("nk,nkd->nd", self.weights, (self.X - mean[:, None]) ** 2 + self.X_var)
        return mean, spread


def find_companions(
    domain: TrainingDomain,
    X: FloatArray,
    X_var: FloatArray,
    missing: NDArray[np.bool_],
    filled: FloatArray | None = None,
    upper: FloatArray | None = None,
) -> Companions:
    """Return the distribution of the unknown features of sources, given their known ones.

    The population is a kernel estimate, a Gaussian of covariance W, that within the classes, about each training source
    x_k. With o the known features of a source, m the unknown ones and A = W_oo + diag V_o,

        p(x_m | x_o) = Σ_k w_k N(x_m | x_k,m + W_mo A⁻¹ (x_o − x_k,o), W_mm − W_mo A⁻¹ W_om),
        w_k ∝ N(x_o | x_k,o, A),

    with the `COMPANIONS` training sources of the largest weights, and of the covariance the diagonal. The domain has
    the training sources and 2W. Training sources with a `filled` value ``(D,)`` of an unknown feature, which stands for
    an unknown one, are no companions, unless there are too few others. At `upper` limits ``(n, D)`` of unknown
    features, infinite where there is none, each Gaussian is cut off (:func:`below`).
    """
    W, K = 0.5 * domain.covariance, min(COMPANIONS, len(domain.X))
    known = np.full(domain.X.shape, True) if filled is None else filled != domain.X
    limits = np.full(X.shape, np.inf) if upper is None else upper
    weights, means = np.empty((len(X), K)), np.repeat(X[:, None], K, axis=1)
    variances = np.repeat(X_var[:, None], K, axis=1)
    for i, unknown in enumerate(missing):
        m, o = np.flatnonzero(unknown), np.flatnonzero(~unknown)
        A = W[np.ix_(o, o)] + np.diag(X_var[i, o])
        offset = X[i, o] - domain.X[:, o]
        usable = known[:, m].all(axis=1)
        distance = np.sum(offset * np.linalg.solve(A, offset.T).T, axis=1)
        if usable.sum() >= K:
            distance[~usable] = np.inf
        nearest = np.argsort(distance, kind="stable")[:K]
        ln_weight = -0.5 * distance[nearest]
        slope = np.linalg.solve(A, W[np.ix_(o, m)])
        means[i][:, m] = domain.X[np.ix_(nearest, m)] + offset[nearest] @ slope
        variances[i][:, m] = np.maximum(np.diag(W)[m] - np.sum(slope * W[np.ix_(o, m)], axis=0), 0.0)
        for j in m[np.isfinite(limits[i, m])]:
            ln_part, means[i][:, j], variances[i][:, j] = below(limits[i, j], means[i][:, j], variances[i][:, j])
            ln_weight = ln_weight + ln_part
        weights[i] = np.exp(ln_weight - ln_weight.max())
    return Companions(weights / weights.sum(axis=1, keepdims=True), means, variances)


def below(limit: float, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the logarithm of the part of Gaussians below a limit, and mean and variance of this part, ``(K,)`` each.

    With z = (limit − mean)/σ and λ = φ(z)/Φ(z), these are ln Φ(z), ``mean − σ λ`` and ``σ² (1 − z λ − λ²)``.
    """
    from scipy.special import log_ndtr

    sigma = np.sqrt(np.maximum(variance, 1e-12))
    z = np.maximum((limit - mean) / sigma, -1e4)
    ln_part = log_ndtr(z)
    ratio = np.exp(-0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) - ln_part)
    spread = np.where(z < -50.0, 1.0 / np.maximum(z**2, 1.0), 1.0 - z * ratio - ratio**2)  # far off, an exponential
    return ln_part, np.minimum(mean - sigma * ratio, limit), sigma**2 * np.clip(spread, 0.0, 1.0)


def complete(domain: TrainingDomain, table: FeatureTable, missing: NDArray[np.bool_] | None = None) -> FeatureTable:
    """Return the table with mean and variance of :func:`find_companions` for what is `missing`, by default imputed."""
    missing = table.imputed_value if missing is None else missing
    rows = np.flatnonzero(missing.any(axis=1))
    if not len(rows):
        return table
    X, X_var, unknown = table.X.copy(), table.X_var.copy(), missing[rows]
    companions = find_companions(domain, X[rows], X_var[rows], unknown, table.imputation.medians, table.upper[rows])
    mean, spread = companions.moments()
    X[rows], X_var[rows] = np.where(unknown, mean, X[rows]), np.where(unknown, spread, X_var[rows])
    return replace(table, X=X, X_var=X_var)


def average(weights: FloatArray, prediction: Prediction, ratios: FloatArray | None = None) -> Prediction:
    """Return the prediction of n sources from those of their companions, n · K in order; `weights` is ``(n, K)``.

    Where probabilities have the factors r_c, `ratios` ``(n, C)``, a companion counts by w_k Z_k with ``Z_k = Σ_c r_c
    π_kc``: so the factors are those of the average of the probabilities π as trained; ``1 / Z_k = Σ_c P_kc / r_c``.
    """
    n, K = weights.shape
    P, std = (each.reshape(n, K, -1) for each in (prediction.probabilities, prediction.std))
    if ratios is not None:
        weights = weights / np.sum(P / ratios[:, None, :], axis=2)
        weights = weights / weights.sum(axis=1, keepdims=True)
    mean = np.einsum("nk,nkc->nc", weights, P)
    second = np.einsum("nk,nkc->nc", weights, P**2 + std**2)
    entropy = entropy_of(mean)
    values = prediction.information, prediction.entropy - prediction.noise_entropy
    information, known_input = (np.sum(weights * each.reshape(n, K), axis=1) for each in values)
    return replace(
        prediction,
        probabilities=mean / mean.sum(axis=1, keepdims=True),
        std=np.sqrt(np.maximum(second - mean**2, 0.0)),
        entropy=entropy,
        information=information,
        noise_entropy=np.maximum(entropy - known_input, 0.0),
    )


def doubted(prediction: Prediction, in_doubt: NDArray[np.bool_], shares: FloatArray) -> Prediction:
    """Return the prediction where sources ``(n,)`` are in doubt: with probability 1/2 any member of the population."""
    either = 0.5 * prediction.probabilities + 0.5 * shares
    P = np.where(in_doubt[:, None], either, prediction.probabilities)
    entropy = np.where(in_doubt, entropy_of(P), prediction.entropy)
    return replace(prediction, probabilities=P, entropy=entropy)
