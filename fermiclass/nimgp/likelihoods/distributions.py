"""Distributions ``p(y | f)`` of the likelihoods of GPflow, with distribution functions, which GPflow lacks."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import gpflow
import numpy as np
from scipy import stats
from scipy.special import ndtr

from fermiclass.nimgp.arrays import FloatArray
from fermiclass.nimgp.likelihoods.ordered_probit import OrderedProbit


class Distribution(Protocol):
    """Distributions of y, one for each value of f, ``(..., n)``."""

    def cdf(self, y: FloatArray) -> FloatArray:
        """``P(Y ≤ y | f)`` for y of a shape that broadcasts."""

    def ppf(self, level: float) -> FloatArray:
        """Return the smallest y with ``P(Y ≤ y | f) ≥ level``."""


class OutputDistribution(NamedTuple):
    """Distributions of y, and whether y is an integer."""

    distribution: Distribution
    whole: bool


class Grades:
    """Grades 0 … K − 1: ``P(y ≤ k | f) = Φ((edge_k − f) / σ)``.

    Parameters
    ----------
    edges
        Edges of the grades, ``(K − 1,)``, in increasing order.
    f
        Values of the latent function, of any shape.
    sigma
        σ.
    """

    def __init__(self, edges: FloatArray, f: FloatArray, sigma: float) -> None:
        self._edges = np.append(np.insert(np.asarray(edges, float), 0, -np.inf), np.inf)
        self._f, self._sigma = f, sigma

    def cdf(self, y: FloatArray) -> FloatArray:
        """``P(Y ≤ y | f)``."""
        place = np.clip(np.floor(y).astype(int) + 1, 0, len(self._edges) - 1)
        return np.asarray(ndtr((self._edges[place] - self._f) / self._sigma))

    def ppf(self, level: float) -> FloatArray:
        """Return the smallest grade k with ``P(Y ≤ k | f) ≥ level``."""
        place = self._f + self._sigma * stats.norm.ppf(level)
        return np.searchsorted(self._edges[1:-1], place, side="left").astype(float)


class Counts:
    """Poisson distributions of given rates. The rates may have any shape and any size."""

    def __init__(self, rate: FloatArray) -> None:
        self._rate, self._of_rate = rate, stats.poisson(rate)

    def cdf(self, y: FloatArray) -> FloatArray:
        """``P(Y ≤ y | f)``."""
        return np.asarray(self._of_rate.cdf(y))

    def ppf(self, level: float) -> FloatArray:
        """Return the smallest count k with ``P(Y ≤ k | f) ≥ level``. From a rate of 1e9 on it is approximate."""
        z = stats.norm.ppf(level)
        # The expansion of Cornish & Fisher with the skewness; SciPy returns NaN from a rate of about 10^11.
        large = np.ceil(self._rate + z * np.sqrt(self._rate) + (z**2 - 1.0) / 6.0)
        return np.where(self._rate < _LARGE_RATE, self._of_rate.ppf(level), large)


class _OfTFP:
    def __init__(self, likelihood: gpflow.likelihoods.MultiLatentTFPConditional, f: FloatArray) -> None:
        self._of_f = likelihood.conditional_distribution(np.moveaxis(f, -2, -1))

    def cdf(self, y: FloatArray) -> FloatArray:
        return self._of_f.cdf(np.asarray(y)[..., None]).numpy()[..., 0]

    def ppf(self, level: float) -> FloatArray:
        return self._of_f.quantile(np.float64(level)).numpy()[..., 0]


def output_distribution(likelihood: gpflow.likelihoods.Likelihood, f: FloatArray) -> OutputDistribution:
    """Return ``p(y | f)`` at values ``f`` (..., L, n) of the latent functions.

    Raises
    ------
    NotImplementedError
        When y has no order, or the quantiles of the likelihood are not implemented.
    """
    own = gpflow.likelihoods
    if isinstance(likelihood, own.MultiLatentTFPConditional):
        return OutputDistribution(_OfTFP(likelihood, f), whole=False)
    f = f[..., 0, :]
    if isinstance(likelihood, own.Gaussian):
        known_variance = likelihood.variance is not None
        scale = np.sqrt(_number(likelihood.variance)) if known_variance else _number(likelihood.scale)
        return OutputDistribution(stats.norm(f, scale), whole=False)
    if isinstance(likelihood, own.StudentT):
        return OutputDistribution(stats.t(_number(likelihood.df), f, _number(likelihood.scale)), whole=False)
    if isinstance(likelihood, own.Poisson):
        return OutputDistribution(Counts(_number(likelihood.binsize) * _linked(likelihood, f)), whole=True)
    if isinstance(likelihood, own.Bernoulli):
        return OutputDistribution(stats.bernoulli(_linked(likelihood, f)), whole=True)
    if isinstance(likelihood, OrderedProbit):
        return OutputDistribution(Grades(likelihood.bin_edges, f, _number(likelihood.sigma)), whole=True)
    if isinstance(likelihood, own.Exponential):
        return OutputDistribution(stats.expon(scale=_linked(likelihood, f)), whole=False)
    if isinstance(likelihood, own.Gamma):
        return OutputDistribution(stats.gamma(_number(likelihood.shape), scale=_linked(likelihood, f)), whole=False)
    if isinstance(likelihood, own.Beta):
        mean, scale = _linked(likelihood, f), _number(likelihood.scale)
        return OutputDistribution(stats.beta(mean * scale, scale - mean * scale), whole=False)
    known = (
        "Gaussian, StudentT, Poisson, Bernoulli, OrderedProbit, Exponential, Gamma, Beta and MultiLatentTFPConditional"
    )
    raise NotImplementedError(f"the likelihood {type(likelihood).__name__} has no quantiles here: use one of {known}")


def quantile_of_mixture(of_draws: OutputDistribution, level: float, num_rows: int) -> FloatArray:
    """Return quantiles ``(n,)`` of y by bisection. Each row is a mixture of its distributions with equal weights.

    A quantile of a mixture lies between the smallest and the largest quantile of its components.

    Parameters
    ----------
    of_draws
        Distributions of shape ``(S, n)``: S components for each row.
    level
        Level of the quantile, in (0, 1).
    num_rows
        n.
    """
    parts = np.broadcast_to(of_draws.distribution.ppf(level), np.shape(of_draws.distribution.cdf(np.zeros(num_rows))))
    low, high = parts.min(axis=0), parts.max(axis=0)
    if of_draws.whole:
        low = low - 1.0
        # From 2^53 on floating-point numbers are more than 1 apart: stop when none lies between.
        while np.any((low < (middle := np.floor(0.5 * (low + high)))) & (middle < high)):
            enough = of_draws.distribution.cdf(middle).mean(axis=0) >= level
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        enough = of_draws.distribution.cdf(middle).mean(axis=0) >= level
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return 0.5 * (low + high)


_HALVINGS = 45  # number of halvings of the interval that holds the quantile
_LARGE_RATE = 1e9


def _number(parameter: object) -> float:
    return float(np.asarray(parameter))


def _linked(likelihood: gpflow.likelihoods.Likelihood, f: FloatArray) -> FloatArray:
    return np.asarray(likelihood.invlink(f))
