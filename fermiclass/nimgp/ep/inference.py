"""Expectation propagation: all factors are matched at once to their cavities, with damping, until a fixed point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fermiclass.nimgp.arrays import FloatArray
from fermiclass.nimgp.ep.factors import LabelMatch, RateMatch, Sites, match_label, match_rate
from fermiclass.nimgp.ep.posterior import ImproperError, Posterior, PriorAndLabels


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
    """All cavities and matched factors; those of ρ are None if all labels are known to be right."""

    cavity: LabelCavity
    label: LabelMatch
    exists: NDArray[np.bool_]  #: Which Gaussian cavities exist, ``(N, R)``; the posterior replaces others.
    rate_cavity: RateCavity | None
    rate: RateMatch | None

    def sites(self, old: Sites) -> Sites:
        """Return the matched factors. Factors without a cavity keep their old parameters."""
        new = (np.where(self.exists, *each) for each in zip(self.label[:5], old[:5], strict=True))
        return Sites._make([*new, *(old[5:] if self.rate is None else self.rate[:3])])


def match(model: PriorAndLabels, sites: Sites, posterior: Posterior, *, limited: bool = False) -> Matches:
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


_SMALLEST_STEP = 1e-3


@dataclass(frozen=True)
class Rules:
    """Settings of the search for the fixed point."""

    damping: float = 0.5  #: Power ε of the new factor, in (0, 1]. The old factor has the power 1 − ε.
    tolerance: float = 1e-5  #: Largest change of a mean, variance or P(z = 1) in a round at the fixed point.
    max_rounds: int = 200  #: Largest number of rounds.
    #: Whether sites must not have negative precisions. EP then has a fixed point where it otherwise cycles: if many
    #: labels are ambiguous and the latent functions are smooth. Not all moments are matched, and the evidence is not
    #: exactly stationary.
    limited: bool = False


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Result of EP: the sites, the posterior Q, whether it is a fixed point, and the number of rounds."""

    sites: Sites
    posterior: Posterior
    converged: bool
    rounds: int


def find_fixed_point(model: PriorAndLabels, *, start: Sites | None = None, rules: Rules = Rules()) -> FixedPoint:
    """Run EP, from sites of an earlier fixed point if they are valid with this prior.

    A round matches all factors in parallel, damps the step, and centres the functions (:func:`centred`). If negative
    precisions leave no Gaussian, the round makes a smaller step. A factor without a Gaussian cavity does not change.
    """
    sites = Sites.empty(model.labels, model.label_noise) if start is None else start
    try:
        posterior = Posterior.of(model, sites)
    except ImproperError:
        sites = Sites.empty(model.labels, model.label_noise)
        posterior = Posterior.of(model, sites)
    converged, rounds = False, 0
    while rounds < rules.max_rounds and not converged:
        rounds += 1
        matches = match(model, sites, posterior, limited=rules.limited)
        moved = _move(model, sites, matches.sites(sites), rules.damping)
        if moved is None:
            break
        old, (sites, posterior) = posterior, moved
        pairs = (old.mean, posterior.mean), (old.var, posterior.var), (expit(old.log_odds), expit(posterior.log_odds))
        change = max(float(np.abs(a - b).max()) for a, b in pairs)
        converged = bool(matches.exists.all()) and change < rules.tolerance
    return FixedPoint(sites, posterior, converged, rounds)


def _move(model: PriorAndLabels, sites: Sites, new: Sites, step: float) -> tuple[Sites, Posterior] | None:
    while step > _SMALLEST_STEP:
        damped = sites.towards(new, step)
        try:
            return centred(model, damped, Posterior.of(model, damped))
        except ImproperError:
            step /= 2.0
    return None


def centred(model: PriorAndLabels, sites: Sites, posterior: Posterior) -> tuple[Sites, Posterior]:
    """Move all latent functions together to their common level at the fixed point, which rounds approach slowly.

    The likelihood depends on differences of latent functions only. At the fixed point the weights ``w_k = K_k⁻¹ μ_k``
    therefore satisfy ``Σ_k w_k = 0``. This subtracts their mean w̄: with ``δ_k = −K_k w̄``, ``μ_k += δ_k`` and
    ``υ_k += Λ_k δ_k − w̄``. Here ``Λ_k δ_k`` translates the sites, and the rest is divided among them.
    """
    labels = model.labels
    centre = posterior.weights.mean(axis=0)
    by = np.broadcast_to(-model.K @ centre, posterior.mean.shape)
    others, own = (by[k, labels.rows] for k in (labels.others, labels.own))
    sites = sites._replace(
        shift=sites.shift + sites.precision * others - centre[:, None],
        own_shift=sites.own_shift + sites.own_precision * own - centre[:, None] / labels.others.shape[1],
    )
    shift = labels.by_class(sites.shift, sites.own_shift)
    return sites, replace(posterior, mean=posterior.mean + by, shift=shift)
