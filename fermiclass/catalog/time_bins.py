"""Variability_Index of other time bins: values of one catalogue on the scale of another."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog.catalog import Catalog
from fermiclass.catalog.releases import bins_of, warn

#: Column of the number of time bins of each source, where it is not that of the release; NaN if it is not known.
BINS, _INDEX = "Variability_Bins", "Variability_Index"
_SAME = 1e-3  # relative difference of a value that was written with few digits


def rescale(index: NDArray[np.float64], bins: NDArray[np.float64], to: float) -> NDArray[np.float64]:
    """Return Variability_Index V of some numbers of time bins as that of `to` time bins.

    Of a steady source V is χ² of d = bins − 1 degrees of freedom, with mean d and variance 2d. It stays as many
    standard deviations above the mean, V' = d' + √(d'/d) (V − d). Below the mean the same holds of ln V, whose variance
    is 2/d, V' = d' (V/d)^√(d/d'), so that V' stays positive. It is NaN where a number of bins is not known.
    """
    d, slope = bins - 1.0, np.sqrt((to - 1.0) / (bins - 1.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        low = (to - 1.0) * (np.maximum(index, 0.0) / d) ** (1.0 / slope)
    return np.where(bins == to, index, np.where(index < d, low, to - 1.0 + slope * (index - d)))


def in_bins_of(catalog: Catalog, release: str, training: Catalog | None = None) -> Catalog:
    """Return a catalogue with Variability_Index as of the time bins of a release, by its name; missing if not known.

    Rows of `training` by name and value have its time bins.

    Warns with CatalogWarning where values are left out.
    """
    to = bins_of(release)
    given = catalog.column(_INDEX)
    if catalog.release.name == release or not np.any(np.isfinite(given)):
        return catalog
    bins = catalog.column(BINS) if BINS in catalog.table.colnames else np.full(len(catalog), catalog.release.bins)
    bins = np.where(bins >= 2, bins, np.nan)
    if training is not None and training.release.name == release:
        there = dict(zip(training.names.tolist(), training.column(_INDEX).tolist(), strict=True))
        same = np.array([there.get(name, np.nan) for name in catalog.names.tolist()])
        bins = np.where(np.isnan(bins) & (np.abs(given - same) <= _SAME * same), to, bins)
    lost = np.isfinite(given) & np.isnan(bins)
    if np.any(lost):
        warn(
            f"{catalog}: Variability_Index depends on the number of time bins, which is not known for {lost.sum()} "
            f"sources, and is left out. Say it, and it is scaled to the {to:g} bins of {release}: --variability-bins N"
        )
    table = catalog.table.copy(copy_data=False)
    table[_INDEX] = type(table[_INDEX])(rescale(given, bins, to), unit=table[_INDEX].unit, meta=table[_INDEX].meta)
    table[BINS] = np.full(len(catalog), to)
    return dataclasses.replace(catalog, table=table)
