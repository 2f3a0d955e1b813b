"""Plausibility of a catalogue: units, ranges and missing values of its columns."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from astropy.table import Table
from astropy.units import Unit, UnitConversionError, UnrecognizedUnit, photon
from numpy.typing import NDArray

from fermiclass.catalog.classes import CLASS_CODES
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.errors import CatalogError
from fermiclass.io.arrays import FloatArray


class Expected(NamedTuple):
    """The expected unit of a column, and the range of the median of any sample of sources."""

    unit: str
    low: float
    high: float
    positive: bool = True


#: Expected values by column. The medians of 4FGL lie in the middle of these ranges, in orders of magnitude.
EXPECTED: dict[str, Expected] = {
    "RAJ2000": Expected("deg", -360.0, 360.0, positive=False),
    "DEJ2000": Expected("deg", -90.0, 90.0, positive=False),
    "GLON": Expected("deg", -360.0, 360.0, positive=False),
    "GLAT": Expected("deg", -90.0, 90.0, positive=False),
    "Signif_Avg": Expected("", 0.5, 1e4),
    "Pivot_Energy": Expected("MeV", 50.0, 1e5),
    "Flux1000": Expected("ph cm-2 s-1", 1e-13, 1e-6),
    "Unc_Flux1000": Expected("ph cm-2 s-1", 1e-14, 1e-7),
    "Energy_Flux100": Expected("erg cm-2 s-1", 1e-15, 1e-8),
    "Unc_Energy_Flux100": Expected("erg cm-2 s-1", 1e-16, 1e-9),
    "LP_Index": Expected("", 0.0, 6.0, positive=False),
    "Unc_LP_Index": Expected("", 1e-4, 10.0),
    "LP_beta": Expected("", -2.0, 3.0, positive=False),
    "Unc_LP_beta": Expected("", 1e-4, 10.0),
    "PL_Index": Expected("", 0.0, 6.0, positive=False),
    "Unc_PL_Index": Expected("", 1e-4, 10.0),
    "Flux_Band": Expected("ph cm-2 s-1", 0.0, 1e-5, positive=False),
    "Unc_Flux_Band": Expected("ph cm-2 s-1", -1e-6, 1e-6, positive=False),
}

_POSITIONS = (("RAJ2000", 360.0), ("DEJ2000", 90.0))
_FEW = 20  # fewer sources than this have no meaningful median
_MOST_NAMED = 5


def convert_units(table: Table, source: str) -> None:
    """Convert columns in other units to the units of the catalogue, in place.

    Raises
    ------
    CatalogError
        When a column does not hold numbers, or has the unit of another quantity.

    Warns
    -----
    CatalogWarning
        When a column is converted, or its unit is unknown.
    """
    for name in (name for name in EXPECTED if name in table.colnames):
        if table[name].dtype.kind not in "fiub":
            raise CatalogError(
                f"{source}: column {name} holds {table[name].dtype}, expected numbers. Correct it, or remove it."
            )
        found, wanted = table[name].unit, Unit(EXPECTED[name].unit)
        if found is None or found == wanted:
            continue
        if isinstance(found, UnrecognizedUnit):
            _warn(f"{source}: column {name} is in '{found}', an unknown unit: taken as {_shown(wanted)}")
            continue
        if "ph" in EXPECTED[name].unit and found.is_equivalent(wanted / photon):
            _warn(f"{source}: column {name} is in {found}, without photons: taken as {found * photon}")
            found = found * photon
        try:
            factor = found.to(wanted)
        except UnitConversionError as error:
            raise CatalogError(
                f"{source}: column {name} is in {found}, expected {_shown(wanted)}. Correct the column, or its unit."
            ) from error
        column = table[name]
        table[name] = type(column)(np.asarray(column) * factor, unit=wanted, description=column.description)
        table[name].meta.update(column.meta)
        if not np.isclose(factor, 1.0, rtol=1e-12, atol=0.0):
            _warn(f"{source}: column {name} is in {found}: converted to {_shown(wanted)}")


def _shown(unit: Any) -> str:
    return str(unit) or "no unit"


def warn_of_values(table: Table, source: str) -> None:
    """Warn of implausible values. The warning says how they are treated.

    Warns
    -----
    CatalogWarning
        When most values of a column are unusable, when all are the same, or when their median is outside the expected
        range; when positions are impossible; when names are missing or not ASCII.
    """
    for name in table.colnames:
        if name in EXPECTED:
            _warn_of_column(name, np.asarray(table[name], np.float64), source)
    for name, limit in _POSITIONS:
        count = int(np.sum(np.abs(np.asarray(table[name], np.float64)) > limit))
        if count:
            _warn(f"{source}: {name} is beyond ±{limit:g} for {_sources(count)}: the positions are wrong")
    names, classes = np.asarray(table["Source_Name"]), np.char.lower(np.asarray(table["CLASS1"]))
    _warn_of_texts(names, classes, source)


def _warn_of_column(name: str, values: FloatArray, source: str) -> None:
    expected = EXPECTED[name]
    usable = values[np.isfinite(values) & ((values > 0.0) if expected.positive else True)]
    if values.ndim == 1 and 2 * usable.size < values.size:
        few = f"a usable value for only {usable.size} of {values.size} sources" if usable.size else "no usable value"
        _warn(f"{source}: column {name} has {few}: all other values are imputed")
    if usable.size < _FEW:
        return
    median = float(np.median(usable))
    if np.all(usable == usable[0]):
        _warn(f"{source}: column {name} is {median:g} for all sources: it carries no information")
    elif not expected.low <= median <= expected.high:
        _warn(
            f"{source}: column {name} is implausible: its median is {median:.3g}, expected {expected.low:g} to "
            f"{expected.high:g}" + f" {expected.unit}" * bool(expected.unit) + ". Check the column and its unit"
        )


def _warn_of_texts(names: NDArray[np.str_], classes: NDArray[np.str_], source: str) -> None:
    nameless = int(np.sum(names == ""))
    if nameless:
        _warn(f"{source}: {_sources(nameless)} without a name: only the row identifies them")
    for column, texts in (("Source_Name", names), ("CLASS1", classes)):
        odd = sum(not text.isascii() or not text.isprintable() for text in texts.tolist())
        if odd:
            _warn(f"{source}: column {column} is not ASCII for {_sources(odd)}: unreadable letters were replaced")


def warn_of_unknown_classes(classes: NDArray[np.str_], source: str) -> None:
    """Warn of class codes (in lower case) that are not in `CLASS_CODES`."""
    codes, counts = np.unique(classes, return_counts=True)
    unknown = [f"{code} ({n})" for code, n in zip(codes, counts, strict=True) if code and code not in CLASS_CODES]
    if unknown:
        more = ", ..." if len(unknown) > _MOST_NAMED else ""
        _warn(
            f"{source}: CLASS1 has unknown classes: {', '.join(unknown[:_MOST_NAMED])}{more}. They count as 'other': "
            "they are neither learned under another name nor labelled"
        )


def warn_of_repeated_names(names: NDArray[np.str_], source: str) -> None:
    """Warn of names that more than one source has."""
    found, counts = np.unique(names[names != ""], return_counts=True)
    if np.any(counts > 1):
        _warn(
            f"{source} has {np.sum(counts > 1)} names of sources more than once, such as {found[counts > 1][0]}: each "
            "row is treated as a separate source"
        )


def _sources(count: int) -> str:
    return f"{count} source" + "s" * (count != 1)


def _warn(message: str) -> None:
    warnings.warn(message, CatalogWarning, stacklevel=5)
