"""Parsing of the features that a user names, such as `six` or `ln_Flux1000,LP_beta,Npred`."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable

from fermiclass.catalog import Catalog, CatalogWarning
from fermiclass.errors import FeatureError
from fermiclass.features.definitions import FEATURE_SETS, FEATURES, Feature
from fermiclass.features.inputs import Column, describe
from fermiclass.features.transforms import IDENTITY, LOG

#: Numeric columns of the 4FGL releases with one number a source. They are known without a catalogue.
RAW_COLUMNS: tuple[str, ...] = (
    "RAJ2000", "DEJ2000", "GLON", "GLAT",
    "Conf_68_SemiMajor", "Conf_68_SemiMinor", "Conf_68_PosAng",
    "Conf_95_SemiMajor", "Conf_95_SemiMinor", "Conf_95_PosAng",
    "Signif_Avg", "Pivot_Energy", "Flux1000", "Energy_Flux100",
    "PL_Flux_Density", "PL_Index",
    "LP_Flux_Density", "LP_Index", "LP_beta", "LP_SigCurv", "LP_EPeak",
    "PLEC_Flux_Density", "PLEC_Index", "PLEC_Expfactor", "PLEC_IndexS", "PLEC_ExpfactorS", "PLEC_Exp_Index",
    "PLEC_SigCurv", "PLEC_EPeak",
    "Npred", "Variability_Index", "Frac_Variability", "Signif_Peak", "Flux_Peak",
    "Variability2_Index", "Frac2_Variability", "Signif2_Peak", "Flux2_Peak",
)  # fmt: skip


def parse_features(
    spec: str | Iterable[str | Feature], catalog: Catalog | None = None, *, raw: bool = False
) -> tuple[Feature, ...]:
    """Return the features that `spec` names, in its order: names separated by commas, or an iterable with features too.

    A name is a set (`six`, `paper`, `extended`), a defined feature, or a numeric column of the catalogue, as it is or
    with `ln_` before it. A raw column takes its uncertainty from `Unc_<column>` if the catalogue has it. Defined
    features come first: `ln_LP_SigCurv` is the feature of the main paper.

    All columns of a given catalogue are known, and a set has those of its features that the catalogue supports, with a
    `CatalogWarning` that names the others; otherwise the columns of the 4FGL releases (`RAW_COLUMNS`) are known. With
    `raw` any other name is a column. Raises FeatureError if a name is unknown or repeated, or nothing is named.
    """
    items: list[str | Feature] = list(spec.split(",") if isinstance(spec, str) else spec)
    features: list[Feature] = []
    for item in items:
        if isinstance(item, Feature):
            features.append(item)
        elif item.strip():
            features.extend(_resolve(item.strip(), catalog, raw))
    names = [feature.name for feature in features]
    if not names:
        raise FeatureError(
            f"no features are named in {spec!r}: give a set ({', '.join(FEATURE_SETS)}) or names separated by commas"
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise FeatureError(f"features are named more than once: {', '.join(repeated)}. Name each feature once.")
    return tuple(features)


def _supported(name: str, catalog: Catalog) -> tuple[Feature, ...]:
    """Return the features of a set that a catalogue supports; all if it supports none."""
    members = FEATURE_SETS[name]
    lacking = {feature.name: feature.missing(catalog) for feature in members}
    chosen = tuple(feature for feature in members if not lacking[feature.name])
    if chosen and len(chosen) < len(members):
        columns = dict.fromkeys(column for missing in lacking.values() for column in missing)
        warnings.warn(
            f"{describe(catalog)} lacks {', '.join(columns)}: the set '{name}' is used without "
            f"{', '.join(feature for feature, missing in lacking.items() if missing)}",
            CatalogWarning,
            stacklevel=4,
        )
    return chosen or members


def raw_feature(name: str) -> Feature:
    """Return the feature of a column: the column itself, or its logarithm if `name` starts with `ln_`."""
    column = name.removeprefix("ln_")
    quantity = Column((column,), optional=f"Unc_{column}")
    if column != name:
        return Feature(name, (quantity,), LOG, f"ln of the catalogue's {column}")
    return Feature(name, (quantity,), IDENTITY, f"The catalogue's {column}")


def _resolve(name: str, catalog: Catalog | None, raw: bool) -> tuple[Feature, ...]:
    if name in FEATURE_SETS:
        return FEATURE_SETS[name] if catalog is None else _supported(name, catalog)
    if name in FEATURES:
        return (FEATURES[name],)
    column = name.removeprefix("ln_")
    if raw or column in RAW_COLUMNS or (catalog is not None and column in catalog.table.colnames):
        return (raw_feature(name),)
    known = {*FEATURE_SETS, *FEATURES, *RAW_COLUMNS, *(catalog.table.colnames if catalog is not None else ())}
    # Most errors are in the case and in the leading ln_.
    folded = {other.lower(): other for other in sorted(known)}
    close = [folded[match] for match in difflib.get_close_matches(name.lower(), list(folded), n=3, cutoff=0.6)]
    hint = f"Did you mean {' or '.join(close)}?" if close else "No known name comes close."
    raise FeatureError(
        f"unknown feature '{name}'. {hint} Known are the sets {', '.join(FEATURE_SETS)}, the features "
        f"{', '.join(FEATURES)}, and the catalogue's numeric columns, also with ln_ before them."
    )
