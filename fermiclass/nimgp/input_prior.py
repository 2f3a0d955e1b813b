"""p(x): what is known of a noiseless input before it is observed, a Gaussian or a mixture of Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_COVARIANCES = 2**22  # numbers in the covariances of a block of inputs: 32 MB


class Conditional(NamedTuple):
    """``p(x | x̃) = Σ_k weights_k N(mean_k, F_k F_kᵀ)`` of n inputs: ``(n, K)``, ``(n, K, D)``, ``(n, K, D, D)``."""

    weights: FloatArray
    mean: FloatArray
    factor: FloatArray

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean ``m = Σ_k w_k μ_k`` and variances ``diag Σ_k w_k [F_k F_kᵀ + (μ_k − m)(μ_k − m)ᵀ]`` of x, ``(n, D)``."""
        share = self.weights[..., None]
        mean = np.sum(share * self.mean, axis=1)
        within = np.sum(np.square(self.factor), axis=-1)
        return mean, np.sum(share * (within + np.square(self.mean - mean[:, None])), axis=1)


@dataclass(frozen=True, eq=False)
class InputPrior:
    """``p(x) = Σ_k weights_k N(mean_k, precision_k⁻¹)``.

    A single component may have a precision of zero, which is a flat prior, or one without an inverse, which is flat
    along some directions.

    Attributes
    ----------
    weights
        ``(K,)``, positive, of sum one.
    mean
        ``(K, D)``.
    precision
        ``(K, D, D)``, symmetric and not negative.
    """

    weights: FloatArray
    mean: FloatArray
    precision: FloatArray

    @classmethod
    def isotropic(cls, input_dim: int, variance: float) -> InputPrior:
        """``N(0, variance · I)``; an infinite variance makes it flat."""
        return cls(np.ones(1), np.zeros((1, input_dim)), np.eye(input_dim)[None] / variance)

    @classmethod
    def population(
        cls, X: FloatArray, X_var: FloatArray, *, components: int = 1, iterations: int = 100, seed: int = 0
    ) -> InputPrior:
        """Deconvolve: the mixture that the noiseless inputs came from, were they observed with noise.

        Maximises ``Σ_i log Σ_k w_k N(x̃_i | m_k, Σ_k + V_i)`` by expectation maximisation (Bovy, Hogg & Roweis 2011,
        Annals of Applied Statistics 5, 1657). With responsibilities r_ik and the posterior N(b_ik, B_ik) of x_i in
        component k::

            w_k ← mean_i r_ik,    m_k ← Σ_i r_ik b_ik / Σ_i r_ik,
            Σ_k ← Σ_i r_ik [(b_ik − m_k)(b_ik − m_k)ᵀ + B_ik] / Σ_i r_ik

        It starts at the moments of the observed inputs, or of clusters of them, and comes to Σ from above, which keeps
        it from collapsing; with several components each Σ_k is also pulled to the covariance of all inputs with the
        weight of a hundredth of the inputs.

        Parameters
        ----------
        X, X_var
            Observed inputs and their noise variances, ``(N, D)``.
        components
            K; fewer where there are fewer than ten inputs for each.
        iterations
            Steps.
        seed
            Of the clusters it starts from.
        """
        # What does not vary has no direction of its own: a little variance keeps the inverse.
        floor = 1e-6 * np.diag(np.maximum(X.var(axis=0), 1e-6))
        overall = np.cov(X.T, bias=True).reshape(floor.shape) + floor
        components = max(1, min(components, len(X) // 10))
        pull = 0.0 if components == 1 else 0.01 * len(X)
        r = _start(X, components, seed)
        # At first every input is where it was observed: prior is replaced before it is used.
        prior = cls.isotropic(X.shape[1], np.inf)
        conditional = Conditional(r, np.repeat(X[:, None], components, 1), np.zeros((len(X), components, 1, 1)))
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
        """Return the same with covariances ``factor`` times as large, or flat for None."""
        if factor is None:
            return InputPrior(np.ones(1), self.mean[:1], np.zeros_like(self.precision[:1]))
        return InputPrior(self.weights, self.mean, self.precision / factor)

    def condition(self, X: FloatArray, X_var: FloatArray) -> Conditional:
        """Posterior of noiseless inputs given observed ones, ``p(x | x̃) ∝ N(x̃ | x, V) p(x)``.

        In each component, with the precision P, ``R = √V``, ``M = I + R P R = L Lᵀ`` and ``d = x̃ − mean``::

            N(μ, F Fᵀ),  F = R L⁻ᵀ,  μ = x̃ − F Fᵀ P d,
            log weight = log w − ½ log |M| + ½ log |P| − ½ (dᵀ P d − |Fᵀ P d|²)

        which needs no inverse of V: an input without noise is what was observed, exactly.

        Parameters
        ----------
        X, X_var
            Observed inputs and their noise variances, ``(n, D)``.
        """
        R = np.sqrt(X_var)[:, None, :]
        identity = np.eye(X.shape[1])
        L = np.linalg.cholesky(identity + R[..., :, None] * self.precision * R[..., None, :])
        factor = R[..., :, None] * np.linalg.solve(L, np.broadcast_to(identity, L.shape)).swapaxes(-1, -2)
        offset = X[:, None, :] - self.mean
        # A row at a time, in one order of summation: what comes out for a source depends on that source alone.
        pull = np.einsum("kij,nkj->nki", self.precision, offset)
        whitened = np.einsum("nkia,nki->nka", factor, pull)
        mean = X[:, None, :] - np.einsum("nkia,nka->nki", factor, whitened)
        if len(self.weights) == 1:
            return Conditional(np.ones((len(X), 1)), mean, factor)
        quadratic = np.einsum("nki,nki->nk", offset, pull) - np.einsum("nka,nka->nk", whitened, whitened)
        log_det = 2.0 * np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(axis=-1) - np.linalg.slogdet(self.precision)[1]
        log_weights = np.log(self.weights) - 0.5 * (log_det + quadratic)
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        return Conditional(weights / weights.sum(axis=1, keepdims=True), mean, factor)

    def moments(self, X: FloatArray, X_var: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means and variances of noiseless inputs given observed ones, both ``(n, D)``, in blocks of bounded memory.

        ``E[x | x̃]`` and ``diag Var[x | x̃]`` by :meth:`Conditional.moments` of what :meth:`condition` returns, which has
        the parameters.
        """
        size = max(1, _COVARIANCES // (len(self.weights) * X.shape[1] ** 2))
        starts = range(0, max(len(X), 1), size)
        blocks = [self.condition(X[k : k + size], X_var[k : k + size]).moments() for k in starts]
        mean, var = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return mean, var


def _start(X: FloatArray, components: int, seed: int) -> FloatArray:
    """Return responsibilities ``(n, K)`` by clusters."""
    if components == 1:
        return np.ones((len(X), 1))
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):  # threads would add partial sums in the order in which they finish
        clusters = KMeans(components, n_init=4, random_state=seed).fit_predict(X)
    responsibilities: FloatArray = np.eye(components)[clusters]
    return responsibilities
