"""Likelihoods of outputs by name, with initial values, and the quantiles that GPflow lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gpflow
import numpy as np
from scipy import stats
from scipy.special import ndtri

from fermiclass.nimgp.arrays import FloatArray
from fermiclass.nimgp.from_gpflow import GPflowLikelihood, Softplus
from fermiclass.nimgp.kernels import Scales
from fermiclass.nimgp.targets import Outputs

_NOISE_VARIANCE = 0.3  # initial noise variance of standardised outputs
_LEAST_SCALE = 1e-6  # smallest scale of this noise
_LEVELS = 32  # number of draws of y for each draw of f
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0  # its multiples, modulo 1, fill the interval evenly
_LEAST_COUNT = 0.1  # smallest initial mean, for counts that are all zero
#: Functions that vary on the scale of a standard deviation of the inputs. The wide prior lets the data decide.
FUNCTION = Scales(variance=1.0, initial_variance=1.0, lengthscale_over_root_d=1.0, width=1.0)


def make_output_likelihood(
    likelihood: str | gpflow.likelihoods.Likelihood, outputs: Outputs, *, num_draws: int = 8
) -> GPflowLikelihood:
    """Return a likelihood by name, or a copy of a GPflow likelihood, with initial values for outputs.

    'gaussian' and 'student-t' (three degrees of freedom) have noise of one learned width. 'poisson' has the rate
    ``exp f``. 'bernoulli' (0 or 1) is a probit model.
    """
    own, offset = gpflow.likelihoods, [0.0]
    made: Any
    if not isinstance(likelihood, str):
        made = gpflow.utilities.deepcopy(likelihood)
    elif likelihood == "gaussian":
        made = own.Gaussian()
        made.variance = gpflow.Parameter(_NOISE_VARIANCE, transform=Softplus(low=np.float64(_LEAST_SCALE)))
    elif likelihood == "student-t":
        made = own.StudentT()
        made.scale = gpflow.Parameter(np.sqrt(_NOISE_VARIANCE), transform=Softplus(low=np.float64(_LEAST_SCALE)))
    elif likelihood == "poisson":
        made, offset = own.Poisson(), [float(np.log(max(outputs.centre, _LEAST_COUNT)))]
    else:
        made, offset = own.Bernoulli(), [float(ndtri(np.clip(outputs.centre, 0.01, 0.99)))]
    return GPflowLikelihood(made, offset=offset, num_draws=num_draws)


def quantiles_of_draws(likelihood: gpflow.likelihoods.Likelihood, f: FloatArray, levels: Sequence[float]) -> FloatArray:
    """Return quantiles ``(n, Q)`` of y for draws f ``(S, L, n)``: the smallest y with ``P(Y ≤ y) ≥ level``.

    They are those of 32 draws of y for each f, of evenly spaced levels that are shifted from one f to the next.
    Raises NotImplementedError as :func:`quantile_given`.
    """
    shift = np.arange(len(f)) * _GOLDEN % 1.0
    uniform = (np.arange(_LEVELS) + np.clip(shift, 1e-6, 1.0 - 1e-6)[:, None]) / _LEVELS
    y = quantile_given(likelihood, f[:, None, 0], uniform[:, :, None])  # (S, levels, n)
    return np.quantile(y.reshape(-1, f.shape[-1]), levels, axis=0, method="inverted_cdf").T


def quantile_given(likelihood: gpflow.likelihoods.Likelihood, f: FloatArray, level: FloatArray) -> FloatArray:
    """Return the smallest y with ``P(Y ≤ y | f) ≥ level``; NotImplementedError for other likelihoods than these."""
    own, level = gpflow.likelihoods, np.asarray(level)

    def number(name: str) -> float:
        return float(np.asarray(getattr(likelihood, name)))

    known: dict[type, Callable[[], FloatArray]] = {
        own.Gaussian: lambda: f + np.sqrt(np.asarray(likelihood.variance_at(np.zeros((1, 1))))) * ndtri(level),
        own.StudentT: lambda: f + number("scale") * stats.t.ppf(level, number("df")),
        own.Poisson: lambda: stats.poisson.ppf(level, number("binsize") * np.asarray(likelihood.invlink(f))),
        own.Bernoulli: lambda: (level > 1.0 - np.asarray(likelihood.invlink(f))).astype(float),
    }
    for kind, quantile in known.items():
        if isinstance(likelihood, kind):
            return quantile()
    names = ", ".join(kind.__name__ for kind in known)
    raise NotImplementedError(f"the likelihood {type(likelihood).__name__} has no quantiles here: use one of {names}")
