"""Expectation propagation: all factors are matched at once, with damping, until a fixed point."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from fermiclass.nimgp.ep.cavities import match
from fermiclass.nimgp.ep.posterior import ImproperError, Model, Posterior
from fermiclass.nimgp.ep.sites import Sites

_SMALLEST_STEP = 1e-3


@dataclass(frozen=True)
class Rules:
    """Settings of the search for the fixed point.

    Attributes
    ----------
    damping
        Power ε of the new factor, in (0, 1]. The old factor has the power 1 − ε.
    tolerance
        Largest change of a mean, variance or P(z = 1) in a round at the fixed point.
    max_rounds
        Largest number of rounds.
    limited
        Whether sites must not have negative precisions. EP then has a fixed point where it otherwise cycles: if many
        labels are ambiguous and the latent functions are smooth. Not all moments are matched, and the evidence is not
        exactly stationary.
    """

    damping: float = 0.5
    tolerance: float = 1e-5
    max_rounds: int = 200
    limited: bool = False


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Result of EP: the sites, the posterior Q, whether it is a fixed point, and the number of rounds."""

    sites: Sites
    posterior: Posterior
    converged: bool
    rounds: int


def find_fixed_point(model: Model, *, start: Sites | None = None, rules: Rules | None = None) -> FixedPoint:
    """Run EP.

    A round matches all factors in parallel, damps the step, and centres the functions (:func:`centred`). If negative
    precisions leave no Gaussian, the round makes a smaller step. A factor without a Gaussian cavity does not change.

    Parameters
    ----------
    model
        Prior and labels.
    start
        Sites of an earlier fixed point. They are ignored if they are not valid with this prior.
    rules
        Settings of the search.
    """
    rules = rules or Rules()
    sites, posterior = _start(model, start)
    converged, rounds = False, 0
    while rounds < rules.max_rounds and not converged:
        rounds += 1
        matches = match(model, sites, posterior, limited=rules.limited)
        moved = _move(model, sites, matches.sites(sites), rules.damping)
        if moved is None:
            break
        change = _change(posterior, moved[1])
        sites, posterior = moved
        converged = bool(matches.exists.all()) and change < rules.tolerance
    return FixedPoint(sites, posterior, converged, rounds)


def _start(model: Model, sites: Sites | None) -> tuple[Sites, Posterior]:
    if sites is not None:
        try:
            return sites, Posterior.of(model, sites)
        except ImproperError:
            pass
    sites = Sites.empty(model.labels, model.label_noise)
    return sites, Posterior.of(model, sites)


def _move(model: Model, sites: Sites, new: Sites, step: float) -> tuple[Sites, Posterior] | None:
    while step > _SMALLEST_STEP:
        damped = sites.towards(new, step)
        try:
            return centred(model, damped, Posterior.of(model, damped))
        except ImproperError:
            step /= 2.0
    return None


def centred(model: Model, sites: Sites, posterior: Posterior) -> tuple[Sites, Posterior]:
    """Move all latent functions together to their common level at the fixed point.

    The likelihood depends on differences of latent functions only. At the fixed point the weights ``w_k = K_k⁻¹ μ_k``
    therefore satisfy ``Σ_k w_k = 0``. Rounds alone approach this slowly. This function subtracts the mean w̄ of the
    weights: with ``δ_k = −K_k w̄``, ``μ_k += δ_k`` and ``υ_k += Λ_k δ_k − w̄``. Here ``Λ_k δ_k`` translates the sites,
    and the rest is divided among them. A fixed point does not change.
    """
    labels = model.labels
    centre = posterior.weights.mean(axis=0)
    by = -model.times_K(np.tile(centre, (labels.num_classes, 1)))
    sites = sites.translated(labels, by)
    sites = sites._replace(
        shift=sites.shift - centre[:, None], own_shift=sites.own_shift - centre[:, None] / labels.others.shape[1]
    )
    shift = labels.by_class(sites.shift, sites.own_shift)
    return sites, replace(posterior, mean=posterior.mean + by, shift=shift)


def _change(old: Posterior, new: Posterior) -> float:
    pairs = ((old.mean, new.mean), (old.var, new.var), (expit(old.log_odds), expit(new.log_odds)))
    return max(float(np.abs(a - b).max()) for a, b in pairs)
