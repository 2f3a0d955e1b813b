"""Will a source last? The probability that a later list has it, from what became of the sources of earlier lists.

A logistic regression learned this from the sources of the releases in the even cells of the sky, and from the next list
that was made anew. Its coefficients are in ``lasting.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import Catalog
from fermiclass.features.definitions import FEATURES
from fermiclass.io import FloatArray

#: Features of the regression, beside significance, error radius, the bits of Flags and the status.
SPECTRUM = (
    *("ln_Flux1000", "ln_Energy_Flux100", "ln_Pivot_Energy", "PL_Index", "LP_Index", "LP_beta"),
    *("asinh_LP_SigCurv", "asinh_PLEC_SigCurv", "ln_Variability_Index"),
)

#: Releases that differ from 4FGL-DR4 by terms of their own: inputs that are 1 for their sources.
OLDER = ("4FGL-DR1", "4FGL-DR2", "4FGL-DR3")

#: Inputs that also enter as products with ``Signif_Avg^-2``, standardised: they matter more for faint sources.
PRODUCTS = ("LP_Index", "ln_Flux1000", "ln_Variability_Index", *OLDER)

CELL = 15.0  # degrees

PARTS = 5  #: Number of parts of the even cells. The regression for a part did not learn from the sources in it.

MOST = 0.998  #: Largest probability: a few of the brightest sources vanished, too.

_FAINTEST = 3.5  # significance below which 1/S² would become a lever
_BITS = 15
_LARGEST_PRODUCT = 5.0
_OTHER_LATER = {"3FGL": "4FGL-DR1"}  # releases that were judged by another list than FL16Y


def lasting(catalog: Catalog) -> FloatArray:
    """Return the probability that a later list has each source, ``(N,)``.

    ``p = 1/(1 + exp(−η))``, at most :data:`MOST`, where η is linear in ln S, 1/S², the logarithm of the error radius,
    spectrum and variability, the bits of Flags, status and release, with S = Signif_Avg. A release from which nothing
    was learned counts as 4FGL-DR4; 3FGL has a regression of its own. Where a column lacks, one on significance, error
    radius, status and release takes its place. In even cells, it did not learn from this part of the sky.
    """
    models = json.loads(Path(__file__).with_name("lasting.json").read_text(encoding="utf-8"))
    about = models[_OTHER_LATER.get(catalog.release.name, "FL16Y")]
    inputs = inputs_of(catalog)
    model = about["full"] if set(about["full"]["inputs"]) <= set(inputs) else about["small"]
    eta = design(inputs, model["inputs"]) @ np.asarray(model["coefficients"]).T
    return np.minimum(1.0 / (1.0 + np.exp(-eta[np.arange(len(catalog)), part_of_sky(catalog)])), MOST)


def part_of_sky(catalog: Catalog) -> NDArray[np.intp]:
    """Return a number from 0 to `PARTS` - 1 for sources in even cells, by cell, and `PARTS` in odd ones, ``(N,)``.

    ``i = ⌊RAJ2000/15⌋`` and ``j = ⌊(DEJ2000 + 90)/15⌋`` are the cell, which is even if i + j is.
    """
    place = catalog.column("RAJ2000"), catalog.column("DEJ2000") + 90.0
    i, j = (np.floor(np.nan_to_num(x) / CELL).astype(int) for x in place)
    return np.where((i + j) % 2 == 0, (i + 5 * j) // 2 % PARTS, PARTS)


def inputs_of(catalog: Catalog) -> dict[str, FloatArray]:
    """Return the inputs that the catalogue's columns allow, ``(N,)`` each, NaN where unknown."""
    significance = catalog.column("Signif_Avg")
    known = np.where(significance > 0, significance, np.nan)
    error = catalog.column("Conf_95_SemiMajor")
    found = {
        "ln_Signif_Avg": np.log(known),
        "Signif_Avg^-2": np.maximum(known, _FAINTEST) ** -2.0,
        "ln_Conf_95_SemiMajor": np.log(np.where(error > 0, error, np.nan)),
        "unassociated": (catalog.classes == "").astype(float),
        "untyped": np.isin(catalog.classes, ("bcu", "unk")).astype(float),
        **{name: np.full(len(catalog), float(catalog.release.name == name)) for name in OLDER},
    }
    for name in SPECTRUM:
        if not FEATURES[name].missing(catalog):
            found[name] = FEATURES[name].measure(catalog).value
    if "Flags" in catalog.table.colnames:
        flags = np.nan_to_num(catalog.column("Flags")).astype(np.int64)
        found |= {f"Flags_{bit + 1}": (flags >> bit & 1).astype(float) for bit in range(_BITS)}
    return found


def design(inputs: Mapping[str, FloatArray], scales: Mapping[str, tuple[float, float, float, float]]) -> FloatArray:
    """Return the matrix of the regression: 1, the inputs, and their products with ``Signif_Avg^-2``, ``(N, 1 + J)``.

    `scales` has the least and largest value, mean and standard deviation of each input, which is 0 where unknown.
    """
    z = {name: np.nan_to_num((np.clip(inputs[name], a, b) - mean) / std) for name, (a, b, mean, std) in scales.items()}
    faint = z["Signif_Avg^-2"]
    products = [np.clip(faint * z[name], -_LARGEST_PRODUCT, _LARGEST_PRODUCT) for name in PRODUCTS if name in z]
    return np.column_stack([np.ones(len(faint)), *z.values(), *products])
