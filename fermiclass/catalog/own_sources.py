"""Sources of one's own, which are in no catalogue: a table, a row or a fitted model, with what its finder knows.

``docs/own-sources.md`` has the names that are known, and the formulas of what is derived.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
from astropy.table import Table
from numpy.typing import NDArray

from fermiclass.catalog.catalog import Catalog
from fermiclass.catalog.classes import CLASS_CODES
from fermiclass.catalog.flux_points import band_fluxes
from fermiclass.catalog.origin import Brought, digest
from fermiclass.catalog.other_list import text_degrees
from fermiclass.catalog.plausibility import (
    EXPECTED,
    PLACES,
    convert_units,
    take_implausible_as_missing,
    wrap_longitudes,
)
from fermiclass.catalog.reading import (
    KEY_COLUMNS,
    USUAL,
    add_galactic,
    as_catalog,
    join_bands,
    read_catalog,
    refuse_hard,
)
from fermiclass.catalog.releases import REQUIRED_COLUMNS, CatalogWarning, Release
from fermiclass.errors import CatalogError, in_one_line
from fermiclass.io.files import read_bytes
from fermiclass.io.plain import plain_column, plain_table
from fermiclass.io.tables import parse_table

#: What stands for the release of sources that are in no catalogue.
OWN_SOURCES = Release("own sources", "", (0, 0), 0, 0, "")

#: Quantities that are no columns of a catalogue but tell one: TS, the ΔTS of curvature, the energy at which a spectrum
#: has its index, the covariance of index and curvature, and fermipy's parameters.
_TS, _DELTA_TS, _REFERENCE, _COVARIANCE, _VALUES, _ERRORS, _SPECTRUM, _INDEX = (
    "TS", "delta_TS", "reference_energy", "cov_alpha_beta", "param_values", "param_errors", "SpectrumType", "index",
)  # fmt: skip

#: Usual names, in lower case, of the catalogue's columns and of these quantities. The first that is there is taken.
NAMES: dict[str, tuple[str, ...]] = {
    "Source_Name": ("source_name", "name", "source", "src_name"),
    "RAJ2000": ("raj2000", "ra", "ra_deg", "ra_j2000"),
    "DEJ2000": ("dej2000", "dec", "de", "decj2000", "dec_deg", "dec_j2000"),
    "GLON": ("glon",),
    "GLAT": ("glat",),
    "Conf_95_SemiMajor": ("conf_95_semimajor", "pos_r95", "r95"),
    "Signif_Avg": ("signif_avg", "significance", "signif", "sqrt_ts"),
    "Pivot_Energy": ("pivot_energy", "e_pivot", "epivot"),
    "Energy_Flux100": ("energy_flux100", "eflux100", "eflux"),
    "PL_Index": ("pl_index", "powerlaw_index"),
    _INDEX: ("photon_index", "spectral_index", "index", "gamma"),
    "LP_Index": ("lp_index", "alpha"),
    "LP_beta": ("lp_beta", "beta"),
    "LP_SigCurv": ("lp_sigcurv", "sigcurv"),
    "CLASS1": ("class1", "class"),
    _TS: ("ts", "test_statistic"),
    _DELTA_TS: ("delta_ts", "dts_curv", "delta_ts_curv", "ts_curv"),
    _REFERENCE: ("reference_energy", "e_ref", "reference", "e_0", "e0", "eb", "scale"),
    _COVARIANCE: ("cov_alpha_beta", "cov_index_beta"),
    _VALUES: ("param_values",),
    _ERRORS: ("param_errors",),
    _SPECTRUM: ("spectrumtype", "spectrum_type"),
    **{name: (name.lower(),) for name in ("Flux1000", "Flags", "ASSOC1", "Conf_95_SemiMinor", "Conf_95_PosAng")},
}
NAMES |= {name: (name.lower(),) for name in EXPECTED if name not in NAMES and not name.startswith("Unc_")}

_KINDS = {"PL_Index": "PowerLaw", "LP_Index": "LogParabola"}  #: The SpectrumType whose index each is.

#: Names that mean other things, too, such as a number of the row: taken as :func:`_is_meant` says.
_DOUBTFUL = ("index", "gamma", "reference", "e_0", "e0", "eb", "scale")
_INDICES = (-1.0, 8.0)  #: Least and highest photon index under such a name.

#: Names of the error of a quantity.
_ERROR_NAMES = ("unc_{}", "{}_err", "{}_error", "{}_unc", "{}_sigma", "err_{}", "e_{}", "sigma_{}", "d_{}")

#: Names of the upper limit of a quantity.
_LIMIT_NAMES = ("{}_ul", "{}_ul95", "ul_{}", "{}_upper_limit")

#: Units of fermipy's quantities where they differ from the catalogue's.
_UNITS = {"eflux100": "MeV cm-2 s-1", "eflux": "MeV cm-2 s-1"}
_MOST_NAMED = 8
_BAND_ERROR, _BAND_LIMIT = "Unc_Flux_Band", "Flux_Band_UL"
_BANDS = (7, 8)  #: Numbers of bands in 4FGL. Five may be those of 3FGL or of 3FHL.
_SKY_COORDS = ("position", "coord", "skycoord")  #: Names of a `SkyCoord`.
_TEXTS = ("Source_Name", "CLASS1", "ASSOC1", _SPECTRUM)


def read_sources(source: Any, columns: Mapping[str, str] | None = None) -> Catalog:
    """Read sources of one's own, with whatever is known of them.

    Parameters
    ----------
    source
        A file with a table (FITS, VOTable, Parquet, ECSV or CSV), an astropy table, a pandas data frame, a row as a
        dictionary, gammapy's `SkyModel` or catalogue source, or a list of rows and models. A row may have the key
        'model' with a fitted `SkyModel`, and 'flux_points' with points of gammapy or fermipy, as
        :func:`fermiclass.catalog.flux_points.band_fluxes` takes them. Names are known in any case, those of fermipy and
        gammapy too; units are converted.
    columns
        The names in `source` of the catalogue's columns, where they are not known, such as ``{'Flux1000': 'flux'}``.

    Returns
    -------
    Catalog
        A value that is not given is NaN, and CLASS1 empty. ``notes`` says what was taken from where, and ``in_doubt``
        which sources have an implausible value, which counts as not given. A catalogue of the LAT is read by
        :func:`read_catalog`.

    Raises
    ------
    CatalogError
        When there is no table, no known column, a column of `columns` is missing, or a column holds something else.
    """
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    if path is not None:
        content = read_bytes(path)
        known = {name for usual in NAMES.values() for name in usual}
        table, shown = parse_table(content, path, KEY_COLUMNS, known), path.name
        sha256 = hashlib.sha256(content).hexdigest()
    else:
        table, shown, sha256 = _as_table(source), f"<{type(source).__name__}>", ""
    of_release = set(REQUIRED_COLUMNS) <= set(table.colnames) or "cds-name" in map(str.lower, map(str, table.meta))
    if of_release and not columns and (path is not None or isinstance(source, Table)):
        return read_catalog(table) if path is None else as_catalog(table, path, sha256)
    if not len(table):
        raise CatalogError(f"{shown} has no rows.")
    try:
        plain = plain_table(_without_objects(table))
    except TypeError as error:
        raise CatalogError(f"{shown}: {in_one_line(error)}. Remove the column.") from error
    refuse_hard(plain.colnames, shown)
    join_bands(plain)
    return _as_catalog(plain, shown, sha256 or digest(plain), columns or {})


def _as_catalog(given: Table, shown: str, sha256: str, columns: Mapping[str, str]) -> Catalog:
    found = _find(given, columns, shown)
    clean, notes = Table(), []
    for name, original in found.items():
        column, (unit, ucd) = given[original], USUAL.get(name, (None, None))
        of = name.removeprefix("Unc_")
        data = _texts(column) if of in _TEXTS else _numbers(column, name, shown)
        if _SPECTRUM in found and of in _KINDS and of not in columns and found.get(of, "").lower() in NAMES[_INDEX]:
            data = np.where(np.char.lower(_texts(given[found[_SPECTRUM]])) == _KINDS[of].lower(), data, np.nan)
            original += f" where {_SPECTRUM} is {_KINDS[of]}"
        usual = _UNITS.get(found.get(of.removesuffix("_UL"), "").lower())
        given_unit = None if name in PLACES and column.dtype.kind == "U" else column.unit  # texts are degrees now
        clean[name] = plain_column(data, given_unit or usual or unit, column.description, ucd)
        expected = EXPECTED[name].unit if name in EXPECTED else ""
        taken = f", taken as {usual or expected}" if expected and column.unit is None else ""
        if original != name or taken:
            notes.append(f"{name} = {original}{taken}")
    own = own_names(given.colnames)
    for name in (name for name in given.colnames if name not in found.values() and name not in clean.colnames):
        clean[name if own[name] in clean.colnames else own[name]] = given[name]
    rest = [name for name in given.colnames if name not in found.values()]
    forms = [form.format(x.lower()) for x in found.values() for form in (*_ERROR_NAMES, *_LIMIT_NAMES)]
    rest.sort(key=lambda name: name.lower() not in (*_DOUBTFUL, *forms))  # those that look known first
    convert_units(clean, shown)
    in_doubt = take_implausible_as_missing(clean, shown)
    _complete_bands(clean)
    notes += _derive(clean)
    more = f" and {len(rest) - _MOST_NAMED} more" if len(rest) > _MOST_NAMED else ""
    notes += [f"not known by name (--columns): {', '.join(rest[:_MOST_NAMED])}{more}"] if rest else []
    if "RAJ2000" not in clean.colnames and {"GLON", "GLAT"} <= set(clean.colnames):
        from astropy.coordinates import SkyCoord

        place = SkyCoord(*(np.asarray(clean[name]) * u.deg for name in ("GLON", "GLAT")), frame="galactic").icrs
        clean["RAJ2000"], clean["DEJ2000"] = plain_column(place.ra.deg, "deg", None, None), place.dec.deg
    in_doubt |= take_implausible_as_missing(clean, shown)  # of what was derived
    wrap_longitudes(clean)
    errors = [f"Unc_{name}" for name in clean.colnames if f"Unc_{name}" in EXPECTED]
    for name in (*REQUIRED_COLUMNS, *errors):
        if name not in clean.colnames:
            unit, ucd = USUAL.get(name, (EXPECTED[name].unit if name in EXPECTED else None, None))
            empty = np.full(len(clean), "" if name in _TEXTS else np.nan)
            clean[name] = plain_column(empty, unit, "not given", ucd)
    words = np.asarray(clean["CLASS1"])
    unknown = (words != "") & ~np.isin(np.char.lower(words), [*CLASS_CODES])
    clean["CLASS1"] = np.where(unknown, "", words)
    if np.any(unknown):
        shown_words = ", ".join(np.unique(words[unknown]).tolist()[:_MOST_NAMED])
        notes.append(f"CLASS1 is no class code for {unknown.sum()} sources, which have no class: {shown_words}")
    nameless = np.asarray(clean["Source_Name"]) == ""
    numbered = np.array([f"row {k}" for k in range(1, len(clean) + 1)])
    clean["Source_Name"] = np.where(nameless, numbered, clean["Source_Name"])
    add_galactic(clean)
    named = Brought("columns", ",".join(f"{name}={own}" for name, own in columns.items()))
    return Catalog(
        clean, OWN_SOURCES, shown, sha256, tuple(notes), brought=(named,) if columns else (), in_doubt=in_doubt
    )


def _find(given: Table, columns: Mapping[str, str], shown: str) -> dict[str, str]:
    """Return the names in a table by the names in the catalogue."""
    there = {name.lower(): name for name in reversed(given.colnames)}
    missing = [name for name in columns.values() if name.lower() not in there]
    if missing:
        raise CatalogError(f"{shown} has no column {', '.join(missing)}; it has {', '.join(there.values())}.")
    found = {name: there[usual.lower()] for name, usual in columns.items()}
    for name, usual in NAMES.items():
        meant = (there[each] for each in usual if each in there and _is_meant(given[there[each]], name, there, found))
        original = found.get(name) or next(meant, None)
        if original is None or (name not in found and original in found.values()):
            continue
        found[name] = original
        for of_it, forms in ((f"Unc_{name}", _ERROR_NAMES), (f"{name}_UL", _LIMIT_NAMES)):
            column = found.get(of_it) or _first(forms, original, there)
            if column and column not in found.values():
                found[of_it] = column
    given_index = {unc: found.pop(f"{unc}{_INDEX}") for unc in ("", "Unc_") if f"{unc}{_INDEX}" in found}
    curved = "LP_beta" in found and "LP_Index" not in found
    for name in _KINDS if _SPECTRUM in found else ["LP_Index" if curved else "PL_Index"]:
        if name not in found:
            found = {f"{unc}{name}": original for unc, original in given_index.items()} | found
    if not {*found} - {*USUAL, "CLASS1", "ASSOC1", "Flags"}:
        raise CatalogError(
            f"{shown} has no column that tells a spectrum; it has {', '.join(there.values())}. Name them, such as "
            "--columns Flux1000=flux,Unc_Flux1000=flux_err."
        )
    return found


def _first(forms: Iterable[str], name: str, there: Mapping[str, str]) -> str | None:
    return next((there[each] for form in forms if (each := form.format(name.lower())) in there), None)


def _is_meant(column: Any, name: str, there: Mapping[str, str], found: Mapping[str, str]) -> bool:
    """Whether a column is the quantity of its name, for certain if the name is not doubtful.

    A photon index has an error column, or values that are possible and do not count rows. An energy has a unit, or is
    possible in MeV beside a fitted log-parabola.
    """
    if column.name.lower() not in _DOUBTFUL:
        return True
    try:
        values = _numbers(column, name, "")
    except CatalogError:
        return False
    values = values[np.isfinite(values)]
    if name == _REFERENCE:
        fitted = "Unc_LP_beta" in found and not {"Unc_LP_Index", f"Unc_{_INDEX}"}.isdisjoint(found)
        possible = np.all((values >= EXPECTED[name].least) & (values <= EXPECTED[name].most))
        is_energy = column.unit is not None and column.unit.is_equivalent("MeV")
        return is_energy or bool(fitted and values.size and possible)
    if column.unit not in (None, u.dimensionless_unscaled):
        return False
    if _first(_ERROR_NAMES, column.name, there):
        return not values.size or bool(np.median(values) <= _INDICES[1])  # a wrong sign is told
    if not values.size or np.any((values < _INDICES[0]) | (values > _INDICES[1])):
        return False
    counting = column.dtype.kind in "biu" or np.ptp(values) > 0
    return not (counting and np.all(values == np.rint(values)))


def own_names(columns: Sequence[str]) -> dict[str, str]:
    """Return the names of columns of one's own: ``Unc_X`` for an error of another column X, such as X_err, or its own.

    Of a column of upper limits, such as X_ul, it is ``X_UL``. A second error of X, or limit, keeps its own name.
    """
    forms = {form.format(x.lower()): f"{x}_UL" for x in columns for form in _LIMIT_NAMES}
    forms |= {form.format(x.lower()): f"Unc_{x}" for x in columns for form in _ERROR_NAMES}
    names, taken = {}, {name.lower() for name in columns}
    for name in columns:
        new = forms.get(name.lower(), name)
        names[name] = name if new.lower() in taken - {name.lower()} else new
        taken.add(new.lower())
    return names


def _texts(column: Any) -> NDArray[np.str_]:
    data = np.char.strip(np.asarray(column).astype(str))
    return np.where(data == "--", "", data)  # what is masked, as a text of gammapy


def _numbers(column: Any, name: str, shown: str) -> NDArray[Any]:
    data = np.asarray(column)
    try:
        if data.dtype.kind == "U" and name in PLACES:
            return text_degrees(data, column.unit, u.hourangle if name == "RAJ2000" else u.deg)
        return np.where(data == "", "nan", data).astype(np.float64) if data.dtype.kind == "U" else data.astype(float)
    except (ValueError, u.UnitTypeError) as error:
        raise CatalogError(f"{shown}: column {column.name} does not hold numbers ({in_one_line(error)}).") from error


def _derive(table: Table) -> list[str]:
    """Add what follows from other quantities, and return what was done. Quantities of no catalogue are removed."""
    notes = []

    def has(*names: str) -> bool:
        return set(names) <= set(table.colnames)

    def get(name: str) -> NDArray[np.float64]:
        return np.asarray(table[name], float) if has(name) else np.full(len(table), np.nan)

    def add(name: str, values: NDArray[np.float64], how: str) -> None:
        empty = np.isnan(get(name)) & np.isfinite(values)
        if np.any(empty):
            notes.append(f"{name} = {how}" + " where it is empty" * has(name))
            table[name] = plain_column(np.where(empty, values, get(name)), EXPECTED[name].unit, None, None)

    if has(_VALUES):
        _add_parameters(table, add, get)
    with np.errstate(invalid="ignore", divide="ignore"):
        add("Signif_Avg", np.sqrt(get(_TS)), "√TS")
        add("LP_SigCurv", np.sqrt(np.maximum(get(_DELTA_TS), 0.0)), "√ΔTS of curvature")
        add("LP_SigCurv", np.abs(get("LP_beta")) / get("Unc_LP_beta"), "|LP_beta| / Unc_LP_beta, in place of √ΔTS")
    if has(_REFERENCE, "LP_Index", "LP_beta"):
        pivot, reference = get("Pivot_Energy"), get(_REFERENCE)
        distance = np.where(np.isfinite(pivot) & (pivot > 0), np.log(pivot / reference), np.nan)
        moved = np.isfinite(distance) & (distance != 0.0)
        if np.any(moved):
            error, of_beta, covariance = get("Unc_LP_Index"), get("Unc_LP_beta"), get(_COVARIANCE)
            largest = error * of_beta * np.sign(distance)  # the covariance is not known: as large as it can be
            covariance = np.where(np.isfinite(covariance), covariance, largest)
            variance = error**2 + 4 * distance**2 * of_beta**2 + 4 * distance * covariance
            table["LP_Index"] = np.where(moved, get("LP_Index") + 2 * get("LP_beta") * distance, get("LP_Index"))
            table["Unc_LP_Index"] = np.where(moved, np.sqrt(np.maximum(variance, 0.0)), error)
            notes.append(f"LP_Index moved from {_REFERENCE} to Pivot_Energy")
        if np.any(np.isfinite(get("LP_Index")) & np.isnan(pivot)):
            notes.append(f"LP_Index is at {_REFERENCE} where Pivot_Energy is not given")
    gone = (_TS, _DELTA_TS, _REFERENCE, _COVARIANCE, _VALUES, _ERRORS, _SPECTRUM)
    table.remove_columns([name for name in table.colnames if name.removeprefix("Unc_") in gone])
    return notes


def _complete_bands(table: Table) -> None:
    """Give each band two errors, as in the catalogue. A limit L in place of a flux becomes L/2 ± L/√12."""
    if "Flux_Band" not in table.colnames:
        return
    flux = np.asarray(table["Flux_Band"], float)
    if flux.ndim == 2 and flux.shape[1] not in _BANDS:
        raise CatalogError(
            f"Flux_Band of your own sources has {flux.shape[1]} bands, and nothing says at which energies. Give the "
            f"{max(_BANDS)} bands of 4FGL-DR4, or flux_points at any energies (from Python), or leave the bands out."
        )
    nothing = np.full(flux.shape, np.nan)
    error, limit = (
        np.asarray(table[name]) if name in table.colnames else nothing for name in (_BAND_ERROR, _BAND_LIMIT)
    )
    if flux.ndim != 2 or error.size not in (flux.size, 2 * flux.size) or limit.shape != flux.shape:
        return  # an error of the features that need them
    sides = np.stack([-np.abs(error), error], axis=2) if error.size == flux.size else error.reshape(*flux.shape, 2)
    is_limit = np.isnan(flux) & (limit > 0.0)
    spread = limit / np.sqrt(12.0)
    sides = np.where(is_limit[..., None], np.stack([-spread, spread], axis=2), sides)
    for name, data in (("Flux_Band", np.where(is_limit, 0.5 * limit, flux)), (_BAND_ERROR, sides)):
        table[name] = plain_column(data, EXPECTED[name].unit, None, None)


def _add_parameters(table: Table, add: Any, get: Any) -> None:
    """Add the parameters that fermipy lists: norm, alpha, beta, Eb, or Prefactor, Index (below 0), Scale."""
    values, errors = (np.asarray(get(name)).reshape(len(table), -1) for name in (_VALUES, _ERRORS))
    if values.shape[1] < 3:
        return
    errors = errors if errors.shape == values.shape else np.full_like(values, np.nan)
    kind = np.asarray(table[_SPECTRUM]) if _SPECTRUM in table.colnames else np.full(len(table), "")
    curved, straight = kind == "LogParabola", kind == "PowerLaw"
    for name, place in (("LP_Index", 1), ("LP_beta", 2)):
        if values.shape[1] > 3:
            add(name, np.where(curved, values[:, place], np.nan), f"param_values[{place}]")
            add(f"Unc_{name}", np.where(curved, errors[:, place], np.nan), f"param_errors[{place}]")
    add("PL_Index", np.where(straight, np.abs(values[:, 1]), np.nan), "−param_values[1] of a PowerLaw")
    add("Unc_PL_Index", np.where(straight, errors[:, 1], np.nan), "param_errors[1] of a PowerLaw")
    if values.shape[1] > 3 and _REFERENCE not in table.colnames:
        table[_REFERENCE] = np.where(curved, values[:, 3], np.nan)


# --- rows and models -------------------------------------------------------------------------------------------------


def _as_table(source: Any) -> Table:
    """Return any source of :func:`read_sources` but a file as a table."""
    if isinstance(source, Table):
        return source
    if hasattr(source, "to_dict") and hasattr(source, "columns"):
        return Table.from_pandas(source)
    if isinstance(getattr(source, "table", None), Table):  # a catalogue of gammapy
        return source.table
    single = isinstance(source, Mapping) or not isinstance(source, Iterable) or hasattr(source, "spectral_model")
    rows = [_as_row(each) for each in ([source] if single else source)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table()
    for name in names:
        values = [None if row.get(name) is np.ma.masked else row.get(name) for row in rows]
        unit = next((value.unit for value in values if isinstance(value, u.Quantity)), None)
        if unit is not None:
            values = [value.to_value(unit) if isinstance(value, u.Quantity) else value for value in values]
        gap = next((np.full(np.shape(value), np.nan) for value in values if value is not None), np.nan)
        is_text = any(isinstance(value, str) for value in values)
        values = [("" if is_text else gap) if value is None else value for value in values]
        table[name] = plain_column(np.array(values), unit, None, None)
    return table


def _as_row(source: Any) -> dict[str, Any]:
    if hasattr(source, "spectral_model") and not hasattr(source, "data"):
        return _row_of_model(source)
    row = source if isinstance(source, Mapping) else getattr(source, "data", None)
    if not isinstance(row, Mapping):
        raise CatalogError(
            f"a source is a {type(source).__name__}, expected a file, a table, a row as a dictionary, or a model of "
            "gammapy."
        )
    model, points = row.get("model"), row.get("flux_points", row.get("sed"))
    values = {str(name): value for name, value in row.items() if not isinstance(value, Mapping)}
    values = {name: value for name, value in values.items() if name not in ("model", "flux_points")}
    fitted = _row_of_model(model) if hasattr(model, "spectral_model") else {}
    if points is not None and not isinstance(points, str) and points != {}:  # fermipy has an empty "sed" before it fits
        fitted |= dict(zip(("Flux_Band", _BAND_ERROR), band_fluxes(points, model), strict=True))
    return fitted | values


def _row_of_model(model: Any) -> dict[str, Any]:
    """Return fluxes, and index and curvature, of a `SkyModel` of gammapy with their errors; one of 0 is not known."""
    spectrum = model.spectral_model
    row: dict[str, Any] = {"name": str(model.name)}
    position = getattr(model, "position", None)
    if position is not None and getattr(model, "spatial_model", None) is not None:
        row |= {"ra": position.icrs.ra.deg, "dec": position.icrs.dec.deg}
    for name, both, unit in (
        ("Flux1000", spectrum.integral_error(1 * u.GeV, 100 * u.GeV), "cm-2 s-1"),
        ("Energy_Flux100", spectrum.energy_flux_error(0.1 * u.GeV, 100 * u.GeV), "erg cm-2 s-1"),
    ):
        value, error = (number.to(unit) * (u.photon if name == "Flux1000" else 1) for number in both[:2])
        row |= {name: value, f"Unc_{name}": error if error.value > 0.0 else error * np.nan}
    parameters = {each.name: each for each in spectrum.parameters}
    for name in ("index", "alpha", "beta"):
        if name in parameters:
            row |= {name: float(parameters[name].value), f"{name}_err": float(parameters[name].error) or np.nan}
    if {"alpha", "beta"} <= set(parameters):
        row[_REFERENCE] = parameters["reference"].quantity.to("MeV")
        covariance = spectrum.covariance.get_subcovariance([parameters["alpha"], parameters["beta"]])
        row[_COVARIANCE] = float(covariance.data[0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
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
    kept = [name for name in table.colnames if np.ma.getdata(table[name]).dtype.kind in "biufUSO"]
    dropped = sorted(set(table.colnames) - set(kept))
    if dropped:
        warnings.warn(f"columns without numbers or texts are not read: {', '.join(dropped)}", CatalogWarning, 3)
    return table[kept]
