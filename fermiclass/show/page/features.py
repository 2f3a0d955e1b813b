"""Features with error bars on the page, for the labelled sources and for the sources of known class."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermiclass.catalog import Catalog
from fermiclass.errors import FeatureError
from fermiclass.features import DEFAULT_FEATURE_SET, FeatureTable, extract_features, parse_features
from fermiclass.io import FloatArray
from fermiclass.labelling.labels import Labels
from fermiclass.show.page.sources import catalogue_rows, significant

RANGE = (16.0, 50.0, 84.0)  #: Percentiles of a class that the page shows as its range and median.


def feature_columns(about: Labels, catalog: Catalog, trained_on: Catalog | None = None) -> dict[str, Any]:
    """Return D features of the n labelled sources, and of m sources of a known class, of `trained_on` if it is given.

    They are ``names`` and ``about`` (D); ``values`` and ``errors`` (D), each the codes of n numbers; ``imputed``: lists
    of imputed features by source; ``centre`` and ``scale`` (D) of the sources of known class, or of all if there are
    none; ``ranges`` (C, D, 3): percentiles `RANGE` by class; ``known``: ``classes`` (m), ``values`` and ``errors``.

    Raises CatalogError when the catalogue lacks a labelled source, FeatureError when it lacks a feature.
    """
    classes = about.classes
    features = parse_features(str(about.meta.get("features") or DEFAULT_FEATURE_SET), trained_on or catalog)
    lacking = [feature.name for feature in features if feature.missing(catalog)]
    if lacking and trained_on is None:
        raise FeatureError(f"{catalog} lacks {', '.join(lacking)}: give the training catalogue, too (--train-on).")
    learned = extract_features(trained_on or catalog, features, about.grouping)
    table = learned
    if trained_on is not None:
        table = extract_features(catalog, features, about.grouping, imputation=learned.imputation, unknown=True)
    shown = table[catalogue_rows(about.table, catalog)]
    # With --targets all, these are labelled sources too.
    known = learned[np.flatnonzero(np.isin(learned.y, classes))]
    ranges = np.array([_percentiles(known.X[known.y == name]) for name in classes])
    low, centre, high = _percentiles((known if len(known) else shown).X).T
    return {
        "names": [feature.name for feature in table.features],
        "about": [", ".join(filter(None, (feature.description, feature.unit))) for feature in table.features],
        **_coded(shown),
        "imputed": _imputed(shown),
        "centre": significant(centre, 5),
        "scale": significant(np.where(high > low, (high - low) / 2, 1.0), 5),
        "ranges": [[significant(row, 5) for row in of_class] for of_class in ranges],
        "known": {"classes": [classes.index(name) for name in known.y.tolist()], **_coded(known)},
    }


def _percentiles(X: Any) -> Any:
    return np.percentile(X, RANGE, axis=0).T if len(X) else np.full((X.shape[1], len(RANGE)), np.nan)


def _coded(table: FeatureTable) -> dict[str, Any]:
    sigma = np.sqrt(table.X_var)
    return {"values": [linear_codes(x) for x in table.X.T], "errors": [log_codes(s) for s in sigma.T]}


def _imputed(table: FeatureTable) -> dict[str, dict[str, list[int]]]:
    """Return by row the features (value) and the errors (error) that the catalogue does not give."""
    found: dict[str, dict[str, list[int]]] = {}
    for kind, mask in (("value", table.imputed_value), ("error", table.imputed_uncertainty & ~table.imputed_value)):
        for row, column in np.argwhere(mask).tolist():
            found.setdefault(str(row), {}).setdefault(kind, []).append(column)
    return found


# Numbers have 16 bits each, in base64: decimal text of the features and error bars of all sources would take twice the
# space. Codes from 0 to TOP are values, the next one stands for a missing value.
TOP = 65534
MISSING = TOP + 1


def linear_codes(values: ArrayLike) -> dict[str, Any]:
    """Return ``{"low", "step", "codes"}``: low + step·code is a value to within step/2; NaN and ±∞ are missing."""
    x = np.asarray(values, np.float64)
    known = np.isfinite(x)
    low, step, codes = _in_steps(x[known], TOP)
    return {"low": low, "step": step, "codes": _base64(np.full(x.shape, MISSING), known, codes)}


def log_codes(values: ArrayLike) -> dict[str, Any]:
    """Return ``{"low", "step", "codes"}``: code 0 is 0, others are low·exp(step·(code − 1)); negative is missing."""
    x = np.asarray(values, np.float64)
    positive = np.isfinite(x) & (x > 0)
    low, step, codes = _in_steps(np.log(x[positive]), TOP - 1)
    coded = _base64(np.where(x == 0, 0, MISSING), positive, 1 + codes)
    return {"low": float(np.exp(low)), "step": step, "codes": coded}


def _in_steps(x: FloatArray, most: int) -> tuple[float, float, FloatArray]:
    """Return the least number, the step of which `most` lead to the largest, and how many lead to each number."""
    low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)
    step = (high - low) / most
    return low, step, np.rint((x - low) / step) if step else np.zeros(len(x))


def _base64(codes: NDArray[Any], known: NDArray[np.bool_], of_known: FloatArray) -> str:
    codes[known] = of_known
    return base64.b64encode(codes.astype("<u2").tobytes()).decode("ascii")
