"""p(x), the prior of noiseless inputs: a Gaussian or a mixture of Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fermiclass.nimgp.arrays import FloatArray

_COVARIANCES = 2**22  # size of the covariances of one block of inputs: 32 MB


class InputPosterior(NamedTuple):
    """``p(x | x̃) = Σ_k weights_k N(mean_k, F_k F_kᵀ)`` of n inputs: ``(n, K)``, ``(n, K, D)``, ``(n, K, D, D)``."""

    weights: FloatArray
    mean: FloatArray
    factor: FloatArray

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return ``m = Σ_k w_k μ_k`` and ``diag Σ_k w_k [F_k F_kᵀ + (μ_k − m)(μ_k − m)ᵀ]``, ``(n, D)`` each."""
        share = self.weights[..., None]
        mean = np.sum(share * self.mean, axis=1)
        within = np.sum(np.square(self.factor), axis=-1)
        return mean, np.sum(share * (within + np.square(self.mean - mean[:, None])), axis=1)


@dataclass(frozen=True, eq=False)
class InputPrior:
    """``p(x) = Σ_k weights_k N(mean_k, precision_k⁻¹)``: ``(K,)``, which sum to 1, ``(K, D)`` and ``(K, D, D)``.

    The precision of a single component may be singular: the prior is then flat along some or all directions.
    """

    weights: FloatArray
    mean: FloatArray
    precision: FloatArray

    @classmethod
    def isotropic(cls, input_dim: int, variance: float) -> InputPrior:
        """``N(0, variance · I)``. An infinite variance gives a flat prior."""
        return cls(np.ones(1), np.zeros((1, input_dim)), np.eye(input_dim)[None] / variance)

    @classmethod
    def population(
        cls, X: FloatArray, X_var: FloatArray, *, components: int = 1, iterations: int = 100, seed: int = 0
    ) -> InputPrior:
        """Deconvolve: fit the mixture of the noiseless inputs to noisy observations.

        Expectation maximisation of ``Σ_i log Σ_k w_k N(x̃_i | m_k, Σ_k + V_i)`` (Bovy, Hogg & Roweis 2011, Annals of
        Applied Statistics 5, 1657). With responsibilities r_ik and the posterior N(b_ik, B_ik) of x_i in component k::

            w_k ← mean_i r_ik,    m_k ← Σ_i r_ik b_ik / Σ_i r_ik,
            Σ_k ← Σ_i r_ik [(b_ik − m_k)(b_ik − m_k)ᵀ + B_ik] / Σ_i r_ik

        It starts at the moments of observed inputs, or of clusters of them, so that Σ shrinks and does not collapse.
        With several components the covariance of all inputs enters each Σ_k with the weight of a hundredth of the
        inputs. Each component has ten inputs at least.
        """
        # A small variance keeps the covariance invertible if a feature does not vary.
        floor = 1e-6 * np.diag(np.maximum(X.var(axis=0), 1e-6))
        overall = np.cov(X.T, bias=True).reshape(floor.shape) + floor
        components = max(1, min(components, len(X) // 10))
        pull = 0.0 if components == 1 else 0.01 * len(X)
        r = _start(X, components, seed)
        # At first every noiseless input equals the observed one. The loop replaces this prior before it is used.
        prior = cls.isotropic(X.shape[1], np.inf)
        conditional = InputPosterior(r, np.repeat(X[:, None], components, 1), np.zeros((len(X), components, 1, 1)))
        for _ in range(iterations + 1):
            r, b, factor = conditional
            total = r.sum(axis=0)
            mean = np.einsum("nk,nkd->kd", r, b) / total[:, None]
            offset = np.sqrt(r)[:, :, None] * (b - mean)
            spread = np.einsum("nki,nkj->kij", offset, offset)
            scaled = np.sqrt(r)[:, :, None, None] * factor
            spread += np.einsum("nkia,nkja->kij", scaled, scaled)
            spread = (spread + pull * overall) / (total + pull)[:, None, None] + floor
            prior = cls(total / len(X), mean, np.linalg.inv(spread))
            conditional = prior.condition(X, X_var)
        return prior

    def widened(self, factor: float | None) -> InputPrior:
        """Return a prior with covariances ``factor`` times as large, or a flat prior for None."""
        if factor is None:
            return InputPrior(np.ones(1), self.mean[:1], np.zeros_like(self.precision[:1]))
        return InputPrior(self.weights, self.mean, self.precision / factor)

    def condition(self, X: FloatArray, X_var: FloatArray) -> InputPosterior:
        """Return the posterior of noiseless inputs, ``p(x | x̃) ∝ N(x̃ | x, V) p(x)``.

        In each component, with the precision P, ``R = √V``, ``M = I + R P R = L Lᵀ`` and ``d = x̃ − mean``::

            N(μ, F Fᵀ),  F = R L⁻ᵀ,  μ = x̃ − F Fᵀ P d,
            log weight = log w − ½ log |M| + ½ log |P| − ½ (dᵀ P d − |Fᵀ P d|²)

        No inverse of V is needed: an input without noise is exactly the observed one.
        """
        R = np.sqrt(X_var)[:, None, :]
        identity = np.eye(X.shape[1])
        L = np.linalg.cholesky(identity + R[..., :, None] * self.precision * R[..., None, :])
        factor = R[..., :, None] * np.linalg.solve(L, np.broadcast_to(identity, L.shape)).swapaxes(-1, -2)
        offset = X[:, None, :] - self.mean
        # Row by row, in one order of summation: the result of a source depends on that source alone.
        pull = np.einsum("kij,nkj->nki", self.precision, offset)
        whitened = np.einsum("nkia,nki->nka", factor, pull)
        mean = X[:, None, :] - np.einsum("nkia,nka->nki", factor, whitened)
        if len(self.weights) == 1:
            return InputPosterior(np.ones((len(X), 1)), mean, factor)
        quadratic = np.einsum("nki,nki->nk", offset, pull) - np.einsum("nka,nka->nk", whitened, whitened)
        log_det = 2.0 * np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(axis=-1) - np.linalg.slogdet(self.precision)[1]
        log_weights = np.log(self.weights) - 0.5 * (log_det + quadratic)
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        return InputPosterior(weights / weights.sum(axis=1, keepdims=True), mean, factor)

    def moments(self, X: FloatArray, X_var: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``E[x | x̃]`` and ``diag Var[x | x̃]``, both ``(n, D)``; blocks of rows bound the memory."""
        size = max(1, _COVARIANCES // (len(self.weights) * X.shape[1] ** 2))
        starts = range(0, max(len(X), 1), size)
        blocks = [self.condition(X[k : k + size], X_var[k : k + size]).moments() for k in starts]
        mean, var = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return mean, var


def _start(X: FloatArray, components: int, seed: int) -> FloatArray:
    """Return initial responsibilities ``(n, K)``, from clusters."""
    if components == 1:
        return np.ones((len(X), 1))
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):  # several threads would add partial sums in a random order
        clusters = KMeans(components, n_init=4, random_state=seed).fit_predict(X)
    return np.asarray(np.eye(components)[clusters])
