"""Names of columns in tables of one's own: which column is which quantity of the catalogue."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import astropy.units as u
import numpy as np
from astropy.table import Table
from numpy.typing import NDArray

from fermiclass.brought.other_list import PLACE_NAMES, numbers_of
from fermiclass.catalog.plausibility import EXPECTED, MARKS
from fermiclass.catalog.reading import USUAL
from fermiclass.catalog.releases import RAW_COLUMNS
from fermiclass.errors import CatalogError
from fermiclass.io.plain import texts

#: Quantities that are no columns of a catalogue but tell one: TS, the ΔTS of curvature, the energy at which a spectrum
#: has its index, the covariance of index and curvature, fermipy's parameters, and the type of the spectrum.
TS, DELTA_TS, REFERENCE, COVARIANCE, VALUES, ERRORS, SPECTRUM, INDEX = (
    "TS", "delta_TS", "reference_energy", "cov_alpha_beta", "param_values", "param_errors", "SpectrumType", "index",
)  # fmt: skip

#: Names of the error of a quantity, and of its upper limit. Of a band, its number may stand last: Flux_Band_err_2.
_ERROR_NAMES = ("unc_{}", "{}_err", "{}_error", "{}_unc", "{}_sigma", "err_{}", "e_{}", "sigma_{}", "d_{}")
_LIMIT_NAMES = ("{}_ul", "{}_ul95", "ul_{}", "{}_upper_limit")

#: Usual names, in lower case, of the catalogue's columns and of these quantities: those of fermipy, gammapy, VizieR and
#: HEASARC. The first that is there is taken.
NAMES: dict[str, tuple[str, ...]] = {
    "Source_Name": ("source_name", "name", "source", "src_name", "4fgl", "psrj", "jname"),
    **PLACE_NAMES,
    "Conf_95_SemiMajor": ("conf_95_semimajor", "pos_r95", "r95", "semi_major_axis_95", "amaj95"),
    "Conf_95_SemiMinor": ("conf_95_semiminor", "semi_minor_axis_95", "amin95"),
    "Conf_95_PosAng": ("conf_95_posang", "position_angle_95"),
    "Signif_Avg": ("signif_avg", "significance", "signif", "sqrt_ts", "detection_significance", "signi"),
    "Pivot_Energy": ("pivot_energy", "e_pivot", "epivot"),
    "Flux1000": ("flux1000", "flux_1_100_gev"),
    "Energy_Flux100": ("energy_flux100", "eflux100", "eflux", "energy_flux"),
    "PL_Index": ("pl_index", "powerlaw_index"),
    INDEX: ("photon_index", "spectral_index", "index", "gamma"),
    "LP_Index": ("lp_index", "alpha"),
    "LP_beta": ("lp_beta", "beta"),
    "LP_SigCurv": ("lp_sigcurv", "sigcurv", "lp_curve_significance"),
    "PLEC_SigCurv": ("plec_sigcurv", "plec_curve_significance"),
    "CLASS1": ("class1", "class", "source_type"),
    TS: ("ts", "test_statistic"),
    DELTA_TS: ("delta_ts", "dts_curv", "delta_ts_curv", "ts_curv"),
    REFERENCE: ("reference_energy", "e_ref", "reference", "e_0", "e0", "eb", "scale"),
    COVARIANCE: ("cov_alpha_beta", "cov_index_beta"),
    VALUES: ("param_values",),
    ERRORS: ("param_errors",),
    SPECTRUM: ("spectrumtype", "spectrum_type"),
    "Flags": ("flags",),
    "Variability_Bins": ("variability_bins",),
    "ASSOC1": ("assoc1",),
}
NAMES |= {name: (name.lower(),) for name in (*EXPECTED, *RAW_COLUMNS) if name not in NAMES and "Unc_" not in name}

_BAND = re.compile(r"((?:unc_)?flux_band)[_.\[]?(\d+)\]?(?:[_.\[](\d)\]?)?", re.IGNORECASE)
#: The SpectrumType whose index each is.
KINDS = {"PL_Index": "PowerLaw", "LP_Index": "LogParabola"}
TEXTS = ("Source_Name", "CLASS1", "ASSOC1", SPECTRUM)

#: Units of quantities under these names where they differ from the catalogue's: those of fermipy.
UNITS = {"eflux100": "MeV cm-2 s-1", "eflux": "MeV cm-2 s-1"}

#: Names that mean other things, too, such as a number of the row: taken as :func:`_is_meant` says.
_DOUBTFUL = ("index", "gamma", "reference", "e_0", "e0", "eb", "scale", "energy_flux")
_INDICES = (-1.0, 8.0)  #: Least and highest photon index under such a name.


def _spellings(forms: Iterable[str], name: str) -> list[str]:
    """Return the names of the error, or of the limit, of a quantity, in small letters."""
    stem, band, number = re.fullmatch(r"(.*?(_band)?)(_\d+)?", name.lower()).groups("")  # type: ignore[union-attr]
    stem, number = (stem, number) if band else (stem + number, "")
    return [each for form in forms for each in (form.format(stem + number), form.format(stem) + number)]


def _limit_of(name: str) -> str:
    head, band, number = name.partition("_Band")
    return f"{head}{band}_UL{number}"


NAMES |= {
    limit: tuple(each for of in NAMES[name] for each in _spellings(_LIMIT_NAMES, of))
    for name, limit in ((name, _limit_of(name)) for name in NAMES)
    if limit in EXPECTED
}
UNITS |= {each: UNITS[x] for x in UNITS for each in _spellings((*_ERROR_NAMES, *_LIMIT_NAMES), x)}

#: Columns of the catalogue by what may stand on the left of ``--columns``, in small letters.
_SIDES = {each: f"Unc_{x}" for x in NAMES if x not in TEXTS for of in NAMES[x] for each in _spellings(_ERROR_NAMES, of)}
_SIDES |= {each: name for name, usual in NAMES.items() for each in (name.lower(), *usual)}


def standard_names(columns: Mapping[str, str], given: Table, shown: str) -> dict[str, str]:
    """Return columns of a table by their names in the catalogue, from any known name of the latter.

    A column without a unit gets that of this name. Raises CatalogError when a name is not known, two mean the same, or
    a column is missing.
    """
    found: dict[str, str] = {}
    there = {name.lower(): name for name in reversed(given.colnames)} | {name: name for name in given.colnames}
    for side, wanted in ((side, str(column)) for side, column in columns.items()):
        name = _SIDES.get(side.lower())
        if name is None or name in found:
            near = dict.fromkeys(_SIDES[each] for each in difflib.get_close_matches(side.lower(), _SIDES, 5, 0.5))
            what = f"names {name} a second time" if name else "is no column of the catalogue"
            hint = f"Near it are {', '.join(near)}" if near else "Known are the columns of 4FGL-DR4"
            raise CatalogError(f"--columns {side}={wanted}: {side} {what}. {hint}.")
        column = there.get(wanted) or there.get(wanted.lower())
        if column is None:
            raise CatalogError(f"{shown} has no column {wanted}; it has {', '.join(given.colnames)}.")
        given[column].unit = given[column].unit or UNITS.get(side.lower())
        found[name] = column
    return found


def with_units_of_names(given: Table, kept: Collection[str]) -> Table:
    """Return a table in which known columns with a unit in their name, such as ``ra (deg)``, have it; in place.

    What is no unit is none, but that of a place, such as ``RA (J2000)`` or ``RA (h:m:s)``. ``Flux_Band1``,
    ``Flux_Band[1]`` and the like are ``Flux_Band_1``; ``Unc_Flux_Band_8_2`` is the last of 16 errors.
    """
    bands = {name: found for name in given.colnames if name not in kept and (found := _BAND.fullmatch(name))}
    sides = sorted((int(found[2]), int(found[3]), name) for name, found in bands.items() if found[3])
    numbers = {name: int(found[2]) for name, found in bands.items()}
    numbers |= {name: k for k, (_, _, name) in enumerate(sides, start=1)}
    for name, number in numbers.items():
        if (new := f"{bands[name][1]}_{number}") not in given.colnames:
            given.rename_column(name, new)
    for name in (name for name in given.colnames if name not in kept):
        found = re.fullmatch(r"(\w+)\s*[\[(](.+)[\])]", name.strip())
        if found is None or found[1] in given.colnames or (quantity := _SIDES.get(found[1].lower())) is None:
            continue
        text = re.sub(r"J2000(\.0)?", "", found[2]).strip(" ,")  # an equinox is no unit
        unit = u.Unit(text, parse_strict="silent") if text else None
        if quantity in PLACE_NAMES or not (unit is None or isinstance(unit, u.UnrecognizedUnit)):
            given.rename_column(name, found[1])
            given[found[1]].unit = given[found[1]].unit or unit
    return given


def find_columns(given: Table, said: Mapping[str, str], shown: str) -> dict[str, str]:
    """Return the names in a table by the names in the catalogue; `said` has those that the user says.

    Raises CatalogError when none tells a spectrum.
    """
    exact_last = sorted(given.colnames, key=lambda name: (name in NAMES, -given.colnames.index(name)))
    there = {name.strip().lower(): name for name in exact_last}
    if "flux_band_0" in there:
        raise CatalogError(f"{shown} has {there['flux_band_0']}: bands count from 1, at 50 to 100 MeV. Rename them.")
    found = {name: column for name, column in said.items() if column in given.colnames}
    for name, usual in NAMES.items():
        meant = (there[each] for each in usual if each in there and _is_meant(given[there[each]], name, there, found))
        original = found.get(name) or next(meant, None)
        if original is None or (name not in found and original in found.values()):
            continue
        found[name] = original
        for of_it, forms in ((f"Unc_{name}", _ERROR_NAMES), (_limit_of(name), _LIMIT_NAMES)):
            if (column := error_of(original, there, forms)) and column not in found.values():
                found.setdefault(of_it, column)
    given_index = {unc: found.pop(f"{unc}{INDEX}") for unc in ("", "Unc_") if f"{unc}{INDEX}" in found}
    curved = "LP_beta" in found and "LP_Index" not in found
    for name in KINDS if SPECTRUM in found else ["LP_Index" if curved else "PL_Index"]:
        if name not in found:
            found = {f"{unc}{name}": original for unc, original in given_index.items()} | found
    wide = [x for name, x in found.items() if given[x].ndim > 1 and "Band" not in name and name not in (VALUES, ERRORS)]
    if wide:
        raise CatalogError(f"{shown} has several values for each source in {', '.join(wide)}. Give one, or none.")
    if not {*found} - {*USUAL, "CLASS1", "ASSOC1", "Flags"}:
        raise CatalogError(
            f"{shown} has no column that tells a spectrum; it has {', '.join(there.values())}. Name them, such as "
            "--columns Flux1000=flux,Unc_Flux1000=flux_err."
        )
    return found


def unit_of(name: str, given: Table, found: Mapping[str, str]) -> Any:
    """Return the unit of a column without one: that of its quantity, or of its name or this one's."""
    of = name.removeprefix("Unc_").replace("_UL", "")
    if of != name and of in found and given[found[of]].unit is not None:
        return given[found[of]].unit
    return next((UNITS[word] for x in (name, of) if (word := found.get(x, "").lower()) in UNITS), None)


