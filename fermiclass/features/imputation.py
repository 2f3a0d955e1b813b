"""What stands in for an uncertainty or a value that the catalogue does not give.

The policy, the same for training and prediction and blind to which rows are in the batch:

1. A *value* is unusable if it is not finite: NaN or infinite in the catalogue, or outside the transformation's domain;
   or if it is no such quantity: 100,000 times as far from the median as the catalogue's 1st or 99th percentile, 10
   times for logarithms, of 100 values at least. No source of 4FGL is; one number that is damaged would stretch the
   scale that all others are measured by. It becomes the catalogue's median of that feature, and its variance becomes
   the population variance, taken robustly as the square of half the range from the 16th to the 84th percentile: the
   source is known to be one of them.
2. An *uncertainty* is unknown if it is NaN, infinite, zero or negative, at the cap that means "unconstrained"
   (`Column.cap`), or absurdly small. It becomes

       ln σ = a + b ln Signif_Avg + c x

   with x the feature's own value, fitted by least squares to the catalogue's rows where both are known, and clipped
   to the 1st ... 99th percentile of the known ln σ. A source without Signif_Avg gets the catalogue's median of it.
3. *Absurdly small* is less than a tenth of what the fit says (or of the 99th percentile, if that is less), where the
   fit says more than a tenth of the population's spread: a fit that stopped at a bound reports such errors. In 4FGL
   DR1 `LP_beta` = 1.0 ± 0.001 for sources of 4 σ, where 0.4 is typical; the scatter of ln σ about the fit is 0.15 to
   0.4. The fit is made twice, the second time without them. Errors of the brightest sources are left alone: below a
   tenth of the spread an error hardly matters.
4. With fewer than `MIN_KNOWN` known uncertainties, or where the known rows do not determine a coefficient, that
   coefficient is 0: at the extreme ln σ is the median of the known ones, and with none at all the population's σ.
   A feature without a single usable value has median 0 and variance 1.
5. Features for which the catalogue has no uncertainty column have variance 0, unless the value itself is imputed.

Sums are `math.fsum`, exact before their one rounding, and percentiles see sorted values: the order of the rows does
not change a bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from fermiclass.errors import FeatureError, ModelFolderError
from fermiclass.features.inputs import Reading
from fermiclass.features.transforms import REACH, FloatArray
from fermiclass.features.uncertainty import BoolArray, FeatureImputation, feature_from_dict, fit_feature


class Imputed(NamedTuple):
    """Finite features and variances, (N, D) each, and what in them was imputed."""

    X: FloatArray
    X_var: FloatArray
    imputed_uncertainty: BoolArray
    imputed_value: BoolArray


@dataclass(frozen=True)
class Imputation:
    """The policy of this module, fitted on one catalogue and applicable to any other.

    Attributes
    ----------
    catalog
        What it was fitted on, for the record.
    ln_significance
        The median of ln Signif_Avg.
    features
        One fitted policy for each feature.
    """

    catalog: str
    ln_significance: float
    features: tuple[FeatureImputation, ...]

    @classmethod
    def fit(
        cls,
        names: Sequence[str],
        readings: Sequence[Reading],
        significance: FloatArray,
        *,
        catalog: str = "",
        reaches: Sequence[float] | None = None,
    ) -> Imputation:
        """Fit the policy on all rows of a catalogue.

        Parameters
        ----------
        names
            Names of the D features.
        readings
            The D features as `Feature.measure` returns them, (N,) each.
        significance
            (N,) Signif_Avg; NaN where unknown.
        catalog
            What the rows are from, for the record.
        reaches
            Of each feature's values, as its transformation says; by default 100,000.

        Returns
        -------
        Imputation
            Fitted; independent of the order of the rows.
        """
        ln_significance = _ln(significance)
        usable = ln_significance[np.isfinite(ln_significance)]
        median = float(np.median(usable)) if usable.size else 0.0
        filled = np.where(np.isfinite(ln_significance), ln_significance, median)
        allowed = [REACH] * len(names) if reaches is None else reaches
        fitted = tuple(
            fit_feature(name, reading, filled, reach)
            for name, reading, reach in zip(names, readings, allowed, strict=True)
        )
        return cls(catalog, median, fitted)

    @property
    def names(self) -> tuple[str, ...]:
        """The features, in order."""
        return tuple(feature.name for feature in self.features)

    def apply(self, names: Sequence[str], readings: Sequence[Reading], significance: FloatArray) -> Imputed:
        """Fill in what is missing. Each row's result depends on that row alone.

        Parameters
        ----------
        names, readings, significance
            As in `fit`, of any catalogue.

        Returns
        -------
        Imputed
            (N, D) arrays: finite values, finite variances >= 0, and the two masks.

        Raises
        ------
        FeatureError
            If the features are not those that the policy was fitted for.
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
            usable = feature.usable(reading.value)
            x = np.where(usable, reading.value, feature.median)
            result.X[:, j] = x
            result.imputed_value[:, j] = ~usable
            if feature.measured:
                # A catalogue without the uncertainty column leaves all of them unknown.
                sigma = reading.sigma if reading.measured else np.full_like(x, np.nan)
                known = feature.known(reading.value, sigma, ln_significance)
                expected = feature.expected_ln_sigma(x, ln_significance)
                ln_sigma = np.clip(expected, feature.ln_sigma_min, feature.ln_sigma_max)
                result.X_var[:, j] = np.where(known, np.where(known, sigma, 0.0) ** 2, np.exp(2.0 * ln_sigma))
                result.imputed_uncertainty[:, j] = usable & ~known
            result.X_var[~usable, j] = feature.variance
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted policy as a dictionary that JSON can hold without loss."""
        return asdict(self) | {"features": [asdict(feature) for feature in self.features]}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Imputation:
        """Rebuild what `to_dict` returned.

        Raises
        ------
        ModelFolderError
            If a key is missing, unknown or of another type.
        """
        try:
            features = tuple(feature_from_dict(feature) for feature in state["features"])
            return cls(str(state["catalog"]), float(state["ln_significance"]), features)
        except (KeyError, TypeError, ValueError) as error:
            expected = ", ".join(field.name for field in fields(FeatureImputation))
            raise ModelFolderError(
                f"the stored imputation is damaged ({type(error).__name__}: {error}). Expected: catalog, "
                f"ln_significance, and features with {expected}. Train the model again."
            ) from error


def _ln(values: FloatArray) -> FloatArray:
    # No source is more significant than 10⁶, and the faintest is at 0.02.
    return np.log(np.where((values > 1e-6) & (values < 1e6), values, np.nan))
