"""Distributions ``p(y | f)`` of GPflow's likelihoods with their distribution functions, which GPflow does not have."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import gpflow
import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtr

from fermiclass.nimgp.ordered_probit import OrderedProbit

FloatArray = NDArray[np.float64]


class Distribution(Protocol):
    """Distributions of y, one for each of many f, each of shape ``(..., n)``."""

    def cdf(self, y: FloatArray) -> FloatArray:
        """``P(Y ≤ y | f)`` for y of a shape that fits."""

    def ppf(self, level: float) -> FloatArray:
        """Return the least y with ``P(Y ≤ y | f) ≥ level``."""


class Conditional(NamedTuple):
    """Distributions of y, and whether y is a whole number."""

    distribution: Distribution
    whole: bool


class Grades:
    """Grades 0 … K − 1: ``P(y ≤ k | f) = Φ((edge_k − f) / σ)``.

    Parameters
    ----------
    edges
        ``(K − 1,)``, rising.
    f
        Any shape.
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
        """Return the least grade up to which there is so much."""
        place = self._f + self._sigma * stats.norm.ppf(level)
        return np.searchsorted(self._edges[1:-1], place, side="left").astype(float)


class Counts:
    """Counts with Poisson distributions of given rates, of any shape, however large."""

    def __init__(self, rate: FloatArray) -> None:
        self._rate, self._of_rate = rate, stats.poisson(rate)

    def cdf(self, y: FloatArray) -> FloatArray:
        """``P(Y ≤ y | f)``."""
        return np.asarray(self._of_rate.cdf(y))

    def ppf(self, level: float) -> FloatArray:
        """Return the least count up to which there is so much, to a few counts of a thousand million and more."""
        z = stats.norm.ppf(level)
        # Cornish & Fisher's, with the skewness; SciPy's is no number from 10^11 or so.
        large = np.ceil(self._rate + z * np.sqrt(self._rate) + (z**2 - 1.0) / 6.0)
        return np.where(self._rate < _LARGE_RATE, self._of_rate.ppf(level), large)


class _OfTFP:
    def __init__(self, likelihood: gpflow.likelihoods.MultiLatentTFPConditional, f: FloatArray) -> None:
        self._of_f = likelihood.conditional_distribution(np.moveaxis(f, -2, -1))

    def cdf(self, y: FloatArray) -> FloatArray:
        return self._of_f.cdf(np.asarray(y)[..., None]).numpy()[..., 0]

    def ppf(self, level: float) -> FloatArray:
        return self._of_f.quantile(np.float64(level)).numpy()[..., 0]


def conditional(likelihood: gpflow.likelihoods.Likelihood, f: FloatArray) -> Conditional:
    """Return ``p(y | f)`` at values ``f`` (..., L, n) of the latent functions.

    Raises
    ------
    NotImplementedError
        When the likelihood has no order of y, or none that is known here.
    """
    own = gpflow.likelihoods
    if isinstance(likelihood, own.MultiLatentTFPConditional):
        return Conditional(_OfTFP(likelihood, f), whole=False)
    f = f[..., 0, :]
    if isinstance(likelihood, own.Gaussian):
        known_variance = likelihood.variance is not None
        scale = np.sqrt(_number(likelihood.variance)) if known_variance else _number(likelihood.scale)
        return Conditional(stats.norm(f, scale), whole=False)
    if isinstance(likelihood, own.StudentT):
        return Conditional(stats.t(_number(likelihood.df), f, _number(likelihood.scale)), whole=False)
    if isinstance(likelihood, own.Poisson):
        return Conditional(Counts(_number(likelihood.binsize) * _linked(likelihood, f)), whole=True)
    if isinstance(likelihood, own.Bernoulli):
        return Conditional(stats.bernoulli(_linked(likelihood, f)), whole=True)
    if isinstance(likelihood, OrderedProbit):
        return Conditional(Grades(likelihood.bin_edges, f, _number(likelihood.sigma)), whole=True)
    if isinstance(likelihood, own.Exponential):
        return Conditional(stats.expon(scale=_linked(likelihood, f)), whole=False)
    if isinstance(likelihood, own.Gamma):
        return Conditional(stats.gamma(_number(likelihood.shape), scale=_linked(likelihood, f)), whole=False)
    if isinstance(likelihood, own.Beta):
        mean, scale = _linked(likelihood, f), _number(likelihood.scale)
        return Conditional(stats.beta(mean * scale, scale - mean * scale), whole=False)
    known = (
        "Gaussian, StudentT, Poisson, Bernoulli, OrderedProbit, Exponential, Gamma, Beta and MultiLatentTFPConditional"
    )
    raise NotImplementedError(f"no quantiles are known of the likelihood {type(likelihood).__name__}: only of {known}")


def quantile_of_mixture(of_draws: Conditional, level: float, num_rows: int) -> FloatArray:
    """Quantiles ``(n,)`` of y, each row an equal mixture of its distributions, by bisection.

    A quantile of a mixture lies between the least and the largest of its parts' quantiles.

    Parameters
    ----------
    of_draws
        Distributions of shape ``(S, n)``, S of them for each row.
    level
        In (0, 1).
    num_rows
        n.
    """
    parts = np.broadcast_to(of_draws.distribution.ppf(level), np.shape(of_draws.distribution.cdf(np.zeros(num_rows))))
    low, high = parts.min(axis=0), parts.max(axis=0)
    if of_draws.whole:
        low = low - 1.0
        # Beyond 2^53 whole numbers are further apart than 1: until there is none between.
        while np.any((low < (middle := np.floor(0.5 * (low + high)))) & (middle < high)):
            enough = of_draws.distribution.cdf(middle).mean(axis=0) >= level
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        enough = of_draws.distribution.cdf(middle).mean(axis=0) >= level
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return 0.5 * (low + high)


_HALVINGS = 45  # of an interval that holds the quantile
_LARGE_RATE = 1e9


def _number(parameter: object) -> float:
    return float(np.asarray(parameter))


def _linked(likelihood: gpflow.likelihoods.Likelihood, f: FloatArray) -> FloatArray:
    return np.asarray(likelihood.invlink(f))
