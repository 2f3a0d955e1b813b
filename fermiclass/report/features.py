"""Features with error bars on the page: of the labelled sources, and of those whose class is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.catalog import Catalog, ClassGrouping
from fermiclass.features import DEFAULT_FEATURE_SET, FeatureTable, extract_features
from fermiclass.labels import classes_of
from fermiclass.report.codes import linear_codes, log_codes
from fermiclass.report.sources import catalogue_rows

if TYPE_CHECKING:
    from astropy.table import Table

#: Of a class's sources, this part is shown as its range: 16 to 84 %.
RANGE = (16.0, 50.0, 84.0)


def feature_columns(labels: Table, catalog: Catalog) -> dict[str, Any]:
    """Return D features of the n labelled sources and of the m sources of the catalogue that have one of the classes.

    Parameters
    ----------
    labels
        A label table; its metadata say which features and classes were used. Without them: the default features.
    catalog
        The catalogue that was labelled.

    Returns
    -------
    dict
        ``names`` and ``about`` (D); ``values`` and ``errors`` (D, codes of n numbers each); ``imputed``, lists of
        features by source, where the catalogue lacks something; ``centre`` and ``scale`` (D) of the known;
        ``ranges``, percentiles `RANGE` by class (C, D, 3); ``known``: ``classes`` (m indices), ``values``, ``errors``.

    Raises
    ------
    CatalogError
        When the catalogue lacks a labelled source.
    FeatureError
        When the catalogue lacks a feature.
    """
    classes = classes_of(labels)
    grouping = ClassGrouping.parse(str(labels.meta.get("classes") or ",".join(classes)))
    table = extract_features(catalog, str(labels.meta.get("features") or DEFAULT_FEATURE_SET), grouping)
    shown = table[catalogue_rows(labels, catalog)]
    # With --targets all, these are among the labelled, too.
    known = table[np.flatnonzero(np.isin(table.y, classes))]
    ranges = np.array([_percentiles(known.X[known.y == name]) for name in classes])
    low, centre, high = _percentiles(known.X).T
    return {
        "names": [feature.name for feature in table.features],
        "about": [_about(feature.description, feature.unit) for feature in table.features],
        **_coded(shown),
        "imputed": _imputed(shown),
        "centre": _numbers(centre),
        "scale": _numbers(np.where(high > low, (high - low) / 2, 1.0)),
        "ranges": [[_numbers(row) for row in of_class] for of_class in ranges],
        "known": {"classes": [classes.index(name) for name in known.y.tolist()], **_coded(known)},
    }


def _percentiles(X: Any) -> Any:
    return np.percentile(X, RANGE, axis=0).T if len(X) else np.full((X.shape[1], len(RANGE)), np.nan)


def _coded(table: FeatureTable) -> dict[str, Any]:
    sigma = np.sqrt(table.X_var)
    return {"values": [linear_codes(x) for x in table.X.T], "errors": [log_codes(s) for s in sigma.T]}


def _imputed(table: FeatureTable) -> dict[str, dict[str, list[int]]]:
    """By row: which features (value) and which errors (error) the catalogue does not give."""
    found: dict[str, dict[str, list[int]]] = {}
    for kind, mask in (("value", table.imputed_value), ("error", table.imputed_uncertainty & ~table.imputed_value)):
        for row, column in np.argwhere(mask).tolist():
            found.setdefault(str(row), {}).setdefault(kind, []).append(column)
    return found


def _numbers(values: Any) -> list[float | None]:
    return [float(f"{v:.5g}") if np.isfinite(v) else None for v in values]


def _about(description: str, unit: str) -> str:
    return f"{description}, {unit}" if unit else description
