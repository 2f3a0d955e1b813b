"""The quantities that features are made of, read from a catalogue with their errors.

`Column` is one scalar column and its `Unc_` column, `Band` is the spectral energy distribution in one range of energy.
Both return value and standard deviation of each source, (N,) float64: the standard deviation is 0 where the catalogue
gives none for this quantity, and NaN where it should give one but does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from fermiclass.errors import FeatureError
from fermiclass.features.transforms import FloatArray

if TYPE_CHECKING:
    from fermiclass.catalog import Catalog

#: Larger numbers are none: their squares and products would overflow, and no catalogue has any.
LARGEST = 1e100

#: Edges of `Flux_Band` in MeV, by the number of bands: 7 in 4FGL DR1 and DR2, 8 from DR3 on (HDU `EnergyBounds`).
BAND_EDGES: dict[int, tuple[float, ...]] = {
    7: (50.0, 1e2, 3e2, 1e3, 3e3, 1e4, 3e4, 3e5),
    8: (50.0, 1e2, 3e2, 1e3, 3e3, 1e4, 3e4, 1e5, 1e6),
}


class Reading(NamedTuple):
    """A quantity of every source.

    Attributes
    ----------
    value
        (N,) the quantity, NaN where the catalogue has none.
    sigma
        (N,) its standard deviation; 0 if `measured` is False, NaN where it is unknown.
    measured
        Whether the catalogue gives an uncertainty of this quantity at all.
    """

    value: FloatArray
    sigma: FloatArray
    measured: bool


class Input(Protocol):
    """What a feature needs of a quantity."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The catalogue columns that must be there."""
        ...

    def read(self, catalog: Catalog) -> Reading:
        """Read the quantity of every source of `catalog`."""
        ...


def float_column(catalog: Catalog, name: str) -> FloatArray:
    """Return column `name` as a contiguous float64 array; NaN for masked entries and what is beyond `LARGEST`.

    Raises
    ------
    FeatureError
        If the column does not hold numbers.
    """
    column = catalog.table[name]
    if np.asarray(column).dtype.kind not in "fiub":
        raise FeatureError(
            f"column '{name}' of {describe(catalog)} holds text, not numbers: it cannot be a feature. "
            f"Choose a numeric column."
        )
    values = np.ma.filled(np.ma.asarray(column).astype(np.float64), np.nan)
    return np.ascontiguousarray(np.where(np.abs(values) <= LARGEST, values, np.nan))


def describe(catalog: Catalog) -> str:
    """Name a catalogue in a message: its release and where it was read from."""
    return f"{catalog.release.name} ({catalog.source})"


@dataclass(frozen=True)
class Column:
    """One scalar column and, if it has one, the column of its standard deviation.

    Attributes
    ----------
    name
        The column.
    uncertainty
        The column of its standard deviation, or None if the catalogue gives none.
    cap
        An uncertainty of at least this much stands for "unknown" in the catalogue.
    optional
        If True, a catalogue without the column `uncertainty` gives no uncertainty instead of being an error.
    """

    name: str
    uncertainty: str | None = None
    cap: float = float("inf")
    optional: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The catalogue columns that must be there."""
        return (self.name,) if self.uncertainty is None or self.optional else (self.name, self.uncertainty)

    def read(self, catalog: Catalog) -> Reading:
        """Read value and uncertainty of every source."""
        value = float_column(catalog, self.name)
        if value.ndim != 1:
            raise FeatureError(
                f"column '{self.name}' of {describe(catalog)} has {value.shape[1:]} numbers for each source: "
                f"a feature needs one. Choose a column with one number a source."
            )
        if self.uncertainty is None or (self.optional and not catalog.has_column(self.uncertainty)):
            return Reading(value, np.zeros_like(value), False)
        sigma = float_column(catalog, self.uncertainty)
        return Reading(value, np.where((sigma > 0.0) & (sigma < self.cap), sigma, np.nan), True)


@dataclass(frozen=True)
class Band:
    """The energy flux νFν in the band of `Flux_Band` that starts at `low` MeV, with its error.

    The photon flux F between E₁ and E₂ is turned into νFν by the formula that is exact for a photon index of 2,

        νFν = F · E₁E₂/(E₂ − E₁)

    which makes bands of different width comparable: the band from 30 GeV on ends at 300 GeV in DR1 and DR2 and at
    100 GeV from DR3 on, all lower bands have the same edges in all releases. (Adding DR3's band above 100 GeV instead
    would add two upper limits for most sources, and shift this quantity between releases by more.)

    The error is the mean of the lower and the upper error. Where the catalogue gives no lower error, it states an upper
    limit F + 2·Unc at 95 % (TS < 1): the flux is then taken to be uniform between 0 and the limit, so its value is the
    limit's half and its standard deviation the limit over √12.

    Attributes
    ----------
    low
        Lower edge in MeV; a key of the release's `BAND_EDGES`.
    """

    low: float

    @property
    def columns(self) -> tuple[str, ...]:
        """The catalogue columns that must be there."""
        return ("Flux_Band", "Unc_Flux_Band")

    def read(self, catalog: Catalog) -> Reading:
        """Read νFν, in MeV cm-2 s-1, and its standard deviation of every source."""
        flux, error = float_column(catalog, "Flux_Band"), float_column(catalog, "Unc_Flux_Band")
        n_bands = flux.shape[1] if flux.ndim == 2 else 0
        if n_bands not in BAND_EDGES or error.size != 2 * flux.size:
            known = " or ".join(str(n) for n in BAND_EDGES)
            raise FeatureError(
                f"Flux_Band and Unc_Flux_Band of {describe(catalog)} have shapes {flux.shape} and {error.shape}; "
                f"hardness ratios know the edges of {known} bands with two errors each. "
                f"Use features without hardness ratios, such as --features six."
            )
        edges = BAND_EDGES[n_bands]
        b = edges.index(self.low)
        value = np.ascontiguousarray(flux[:, b])
        lower, upper = (np.ascontiguousarray(side) for side in error.reshape(len(flux), n_bands, 2)[:, b].T)
        # Lower errors are negative numbers in the catalogue.
        sigma = np.where(np.isfinite(upper) & (upper > 0.0), 0.5 * (np.abs(lower) + upper), np.nan)
        is_limit = np.isnan(lower) & np.isfinite(upper) & (upper > 0.0)
        limit = np.maximum(value, 0.0) + 2.0 * upper
        weight = edges[b] * edges[b + 1] / (edges[b + 1] - edges[b])
        return Reading(
            weight * np.where(is_limit, 0.5 * limit, value),
            weight * np.where(is_limit, limit / np.sqrt(12.0), sigma),
            True,
        )
