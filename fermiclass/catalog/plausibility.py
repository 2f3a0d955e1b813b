"""Plausibility of a catalogue: units, ranges and missing values of its columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from astropy.table import Table
from astropy.units import Unit, UnitConversionError, UnrecognizedUnit, photon
from numpy.typing import NDArray

from fermiclass.catalog.classes import CLASS_CODES
from fermiclass.catalog.releases import warn
from fermiclass.errors import CatalogError
from fermiclass.io import FloatArray


class Expected(NamedTuple):
    """The unit of a column, the range of the median of any sample of sources, and the one of possible values."""

    unit: str
    low: float
    high: float
    least: float
    most: float
    positive: bool = True  #: Whether only positive values are usable.


#: Expected values by column. The medians of 4FGL lie in the middle of their ranges, in orders of magnitude.
EXPECTED: dict[str, Expected] = {
    "RAJ2000": Expected("deg", -360.0, 360.0, -360.0, 360.0, positive=False),
    "DEJ2000": Expected("deg", -90.0, 90.0, -90.0, 90.0, positive=False),
    "GLON": Expected("deg", -360.0, 360.0, -360.0, 360.0, positive=False),
    "GLAT": Expected("deg", -90.0, 90.0, -90.0, 90.0, positive=False),
    "Conf_95_SemiMajor": Expected("deg", 1e-3, 1.0, 1e-5, 10.0),
    "Conf_95_SemiMinor": Expected("deg", 1e-3, 1.0, 1e-5, 10.0),
    "Conf_95_PosAng": Expected("deg", -180.0, 360.0, -180.0, 360.0, positive=False),
    "Signif_Avg": Expected("", 0.5, 1e4, 1e-3, 1e4),
    "Pivot_Energy": Expected("MeV", 50.0, 1e5, 1.0, 1e8),
    "Flux1000": Expected("ph cm-2 s-1", 1e-13, 1e-6, 1e-18, 1e-3),
    "Unc_Flux1000": Expected("ph cm-2 s-1", 1e-14, 1e-7, 0.0, 1e-3),
    "Energy_Flux100": Expected("erg cm-2 s-1", 1e-15, 1e-8, 1e-20, 1e-5),
    "Unc_Energy_Flux100": Expected("erg cm-2 s-1", 1e-16, 1e-9, 0.0, 1e-5),
    "LP_Index": Expected("", 0.6, 6.0, -20.0, 20.0, positive=False),
    "Unc_LP_Index": Expected("", 1e-4, 10.0, 0.0, 1e3),
    "LP_beta": Expected("", -2.0, 3.0, -20.0, 20.0, positive=False),
    "Unc_LP_beta": Expected("", 1e-4, 10.0, 0.0, 1e3),
    "LP_SigCurv": Expected("", 0.0, 50.0, 0.0, 1e4, positive=False),
    "PLEC_SigCurv": Expected("", 0.0, 50.0, 0.0, 1e4, positive=False),
    "PL_Index": Expected("", 0.6, 6.0, -20.0, 20.0, positive=False),
    "Unc_PL_Index": Expected("", 1e-4, 10.0, 0.0, 1e3),
    "Variability_Index": Expected("", 1e-2, 1e4, 0.0, 1e7),
    "Frac_Variability": Expected("", 0.0, 5.0, 0.0, 1e2, positive=False),
    "Unc_Frac_Variability": Expected("", 0.0, 10.0, 0.0, 1e2, positive=False),
    "Flux_Band": Expected("ph cm-2 s-1", 0.0, 1e-5, -1e-3, 1e-3, positive=False),
    "Unc_Flux_Band": Expected("ph cm-2 s-1", -1e-6, 1e-6, -1e-3, 1e-3, positive=False),
}
EXPECTED |= {f"{name}_UL": EXPECTED[name] for name in ("Flux1000", "Energy_Flux100", "Flux_Band")}  # upper limits
_OF_BANDS = ("Flux_Band", "Unc_Flux_Band", "Flux_Band_UL")
EXPECTED |= {f"{name}_{k}": EXPECTED[name] for name in _OF_BANDS for k in range(1, 9)}  # one column each
#: Quantities of sources of one's own that are no columns of a catalogue.
EXPECTED |= {
    "TS": Expected("", 0.25, 1e8, 1e-6, 1e8),
    "delta_TS": Expected("", 0.0, 2.5e4, -1.0, 1e8, positive=False),  # fits that stop early give some just below 0
    "reference_energy": Expected("MeV", 10.0, 1e6, 10.0, 1e6),
    "cov_alpha_beta": Expected("", -10.0, 10.0, -10.0, 10.0, positive=False),
}

PLACES = ("RAJ2000", "DEJ2000", "GLON", "GLAT")  #: Columns of angles on the sky.
_NINES = (99, 999, 9999, 99999, 999999, 99.9, 99.99, 999.9, 999.99, 1e20, 1e30, 1e37, 1e38)
#: Numbers that tables have where a value is missing, but for a 0 where it is impossible.
MARKS = np.array([-1, -9, -(2.0**15), -(2.0**31), -(2.0**63), *_NINES, *(-x for x in _NINES)])
_FAR = 3.0  # a mark is that many times as large as the other values; or 10 times as many, if it is possible and alone
FEW = 20  # fewer sources than this have no meaningful median
_MOST_NAMED = 5


def convert_units(table: Table, source: str) -> None:
    """Convert columns in other units to the units of the catalogue, in place.

    Warns when a column is converted, or its unit is unknown. Raises CatalogError when a column does not hold numbers,
    or has the unit of another quantity.
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
            warn(f"{source}: column {name} is in '{found}', an unknown unit: taken as {str(wanted) or 'none'}")
            continue
        if "ph" in EXPECTED[name].unit and found.is_equivalent(wanted / photon):
            warn(f"{source}: column {name} is in {found}, without photons: taken as {found * photon}")
            found = found * photon
        try:
            factor = found.to(wanted)
        except UnitConversionError as error:
            raise CatalogError(
                f"{source}: column {name} is in {str(found) or 'no unit'}, expected {str(wanted) or 'no unit'}. "
                "Correct it, or its unit."
            ) from error
        table[name].unit = wanted
        set_values(table, name, np.asarray(table[name]) * factor)
        if not np.isclose(factor, 1.0, rtol=1e-12, atol=0.0):
            warn(f"{source}: column {name} is in {found}: converted to {wanted}")


