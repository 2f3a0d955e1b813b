"""Sources of one's own as a table: dictionaries, frames, and models and flux points of gammapy and fermipy."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import astropy.units as u
import numpy as np
from astropy.table import Table

from fermiclass.brought.column_names import COVARIANCE, ERRORS, NAMES, REFERENCE, VALUES
from fermiclass.catalog.releases import BAND_EDGES, warn
from fermiclass.errors import CatalogError, in_one_line
from fermiclass.io import FloatArray
from fermiclass.io.plain import from_frame, plain_column

_SKY_COORDS = ("position", "coord", "skycoord")  #: Names of a `SkyCoord`.
#: Names, in small letters, of what one source has one value of. A dictionary with a list under one has columns.
_OF_ONE = {x for name, usual in NAMES.items() if "Band" not in name and name not in (VALUES, ERRORS) for x in usual}
_NO_SHAPE = ("amplitude", "reference", "emin", "emax", "redshift", "alpha_norm")  #: Parameters of gammapy's spectra.
_QUANTITIES = {x: name for name, usual in NAMES.items() for x in usual}

_EDGES = BAND_EDGES[8]

#: A band is known if points cover this share of its expected flux, ...
_COVERED = 0.9
#: ... and if this share of the flux of such points lies in the band, on average. Else the model would tell the flux.
_INSIDE = 2 / 3


def table_of(source: Any) -> Table:
    """Return any source of :func:`fermiclass.read_sources` but a file as a table.

    Raises CatalogError when an object is no source, or the sources of a list do not fit into one table.
    """
    table = _as_table(source)
    if table is None:
        if isinstance(source, Mapping):
            several = source.get("sources")  # a file of fermipy
            source = [*several.values()] if isinstance(several, Mapping) else [source]
        single = not isinstance(source, Iterable) or hasattr(source, "spectral_model") or hasattr(source, "data")
        table = _stacked([_as_row(entry) for entry in ([source] if single else source)])
    return _without_objects(table)


def _as_table(source: Any) -> Table | None:
    """Return tables, frames and dictionaries of columns as a table, None for other objects."""
    if isinstance(source, Table):
        return source
    if hasattr(source, "set_axis") and hasattr(source, "columns"):
        if repeated := sorted(set(map(str, source.columns[source.columns.duplicated()]))):
            raise CatalogError(f"columns are there more than once: {', '.join(repeated)}. Rename them.")
        return from_frame(source)
    if isinstance(source, Mapping) and any(_is_list(x) and str(name).lower() in _OF_ONE for name, x in source.items()):
        lists = {str(name): x for name, x in source.items() if _is_list(x)}
        if len({len(x) for x in lists.values()}) > 1:
            shown = ", ".join(f"{name} {len(x)}" for name, x in lists.items())
            raise CatalogError(f"a dictionary has columns of different lengths: {shown}. Give one row for each source.")
        size = len(next(iter(lists.values())))
        one = [x for name, x in source.items() if isinstance(x, str) and str(name).lower() in NAMES["Source_Name"]]
        if one and size > 1:
            shown = f"{size} values of {next(iter(lists))}"
            raise CatalogError(f"{one[0]} has {shown}. Give one, and its error under a name of its own.")
        return Table({str(name): lists.get(str(name), [x] * size) for name, x in source.items()})
    return None


def _is_list(entry: Any) -> bool:
    return hasattr(entry, "__len__") and not isinstance(entry, str | bytes | Mapping) and _shape(entry) != ()


def _shape(entry: Any) -> tuple[int, ...] | None:
    try:
        return np.shape(entry)
    except (ValueError, TypeError):  # lists of different lengths, or of numbers with units
        return None


def _stacked(rows: list[dict[str, Any]]) -> Table:
    """Return rows as a table. What a row does not have is not known, and columns that differ in shape are left out."""
    names = dict.fromkeys(name for row in rows for name in row)
    forms: dict[str, set[str]] = {}
    for row in rows:
        for quantity, name in {_QUANTITIES.get(name.lower(), name): name for name in row}.items():
            forms.setdefault(quantity, set()).add(name)
    if several := next((found for found in forms.values() if len(found) > 1), None):
        raise CatalogError(f"sources have {' and '.join(sorted(several))} for the same quantity: use one name.")
    table, odd = Table(), []
    for name in names:
        given = [None if row.get(name) is np.ma.masked else row.get(name) for row in rows]
        known = [x for x in given if x is not None]
        shapes = {_shape(x) for x in known} or {()}
        shape = next(iter(shapes))
        if len(shapes) > 1 or shape is None:
            odd.append(name)
            continue
        unit = next((x.unit for x in known if isinstance(x, u.Quantity)), None)
        blank = "" if any(isinstance(x, str) for x in known) else np.full(shape, np.nan)[()]
        try:
            values = [blank if x is None else x if unit is None else u.Quantity(x).to_value(unit) for x in given]
        except (u.UnitsError, TypeError) as error:
            raise CatalogError(f"the units of {name} do not fit each other: {in_one_line(error)}") from error
        table[name] = plain_column(np.array(values), unit, None, None)
    if odd:
        warn(f"columns of another shape for each source are not read: {', '.join(sorted(odd))}")
    return table


def _as_row(source: Any) -> dict[str, Any]:
    """Return one source as values by name: a dictionary, or an object of gammapy or fermipy."""
    if hasattr(source, "spectral_model") and not hasattr(source, "data"):
        return _row_of_model(source)
    row = source if isinstance(source, Mapping) else getattr(source, "data", None)
    if not isinstance(row, Mapping) or all(isinstance(x, Mapping) for x in row.values()):
        raise CatalogError(
            f"a source is a {type(source).__name__}{' of dictionaries' * isinstance(row, Mapping)}, expected a file, a "
            "table, a pandas frame, a dictionary of values or columns, a list of such dictionaries, or a gammapy model."
        )
    model, points = row.get("model"), row.get("flux_points", row.get("sed"))
    values = {str(name): value for name, value in row.items() if not isinstance(value, Mapping)}
    values = {name: value for name, value in values.items() if name not in ("model", "flux_points")}
    fitted = _row_of_model(model) if hasattr(getattr(model, "spectral_model", model), "integral_error") else {}
    empty = isinstance(points, Mapping) and not points  # as fermipy has it before it fits
    if not (points is None or isinstance(points, str) or empty):
        fitted |= dict(zip(("Flux_Band", "Unc_Flux_Band"), band_fluxes(points), strict=True))
    return fitted | values


def _row_of_model(model: Any) -> dict[str, Any]:
    """Return fluxes, and index and curvature, of a `SkyModel` of gammapy with their errors; one of 0 is not known."""
    spectrum = getattr(model, "spectral_model", model)
    row: dict[str, Any] = {"name": str(model.name)} if hasattr(model, "name") else {}
    position = getattr(model, "position", None)
    if position is not None and getattr(model, "spatial_model", None) is not None:
        row |= {"ra": position.icrs.ra.deg, "dec": position.icrs.dec.deg}
    try:
        for name, of, low, unit in (
            ("Flux1000", spectrum.integral_error, 1 * u.GeV, "cm-2 s-1"),
            ("Energy_Flux100", spectrum.energy_flux_error, 0.1 * u.GeV, "erg cm-2 s-1"),
        ):
            value, error = (x.to(unit) * (u.photon if name == "Flux1000" else 1) for x in of(low, 100 * u.GeV)[:2])
            row |= {name: value, f"Unc_{name}": error if error.value > 0.0 else error * np.nan}
    except (ValueError, TypeError) as failed:
        what = f"gammapy gives no flux of {type(spectrum).__name__} ({in_one_line(failed)})"
        raise CatalogError(f"{what}. Leave this model out, or give its source as a dictionary.") from failed
    shape = [each for each in spectrum.parameters if each.name not in _NO_SHAPE]
    if [each.name for each in shape] in (["index"], ["alpha", "beta"]):  # those of a cut-off are others
        for each in shape:
            row |= {each.name: float(each.value), f"{each.name}_err": float(each.error) or np.nan}
    if "beta" in row:
        row[REFERENCE] = spectrum.parameters["reference"].quantity.to("MeV")
        covariance = spectrum.covariance.get_subcovariance(shape)
        row[COVARIANCE] = float(covariance.data[0, 1])
    with warnings.catch_warnings(action="ignore"):
        pivot = getattr(spectrum, "pivot_energy", None)
    if pivot is not None and np.isfinite(pivot.value):
        row["Pivot_Energy"] = pivot.to("MeV")
    return row


def _without_objects(table: Table) -> Table:
    """Return the columns of a table that hold numbers or texts, and those of a `SkyCoord`, as RAJ2000 and DEJ2000."""
    table = Table(table, copy=False)
    placed = not {name.lower() for name in table.colnames}.isdisjoint(NAMES["RAJ2000"])
    for name in () if placed else [name for name in table.colnames if name.lower() in _SKY_COORDS]:
        column = table[name]
        places = [getattr(each, "icrs", None) for each in ([column] if hasattr(column, "icrs") else column)]
        if any(each is not None for each in places):
            table["RAJ2000"] = np.hstack([np.nan if each is None else each.ra.deg for each in places])
            table["DEJ2000"] = np.hstack([np.nan if each is None else each.dec.deg for each in places])
            table.remove_column(name)
            break
    for name in (name for name in table.colnames if table[name].shape[1:] == (1,)):
        table[name] = table[name][:, 0]
    odd = sorted(name for name in table.colnames if np.ma.getdata(table[name]).dtype.kind not in "biufUSO")
    if odd:
        warn(f"columns without numbers or texts are not read: {', '.join(odd)}")
    table.remove_columns(odd)
    return table


def band_fluxes(points: Any) -> tuple[u.Quantity, u.Quantity]:
    """Return the photon fluxes in the bands of 4FGL-DR4, ``(8,)``, and their errors as in Unc_Flux_Band, ``(8, 2)``.

    With the flux s_i that a power law of index 2 has in the range of point i, S_j in band j, and s_ij in both,

        F_j = Σ_i F_i (s_ij / s_i) / Σ_i (s_ij / S_j)

    with independent errors of the F_i. Where a point and a band have the same edges, F_j = F_i. An upper limit L at
    95 % counts as L/2 ± L/√12, which is any flux from 0 to L, as in the bands of the catalogue. A point is a limit if
    its TS is below 1; without a TS, if `is_ul` says so; and if it has no error. A band of which too little is covered,
    or covered by points that lie mostly in another band, is NaN.

    `points` are gammapy's `FluxPoints`, or a table or dictionary of gammapy or fermipy with fluxes, e_min and e_max (in
    MeV, if there is no unit). Raises CatalogError when a column is missing or has another unit, or when no two
    neighbouring bands are known, so that the points tell no hardness ratio.
    """
    table = _as_fluxes(points)
    low, high = (_numbers(table, "MeV", name) for name in ("e_min", "e_max"))
    values = _values_and_errors(table)
    usable = np.isfinite(sum(values)) & (low > 0.0) & (high > low)
    low, high, flux, lower, upper = (each[usable] for each in (low, high, *values))
    bottom, top = np.array(_EDGES)[:-1, None], np.array(_EDGES)[1:, None]
    shared = np.maximum(1.0 / np.maximum(low, bottom) - 1.0 / np.minimum(high, top), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share, covered = shared / (1.0 / low - 1.0 / high), shared.sum(axis=1) / (1.0 / bottom - 1.0 / top)[:, 0]
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