def idle(sides: Iterable[str], used: Collection[str]) -> list[str]:
    """Return names on the left of ``--columns`` whose quantity is none of the columns that features use."""
    of = {side: _SIDES.get(side.lower(), "").removeprefix("Unc_").removesuffix("_UL") for side in sides}
    needed = {*used, *USUAL, *(name for name in RAW_COLUMNS if name.startswith("Conf_95"))}
    return [side for side, quantity in of.items() if quantity in RAW_COLUMNS and quantity not in needed]


def error_of(name: str, there: Mapping[str, str], forms: Iterable[str] = _ERROR_NAMES) -> str | None:
    """Return the column with the error, or limit, of a column, of those `there`, by their names in small letters."""
    return next((there[each] for each in _spellings(forms, name) if each in there), None)


def _is_meant(column: Any, name: str, there: Mapping[str, str], found: Mapping[str, str]) -> bool:
    """Whether a column is the quantity of its name, for certain if the name is not doubtful.

    A photon index has an error column, or values that are possible and do not count rows. An energy has a unit, or is
    possible in MeV beside a fitted log-parabola; a reference may be a year.
    """
    if column.name.lower() not in _DOUBTFUL:
        return True
    if name == "Energy_Flux100":
        return "flux_1_100_gev" in there
    try:
        values = numbers_of(column, name, "")
    except CatalogError:
        return False
    values = values[np.isfinite(values) & ~np.isin(values, MARKS)]
    whole = bool(np.all(values == np.rint(values)))

    def within(least: float, most: float) -> bool:
        return bool(values.size and np.all((values >= least) & (values <= most)))

    if name == REFERENCE:
        fitted = "Unc_LP_beta" in found and not {"Unc_LP_Index", f"Unc_{INDEX}"}.isdisjoint(found)
        years = whole and within(1900, 2100) and column.name.lower() == "reference"
        is_energy = column.unit is not None and column.unit.is_equivalent("MeV")
        return is_energy or (fitted and within(EXPECTED[name].least, EXPECTED[name].most) and not years)
    if column.unit not in (None, u.dimensionless_unscaled):
        return False
    if error_of(column.name, there):
        return not values.size or bool(np.median(values) <= _INDICES[1])  # a wrong sign is told
    return within(*_INDICES) and not (whole and (column.dtype.kind in "biu" or np.ptp(values) > 0))


