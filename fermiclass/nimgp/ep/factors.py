"""Labels, the approximate factors of the likelihood (sites), and the moments of one factor at a time.

A factor is multiplied by its cavity, the approximate posterior without it. The cavity times the approximate factor must
have the moments of this product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, expit, log_expit, log_ndtr, polygamma

from fermiclass.nimgp.arrays import FloatArray

IntArray = NDArray[np.int64]


class LabelNoise(NamedTuple):
    """``ρ ~ Beta(a, b)``, the share of labels that are random (RMGPC, equation 4)."""

    a: float = 1.0
    b: float = 9.0


@dataclass(frozen=True, eq=False)
class Labels:
    """Classes ``y`` (N,) of the N rows, and the R = C − 1 ``others`` (N, R) of each row. :meth:`of` makes them."""

    y: IntArray
    others: IntArray
    num_classes: int

    @classmethod
    def of(cls, y: IntArray, num_classes: int) -> Labels:
        """Find the other classes of classes 0 … C − 1."""
        return cls(y, (y[:, None] + np.arange(1, num_classes)) % num_classes, num_classes)

    @property
    def rows(self) -> IntArray:
        """Row numbers to index with `others`, ``(N, 1)``."""
        return np.arange(len(self.y))[:, None]

    @property
    def own(self) -> IntArray:
        """Classes of the rows to index with `rows`, ``(N, 1)``."""
        return self.y[:, None]

    def by_class(self, of_others: FloatArray, of_own: FloatArray) -> FloatArray:
        """Sum the parameters ``(N, R)`` of f_k and f_y for every latent function at every row, ``(C, N)``."""
        total = np.zeros((self.num_classes, len(self.y)))
        total[self.others, self.rows] = of_others
        total[self.own, self.rows] = of_own.sum(axis=1, keepdims=True)
        return total


class Sites(NamedTuple):
    """Natural parameters of the approximate factors (RMGPC, equations 14 and 15).

    Of ψ_ik, ``(N, R)``: precisions and shifts (precision times mean) of f_k and of f_y, which may be negative, and
    log-odds of z. Of ψ_i, ``(N,)``: exponents of ρ and 1 − ρ, and log-odds of z, −∞ if all labels are right.
    """

    precision: FloatArray
    shift: FloatArray
    own_precision: FloatArray
    own_shift: FloatArray
    log_odds: FloatArray
    alpha: FloatArray
    beta: FloatArray
    rate_log_odds: FloatArray

    @classmethod
    def empty(cls, labels: Labels, label_noise: LabelNoise | None) -> Sites:
        """Return sites without effect, except for the prior log-odds of z."""
        odds = -np.inf if label_noise is None else np.log(label_noise.a / label_noise.b)
        zeros, row = np.zeros(labels.others.shape), np.zeros(len(labels.y))
        return cls(zeros, zeros, zeros, zeros, zeros, row, row, row + odds)

    def towards(self, new: Sites, step: float) -> Sites:
        """Return the damped sites ``new^step · self^(1 − step)``."""
        damped = (a if a is b else (1.0 - step) * a + step * b for a, b in zip(self, new, strict=True))
        return Sites(*damped)


_NEWTON_STEPS = 20
_LOG_ROOT_2PI = 0.5 * np.log(2.0 * np.pi)


class LabelMatch(NamedTuple):
    """Approximate ψ_ik: natural parameters of f_k, f_y and z, and ``log E ψ_ik``, all in the shape of the cavity."""

    precision: FloatArray
    shift: FloatArray
    own_precision: FloatArray
    own_shift: FloatArray
    log_odds: FloatArray
    log_mean: FloatArray


class RateMatch(NamedTuple):
    """Approximate ψ_i: ``ρ^alpha (1 − ρ)^beta exp(log_odds z)``, and ``log E ψ_i``. All are ``(N,)``."""

    alpha: FloatArray
    beta: FloatArray
    log_odds: FloatArray
    log_mean: FloatArray


def match_label(
    mean: FloatArray,
    var: FloatArray,
    own_mean: FloatArray,
    own_var: FloatArray,
    log_odds: FloatArray,
    num_classes: int,
    *,
    limited: bool = False,
) -> LabelMatch:
    """Match ``ψ_ik = Θ(f_y − f_k)^{1−z} c^z`` with ``c = C^{−1/(C−1)}`` (RMGPC, equation 10).

    With cavity means m, variances v, ``p = P(z = 1)``, ``s = v_y + v_k`` and ``α = (m_y − m_k) / √s``::

        Z = (1 − p) Φ(α) + p c
        g = ∂ log Z / ∂m_y = −∂ log Z / ∂m_k = (1 − p) N(α | 0, 1) / (√s Z)
        h = −∂² log Z / ∂m² = g (α / √s + g)

    The matched mean is ``m ± v g`` and the matched variance ``v − v² h``. Therefore the site has the precision
    ``h / (1 − v h)``, negative for a label that is likely to be wrong, and the shift ``(±g + m h) / (1 − v h)``. The
    site of z has the log-odds ``log c − log Φ(α)`` for any p. `limited` sets negative precisions to 0.
    """
    log_c = -np.log(num_classes) / (num_classes - 1.0)
    s = own_var + var
    root = np.sqrt(s)
    alpha = (own_mean - mean) / root
    log_cdf = log_ndtr(alpha)
    log_right = log_expit(-log_odds)
    log_Z = np.logaddexp(log_right + log_cdf, log_expit(log_odds) + log_c)
    g = np.exp(log_right - 0.5 * alpha**2 - _LOG_ROOT_2PI - log_Z) / root
    h = g * (alpha / root + g)
    h = np.maximum(h, 0.0) if limited else h
    rest, own_rest = (np.maximum(1.0 - v * h, 1e-10) for v in (var, own_var))  # remaining fraction of the variance
    return LabelMatch(
        h / rest, (mean * h - g) / rest, h / own_rest, (own_mean * h + g) / own_rest, log_c - log_cdf, log_Z
    )


def match_rate(log_odds: FloatArray, a: FloatArray, b: FloatArray) -> RateMatch:
    """Match ``ψ_i = ρ^z (1 − ρ)^{1−z}`` (RMGPC, equation 10) with a cavity ``Beta(ρ | a, b)`` and log-odds of z, (N,).

    With ``p = P(z = 1)`` and ``r = a / (a + b)``, ``Z = p r + (1 − p)(1 − r)``. The distribution of ρ is the mixture
    ``w Beta(a + 1, b) + (1 − w) Beta(a, b + 1)`` with ``w = p r / Z``. Newton's method finds the Beta distribution with
    the same ``E log ρ`` and ``E log (1 − ρ)``. The site of z has the log-odds ``log r / (1 − r)``.
    """
    rate = np.log(a) - np.log(b)
    log_Z = np.logaddexp(log_expit(log_odds) + log_expit(rate), log_expit(-log_odds) + log_expit(-rate))
    w = expit(log_odds + rate)
    total = digamma(a + b + 1.0)
    new_a, new_b = _beta_of(digamma(a) + w / a - total, digamma(b) + (1.0 - w) / b - total, a + w, b + 1.0 - w)
    return RateMatch(new_a - a, new_b - b, rate, log_Z)


def _beta_of(log_mean: FloatArray, log_rest: FloatArray, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a and b of the Beta with these ``E log ρ`` and ``E log (1 − ρ)``, by Newton steps in log a and log b."""
    for _ in range(_NEWTON_STEPS):
        total, slope = digamma(a + b), polygamma(1, a + b)
        miss_a, miss_b = log_mean - digamma(a) + total, log_rest - digamma(b) + total
        aa, bb = polygamma(1, a) - slope, polygamma(1, b) - slope
        det = aa * bb - slope**2
        step_a = (bb * miss_a + slope * miss_b) / (det * a)
        step_b = (aa * miss_b + slope * miss_a) / (det * b)
        a, b = a * np.exp(np.clip(step_a, -1.0, 1.0)), b * np.exp(np.clip(step_b, -1.0, 1.0))
        if max(np.abs(step_a).max(), np.abs(step_b).max()) < 1e-9:
            break
    return a, b
