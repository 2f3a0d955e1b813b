"""Class probabilities of new rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from fermiclass.nimgp.arrays import FloatArray
from fermiclass.nimgp.ep.posterior import Covariance, Posterior

_POINTS = 100  # number of quadrature points
_ROWS_PER_BLOCK = 1000


class LatentMoments(NamedTuple):
    """Mean and variance of every latent function at n points, ``(C, n)`` each."""

    mean: FloatArray
    var: FloatArray


class EPPredictor(NamedTuple):
    """Prediction with a trained model: its covariance, its N training rows, w_k, P_k and the mean of ρ."""

    covariance: Covariance
    X: FloatArray
    weights: FloatArray
    gain: FloatArray
    rate: float

    @classmethod
    def of(cls, covariance: Covariance, X: FloatArray, posterior: Posterior) -> EPPredictor:
        """Make the predictor from the posterior at the training rows."""
        return cls(covariance, X, posterior.weights, posterior.gain, posterior.rate)

    def moments(self, X: FloatArray) -> LatentMoments:
        """``m_k = k*ᵀ w_k`` and ``v_k = k** − k*ᵀ P_k k*`` at ``X`` (n, D) (RMGPC, equation 20, corrected)."""
        k = self.covariance.smooth(X, self.X)
        explained = np.stack([np.einsum("ij,ij->i", k @ gain, k) for gain in self.gain])
        var = np.maximum(self.covariance.variance()[:, None] - explained, 1e-10)
        return LatentMoments(self.weights @ k.T, var)

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Class probabilities at ``X`` (n, D), ``(n, C)``; see :func:`class_probabilities`."""
        blocks = (X[start : start + _ROWS_PER_BLOCK] for start in range(0, max(len(X), 1), _ROWS_PER_BLOCK))
        return np.concatenate([class_probabilities(self.moments(block), self.rate) for block in blocks])


def class_probabilities(latent: LatentMoments, rate: float) -> FloatArray:
    """``ρ̄ / C + (1 − ρ̄) ∫ N(u | m_y, v_y) Π_{k≠y} Φ((u − m_k) / √v_k) du`` (RMGPC, equation 19), ``(n, C)``.

    The integral is computed by Gauss-Hermite quadrature, and the probabilities are then normalised.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_POINTS)
    mean, scale = latent.mean[:, :, None], np.sqrt(latent.var)[:, :, None]
    num_classes = len(mean)
    wins = np.empty(latent.mean.shape)
    for y in range(num_classes):
        others = np.arange(num_classes) != y
        u = mean[y] + scale[y] * nodes  # (n, points)
        below = log_ndtr((u - mean[others]) / scale[others]).sum(axis=0)
        wins[y] = np.exp(below) @ weights
    wins /= wins.sum(axis=0)
    probabilities: FloatArray = rate / num_classes + (1.0 - rate) * wins.T
    return probabilities
