"""Likelihoods of outputs by their names, with where to start, and what y may be."""

from __future__ import annotations

from typing import NamedTuple

import gpflow
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fermiclass.nimgp.adapted import Adapted
from fermiclass.nimgp.build import Scales
from fermiclass.nimgp.names import RESPONSES
from fermiclass.nimgp.ordered_probit import OrderedProbit
from fermiclass.nimgp.transforms import Softplus

FloatArray = NDArray[np.float64]

#: Those of numbers whose units are anyone's choice: such outputs are standardised.
STANDARDISED = ("gaussian", "student-t", "heteroskedastic")

_NOISE_VARIANCE = 0.3  # of standardised outputs, to begin with
_LEAST_SCALE, _LEAST_WIDTH = 1e-6, 1e-3  # of their noise
_MOST_GRADES = 1000  # each has a probability of its own
_LEAST_COUNT = 0.1  # mean of counts that are all zero
# Functions that vary within a standard deviation of the inputs or so; how fast is left to the data.
_FUNCTION = Scales(variance=1.0, initial_variance=1.0, lengthscale_over_root_d=1.0, width=1.0)


class Response(NamedTuple):
    """A likelihood, where its offset starts, and how large its latent functions are."""

    likelihood: gpflow.likelihoods.Likelihood
    offset: tuple[float, ...]
    scales: Scales

    def adapted(self) -> Adapted:
        """As one of ours."""
        return Adapted(self.likelihood, offset=self.offset)

    @property
    def num_functions(self) -> int:
        """L."""
        return self.likelihood.latent_dim or 1


def make_response(likelihood: str | gpflow.likelihoods.Likelihood, y: FloatArray) -> Response:
    """Return a likelihood by its name, or a copy of one of GPflow's, with starting values for outputs.

    ``'gaussian'`` and ``'student-t'`` (three degrees of freedom) have a noise of one width that is learned,
    ``'heteroskedastic'`` a Gaussian noise whose width is the softplus of a second function of x; ``'poisson'`` has the
    rate ``exp f``; ``'bernoulli'`` (0 or 1) and ``'ordinal'`` (grades 0 … K − 1) are probit models, the edges of the
    grades fixed where their shares among y put them.

    Parameters
    ----------
    likelihood
        One of `RESPONSES`, or an object.
    y
        Training outputs ``(N,)``, standardised where the likelihood is one of `STANDARDISED`.

    Raises
    ------
    ValueError
        When the name is unknown, the object is no likelihood of one output a row, or y is not what it may be.
    """
    own = gpflow.likelihoods
    if not isinstance(likelihood, str):
        return Response(gpflow.utilities.deepcopy(likelihood), (0.0,), _FUNCTION)
    if likelihood not in RESPONSES:
        raise ValueError(
            f"likelihood={likelihood!r} is unknown: choose one of {', '.join(RESPONSES)}, or give a GPflow likelihood"
        )
    check_outputs(likelihood, y)
    if likelihood == "gaussian":
        normal = own.Gaussian()
        normal.variance = gpflow.Parameter(_NOISE_VARIANCE, transform=Softplus(low=np.float64(_LEAST_SCALE)))
        return Response(normal, (0.0,), _FUNCTION)
    if likelihood == "student-t":
        student = own.StudentT()
        student.scale = gpflow.Parameter(np.sqrt(_NOISE_VARIANCE), transform=Softplus(low=np.float64(_LEAST_SCALE)))
        return Response(student, (0.0,), _FUNCTION)
    if likelihood == "heteroskedastic":
        width = Softplus(low=np.float64(_LEAST_WIDTH))
        start = float(width.inverse(np.sqrt(_NOISE_VARIANCE)))
        return Response(own.HeteroskedasticTFPConditional(scale_transform=width), (0.0, start), _FUNCTION)
    if likelihood == "poisson":
        return Response(own.Poisson(), (float(np.log(max(y.mean(), _LEAST_COUNT))),), _FUNCTION)
    shares = (np.bincount(y.astype(int)) + 1.0) / (len(y) + y.max() + 1.0)  # grades without a source have a place, too
    if likelihood == "bernoulli":
        return Response(own.Bernoulli(), (float(ndtri(shares[-1])) if y.max() else -1.0,), _FUNCTION)
    if y.max() < 1:
        raise ValueError("the likelihood 'ordinal' needs outputs of at least two grades; found only the grade 0")
    return Response(OrderedProbit(ndtri(np.cumsum(shares)[:-1])), (0.0,), _FUNCTION)


def check_outputs(likelihood: str, y: FloatArray) -> None:
    """Check that outputs are what a likelihood by its name is of.

    Raises
    ------
    ValueError
        When counts or grades are no whole numbers of 0 or more, there are too many grades, or y is neither 0 nor 1.
    """
    if likelihood in STANDARDISED:
        return
    odd = np.flatnonzero((y < 0) | (y != np.floor(y)) | ((y > 1) if likelihood == "bernoulli" else False))
    if odd.size:
        expected = "0 or 1" if likelihood == "bernoulli" else "whole numbers of 0 or more"
        raise ValueError(f"y is {y[odd[0]]:g} in row {odd[0]}: the likelihood '{likelihood}' is of {expected}")
    if likelihood == "ordinal" and np.any(y >= _MOST_GRADES):
        raise ValueError(
            f"y is {y.max():g}: the likelihood 'ordinal' is of at most {_MOST_GRADES:,} grades, "
            "from 0 on; 'poisson' is of counts"
        )
