"""p(x): what is known of a noiseless input before it is observed, a Gaussian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class InputPrior:
    """``p(x) = N(mean, precision⁻¹)``.

    A precision of zero is a flat prior, and one without an inverse is flat along some directions.

    Attributes
    ----------
    mean
        ``(D,)``.
    precision
        ``(D, D)``, symmetric and not negative.
    """

    mean: FloatArray
    precision: FloatArray

    @classmethod
    def isotropic(cls, input_dim: int, variance: float) -> InputPrior:
        """``N(0, variance · I)``; an infinite variance makes it flat."""
        return cls(np.zeros(input_dim), np.eye(input_dim) / variance)

    @classmethod
    def population(cls, X: FloatArray, X_var: FloatArray, *, iterations: int = 100) -> InputPrior:
        """Deconvolve: the Gaussian N(m, Σ) that the noiseless inputs came from, were they observed with noise.

        Maximises ``Σ_i log N(x̃_i | m, Σ + V_i)`` by expectation maximisation (Bovy, Hogg & Roweis 2011, Annals of
        Applied Statistics 5, 1657, with one component). With the posterior N(b_i, B_i) of x_i at the present m and Σ::

            m ← mean_i b_i,    Σ ← mean_i [(b_i − m)(b_i − m)ᵀ + B_i]

        It starts at the moments of the observed inputs and comes to Σ from above, which keeps it from collapsing.

        Parameters
        ----------
        X, X_var
            Observed inputs and their noise variances, ``(N, D)``.
        iterations
            Steps.
        """
        # What does not vary has no direction of its own: a little variance keeps the inverse.
        floor = 1e-6 * np.diag(np.maximum(X.var(axis=0), 1e-6))
        spread = np.cov(X.T, bias=True).reshape(floor.shape)
        prior = cls(X.mean(axis=0), _inverse(spread + floor))
        for _ in range(iterations):
            mean, factor = prior.condition(X, X_var)
            centre = mean.mean(axis=0)
            spread = np.einsum("ni,nj->ij", mean - centre, mean - centre) + np.einsum("nik,njk->ij", factor, factor)
            prior = cls(centre, _inverse(spread / len(X) + floor))
        return prior

    def widened(self, factor: float | None) -> InputPrior:
        """Return the same with a covariance ``factor`` times as large, or flat for None."""
        return InputPrior(self.mean, self.precision / (np.inf if factor is None else factor))

    def condition(self, X: FloatArray, X_var: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Posterior of noiseless inputs given observed ones, ``p(x | x̃) ∝ N(x̃ | x, V) p(x) = N(μ, F Fᵀ)``.

        With the precision P, ``R = √V`` and ``M = I + R P R = L Lᵀ``::

            μ = x̃ + R M⁻¹ R P (mean − x̃),    F = R L⁻ᵀ

        which needs no inverse of V: an input without noise is what was observed, exactly.

        Parameters
        ----------
        X, X_var
            Observed inputs and their noise variances, ``(n, D)``.

        Returns
        -------
        mean
            μ, ``(n, D)``.
        factor
            F, ``(n, D, D)``.
        """
        R = np.sqrt(X_var)
        identity = np.eye(X.shape[1])
        L = np.linalg.cholesky(identity + R[:, :, None] * self.precision * R[:, None, :])
        factor = R[:, :, None] * np.linalg.solve(L, np.broadcast_to(identity, L.shape)).swapaxes(1, 2)
        # A row at a time, in one order of summation: what comes out for a source depends on that source alone.
        pull = np.einsum("ij,nj->ni", self.precision, self.mean - X)
        mean = X + np.einsum("nik,njk,nj->ni", factor, factor, pull)
        return mean, factor


def _inverse(matrix: FloatArray) -> FloatArray:
    inverse: FloatArray = np.linalg.inv(matrix).astype(np.float64)
    return inverse
