"""RMGPC by brute force: draws from the prior of the latent functions, weighted by the likelihood."""

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, logsumexp

POINTS = 400


class Exact(NamedTuple):
    """``log p(y)``, ``P(z_i = 1 | y)`` (N,), ``P(y*)`` (n, C), mean of ρ, and how many draws count."""

    log_evidence: float
    outliers: np.ndarray
    predictive: np.ndarray
    rate: float
    effective: float


def exact(K, y, label_noise, num_draws=400_000, seed=0):
    """Rows of K (C, N + n, N + n) that have no label are new ones."""
    rng = np.random.default_rng(seed)
    num, num_classes = len(y), len(K)
    L = np.linalg.cholesky(K)
    likelihood = of_counts(num, num_classes, label_noise)
    total, square, rate, effective = 0.0, 0.0, 0.0, 0.0
    outliers, predictive = np.zeros(num), np.zeros((K.shape[1] - num, num_classes))
    for _ in range(num_draws // 20_000):
        f = np.einsum("kij,skj->sik", L, rng.standard_normal((20_000, num_classes, K.shape[1])))
        best = f.argmax(axis=2)
        right = best[:, :num] == y
        weights = [table[right.sum(axis=1)] for table in likelihood]  # with ρ⁰, ρ¹, and z = 1 of a row that is right
        total += weights[0].sum()
        square += (weights[0] ** 2).sum()
        rate += weights[1].sum()
        outliers += np.where(right, weights[2][:, None], weights[0][:, None]).sum(axis=0)
        wins = best[:, num:, None] == np.arange(num_classes)
        predictive += np.tensordot(weights[0] - weights[1], wins, axes=1) + weights[1].sum() / num_classes
    effective = total**2 / square
    return Exact(np.log(total / num_draws), outliers / total, predictive / total, rate / total, effective)


def of_counts(num, num_classes, label_noise):
    """``p(y | f)`` of f that has n labels right, times ρ, and with z_i = 1 of one that is right; (N + 1,) each."""
    n = np.arange(num + 1)
    if label_noise is None:
        return (n == num).astype(float), np.zeros(num + 1), np.zeros(num + 1)
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    rho = 0.5 * (nodes + 1.0)
    a, b = label_noise
    log_prior = np.log(0.5 * weights) + (a - 1) * np.log(rho) + (b - 1) * np.log1p(-rho) - betaln(a, b)
    wrong = np.log(rho / num_classes)
    right = np.logaddexp(np.log1p(-rho), wrong)
    log_p = log_prior + n[:, None] * right + (num - n)[:, None] * wrong
    return tuple(np.exp(logsumexp(log_p + extra, axis=1)) for extra in (0.0, np.log(rho), wrong - right))
