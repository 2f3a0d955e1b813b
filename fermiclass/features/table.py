"""The feature table: the features of a catalogue with their variances, the input of a classifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from astropy.table import Column, Table
from numpy.typing import NDArray

from fermiclass.catalog import Catalog, ClassGrouping
from fermiclass.errors import FeatureError
from fermiclass.features.definitions import DEFAULT_FEATURE_SET, Feature, parse_features
from fermiclass.features.imputation import BoolArray, Imputation
from fermiclass.io import FloatArray

FLAG_UNCERTAINTY, FLAG_VALUE = 1, 2  #: Bits of `FeatureTable.flags`.

_OF_ROWS = ("X", "X_var", "y", "weight", "names", "rows", "imputed_uncertainty", "imputed_value", "upper")


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Features with variances, classes and names of N sources."""

    X: FloatArray  #: (N, D) float64 features, all finite.
    X_var: FloatArray  #: (N, D) float64 variances of the errors of `X`, all finite and not negative.
    y: NDArray[np.str_]  #: (N,) the source's group in the chosen grouping of classes, '' if it has none.
    weight: FloatArray  #: (N,) weight of `y` in training, 1 but for guesses and labels of one's own.
    names: NDArray[np.str_]  #: (N,) Source_Name.
    rows: NDArray[np.intp]  #: (N,) the sources' rows in the catalogue.
    features: tuple[Feature, ...]  #: The D features.
    imputed_uncertainty: BoolArray  #: (N, D) mask of the uncertainties that were imputed.
    imputed_value: BoolArray  #: (N, D) mask of the values that were imputed.
    upper: FloatArray  #: (N, D) upper limits of imputed values, infinite where there is none.
    imputation: Imputation  #: The policy, with which `extract_features` treats another catalogue the same way.
    meta: Mapping[str, Any] = field(default_factory=dict)  #: Provenance: catalog, sha256, release, classes, features.

    @property
    def flags(self) -> NDArray[np.int32]:
        """(N,) bits: 1 an uncertainty was imputed, 2 a feature was imputed."""
        uncertainty, value = self.imputed_uncertainty.any(axis=1), self.imputed_value.any(axis=1)
        return np.asarray(FLAG_UNCERTAINTY * uncertainty + FLAG_VALUE * value, dtype=np.int32)

    @property
    def labelled(self) -> BoolArray:
        """(N,) whether the source has a class of the grouping."""
        return np.asarray(self.y != "")

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> FeatureTable:
        """Return the table of some rows, given as a mask, indices, a slice or one number."""
        chosen = np.atleast_1d(np.arange(len(self))[rows])
        return replace(self, **{name: getattr(self, name)[chosen] for name in _OF_ROWS})

    def to_table(self) -> Table:
        """Return an astropy table: Source_Name, CLASS, each feature with its `Unc_`, FEATURE_FLAGS, and metadata."""
        table = Table(meta=dict(self.meta))

        def add(name: str, data: Any, description: str, unit: str = "", ucd: str = "") -> None:
            meta = {"ucd": ucd} if ucd else {}
            table[name] = Column(data, description=description, unit=unit or None, meta=meta)

        add("Source_Name", self.names, "Name in the catalogue", ucd="meta.id;meta.main")
        add("CLASS", self.y, "Class in the chosen grouping, empty if none", ucd="src.class")
        sigma = np.sqrt(self.X_var)
        for j, feature in enumerate(self.features):
            add(feature.name, self.X[:, j], feature.description, feature.unit, feature.ucd)
            # A word of statistics must come first in a UCD, so there can be only one.
            error_ucd = f"stat.error;{feature.ucd}" if feature.ucd and feature.ucd[:5] != "stat." else "stat.error"
            error = f"Standard deviation of {feature.name}, 0 if the catalogue gives none"
            add(f"Unc_{feature.name}", sigma[:, j], error, feature.unit, error_ucd)
        bits = f"Bits: {FLAG_UNCERTAINTY} an uncertainty was imputed, {FLAG_VALUE} a feature was imputed"
        add("FEATURE_FLAGS", self.flags, bits, ucd="meta.code.qual")
        return table


def known_features(spec: str | Iterable[str | Feature], training: Catalog, targets: Catalog) -> tuple[str, list[str]]:
    """Return the features of `spec` that any of the targets has, separated by commas, and those that none has.

    Raises FeatureError if the training catalogue lacks a feature, or the targets have none.
    """
    readings = {each.name: each.measure(targets, unknown=True) for each in parse_features(spec, training)}
    left_out = [name for name, each in readings.items() if not np.isfinite([each.value, each.upper]).any()]
    names = [name for name in readings if name not in left_out]
    if not names:
        raise FeatureError(
            f"{targets} has none of the features {', '.join(left_out)}. Name its columns (--columns), or "
            "choose other features (--features)."
        )
    return ",".join(names), left_out


def extract_features(
    catalog: Catalog,
    features: str | Iterable[str | Feature] = DEFAULT_FEATURE_SET,
    classes: str | ClassGrouping | None = None,
    *,
    imputation: Imputation | None = None,
    min_significance: float | None = None,
    unknown: bool = False,
) -> FeatureTable:
    """Turn a catalogue into features with variances, a row for every source. Missing values are imputed and flagged.

    Parameters
    ----------
    catalog
        The catalogue, such as `fermiclass.read_catalog` returns.
    features
        A feature set, names or features, as for `parse_features`.
    classes
        A grouping of classes, such as ``"bll,fsrq,psr"``; by default what the class codes can be.
    imputation
        A fitted policy, such as that of the training catalogue. By default it is fitted on all rows of `catalog`.
    min_significance
        Keep only sources with Signif_Avg above this value, after the imputation. This is for training sources.
    unknown
        If True, a feature whose columns the catalogue lacks is not known for any source, instead of an error.

    Returns
    -------
    FeatureTable
        Of N sources, with D features.

    Raises
    ------
    FeatureError
        If a feature is unknown, the catalogue lacks a column, or `imputation` is for other features.
    ClassError
        If `classes` cannot be parsed.
    """
    chosen = parse_features(features, None if unknown else catalog, raw=unknown)
    grouping = catalog.grouping(classes)
    names = [feature.name for feature in chosen]
    readings = [feature.measure(catalog, unknown=unknown) for feature in chosen]
    upper = np.stack([reading.upper for reading in readings], axis=1)
    significance = catalog.column("Signif_Avg")
    if imputation is None:
        reaches = [feature.transform.reach for feature in chosen]
        imputation = Imputation.fit(names, readings, significance, catalog=str(catalog.release.name), reaches=reaches)
    imputed = imputation.apply(names, readings, significance)
    table = FeatureTable(
        **imputed._asdict(),
        y=catalog.labels(grouping),
        weight=np.ones(len(catalog)) if catalog.own_weights is None else catalog.own_weights,
        names=np.asarray(catalog.names),
        rows=np.arange(len(catalog)),
        features=chosen,
        upper=np.where(np.isfinite(upper), upper, np.inf),
        imputation=imputation,
        meta={
            "catalog": str(catalog.source),
            "sha256": str(catalog.sha256),
            "release": str(catalog.release.name),
            "classes": grouping.spec,
            "features": names,
        },
    )
    return table if min_significance is None else table[significance > min_significance]
