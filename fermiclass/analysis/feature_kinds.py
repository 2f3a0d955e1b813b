"""Kinds of features, such as spectral shape and variability."""

from __future__ import annotations

from collections.abc import Sequence

from fermiclass.features.definitions import FEATURES

#: Catalogue columns of each kind. The columns of bands, of the hardness ratios, belong to the spectral shape.
_COLUMNS = {
    "spectral shape": (
        "PL_Index", "LP_Index", "LP_beta", "LP_SigCurv", "PLEC_SigCurv", "PLEC_IndexS", "PLEC_ExpfactorS",
        "Pivot_Energy", "LP_EPeak", "PLEC_EPeak", "Flux_Band", "nuFnu_Band",
    ),
    "variability": ("Variability_Index", "Frac_Variability", "Signif_Peak", "Flux_Peak"),
    "brightness": ("Flux1000", "Energy_Flux100", "Signif_Avg", "Npred"),
    "position": ("GLAT", "GLON"),
}  # fmt: skip

_KINDS = {column: kind for kind, columns in _COLUMNS.items() for column in columns}


def feature_kinds(features: Sequence[str]) -> dict[str, list[int]]:
    """Return the indices of the features of each kind. A feature of no known kind is a kind of its own."""
    kinds: dict[str, list[int]] = {}
    for j, name in enumerate(features):
        columns = FEATURES[name].columns if name in FEATURES else (name.removeprefix("ln_"),)
        kind = next((_KINDS[column] for column in columns if column in _KINDS), name)
        kinds.setdefault(kind, []).append(j)
    return kinds
