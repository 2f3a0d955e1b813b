"""Class probabilities of new rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from fermiclass.nimgp.ep.kernel import Covariance
from fermiclass.nimgp.ep.posterior import Posterior

FloatArray = NDArray[np.float64]

_POINTS = 100


class LatentMoments(NamedTuple):
    """Mean and variance of every latent function at n points, ``(C, n)`` each."""

    mean: FloatArray
    var: FloatArray


def latent_moments(covariance: Covariance, X: FloatArray, posterior: Posterior, X_new: FloatArray) -> LatentMoments:
    """``m_k = k*ᵀ w_k`` and ``v_k = k** − k*ᵀ P_k k*`` (RMGPC, equation 20, which prints another m_k).

    Parameters
    ----------
    covariance
        Of the latent functions.
    X
        Inputs of the training rows, ``(N, D)``.
    posterior
        Of the latent functions there.
    X_new
        Other inputs, ``(n, D)``.
    """
    k = covariance.smooth(X_new, X)
    mean = posterior.weights @ k.T
    explained = np.stack([np.einsum("ij,ij->i", k @ gain, k) for gain in posterior.gain])
    return LatentMoments(mean, np.maximum(covariance.variance()[:, None] - explained, 1e-10))


def class_probabilities(latent: LatentMoments, rate: float) -> FloatArray:
    """``ρ̄ / C + (1 − ρ̄) ∫ N(u | m_y, v_y) Π_{k≠y} Φ((u − m_k) / √v_k) du`` (RMGPC, equation 19), ``(n, C)``.

    By Gauss-Hermite quadrature; what it leaves of a sum of one is divided out.

    Parameters
    ----------
    latent
        Moments of the latent functions.
    rate
        ρ̄.
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