def take_marks_as_missing(table: Table, source: str, *, zeros: bool = True) -> None:
    """Take conventional numbers for missing values, such as -999 or 1e20, as missing, in place.

    Between the other values of its column such a number is a value. It is missing where it is impossible; where it is
    far larger than all others, or negative and they are not; and where it is beyond them and the most frequent one. In
    a known column, a possible number that is there once is a value. With `zeros`, an impossible 0 is missing, too.
    Warns for each such column.
    """
    numeric = [name for name in table.colnames if table[name].dtype.kind in "fiu"]
    for name in sorted(numeric, key=lambda name: "_UL" in name):
        values = that_count(table, name)
        found = np.unique(values[np.isin(values, [*MARKS, *[0.0] * zeros])])
        marks = [mark for mark in found.tolist() if _is_mark(mark, name, values[np.isfinite(values)])]
        if marks:
            gone = np.isin(values, marks)
            count = count_sources(int(gone.reshape(len(table), -1).any(axis=1).sum()))
            shown = ", ".join(f"{mark:.15g}" for mark in marks)
            warn(f"{source}: column {name} is {shown} for {count}, a number for missing values: taken as missing")
            set_values(table, name, np.where(gone, np.nan, table[name]))
    if zeros and {*PLACES[:2]} <= {*table.colnames}:
        nowhere = np.all([np.asarray(table[name]) == 0 for name in PLACES[:2]], axis=0)
        if nowhere.any():
            warn(
                f"{source}: {' and '.join(PLACES[:2])} are 0 for {count_sources(int(nowhere.sum()))}: taken as missing"
            )
        for name in PLACES[:2] if nowhere.any() else ():
            set_values(table, name, np.where(nowhere, np.nan, table[name]))


def that_count(table: Table, name: str) -> FloatArray:
    """Return the values of a column; a limit beside a value is NaN, as it does not count."""
    values, limited = np.asarray(table[name], np.float64), name.replace("_UL", "")
    if limited != name and limited in table.colnames and table[limited].shape == values.shape:
        return np.where(np.isfinite(table[limited]), np.nan, values)
    return values


def _is_mark(mark: float, name: str, values: FloatArray) -> bool:
    """Whether a conventional number stands for a missing value among the finite values of a column, in any unit."""
    others, count, expected = values[~np.isin(values, MARKS)], np.sum(values == mark), EXPECTED.get(name)
    if expected and (mark < expected.low <= 0.0 or mark < 0.0 < expected.low):
        return True
    if mark == 0.0:
        return expected is not None and (expected.positive or name in ("PL_Index", "LP_Index"))
    if not len(others):
        return not expected and (mark < -9.0 or mark >= 1e20)
    whole, least, most = bool(np.all(others == np.rint(others))), others.min(), np.abs(others).max()
    if whole and -9.0 <= mark < 0.0:  # a code such as -1, 0 and 1
        return False
    alone = expected is not None and count == 1
    if mark < 0.0 <= least or abs(mark) >= _FAR * most * (10.0 if alone else 1.0):
        return not alone or mark > 0.0
    beyond, often = not least <= mark <= others.max(), np.unique(others, return_counts=True)[1].max()
    return beyond and not whole and bool(count > max(2, often))


