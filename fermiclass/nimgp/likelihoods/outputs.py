"""Likelihoods of outputs by name, with initial values, checks of y, and the quantiles that GPflow lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import gpflow
import numpy as np
from scipy import stats
from scipy.special import ndtri

from fermiclass.nimgp.arrays import FloatArray
from fermiclass.nimgp.kernels import Scales
from fermiclass.nimgp.likelihoods.from_gpflow import GPflowLikelihood, OrderedProbit, Softplus
from fermiclass.nimgp.names import RESPONSES

#: Likelihoods of numbers with arbitrary units. Their outputs are standardised.
STANDARDISED = ("gaussian", "student-t", "heteroskedastic")

_NOISE_VARIANCE = 0.3  # initial noise variance of standardised outputs
_LEAST_SCALE, _LEAST_WIDTH = 1e-6, 1e-3  # smallest scale and width of this noise
_LEVELS = 32  # number of draws of y for each draw of f
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0  # its multiples, modulo 1, fill the interval evenly
_MOST_GRADES = 1000  # each grade has its own probability
_LEAST_COUNT = 0.1  # smallest initial mean, for counts that are all zero
# Functions that vary on the scale of a standard deviation of the inputs. The wide prior lets the data decide.
_FUNCTION = Scales(variance=1.0, initial_variance=1.0, lengthscale_over_root_d=1.0, width=1.0)


class OutputModel(NamedTuple):
    """A likelihood, its initial offset, and the scales of its latent functions."""

    likelihood: gpflow.likelihoods.Likelihood
    offset: tuple[float, ...]
    scales: Scales

    def adapted(self, num_draws: int = 8) -> GPflowLikelihood:
        """Return the likelihood in its adapter, which draws f so many times if the likelihood draws."""
        return GPflowLikelihood(self.likelihood, offset=self.offset, num_draws=num_draws)

    @property
    def num_functions(self) -> int:
        """Number of latent functions."""
        return self.likelihood.latent_dim or 1


def make_output_model(likelihood: str | gpflow.likelihoods.Likelihood, y: FloatArray) -> OutputModel:
    """Return a likelihood by name, or a copy of a GPflow likelihood, with initial values for outputs.

    ``'gaussian'`` and ``'student-t'`` (three degrees of freedom) have noise of one learned width. ``'heteroskedastic'``
    has Gaussian noise whose width is the softplus of a second function of x. ``'poisson'`` has the rate ``exp f``.
    ``'bernoulli'`` (0 or 1) and ``'ordinal'`` (grades 0 … K − 1) are probit models. The edges of the grades are fixed:
    the shares of the grades among y decide them.

    Training outputs ``y`` (N,) are standardised if the likelihood is one of `STANDARDISED`.

    Raises ValueError when the name is unknown, or y is not valid for the likelihood.
    """
    own = gpflow.likelihoods
    if not isinstance(likelihood, str):
        return OutputModel(gpflow.utilities.deepcopy(likelihood), (0.0,), _FUNCTION)
    if likelihood not in RESPONSES:
        raise ValueError(
            f"likelihood={likelihood!r} is unknown: choose one of {', '.join(RESPONSES)}, or give a GPflow likelihood"
        )
    check_outputs(likelihood, y)
    if likelihood == "gaussian":
        normal = own.Gaussian()
        normal.variance = gpflow.Parameter(_NOISE_VARIANCE, transform=Softplus(low=np.float64(_LEAST_SCALE)))
        return OutputModel(normal, (0.0,), _FUNCTION)
    if likelihood == "student-t":
        student = own.StudentT()
        student.scale = gpflow.Parameter(np.sqrt(_NOISE_VARIANCE), transform=Softplus(low=np.float64(_LEAST_SCALE)))
        return OutputModel(student, (0.0,), _FUNCTION)
    if likelihood == "heteroskedastic":
        width = Softplus(low=np.float64(_LEAST_WIDTH))
        start = float(width.inverse(np.sqrt(_NOISE_VARIANCE)))
        return OutputModel(own.HeteroskedasticTFPConditional(scale_transform=width), (0.0, start), _FUNCTION)
    if likelihood == "poisson":
        return OutputModel(own.Poisson(), (float(np.log(max(y.mean(), _LEAST_COUNT))),), _FUNCTION)
    shares = (np.bincount(y.astype(int)) + 1.0) / (len(y) + y.max() + 1.0)  # a grade without a source has a place too
    if likelihood == "bernoulli":
        return OutputModel(own.Bernoulli(), (float(ndtri(shares[-1])) if y.max() else -1.0,), _FUNCTION)
    if y.max() < 1:
        raise ValueError("the likelihood 'ordinal' needs outputs of at least two grades; found only the grade 0")
    return OutputModel(OrderedProbit(ndtri(np.cumsum(shares)[:-1])), (0.0,), _FUNCTION)


def check_outputs(likelihood: str, y: FloatArray) -> None:
    """Check that outputs are valid for a likelihood by name.

    Raises ValueError when counts or grades are not integers of 0 or more, there are too many grades, or a binary y is
    not 0 or 1.
    """
    if likelihood in STANDARDISED:
        return
    odd = np.flatnonzero((y < 0) | (y != np.floor(y)) | ((y > 1) if likelihood == "bernoulli" else False))
    if odd.size:
        expected = "0 or 1" if likelihood == "bernoulli" else "whole numbers of 0 or more"
        raise ValueError(f"y is {y[odd[0]]:g} in row {odd[0]}: the likelihood '{likelihood}' needs {expected}")
    if likelihood == "ordinal" and np.any(y >= _MOST_GRADES):
        raise ValueError(
            f"y is {y.max():g}: the likelihood 'ordinal' has at most {_MOST_GRADES:,} grades, from 0 on; use 'poisson' "
            "for counts"
        )


def quantiles_of_draws(likelihood: gpflow.likelihoods.Likelihood, f: FloatArray, levels: Sequence[float]) -> FloatArray:
    """Return quantiles ``(n, Q)`` of y for draws f ``(S, L, n)``: the smallest y with ``P(Y ≤ y) ≥ level``.

    They are those of 32 draws of y for each draw of f. The levels of these draws are evenly spaced from 0 to 1, and
    shifted from one f to the next.

    Raises NotImplementedError when y has no order, or the quantiles of the likelihood are not implemented.
    """
    shift = np.arange(len(f)) * _GOLDEN % 1.0
    uniform = (np.arange(_LEVELS) + np.clip(shift, 1e-6, 1.0 - 1e-6)[:, None]) / _LEVELS
    y = quantile_given(likelihood, f[:, None], uniform[:, :, None])  # (S, levels, n)
    return np.quantile(y.reshape(-1, f.shape[-1]), levels, axis=0, method="inverted_cdf").T


def quantile_given(likelihood: gpflow.likelihoods.Likelihood, f: FloatArray, level: FloatArray) -> FloatArray:
    """Return the smallest y with ``P(Y ≤ y | f) ≥ level`` for f ``(..., L, n)`` and levels that fit ``(..., n)``.

    Raises NotImplementedError when the quantiles of the likelihood are not implemented.
    """
    own, one, level = gpflow.likelihoods, f[..., 0, :], np.asarray(level)

    def number(name: str) -> float:
        return float(np.asarray(getattr(likelihood, name)))

    def linked() -> FloatArray:
        return np.asarray(likelihood.invlink(one))

    def normal() -> FloatArray:
        scale = number("scale") if likelihood.variance is None else np.sqrt(number("variance"))
        return one + scale * ndtri(level)

    def beta() -> FloatArray:
        mean, scale = linked(), number("scale")
        return np.asarray(stats.beta.ppf(level, mean * scale, scale - mean * scale))

    def by_tfp() -> FloatArray:
        of_f = likelihood.conditional_distribution(np.moveaxis(f, -2, -1))
        return np.asarray(of_f.quantile(level[..., None]))[..., 0]

    known: dict[type, Callable[[], FloatArray]] = {
        own.Gaussian: normal,
        own.StudentT: lambda: one + number("scale") * stats.t.ppf(level, number("df")),
        own.Poisson: lambda: stats.poisson.ppf(level, number("binsize") * linked()),
        own.Bernoulli: lambda: (level > 1.0 - linked()).astype(float),
        OrderedProbit: lambda: np.searchsorted(likelihood.bin_edges, one + number("sigma") * ndtri(level)).astype(
            float
        ),
        own.Exponential: lambda: -linked() * np.log1p(-level),
        own.Gamma: lambda: stats.gamma.ppf(level, number("shape"), scale=linked()),
        own.Beta: beta,
        own.MultiLatentTFPConditional: by_tfp,
    }
    for kind, quantile in known.items():
        if isinstance(likelihood, kind):
            return quantile()
    names = ", ".join(kind.__name__ for kind in known)
    raise NotImplementedError(f"the likelihood {type(likelihood).__name__} has no quantiles here: use one of {names}")
