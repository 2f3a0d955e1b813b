"""The fitted imputation of one feature; `fermiclass.features.imputation` describes the policy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.features.inputs import LARGEST, Reading
from fermiclass.features.transforms import REACH
from fermiclass.io.arrays import FloatArray

BoolArray = NDArray[np.bool_]

#: Least number of known uncertainties for a regression.
MIN_KNOWN = 20

#: Least number of values for limits of the values.
_MIN_VALUES = 100

#: ln of the factor below the expected uncertainty from which an uncertainty is absurdly small.
LN_ABSURD = math.log(10.0)


@dataclass(frozen=True)
class FeatureImputation:
    """The fitted policy for one feature.

    Attributes
    ----------
    name
        The feature.
    measured
        Whether the catalogue of the fit has uncertainties of the feature.
    median, variance
        Replacement of an unusable value, and its variance.
    intercept, significance_slope, value_slope
        a, b and c of ln σ = a + b ln Signif_Avg + c x.
    ln_sigma_min, ln_sigma_max
        Limits of ln σ.
    n_known
        Number of uncertainties in the fit.
    low, high
        Limits of a usable value.
    """

    name: str
    measured: bool
    median: float
    variance: float
    intercept: float
    significance_slope: float
    value_slope: float
    ln_sigma_min: float
    ln_sigma_max: float
    n_known: int
    low: float = -LARGEST
    high: float = LARGEST

    def usable(self, x: FloatArray) -> BoolArray:
        """Return a mask (N,) of the usable values: rule 1 of the policy."""
        return (x >= self.low) & (x <= self.high)

    def expected_ln_sigma(self, x: FloatArray, ln_significance: FloatArray) -> FloatArray:
        """Return a + b ln Signif_Avg + c x, (N,), not clipped."""
        return self.intercept + self.significance_slope * ln_significance + self.value_slope * x

    def known(self, x: FloatArray, sigma: FloatArray, ln_significance: FloatArray) -> BoolArray:
        """Return a mask (N,) of the known uncertainties: rules 2 and 3 of the policy."""
        believable = self.usable(x) & (sigma > 0.0) & (sigma <= LARGEST)
        ln_sigma = np.log(np.where(believable, sigma, 1.0))
        expected = np.minimum(self.expected_ln_sigma(np.where(believable, x, 0.0), ln_significance), self.ln_sigma_max)
        # If the expected error is a tenth of the population's spread or less, a much smaller error changes nothing.
        matters = expected > 0.5 * math.log(self.variance) - LN_ABSURD if self.variance > 0.0 else True
        return believable & ~((ln_sigma <= expected - LN_ABSURD) & matters)


def fit_feature(name: str, reading: Reading, ln_significance: FloatArray, reach: float = REACH) -> FeatureImputation:
    """Fit the policy for one feature.

    Parameters
    ----------
    name
        The feature.
    reading
        Its (N,) values and standard deviations before imputation.
    ln_significance
        (N,) ln Signif_Avg, all finite.
    reach
        Largest distance of a value from the median, as a multiple of that of the 1st or 99th percentile.
    """
    lowest, highest = _limits(reading, reach)
    values = reading.value[(reading.value >= lowest) & (reading.value <= highest)]
    median, variance = 0.0, 1.0
    if values.size:
        low, middle, high = (float(q) for q in np.percentile(values, [16.0, 50.0, 84.0]))
        median, variance = middle, (0.5 * (high - low)) ** 2
    # Without any known uncertainty, σ is that of the population.
    ln_sigma = 0.5 * math.log(variance) if variance > 0.0 else 0.0
    start = FeatureImputation(
        name, reading.measured, median, variance, ln_sigma, 0.0, 0.0, ln_sigma, ln_sigma, 0, lowest, highest
    )
    if not reading.measured:
        return start
    known = start.usable(reading.value) & (reading.sigma > 0.0) & (reading.sigma <= LARGEST)
    first = _regress(start, reading, ln_significance, known)
    return _regress(first, reading, ln_significance, first.known(reading.value, reading.sigma, ln_significance))


def _limits(reading: Reading, reach: float) -> tuple[float, float]:
    """Return the limits of a usable value; ±`LARGEST` if there are too few values."""
    values = reading.value[np.isfinite(reading.value)]
    if values.size < _MIN_VALUES:
        return -LARGEST, LARGEST
    low, middle, high = (float(q) for q in np.percentile(values, [1.0, 50.0, 99.0]))
    lowest = middle - reach * (middle - low) if low < middle else -LARGEST
    highest = middle + reach * (high - middle) if high > middle else LARGEST
    return max(lowest, -LARGEST), min(highest, LARGEST)


def _regress(
    start: FeatureImputation, reading: Reading, ln_significance: FloatArray, known: BoolArray
) -> FeatureImputation:
    """Fit ln σ = a + b ln Signif_Avg + c x to the known rows, within the limits of rule 4 of the policy."""
    n = int(known.sum())
    if n == 0:
        return start
    t, x, s = np.log(reading.sigma[known]), reading.value[known], ln_significance[known]
    low, middle, high = (float(q) for q in np.percentile(t, [1.0, 50.0, 99.0]))
    a, b, c = middle, 0.0, 0.0
    if n >= MIN_KNOWN:
        t_mean, x_mean, s_mean = (math.fsum(column) / n for column in (t, x, s))
        dt, dx, ds = t - t_mean, x - x_mean, s - s_mean
        xx, ss, xs, xt, st = (math.fsum(product) for product in (dx * dx, ds * ds, dx * ds, dx * dt, ds * dt))
        determinant = ss * xx - xs * xs
        # Below these limits a column is constant, or one repeats the other, up to rounding.
        if determinant > 1e-9 * ss * xx:
            b, c = (xx * st - xs * xt) / determinant, (ss * xt - xs * st) / determinant
        elif ss > 1e-12 * n:
            b = st / ss
        a = t_mean - b * s_mean - c * x_mean
    return replace(
        start,
        intercept=a,
        significance_slope=b,
        value_slope=c,
        ln_sigma_min=low,
        ln_sigma_max=high,
        n_known=n,
    )


def feature_from_dict(state: Mapping[str, Any]) -> FeatureImputation:
    """Rebuild a fitted policy. Raise KeyError, TypeError or ValueError if `state` is not a policy."""
    types = {"name": str, "measured": bool, "n_known": int}
    unknown = set(state) - {field.name for field in fields(FeatureImputation)}
    if unknown:
        raise KeyError(f"unknown {', '.join(sorted(unknown))}")
    given = {"low": -LARGEST, "high": LARGEST, **state}  # models of format version 5 have no such limits
    values = {field.name: types.get(field.name, float)(given[field.name]) for field in fields(FeatureImputation)}
    if not all(math.isfinite(value) for value in values.values() if isinstance(value, float)):
        raise ValueError(f"'{values['name']}' has numbers that are not finite")
    if values["variance"] < 0.0:
        raise ValueError(f"'{values['name']}' has a negative variance")
    return FeatureImputation(**values)
