"""The squared exponential covariance, which all classes share, with separate latent noise for each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from fermiclass.nimgp.arrays import FloatArray

#: Added to the diagonal of every K_k, so that it can be factorised.
JITTER = 1e-6


@dataclass(frozen=True, eq=False)
class Covariance:
    """``c_k(x, x') = exp(−½ Σ_j (x_j − x'_j)² / γ_j) + ϑ_k² [x = x']``, RMGPC's equation 22 and the text after it.

    The amplitude is 1, since it does not affect which latent function is the largest.

    Attributes
    ----------
    gamma
        Squared length-scales, ``(D,)``, or ``(1,)`` if all features share one.
    noise
        ϑ², ``(C,)``; zeros for none.
    """

    gamma: FloatArray
    noise: FloatArray

    def smooth(self, X: FloatArray, X2: FloatArray) -> FloatArray:
        """Covariances without the noise, ``(n, n')``."""
        scale = np.sqrt(self.gamma)
        K: FloatArray = np.exp(-0.5 * cdist(X / scale, X2 / scale, "sqeuclidean"))
        return K

    def K(self, X: FloatArray) -> FloatArray:
        """Covariances of points with themselves, ``(C, n, n)``, or ``(1, n, n)`` if all classes share them."""
        noise = self.noise if np.any(self.noise) else np.zeros(1)
        return self.smooth(X, X) + (noise + JITTER)[:, None, None] * np.eye(len(X))

    def variance(self) -> FloatArray:
        """Variance of every latent function at a point, noise included, ``(C,)``."""
        return 1.0 + JITTER + self.noise

    def gradient(self, X: FloatArray, G: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Convert derivatives with respect to covariances into those with respect to logarithms of hyper-parameters.

        Parameters
        ----------
        X
            Inputs, ``(N, D)``.
        G
            Derivatives ``∂/∂K_k`` of a number, ``(C, N, N)``, symmetric.

        Returns
        -------
        tuple of ndarray
            ``∂/∂log γ``, ``(D,)`` or ``(1,)``, and ``∂/∂log ϑ²``, ``(C,)``.
        """
        Q = G.sum(axis=0) * self.smooth(X, X)
        # Σ_nm Q_nm (x_n − x_m)² = 2 Σ_n x_n² Σ_m Q_nm − 2 Σ_nm x_n Q_nm x_m, feature by feature.
        by_feature = (Q.sum(axis=1) @ X**2 - np.sum(X * (Q @ X), axis=0)) / self.gamma
        of_gamma = by_feature if len(self.gamma) > 1 else by_feature.sum(keepdims=True)
        return of_gamma, self.noise * np.trace(G, axis1=1, axis2=2)
