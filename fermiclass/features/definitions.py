"""Definitions of the features: columns, transformation and error propagation; and the names that users give."""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fermiclass.catalog import Catalog, CatalogWarning
from fermiclass.catalog.catalog import DISC
from fermiclass.catalog.releases import RAW_COLUMNS
from fermiclass.errors import FeatureError
from fermiclass.features.inputs import (
    ASINH,
    ASINH_DISTANCE,
    HARDNESS_RATIO,
    IDENTITY,
    LOG,
    LOG_OF_FEW,
    OF_FEW,
    ROUNDED_LOG,
    Band,
    Column,
    GasBit,
    HIIRegions,
    Reading,
    Transform,
)


@dataclass(frozen=True)
class Feature:
    """One input dimension of the classifier: g(q_1 ... q_K) of K catalogue quantities."""

    name: str  #: Unique name, which is also its column in the feature table.
    inputs: tuple[Column | Band | GasBit | HIIRegions, ...]  #: The K quantities.
    transform: Transform  #: The transformation g.
    #: Description, unit and UCD in the feature table. A logarithm has no unit; its description names the unit of the
    #: argument.
    description: str
    unit: str = ""
    ucd: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The catalogue columns this feature needs, without repetition."""
        return tuple(dict.fromkeys(name for quantity in self.inputs for name in quantity.columns))

    def missing(self, catalog: Catalog) -> list[str]:
        """Return what the feature needs and `catalog` lacks: columns, or bands within them."""
        return list(dict.fromkeys(name for quantity in self.inputs for name in quantity.missing(catalog)))

    def measure(self, catalog: Catalog, *, unknown: bool = False) -> Reading:
        """Return the feature's value and standard deviation for every source, before imputation.

        var g = Σ_k (∂g/∂q_k)² σ_k², to first order, with independent errors of the quantities.

        Raises FeatureError if the catalogue lacks what the feature needs; with `unknown`, nothing is known then.
        """
        missing, nothing = self.missing(catalog), np.full(len(catalog), np.nan)
        if missing and unknown:
            return Reading(nothing, nothing, True, nothing)
        if missing:
            names, supported = ", ".join(f"'{name}'" for name in missing), supported_features(catalog)
            remedy = f"Choose among those it supports: --features {','.join(other.name for other in supported)}."
            if not supported:
                remedy = "It supports none of the defined features: name its numeric columns, or use a 4FGL catalogue."
            raise FeatureError(f"feature '{self.name}' needs column {names}, but {catalog} does not have it. {remedy}")
        readings = [quantity.read(catalog) for quantity in self.inputs]
        with np.errstate(over="ignore", invalid="ignore"):  # a result that is not finite is unknown
            value, gradient = self.transform.formula(np.stack([reading.value for reading in readings]))
            # The sum goes term by term: one row has the same operations as the whole catalogue, and so the same bits.
            variance = sum((slope * reading.sigma) ** 2 for slope, reading in zip(gradient, readings, strict=True))
        # All functions of one quantity rise, but that of GLAT, which has no limits.
        upper = self.transform.formula(readings[0].upper[None])[0] if len(readings) == 1 else nothing
        return Reading(value, np.sqrt(variance), any(reading.measured for reading in readings), upper)


def supported_features(catalog: Catalog) -> tuple[Feature, ...]:
    """Return the defined features that `catalog` has all columns and bands for, in the order of `FEATURES`."""
    return tuple(feature for feature in FEATURES.values() if not feature.missing(catalog))


def _of_column(
    name: str, transform: Transform, about: str, ucd: str, *, errors: bool = True, unit: str = "", cap: float = math.inf
) -> Feature:
    """Return the feature of the column in its name, with errors in the column ``Unc_...``, or without any."""
    column = name.removeprefix("ln_").removeprefix("asinh_")
    columns = (column, f"Unc_{column}") if errors else (column,)
    return Feature(name, (Column(columns, cap=cap),), transform, about, unit, ucd)


_FLUX = "phot.flux;em.gamma"

_LN_FLUX = _of_column("ln_Flux1000", LOG, "ln of Flux1000 / (ph cm-2 s-1), 1 to 100 GeV", _FLUX)
_LN_SIGNIF = _of_column("ln_Signif_Avg", LOG, "ln of Signif_Avg", "stat.snr", errors=False)
_LN_PIVOT = _of_column("ln_Pivot_Energy", LOG, "ln of Pivot_Energy / MeV", "em.energy", errors=False)
_LP_INDEX = _of_column("LP_Index", IDENTITY, "LogParabola: photon index at Pivot_Energy", "spect.index")
_LP_BETA = _of_column("LP_beta", IDENTITY, "LogParabola: curvature beta", "spect.index")
_ASINH_CURV = _of_column("asinh_LP_SigCurv", ASINH, "LogParabola: asinh of LP_SigCurv", "stat.snr", errors=False)
_FLUX1000 = _of_column("Flux1000", IDENTITY, "Photon flux, 1 to 100 GeV", _FLUX, unit="ph cm-2 s-1")
_LN_CURV = _of_column("ln_LP_SigCurv", ROUNDED_LOG, "ln of LP_SigCurv to 0.01, 0 made 0.1", "stat.snr", errors=False)
_LN_VARIABILITY = _of_column("ln_Variability_Index", LOG, "ln of Variability_Index", "src.var.index", errors=False)
# An error of 10 means that the fractional variability is not constrained (9.999999 in DR1).
_FRAC_VARIABILITY = _of_column("Frac_Variability", IDENTITY, "Fractional variability", "src.var.amplitude", cap=9.99)
_ASINH_PLEC = _of_column(
    "asinh_PLEC_SigCurv", ASINH, "Exponential cutoff: asinh of PLEC_SigCurv", "stat.snr", errors=False
)
_LN_ENERGY_FLUX = _of_column("ln_Energy_Flux100", LOG, "ln of Energy_Flux100 / (erg cm-2 s-1), 0.1 to 100 GeV", _FLUX)
_PL_INDEX = _of_column("PL_Index", IDENTITY, "Power law: photon index", "spect.index")

#: The six features of the main paper, in a form that suits faint sources: logarithm of the flux, asinh of a curvature.
SIX_FEATURES: tuple[Feature, ...] = (_LN_FLUX, _LN_SIGNIF, _LN_PIVOT, _LP_INDEX, _LP_BETA, _ASINH_CURV)

#: The six features of the main paper, as in its data set.
PAPER_FEATURES: tuple[Feature, ...] = (_FLUX1000, _LN_SIGNIF, _LN_PIVOT, _LP_INDEX, _LP_BETA, _LN_CURV)

#: The bands of the hardness ratios: lower edge in MeV and label.
_BANDS = (
    *((50.0, "50-100 MeV"), (1e2, "100-300 MeV"), (3e2, "0.3-1 GeV"), (1e3, "1-3 GeV")),
    *((3e3, "3-10 GeV"), (1e4, "10-30 GeV"), (3e4, "30 GeV and more")),
)

#: Hardness ratios HR_12 ... HR_67 of neighbouring energy bands.
HARDNESS_FEATURES: tuple[Feature, ...] = tuple(
    Feature(
        f"HR_{k}{k + 1}",
        (Band(softer), Band(harder)),
        HARDNESS_RATIO,
        f"Hardness ratio (b - a)/(b + a) of nuFnu in a = {a} and b = {b}",
        ucd="phot.flux;em.gamma;arith.ratio",
    )
    for k, ((softer, a), (harder, b)) in enumerate(pairwise(_BANDS), start=1)
)

#: The six features and eleven more.
EXTENDED_FEATURES: tuple[Feature, ...] = (
    *(*SIX_FEATURES, _LN_VARIABILITY, _FRAC_VARIABILITY),
    *(_ASINH_PLEC, _LN_ENERGY_FLUX, _PL_INDEX, *HARDNESS_FEATURES),
)

_ASINH_GLAT = _of_column(
    "asinh_GLAT", ASINH_DISTANCE, f"asinh of |GLAT| / {DISC:g} deg", "pos.galactic.lat", errors=False
)

#: The extended set, and how far a source lies from the Galactic plane: the default.
GALACTIC_FEATURES: tuple[Feature, ...] = (*EXTENDED_FEATURES, _ASINH_GLAT)

#: The default, and what tells clumps of gas and star-forming regions in the plane.
GAS_FEATURES: tuple[Feature, ...] = (
    *GALACTIC_FEATURES,
    Feature("BIT6", (GasBit(),), OF_FEW, "1 for a possible clump of gas (bit 6 of Flags), else 0", ucd="src.class"),
    Feature(
        "HIID",
        (HIIRegions(),),
        LOG_OF_FEW,
        "ln of the distance from the nearest large H II region / its radius, cut off at 0.3 and 30",
        ucd="pos.angDistance;arith.ratio",
    ),
)

#: Sets of features by the name that `--features` takes.
FEATURE_SETS: dict[str, tuple[Feature, ...]] = {
    "six": SIX_FEATURES,
    "paper": PAPER_FEATURES,
    "extended": EXTENDED_FEATURES,
    "galactic": GALACTIC_FEATURES,
    "gas": GAS_FEATURES,
}

DEFAULT_FEATURE_SET = "gas"

#: Every defined feature by name.
FEATURES: dict[str, Feature] = {feature.name: feature for members in FEATURE_SETS.values() for feature in members}

#: The minimum significance of the main paper (Villacampa-Calvo et al. 2021, section 5.6).
PAPER_MIN_SIGNIFICANCE = 30.0


def parse_features(
    spec: str | Iterable[str | Feature], catalog: Catalog | None = None, *, raw: bool = False
) -> tuple[Feature, ...]:
    """Return the features that `spec` names, in its order: names separated by commas, or an iterable with features too.

    A name is a set (such as `gas`), a defined feature, or a numeric column of the catalogue (without one, of
    `RAW_COLUMNS`; with `raw`, any), as it is or with `ln_` before it, whose errors are in `Unc_<column>`, if anywhere.
    Of a set, what a given catalogue does not support is left out with a `CatalogWarning`.

    Raises FeatureError if a name is unknown or repeated, or nothing is named.
    """
    features: list[Feature] = []
    for item in spec.split(",") if isinstance(spec, str) else spec:
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


def raw_feature(name: str) -> Feature:
    """Return the feature of a column: the column itself, or its logarithm if `name` starts with `ln_`."""
    column = name.removeprefix("ln_")
    transform, about = (LOG, "ln of the catalogue's") if column != name else (IDENTITY, "The catalogue's")
    return Feature(name, (Column((column,), optional=f"Unc_{column}"),), transform, f"{about} {column}")


def _resolve(name: str, catalog: Catalog | None, raw: bool) -> tuple[Feature, ...]:
    """Return the feature of a name, or the features of a set that a catalogue supports; all if it supports none."""
    if name in FEATURE_SETS:
        members = FEATURE_SETS[name]
        lacking = {each.name: each.missing(catalog) for each in members if catalog is not None}
        without = [feature for feature, missing in lacking.items() if missing]
        chosen = tuple(feature for feature in members if feature.name not in without)
        if chosen and without:
            columns = ", ".join(dict.fromkeys(column for missing in lacking.values() for column in missing))
            message = f"{catalog} lacks {columns}: the set '{name}' is used without {', '.join(without)}"
            warnings.warn(message, CatalogWarning, stacklevel=4)
        return chosen or members
    if name in FEATURES:
        return (FEATURES[name],)
    columns_here = () if catalog is None else catalog.table.colnames
    if raw or name.removeprefix("ln_") in {*RAW_COLUMNS, *columns_here}:
        return (raw_feature(name),)
    known = {*FEATURE_SETS, *FEATURES, *RAW_COLUMNS, *columns_here}
    # Most errors are in the case and in the leading ln_.
    folded = {other.lower(): other for other in sorted(known)}
    close = [folded[match] for match in difflib.get_close_matches(name.lower(), list(folded), n=3, cutoff=0.6)]
    hint = f"Did you mean {' or '.join(close)}?" if close else "No known name comes close."
    raise FeatureError(
        f"unknown feature '{name}'. {hint} Known are the sets {', '.join(FEATURE_SETS)}, the features "
        f"{', '.join(FEATURES)}, and the catalogue's numeric columns, also with ln_ before them."
    )
