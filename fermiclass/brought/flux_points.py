"""Flux points of a source, as gammapy and fermipy give them, as fluxes in the energy bands of the catalogue."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import astropy.units as u
import numpy as np
from astropy.table import Table

from fermiclass.catalog.releases import BAND_EDGES
from fermiclass.errors import CatalogError
from fermiclass.io import FloatArray

_EDGES = BAND_EDGES[8]

#: A band is known if points cover this share of its expected flux, ...
_COVERED = 0.9
#: ... and if this share of the flux of such points lies in the band, on average. Else the model would tell the flux.
_INSIDE = 2 / 3
_SAME = 1e-6  # edges that are closer than this, relative to their energy, are the same


def band_fluxes(points: Any, model: Any = None) -> tuple[u.Quantity, u.Quantity]:
    """Return the photon fluxes in the bands of 4FGL-DR4, ``(8,)``, and their errors as in Unc_Flux_Band, ``(8, 2)``.

    With the flux s_i that the fitted spectrum has in the range of point i, S_j in band j, and s_ij in both,

        F_j = Σ_i F_i (s_ij / s_i) / Σ_i (s_ij / S_j)

    with independent errors of the F_i. Where a point and a band have the same edges, F_j = F_i. An upper limit L at
    95 % counts as L/2 ± L/√12, which is any flux from 0 to L, as in the bands of the catalogue. A point is a limit if
    its TS is below 1; without a TS, if `is_ul` says so; and if it has no error. A band of which too little is covered,
    or covered by points that lie mostly in another band, is NaN.

    `points` are gammapy's `FluxPoints`, or a table or dictionary of gammapy or fermipy with fluxes, e_min and e_max (in
    MeV, if there is no unit). `model`, by default theirs, is a model of gammapy that divides points between bands; or
    else a power law of index 2 does. Raises CatalogError when a column is missing or has another unit, or when no two
    neighbouring bands are known, so that the points tell no hardness ratio.
    """
    spectrum = getattr(model, "spectral_model", model) or getattr(points, "reference_spectral_model", None)
    table = _as_fluxes(points)
    low, high = (_numbers(table, "MeV", name) for name in ("e_min", "e_max"))
    flux, lower, upper = _values_and_errors(table)
    usable = np.isfinite(flux + lower + upper) & (low > 0.0) & (high > low)
    flux, lower, upper = flux[usable], lower[usable], upper[usable]

    expected = _integral(spectrum)
    ranges = list(zip(low[usable].tolist(), high[usable].tolist(), strict=True))
    bands = list(itertools.pairwise(_EDGES))
    whole = np.array([expected(*edges) for edges in ranges])
    shared = np.array([[expected(max(a, c), min(b, d)) for c, d in ranges] for a, b in bands]).reshape(len(bands), -1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share, covered = shared / whole, shared.sum(axis=1) / np.array([expected(*band) for band in bands])
        inside = np.sum(shared * share, axis=1) / shared.sum(axis=1)
        scale = np.where((covered >= _COVERED) & (inside >= _INSIDE), 1.0 / covered, np.nan)
        errors = np.stack([-np.sqrt(share**2 @ lower**2), np.sqrt(share**2 @ upper**2)], axis=1)
    if np.all(np.isnan(scale[1:] + scale[:-1])):
        edges = ", ".join(f"{energy:g}" for energy in _EDGES)
        raise CatalogError(
            "the flux points tell no hardness ratio, as they give no two neighbouring energy bands of the catalogue. "
            f"Compute them with the edges {edges} MeV, or finer ones, or leave them out."
        )
    unit = u.Unit("ph cm-2 s-1")
    return (share @ flux) * scale * unit, errors * scale[:, None] * unit


def _as_fluxes(points: Any) -> Table:
    """Return the points as a table with the columns ``flux...``, of the same names as in fermipy or gammapy."""
    if hasattr(points, "to_table"):
        return points.to_table(sed_type="flux")
    if isinstance(points, Mapping):
        lists = {name: np.asarray(data) for name, data in points.items() if name.startswith(("e_m", "flux", "ts"))}
        points = Table({name: data for name, data in lists.items() if data.ndim == 1})
    if not isinstance(points, Table):
        raise CatalogError(f"flux points are a {type(points).__name__}, expected gammapy's FluxPoints, or a table.")
    if "flux" not in points.colnames and {"norm", "ref_flux"} <= set(points.colnames):
        points = points.copy()
        for name in [name for name in points.colnames if name.startswith("norm") and points[name].ndim == 1]:
            points[name.replace("norm", "flux")] = u.Quantity(points[name]) * u.Quantity(points["ref_flux"])
    for name in ("flux", "e_min", "e_max"):
        if name not in points.colnames:
            raise CatalogError(
                f"flux points have no column {name}; they have {', '.join(points.colnames)}. Give points of gammapy: "
                "FluxPoints.from_table(table, reference_model=model)."
            )
    return points


def _values_and_errors(table: Table) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return flux, lower and upper error of each point, ``(n,)`` each, in cm-2 s-1."""
    names = (("flux",), ("flux_err",), ("flux_ul95", "flux_ul"), ("flux_errn", "flux_err_lo"))
    flux, error, limit, lower, upper = (
        _numbers(table, "cm-2 s-1", *each) for each in (*names, ("flux_errp", "flux_err_hi"))
    )
    lower, upper = (np.where(np.isfinite(side), side, error) for side in (np.abs(lower), upper))
    ts = _numbers(table, "", "ts") if "ts" in table.colnames else _numbers(table, "", "sqrt_ts") ** 2
    said = np.asarray(table["is_ul"], bool) if "is_ul" in table.colnames else np.zeros(len(table), bool)
    weak = np.where(np.isfinite(ts), ts < 1.0, said) | ~np.isfinite(flux + lower + upper)
    weak &= limit > 0.0
    spread = limit / np.sqrt(12.0)
    return np.where(weak, 0.5 * limit, flux), np.where(weak, spread, lower), np.where(weak, spread, upper)


def _numbers(table: Table, unit: str, *names: str) -> FloatArray:
    """Return the first of some columns, NaN without one, in a unit, which it has if it names none; photons are none."""
    name = next((name for name in names if name in table.colnames), None)
    if name is None:
        return np.full(len(table), np.nan)
    given = u.Unit(table[name].unit or unit)
    for found in (given, given / u.photon):
        if found.is_equivalent(unit):
            return np.asarray(np.ma.filled(np.ma.asarray(table[name], float), np.nan) * found.to(unit))
    raise CatalogError(f"flux points: column {name} is in {given}, expected {unit or 'no unit'}.")


def _integral(spectrum: Any) -> Callable[[float, float], float]:
    """Return the integral of a spectrum between two energies in MeV, 0 if there is nothing between them."""

    def integral(low: float, high: float) -> float:
        if high < low * (1.0 + _SAME):
            return 0.0
        if spectrum is None:
            return 1.0 / low - 1.0 / high
        return float(spectrum.integral(low * u.MeV, high * u.MeV).to_value("cm-2 s-1"))

    return integral