def check_values(table: Table, source: str) -> None:
    """Take impossible values as missing, in place, with a warning. Longitudes become 0 to 360 degrees.

    Also warns when most values of a column are unusable, when all are the same, or when their median is outside the
    expected range: then its unit is in doubt, and its values stay, but for impossible angles.
    """
    for name in (name for name in table.colnames if name in EXPECTED):
        values, expected = np.asarray(table[name], np.float64), EXPECTED[name]
        if _warn_of_column(name, values, source) or expected.unit == "deg":
            with np.errstate(invalid="ignore"):
                impossible = np.isfinite(values) & ~((values >= expected.least) & (values <= expected.most))
            if np.any(impossible):
                set_values(table, name, np.where(impossible, np.nan, table[name]))
                warn(
                    f"{source}: column {name} is beyond {expected.least:g} to {expected.most:g} for "
                    f"{count_sources(int(np.sum(impossible.reshape(len(table), -1).any(axis=1))))}, such as "
                    f"{values[impossible][0]:.3g}: taken as missing"
                )
    wrap_longitudes(table)


def wrap_longitudes(table: Table) -> None:
    """Turn negative longitudes into those of 0 to 360 degrees, in place."""
    for name in ("RAJ2000", "GLON"):
        if name in table.colnames and np.any(np.asarray(table[name]) < 0.0):
            set_values(table, name, np.where(table[name] < 0.0, table[name] + 360.0, table[name]))


def set_values(table: Table, name: str, values: NDArray[Any]) -> None:
    """Replace the values of a column, and keep its unit, description and metadata."""
    column = table[name]
    table[name] = type(column)(values, unit=column.unit, description=column.description, meta=column.meta)


def _warn_of_column(name: str, values: FloatArray, source: str) -> bool:
    """Warn of a column as a whole. Return whether its values are of the expected magnitude, as far as can be told."""
    expected = EXPECTED[name]
    usable = values[np.isfinite(values) & ((values > 0.0) if expected.positive else True)]
    if values.ndim == 1 and 2 * usable.size < values.size:
        few = f"a usable value for only {usable.size} of {values.size} sources" if usable.size else "no usable value"
        warn(f"{source}: column {name} has {few}: all other values are imputed")
    if usable.size < FEW:
        return True
    median = float(np.median(usable))
    if np.all(usable == usable[0]):
        warn(f"{source}: column {name} is {median:g} for all sources: it carries no information")
    elif not expected.low <= median <= expected.high:
        warn(
            f"{source}: column {name} is implausible: its median is {median:.3g}, expected {expected.low:g} to "
            f"{expected.high:g}" + f" {expected.unit}" * bool(expected.unit) + ". Check the column and its unit"
        )
        return False
    return True


def check_texts(table: Table, source: str) -> None:
    """Warn of names that are missing, not ASCII or repeated, and of class codes that are not in `CLASS_CODES`."""
    names, classes = np.asarray(table["Source_Name"]), np.char.lower(np.asarray(table["CLASS1"]))
    nameless = int(np.sum(names == ""))
    if nameless:
        warn(f"{source}: {count_sources(nameless)} without a name: only the row identifies them")
    for column, texts in (("Source_Name", names), ("CLASS1", classes)):
        odd = sum(not text.isascii() or not text.isprintable() for text in texts.tolist())
        if odd:
            warn(f"{source}: column {column} is not ASCII for {count_sources(odd)}: unreadable letters were replaced")
    codes, counts = np.unique(classes, return_counts=True)
    unknown = [f"{code} ({n})" for code, n in zip(codes, counts, strict=True) if code and code not in CLASS_CODES]
    if unknown:
        more = ", ..." if len(unknown) > _MOST_NAMED else ""
        warn(
            f"{source}: CLASS1 has unknown classes: {', '.join(unknown[:_MOST_NAMED])}{more}. They count as 'other': "
            "they are neither learned under another name nor labelled"
        )
    found, counts = np.unique(names[names != ""], return_counts=True)
    if np.any(counts > 1):
        warn(
            f"{source} has {np.sum(counts > 1)} names of sources more than once, such as {found[counts > 1][0]}: each "
            "row is treated as a separate source"
        )


def count_sources(count: int) -> str:
    """Return a number of sources in words, such as '1 source'."""
    return f"{count} source" + "s" * (count != 1)
