"""Quantities from which features are computed, read from a catalogue with their errors, and their transformations.

A transformation takes K quantities ``(K, N)`` and returns g ``(N,)`` and its gradient ``(K, N)``, NaN outside its
domain, such as for the logarithm of a flux of zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import ClassVar, NamedTuple

import numpy as np

from fermiclass.catalog import Catalog
from fermiclass.catalog.catalog import DISC
from fermiclass.catalog.releases import BAND_EDGES
from fermiclass.errors import FeatureError
from fermiclass.io import FloatArray

LIMIT = "_UL"  #: What the name of a column of upper limits ends with, behind that of the quantity.


class Reading(NamedTuple):
    """A quantity of every source."""

    value: FloatArray  #: (N,) the quantity, NaN where the catalogue has none.
    sigma: FloatArray  #: (N,) its standard deviation; 0 if `measured` is False, NaN where it is unknown.
    measured: bool  #: Whether the catalogue has uncertainties of this quantity.
    upper: FloatArray  #: (N,) upper limit where there is one in place of a value, NaN elsewhere.


@dataclass(frozen=True)
class Column:
    """One scalar column and, if it has one, the column of its standard deviation.

    A column ``X_UL`` of the catalogue has upper limits of the column X, for sources without a value.
    """

    columns: tuple[str, ...]  #: The column, and that of its standard deviation if it must be there.
    cap: float = float("inf")  #: An uncertainty of at least this much means "unknown" in the catalogue.
    optional: str = ""  #: The column of its standard deviation where a catalogue without it is no error.

    def missing(self, catalog: Catalog) -> list[str]:
        """Return the columns that `catalog` lacks."""
        return [name for name in self.columns if name not in catalog.table.colnames]

    def read(self, catalog: Catalog) -> Reading:
        """Read value and uncertainty of every source."""
        name, *uncertainty = (*self.columns, *({self.optional} & {*catalog.table.colnames}))
        value = catalog.column(name)
        if value.ndim != 1:
            raise FeatureError(
                f"column '{name}' of {catalog} has {value.shape[1:]} numbers for each source, expected "
                f"one. Choose a column with one number for each source."
            )
        upper = np.where(np.isnan(value), catalog.column(f"{name}{LIMIT}"), np.nan)
        if not uncertainty:
            return Reading(value, np.zeros_like(value), False, upper)
        sigma = catalog.column(uncertainty[0])
        return Reading(value, np.where((sigma > 0.0) & (sigma < self.cap), sigma, np.nan), True, upper)


@dataclass(frozen=True)
class Band:
    """The energy flux νFν in the band of `Flux_Band` that starts at `low` MeV, with its error.

    ``νFν = F E₁E₂/(E₂ − E₁)`` of the photon flux F between E₁ and E₂ is exact for a photon index of 2, and makes bands
    of different width comparable. The upper edges of the bands from 10 and from 30 GeV differ between releases. The
    error is the mean of the lower and the upper one. Without a lower error, the catalogue gives an upper limit
    F + 2·Unc at 95 % (TS < 1): the flux is then uniform from 0 to the limit.
    """

    low: float  #: Lower edge of the band in MeV, one of the `BAND_EDGES`.

    columns: ClassVar[tuple[str, ...]] = ("Flux_Band", "Unc_Flux_Band")

    def missing(self, catalog: Catalog) -> list[str]:
        """Return the columns or the band that `catalog` lacks."""
        columns = [name for name in self.columns if name not in catalog.table.colnames]
        bands = () if columns else catalog.table["Flux_Band"].shape[1:]
        edges = BAND_EDGES.get(bands[0], ()) if bands else ()
        return columns or [f"Flux_Band from {self.low:g} MeV"] * (bool(edges) and self.low not in edges[:-1])

    def read(self, catalog: Catalog) -> Reading:
        """Read νFν and its standard deviation for every source, in MeV cm-2 s-1."""
        flux, error = catalog.column("Flux_Band"), catalog.column("Unc_Flux_Band")
        n_bands = flux.shape[1] if flux.ndim == 2 else 0
        if n_bands not in BAND_EDGES or error.size != 2 * flux.size:
            known = " or ".join(map(str, BAND_EDGES))
            raise FeatureError(
                f"Flux_Band and Unc_Flux_Band of {catalog} have shapes {flux.shape} and {error.shape}, "
                f"expected {known} bands with two errors each. Use features without hardness ratios, such as "
                "--features six."
            )
        edges = BAND_EDGES[n_bands]
        b = edges.index(self.low)
        value = np.ascontiguousarray(flux[:, b])
        lower, upper = np.ascontiguousarray(error.reshape(len(flux), n_bands, 2)[:, b].T)  # lower ones are negative
        sigma = np.where(np.isfinite(upper) & (upper > 0.0), 0.5 * (np.abs(lower) + upper), np.nan)
        is_limit = np.isnan(lower) & np.isfinite(upper) & (upper > 0.0)
        limit = np.maximum(value, 0.0) + 2.0 * upper
        weight = edges[b] * edges[b + 1] / (edges[b + 1] - edges[b])
        value, sigma = np.where(is_limit, 0.5 * limit, value), np.where(is_limit, limit / np.sqrt(12.0), sigma)
        return Reading(weight * value, weight * sigma, True, np.full(len(flux), np.nan))


def _exact(value: FloatArray) -> Reading:
    return Reading(value, np.zeros_like(value), False, np.full_like(value, np.nan))


@dataclass(frozen=True)
class GasBit:
    """1 for a source that may be a clump of gas, by bit 6 of `Flags` (the "c" in names), and 0 for any other."""

    columns: ClassVar[tuple[str, ...]] = ("Flags",)

    def missing(self, catalog: Catalog) -> list[str]:
        """Return the bit if the release of `catalog` has none, or `catalog` lacks the column."""
        return [] if catalog.release.gas_bit and "Flags" in catalog.table.colnames else ["bit 6 of Flags"]

    def read(self, catalog: Catalog) -> Reading:
        """Read the bit of every source."""
        flags = catalog.column("Flags")
        is_gas = np.nan_to_num(flags).astype(np.int64) & catalog.release.gas_bit > 0
        return _exact(np.where(np.isnan(flags), np.nan, is_gas))


@dataclass(frozen=True)
class HIIRegions:
    """Distance from the centre of the nearest large H II region in units of its radius, within `LIMITS`.

    The regions are those of 5' and more that are known (Anderson et al. 2014, ApJS 212, 1, version 2.2).
    """

    LIMITS: ClassVar = (0.3, 30.0)
    columns: ClassVar[tuple[str, ...]] = ("GLON", "GLAT")

    def missing(self, catalog: Catalog) -> list[str]:
        """Return the columns that `catalog` lacks."""
        return [name for name in self.columns if name not in catalog.table.colnames]

    def read(self, catalog: Catalog) -> Reading:
        """Read the distance of every source."""
        here = _directions(*(catalog.column(name) for name in self.columns))
        least = np.full(len(catalog), self.LIMITS[1])
        for there, radius in zip(*_hii_regions(), strict=True):
            half_chord = 0.5 * np.sqrt(sum((a - b) ** 2 for a, b in zip(here, there, strict=True)))
            least = np.minimum(least, 2.0 * np.arcsin(np.minimum(half_chord, 1.0)) / radius)
        return _exact(np.maximum(least, self.LIMITS[0]))


@cache
def _hii_regions() -> tuple[FloatArray, FloatArray]:
    """Return the directions of the large H II regions, (M, 3), and their radii in radians, (M,)."""
    text = files("fermiclass.catalog").joinpath("hii_regions.csv").read_text(encoding="utf-8")
    lon, lat, radius = np.loadtxt(text.splitlines(), delimiter=",", skiprows=1, usecols=(1, 2, 3), unpack=True)
    return _directions(lon, lat).T, np.radians(radius / 3600.0)


def _directions(lon: FloatArray, lat: FloatArray) -> FloatArray:
    """Return unit vectors, (3, N), of angles in degrees, (N,)."""
    lon, lat = np.radians(lon), np.radians(lat)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


#: Largest distances from the median, in those of the 1st or 99th percentile: the flux density of Vela has 8600, and
#: logarithms of possible values 3. A value within limits of its own is never too far, however rare.
REACH, REACH_OF_LOGARITHM, ANY = 1e5, 10.0, math.inf

ValueAndGradient = tuple[FloatArray, FloatArray]


class Transform(NamedTuple):
    """A transformation of quantities ``q`` (K, N): one for all but the hardness ratio, which has two."""

    formula: Callable[[FloatArray], ValueAndGradient]  #: g(q), (N,), NaN outside the domain; and ∂g/∂q, (K, N).
    reach: float = REACH_OF_LOGARITHM  #: Largest distance of a value from the median, in that of a percentile.


def _identity(q: FloatArray) -> ValueAndGradient:
    return np.array(q[0]), np.ones_like(q)


def _log(q: FloatArray) -> ValueAndGradient:
    positive = np.where(q > 0.0, q, np.nan)  # without warnings
    return np.log(positive[0]), 1.0 / positive


def _log_of_rounded(q: FloatArray) -> ValueAndGradient:
    rounded = np.round(q, 2)
    return _log(np.where(rounded == 0.0, 0.1, rounded))


def _asinh(q: FloatArray) -> ValueAndGradient:
    return np.arcsinh(q[0]), 1.0 / np.sqrt(1.0 + q**2)


def _asinh_distance(q: FloatArray) -> ValueAndGradient:
    return np.arcsinh(np.abs(q[0]) / DISC), np.sign(q) / np.sqrt(DISC**2 + q**2)


def _hardness_ratio(q: FloatArray) -> ValueAndGradient:
    a, b = q
    total = np.where(a + b > 0.0, a + b, np.nan)
    # Two divisions, not one by the square: the square of a band flux of 1e-17 is too small for float32.
    return (b - a) / total, np.stack([-2.0 * (b / total) / total, 2.0 * (a / total) / total])


IDENTITY = Transform(_identity, REACH)  #: g(q) = q.
OF_FEW = Transform(_identity, ANY)  #: g(q) = q, whose usual value most sources have.
LOG_OF_FEW = Transform(_log, ANY)  #: g(q) = ln q of such a quantity.
LOG = Transform(_log)  #: g(q) = ln q; dg/dq = 1/q. The variance of ln q is the squared relative error (σ/q)².
ASINH = Transform(_asinh)  #: g(q) = asinh q: q near 0 and ln 2q for large q; dg/dq = 1/√(1 + q²).
#: g(q) = ln r(q), where r rounds to 0.01 and replaces 0 by 0.1, as the main paper does with LP_SigCurv. The gradient is
#: that of ln q at r(q).
ROUNDED_LOG = Transform(_log_of_rounded)
#: g(a, b) = (b − a)/(b + a), for two fluxes a (softer) and b (harder), in −1 ... 1; ∂g/∂a = −2b/(a + b)² and
#: ∂g/∂b = 2a/(a + b)².
HARDNESS_RATIO = Transform(_hardness_ratio, REACH)
#: g(q) = asinh(|q| / h), a distance from 0, fine near it, with the height h of the disc; dg/dq = sign(q) / √(h² + q²).
ASINH_DISTANCE = Transform(_asinh_distance)