def own_names(columns: Sequence[str]) -> dict[str, str]:
    """Return the names of columns of one's own: Unc_X of an error of X, such as X_err, and X_UL of a limit.

    All others, and a second error or limit of X, keep their own names.
    """
    forms = {form.format(x.lower()): f"{x}_UL" for x in columns for form in _LIMIT_NAMES}
    forms |= {form.format(x.lower()): f"Unc_{x}" for x in columns for form in _ERROR_NAMES}
    names, taken = {}, {name.lower() for name in columns}
    for name in columns:
        new = forms.get(name.lower(), name)
        names[name] = name if new.lower() in taken - {name.lower()} else new
        taken.add(new.lower())
    return names


def values_of(name: str, given: Table, found: Mapping[str, str], said: Any, shown: str) -> tuple[NDArray[Any], str]:
    """Return the values of a column of the catalogue, and where they are taken: an index, by its type of spectrum."""
    of = name.removeprefix("Unc_")
    data = texts(given[found[name]]) if of in TEXTS else numbers_of(given[found[name]], name, shown)
    if SPECTRUM not in found or of not in KINDS or of in said or found.get(of, "").lower() not in NAMES[INDEX]:
        return data, ""
    kinds = np.char.lower(texts(given[found[SPECTRUM]]))
    return np.where(kinds == KINDS[of].lower(), data, np.nan), f" where {SPECTRUM} is {KINDS[of]}"
