"""The prior of the latent functions, the product of prior and sites (the approximate posterior), and prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist
from scipy.special import log_ndtr

from fermiclass.nimgp.arrays import FloatArray
from fermiclass.nimgp.ep.factors import LabelNoise, Labels, Sites

JITTER = 1e-6  #: Added to the diagonal of every K_k, so that it can be factorised.

_POINTS = 100  # number of quadrature points
_ROWS_PER_BLOCK = 1000


@dataclass(frozen=True, eq=False)
class Covariance:
    """``c_k(x, x') = exp(−½ Σ_j (x_j − x'_j)² / γ_j) + ϑ_k² [x = x']``, RMGPC's equation 22 and the text after it.

    The amplitude is 1, since it does not affect which latent function is the largest.
    """

    gamma: FloatArray  #: Squared length-scales, ``(D,)``, or ``(1,)`` if all features share one.
    noise: FloatArray  #: ϑ², ``(C,)``, zeros for none.

    def smooth(self, X: FloatArray, X2: FloatArray) -> FloatArray:
        """Covariances without the noise, ``(n, n')``."""
        scale = np.sqrt(self.gamma)
        return np.asarray(np.exp(-0.5 * cdist(X / scale, X2 / scale, "sqeuclidean")))

    def K(self, X: FloatArray) -> FloatArray:
        """Covariances of points with themselves, ``(C, n, n)``, or ``(1, n, n)`` if all classes share them."""
        noise = self.noise if np.any(self.noise) else np.zeros(1)
        return self.smooth(X, X) + (noise + JITTER)[:, None, None] * np.eye(len(X))

    def variance(self) -> FloatArray:
        """Variance of every latent function at a point, noise included, ``(C,)``."""
        return 1.0 + JITTER + self.noise

    def gradient(self, X: FloatArray, G: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``∂/∂log γ`` and ``∂/∂log ϑ²`` of a number with the symmetric derivatives ``∂/∂K_k``, G (C, N, N)."""
        Q = G.sum(axis=0) * self.smooth(X, X)
        # Σ_nm Q_nm (x_n − x_m)² = 2 Σ_n x_n² Σ_m Q_nm − 2 Σ_nm x_n Q_nm x_m, feature by feature.
        by_feature = (Q.sum(axis=1) @ X**2 - np.sum(X * (Q @ X), axis=0)) / self.gamma
        of_gamma = by_feature if len(self.gamma) > 1 else by_feature.sum(keepdims=True)
        return of_gamma, self.noise * np.trace(G, axis1=1, axis2=2)


class ImproperError(ArithmeticError):
    """The product is not a distribution: negative precisions of the sites exceed the prior."""


class PriorAndLabels:
    """Prior and labels: covariances ``K`` of the latent functions at the rows, (C, N, N), or (1, N, N) if shared.

    `label_noise` is the prior of the share of random labels; None if all labels are right (SMGPC).
    """

    def __init__(self, K: FloatArray, labels: Labels, label_noise: LabelNoise | None) -> None:
        self.L = np.linalg.cholesky(K)
        self.K, self.labels, self.label_noise = K, labels, label_noise


@dataclass(frozen=True, eq=False)
class Posterior:
    """Q(f, z, ρ), the normalised product of prior and sites (RMGPC, equation 13). :meth:`of` makes it.

    With ``K_k = L Lᵀ``, ``A = I + Lᵀ Λ_k L = R Rᵀ`` and ``V_k = R⁻¹ Lᵀ``, the covariance of f_k is
    ``Σ_k = (K_k⁻¹ + Λ_k)⁻¹ = V_kᵀ V_k`` and ``log |I + Λ_k K_k| = log |A|``. No step divides by Λ, whose entries may
    be zero or negative. A has a Cholesky factor if and only if Σ_k is a covariance.
    """

    #: Mean and variance of the latent functions at the rows, ``(C, N)``.
    mean: FloatArray
    var: FloatArray
    #: Diagonal of Λ_k, and υ_k, ``(C, N)``; V_k, ``(N, N)`` each.
    precision: FloatArray
    shift: FloatArray
    factors: tuple[FloatArray, ...]
    log_det: float  #: ``Σ_k log |I + Λ_k K_k|``.
    #: Log-odds of z, ``(N,)``; parameters of the Beta distribution of ρ, 0 and 1 if all labels are known to be right.
    log_odds: FloatArray
    a: float
    b: float

    @classmethod
    def of(cls, model: PriorAndLabels, sites: Sites) -> Posterior:
        """Multiply prior and sites; ImproperError when the product cannot be normalised."""
        labels, noise = model.labels, model.label_noise
        a, b = (0.0, 1.0) if noise is None else (noise.a + sites.alpha.sum(), noise.b + sites.beta.sum())
        if noise is not None and not min(a, b) > 0.0:
            raise ImproperError("the product has no distribution of the share of random labels")
        precision = labels.by_class(sites.precision, sites.own_precision)
        shift = labels.by_class(sites.shift, sites.own_shift)
        identity = np.eye(len(labels.y))
        factors, log_det = [], 0.0
        for k in range(labels.num_classes):
            L = model.L[min(k, len(model.L) - 1)]
            try:
                R = np.linalg.cholesky(identity + L.T @ (precision[k, :, None] * L))
            except np.linalg.LinAlgError as error:
                raise ImproperError(f"the product has no distribution of latent function {k}") from error
            factors.append(solve_triangular(R, L.T, lower=True, check_finite=False))
            log_det += 2.0 * float(np.log(np.diag(R)).sum())
        mean = np.stack([V.T @ (V @ of_k) for V, of_k in zip(factors, shift, strict=True)])
        var = np.stack([np.einsum("ij,ij->j", V, V) for V in factors])
        log_odds = sites.rate_log_odds + sites.log_odds.sum(axis=1)
        return cls(mean, var, precision, shift, tuple(factors), log_det, log_odds, float(a), float(b))

    @property
    def rate(self) -> float:
        """Mean of ρ, ``a / (a + b)``."""
        return self.a / (self.a + self.b)

    @property
    def weights(self) -> FloatArray:
        """``w_k = M_k⁻¹ υ_k = υ_k − Λ_k μ_k``, so that ``μ_k = K_k w_k``; ``(C, N)``."""
        return self.shift - self.precision * self.mean

    @cached_property
    def gain(self) -> FloatArray:
        """``P_k = M_k⁻¹ Λ_k = Λ_k − Λ_k Σ_k Λ_k = K_k⁻¹ − K_k⁻¹ Σ_k K_k⁻¹``, ``(C, N, N)``."""
        scaled = np.stack([V * of_k for V, of_k in zip(self.factors, self.precision, strict=True)])
        gain = -np.matmul(scaled.transpose(0, 2, 1), scaled)
        rows = np.arange(gain.shape[1])
        gain[:, rows, rows] += self.precision
        return gain


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

    def moments(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``m_k = k*ᵀ w_k`` and ``v_k = k** − k*ᵀ P_k k*``, (C, n), at ``X`` (n, D) (RMGPC, equation 20, corrected)."""
        k = self.covariance.smooth(X, self.X)
        explained = np.stack([np.einsum("ij,ij->i", k @ gain, k) for gain in self.gain])
        var = np.maximum(self.covariance.variance()[:, None] - explained, 1e-10)
        return self.weights @ k.T, var

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Class probabilities at ``X`` (n, D), ``(n, C)``; see :func:`class_probabilities`."""
        blocks = (X[start : start + _ROWS_PER_BLOCK] for start in range(0, max(len(X), 1), _ROWS_PER_BLOCK))
        return np.concatenate([class_probabilities(*self.moments(block), self.rate) for block in blocks])


def class_probabilities(mean: FloatArray, var: FloatArray, rate: float) -> FloatArray:
    """``ρ̄ / C + (1 − ρ̄) ∫ N(u | m_y, v_y) Π_{k≠y} Φ((u − m_k) / √v_k) du`` (RMGPC, equation 19), ``(n, C)``.

    By Gauss-Hermite quadrature, of which the probabilities are normalised.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_POINTS)
    num_classes, wins = len(mean), np.empty(mean.shape)
    mean, scale = mean[:, :, None], np.sqrt(var)[:, :, None]
    for y in range(num_classes):
        others = np.arange(num_classes) != y
        u = mean[y] + scale[y] * nodes  # (n, points)
        below = log_ndtr((u - mean[others]) / scale[others]).sum(axis=0)
        wins[y] = np.exp(below) @ weights
    wins /= wins.sum(axis=0)
    return rate / num_classes + (1.0 - rate) * wins.T
