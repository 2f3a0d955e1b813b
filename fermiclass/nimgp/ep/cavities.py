"""Cavities: the posterior without one factor, for every factor. Each factor is matched to its cavity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermiclass.nimgp.arrays import FloatArray
from fermiclass.nimgp.ep.factors import LabelMatch, RateMatch, match_label, match_rate
from fermiclass.nimgp.ep.posterior import Model, Posterior
from fermiclass.nimgp.ep.sites import Sites


class LabelCavity(NamedTuple):
    """Posterior without ψ_ik: means and variances of f_k and f_y, and log-odds of z, ``(N, R)``."""

    mean: FloatArray
    var: FloatArray
    own_mean: FloatArray
    own_var: FloatArray
    log_odds: FloatArray


class RateCavity(NamedTuple):
    """Posterior without ψ_i: log-odds of z, and parameters of the Beta distribution of ρ, ``(N,)``."""

    log_odds: FloatArray
    a: FloatArray
    b: FloatArray


class Matches(NamedTuple):
    """All cavities and matched factors. `exists` tells which Gaussian cavities exist, ``(N, R)``.

    The posterior replaces a cavity that does not exist. `rate` is None if all labels are known to be right.
    """

    cavity: LabelCavity
    label: LabelMatch
    exists: NDArray[np.bool_]
    rate_cavity: RateCavity | None
    rate: RateMatch | None

    def sites(self, old: Sites) -> Sites:
        """Return the matched factors. Factors without a cavity keep their old parameters."""
        names = ("precision", "shift", "own_precision", "own_shift", "log_odds")
        new = old._replace(**{n: np.where(self.exists, getattr(self.label, n), getattr(old, n)) for n in names})
        if self.rate is None:
            return new
        return new._replace(alpha=self.rate.alpha, beta=self.rate.beta, rate_log_odds=self.rate.log_odds)


def match(model: Model, sites: Sites, posterior: Posterior, *, limited: bool = False) -> Matches:
    """Divide the posterior by every factor and match it; see :func:`fermiclass.nimgp.ep.factors.match_label`."""
    labels = model.labels
    mean, var, exists = _without(posterior, labels.others, labels.rows, sites.precision, sites.shift)
    own_mean, own_var, own = _without(posterior, labels.own, labels.rows, sites.own_precision, sites.own_shift)
    cavity = LabelCavity(mean, var, own_mean, own_var, posterior.log_odds[:, None] - sites.log_odds)
    matched = match_label(*cavity, labels.num_classes, limited=limited)
    if model.label_noise is None:
        return Matches(cavity, matched, exists & own, None, None)
    a, b = posterior.a - sites.alpha, posterior.b - sites.beta
    rate_cavity = RateCavity(
        posterior.log_odds - sites.rate_log_odds, np.where(a > 0, a, posterior.a), np.where(b > 0, b, posterior.b)
    )
    return Matches(cavity, matched, exists & own, rate_cavity, match_rate(*rate_cavity))


def _without(
    posterior: Posterior, k: NDArray[np.int64], rows: NDArray[np.int64], precision: FloatArray, shift: FloatArray
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    mean, var = posterior.mean[k, rows], posterior.var[k, rows]
    left = 1.0 / var - precision
    exists = left > 0.0
    cavity_var = 1.0 / np.where(exists, left, 1.0 / var)
    return np.where(exists, (mean / var - shift) * cavity_var, mean), cavity_var, exists
