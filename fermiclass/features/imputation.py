"""Imputation of values and uncertainties that the catalogue does not give, by a policy that is fitted once.

``docs/mathematics.md``, "Missing values and uncertainties", has the rules and their reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from fermiclass.errors import FeatureError, ModelFolderError
from fermiclass.features.inputs import Reading
from fermiclass.features.transforms import REACH
from fermiclass.features.uncertainty import BoolArray, FeatureImputation, feature_from_dict, fit_feature
from fermiclass.io.arrays import FloatArray


class Imputed(NamedTuple):
    """Finite features and variances, (N, D) each, and masks of the imputed ones."""

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
        Name of the catalogue of the fit, for the record.
    ln_significance
        Median of ln Signif_Avg.
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
            Name of the catalogue, for the record.
        reaches
            Reach of each feature's values, as `Transform.reach`; by default 100,000.

        Returns
        -------
        Imputation
            The fitted policy. It does not depend on the order of the rows.
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
            As in `fit`, for any catalogue.

        Returns
        -------
        Imputed
            (N, D) arrays: finite values, finite variances >= 0, and the two masks.

        Raises
        ------
        FeatureError
            If the features are not those of the fit.
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
                # In a catalogue without the column of uncertainties, all are unknown.
                sigma = reading.sigma if reading.measured else np.full_like(x, np.nan)
                known = feature.known(reading.value, sigma, ln_significance)
                expected = feature.expected_ln_sigma(x, ln_significance)
                ln_sigma = np.clip(expected, feature.ln_sigma_min, feature.ln_sigma_max)
                result.X_var[:, j] = np.where(known, np.where(known, sigma, 0.0) ** 2, np.exp(2.0 * ln_sigma))
                result.imputed_uncertainty[:, j] = usable & ~known
            result.X_var[~usable, j] = feature.variance
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted policy as a dictionary for JSON, without loss."""
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
