"""Imputation of values and uncertainties that the catalogue does not give, by a policy that is fitted once.

``docs/development/mathematics.md``, "Missing values and uncertainties", has the rules and their reasons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog.catalog import LARGEST
from fermiclass.errors import FeatureError
from fermiclass.features.inputs import Reading
from fermiclass.io import FloatArray

BoolArray = NDArray[np.bool_]

_MIN_KNOWN = 20  # least number of known uncertainties for a regression
_MIN_VALUES = 100  # least number of values for limits of the values
_COMMON = 0.1  # share of the values that equal the median from which the mean replaces it
_LN_ABSURD = math.log(10.0)  # ln of the factor below the expected uncertainty from which one is absurdly small


@dataclass(frozen=True)
class FeatureImputation:
    """The fitted policy for one feature."""

    name: str
    measured: bool  #: Whether the catalogue of the fit has uncertainties of the feature.
    median: float  #: Replacement of an unusable value.
    variance: float  #: Its variance.
    intercept: float  #: a of ln σ = a + b ln Signif_Avg + c x.
    significance_slope: float  #: b.
    value_slope: float  #: c.
    ln_sigma_min: float  #: Limits of ln σ.
    ln_sigma_max: float
    n_known: int  #: Number of uncertainties in the fit.
    low: float  #: Limits of a usable value.
    high: float

    def __post_init__(self) -> None:
        if not (self.variance >= 0 and self.low <= self.high and self.ln_sigma_min <= self.ln_sigma_max):
            raise ValueError(f"{self} is not valid: a variance below 0, or limits in the wrong order")

    def judge(self, x: FloatArray, sigma: FloatArray, ln_significance: FloatArray) -> tuple[BoolArray, FloatArray]:
        """Return which uncertainties of usable values are known, and a + b ln Signif_Avg + c x, (N,) each."""
        believable = (sigma > 0.0) & (sigma <= LARGEST)
        ln_sigma = np.log(np.where(believable, sigma, 1.0))
        expected = self.intercept + self.significance_slope * ln_significance + self.value_slope * x
        usual = np.minimum(expected, self.ln_sigma_max)
        # If the usual error is a tenth of the population's spread or less, a much smaller error changes nothing.
        matters = usual > 0.5 * math.log(self.variance) - _LN_ABSURD if self.variance > 0.0 else True
        return believable & ~((ln_sigma <= usual - _LN_ABSURD) & matters), expected


def _fit_feature(name: str, reading: Reading, ln_significance: FloatArray, reach: float) -> FeatureImputation:
    """Fit the policy for one feature; ln Signif_Avg is known, and `reach` as in `Transform`."""
    lowest, highest = -LARGEST, LARGEST
    finite = reading.value[np.isfinite(reading.value)]
    if finite.size >= _MIN_VALUES:
        low, middle, high = (float(q) for q in np.percentile(finite, [1.0, 50.0, 99.0]))
        lowest = max(lowest, middle - reach * (middle - low)) if low < middle else lowest
        highest = min(highest, middle + reach * (high - middle)) if high > middle else highest
    usable = (reading.value >= lowest) & (reading.value <= highest)
    values, median, variance = reading.value[usable], 0.0, 1.0
    if values.size:
        low, median, high = (float(q) for q in np.percentile(values, [16.0, 50.0, 84.0]))
        variance = (0.5 * (high - low)) ** 2
        if np.mean(values == median) > _COMMON:  # such as a bit: no source has the mean, which so says "unknown"
            values = np.sort(values)
            median, variance = float(np.mean(values)), float(np.var(values))
    # Without any known uncertainty, σ is that of the population.
    ln_sigma = 0.5 * math.log(variance) if variance > 0.0 else 0.0
    start = FeatureImputation(
        name, reading.measured, median, variance, ln_sigma, 0.0, 0.0, ln_sigma, ln_sigma, 0, lowest, highest
    )
    if not reading.measured:
        return start
    given = usable & (reading.sigma > 0.0) & (reading.sigma <= LARGEST)
    first = _regress(start, reading, ln_significance, given)
    known, _ = first.judge(np.where(usable, reading.value, median), reading.sigma, ln_significance)
    return _regress(first, reading, ln_significance, given & known) if np.any(given & ~known) else first


def _regress(
    start: FeatureImputation, reading: Reading, ln_significance: FloatArray, known: BoolArray
) -> FeatureImputation:
    """Fit ln σ = a + b ln Signif_Avg + c x to the known rows by least squares, the same in any order of them."""
    n = int(known.sum())
    if n == 0:
        return start
    t, x, s = np.log(reading.sigma[known]), reading.value[known], ln_significance[known]
    low, middle, high = (float(q) for q in np.percentile(t, [1.0, 50.0, 99.0]))
    a, b, c = middle, 0.0, 0.0
    if n >= _MIN_KNOWN:
        t_mean, x_mean, s_mean = (math.fsum(column.tolist()) / n for column in (t, x, s))
        dt, dx, ds = t - t_mean, x - x_mean, s - s_mean
        products = (dx * dx, ds * ds, dx * ds, dx * dt, ds * dt)
        xx, ss, xs, xt, st = (math.fsum(product.tolist()) for product in products)
        determinant = ss * xx - xs * xs
        # Below these limits a column is constant, or one repeats the other, up to rounding.
        if determinant > 1e-9 * ss * xx:
            b, c = (xx * st - xs * xt) / determinant, (ss * xt - xs * st) / determinant
        elif ss > 1e-12 * n:
            b = st / ss
        a = t_mean - b * s_mean - c * x_mean
    return replace(
        start, intercept=a, significance_slope=b, value_slope=c, ln_sigma_min=low, ln_sigma_max=high, n_known=n
    )


class Imputed(NamedTuple):
    """Finite features and variances, (N, D) each, and masks of the imputed ones."""

    X: FloatArray
    X_var: FloatArray
    imputed_uncertainty: BoolArray
    imputed_value: BoolArray


@dataclass(frozen=True)
class Imputation:
    """The policy of this module, fitted on one catalogue and applicable to any other."""

    catalog: str  #: Name of the catalogue of the fit, for the record.
    ln_significance: float  #: Median of ln Signif_Avg.
    features: tuple[FeatureImputation, ...]  #: One fitted policy for each feature.

    @classmethod
    def fit(
        cls,
        names: Sequence[str],
        readings: Sequence[Reading],
        significance: FloatArray,
        *,
        catalog: str,
        reaches: Sequence[float],
    ) -> Imputation:
        """Fit the policy on all rows of a catalogue, in any order, with readings and reaches of D features."""
        ln_significance = _ln(significance)
        usable = ln_significance[np.isfinite(ln_significance)]
        median = float(np.median(usable)) if usable.size else 0.0
        filled = np.where(np.isfinite(ln_significance), ln_significance, median)
        every = zip(names, readings, reaches, strict=True)
        return cls(catalog, median, tuple(_fit_feature(name, each, filled, reach) for name, each, reach in every))

    @property
    def names(self) -> tuple[str, ...]:
        """The features, in order."""
        return tuple(feature.name for feature in self.features)

    @property
    def medians(self) -> FloatArray:
        """What stands for unusable values of the D features, ``(D,)``."""
        return np.array([feature.median for feature in self.features])

    def apply(self, names: Sequence[str], readings: Sequence[Reading], significance: FloatArray) -> Imputed:
        """Fill in what is missing in any catalogue. Each row's result depends on that row alone.

        Raises FeatureError if the features are not those of the fit.
        """
        if tuple(names) != self.names:
            raise FeatureError(
                f"the imputation was fitted for the features {', '.join(self.names)}, but the features here are "
                f"{', '.join(names)}. Ask for the same features in the same order, or fit the imputation again."
            )
        ln_significance = _ln(significance)
        ln_significance = np.where(np.isfinite(ln_significance), ln_significance, self.ln_significance)
        shape = (len(significance), len(names))
        result = Imputed(np.empty(shape), np.zeros(shape), np.zeros(shape, bool), np.zeros(shape, bool))
        for j, (feature, reading) in enumerate(zip(self.features, readings, strict=True)):
            usable = (reading.value >= feature.low) & (reading.value <= feature.high)
            x = np.where(usable, reading.value, feature.median)
            result.X[:, j] = x
            result.imputed_value[:, j] = ~usable
            if feature.measured:
                # In a catalogue without the column of uncertainties, all are unknown.
                sigma = reading.sigma if reading.measured else np.full_like(x, np.nan)
                known, expected = feature.judge(x, sigma, ln_significance)
                known &= usable
                ln_sigma = np.clip(expected, feature.ln_sigma_min, feature.ln_sigma_max)
                result.X_var[:, j] = np.where(known, np.where(known, sigma, 0.0) ** 2, np.exp(2.0 * ln_sigma))
                result.imputed_uncertainty[:, j] = usable & ~known
            result.X_var[~usable, j] = feature.variance
        return result


def _ln(values: FloatArray) -> FloatArray:
    # No source is more significant than 10⁶, and the faintest is at 0.02.
    return np.log(np.where((values > 1e-6) & (values < 1e6), values, np.nan))
