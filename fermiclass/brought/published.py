"""Tables of others: forms of limits, errors and bands, and values that are implausible or contradict each other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from astropy.table import Table
from numpy.typing import NDArray

from fermiclass.brought.column_names import error_of, with_units_of_names
from fermiclass.catalog.plausibility import (
    EXPECTED,
    FEW,
    count_sources,
    set_values,
    take_marks_as_missing,
    that_count,
)
from fermiclass.catalog.releases import warn
from fermiclass.errors import CatalogError
from fermiclass.io import FloatArray
from fermiclass.io.plain import numbers, plain_column, plain_table, texts

_LIMIT = re.compile(r"[<≤]\s*(?=[+.\d])")
_TWO_SIDED = (("_pos", "_neg"), ("_errp", "_errn"), ("_err_pos", "_err_neg"), ("_upper_error", "_lower_error"))
_BAND_ERROR = re.compile(r"unc_flux_band_(\d+)", re.IGNORECASE)

#: Pairs of columns: what the first is as the second tells it, least and largest ratio of both, and from which value on
#: they count. For a photon of Flux1000, all but the faintest sources of 4FGL have 2 to 1000 GeV of Energy_Flux100.
_RELATED = (
    ("Signif_Avg", "TS", np.sqrt, 0.5, 2.0, 3.0),
    ("LP_SigCurv", "delta_TS", np.sqrt, 0.5, 2.0, 3.0),
    ("Energy_Flux100", "Flux1000", lambda flux: 1.602e-3 * flux, 1.9, 600.0, 0.0),
)
#: A product of columns over another, and the range of its median. In 4FGL the relative error of a flux is about 1.4
#: over the significance, and 99 % of the sources have 0.8 to 3.3 in place of 1.4.
_RATIOS = (
    (("Signif_Avg", "Unc_Flux1000"), "Flux1000", 0.6, 4.0),
    (("Signif_Avg", "Unc_Energy_Flux100"), "Energy_Flux100", 0.6, 4.0),
    (("Unc_LP_Index",), "LP_Index", 0.0, 0.7),
    (("Unc_PL_Index",), "PL_Index", 0.0, 0.7),
)

_SOME = 5  # fewer sources than this tell no relation of two columns


def stranger(table: Any, shown: str, kept: Collection[str] = ()) -> tuple[Table, list[str]]:
    """Return the table, or frame, of somebody else in plain columns and usual forms, and sentences on what was done.

    Units in names of known columns, but for `kept` ones, are those of the columns, and numbers for missing values are
    missing. Raises CatalogError as :func:`in_usual_form`.
    """
    plain = with_units_of_names(plain_table(table), kept)
    done = in_usual_form(plain, shown)
    take_marks_as_missing(plain, shown)
    return plain, done


def in_usual_form(table: Table, shown: str) -> list[str]:
    """Turn the forms of published tables into columns X, Unc_X and X_UL, in place; return sentences on what was done.

    - A text ``<1.5e-13`` in a column of numbers, or a number beside ``<`` in a column l_X, is an upper limit.
    - Two-sided errors, such as X_pos and X_neg, become their mean absolute value.
    - Of ``Unc_Flux_Band_1`` to ``_16`` (lower and upper errors of eight bands, flattened; or 14 of seven) the upper
      ones are taken. Raises CatalogError for other numbers, but one a band.
    - A value with an infinite error is not known.
    """
    return [*_limits(table), *_two_sided(table), *_flattened(table, shown), *_endless(table)]


def _limits(table: Table) -> Iterator[str]:
    there = {name.lower(): name for name in table.colnames}
    for name in table.colnames:
        flag = there.get(f"l_{name.lower()}")
        if name == flag or name not in table.colnames or table[name].ndim > 1:  # a flag that is gone
            continue
        column = table[name]
        words = texts(column).tolist() if column.dtype.kind == "U" else []
        signs = texts(table[flag]) if flag is not None and table[flag].dtype.kind == "U" else np.array(["none"])
        if np.isin(signs, ("", "<", ">", "≤")).all():
            table.remove_column(flag)
        elif "<" in (found := ["<" * bool(_LIMIT.match(word)) for word in words]):
            signs = np.array(found)
        else:
            continue
        try:
            values = numbers(np.array([_LIMIT.sub("", word) for word in words]) if words else np.asarray(column))
        except ValueError:  # a text that means something else
            continue
        below = np.isin(signs, ("<", "≤"))
        set_values(table, name, np.where(signs == "", values, np.nan))
        if below.any():
            _add(table, f"{name}_UL", np.where(below, values, np.nan), column.unit)
            yield f"{name}: {below.sum()} upper limits"


def _two_sided(table: Table) -> Iterator[str]:
    there = {name.lower(): name for name in table.colnames}
    for name in list(table.colnames):
        for up, down in _TWO_SIDED:
            pair = [there.get(name.lower() + side) for side in (up, down)]
            if None not in pair and error_of(name, there) is None:
                sides = np.array([numbers(np.asarray(table[each])) for each in pair])
                unit = table[pair[0]].unit or table[name].unit
                table.remove_columns(pair)
                _add(table, f"Unc_{name}", np.abs(sides).mean(axis=0), unit)
                yield f"Unc_{name}: mean of {pair[0]} and {pair[1]}"


def _flattened(table: Table, shown: str) -> Iterator[str]:
    found = {int(match[1]): name for name in table.colnames if (match := _BAND_ERROR.fullmatch(name))}
    if not found or max(found) <= 8:
        return
    if len(found) != max(found) or max(found) not in (14, 16):
        raise CatalogError(
            f"{shown} has errors of {len(found)} bands, {found[min(found)]} to {found[max(found)]}: expected 8, or 16 "
            "with the lower and the upper error of each band. Rename or remove them."
        )
    table.remove_columns([name for number, name in found.items() if number % 2])
    for band in range(1, len(found) // 2 + 1):
        table.rename_column(found[2 * band], f"Unc_Flux_Band_{band}")
    yield f"Unc_Flux_Band: upper errors, of {len(found)} columns"


def _endless(table: Table) -> Iterator[str]:
    there = {name.lower(): name for name in table.colnames}
    for name in table.colnames:
        error = error_of(name, there)
        if error is None or {table[name].dtype.kind, table[error].dtype.kind} != {"f"}:
            continue
        endless = np.isinf(np.asarray(table[error]))
        if endless.any() and table[name].shape == endless.shape:
            for each in (name, error):
                set_values(table, each, np.where(endless, np.nan, table[each]))
            yield f"{name}: {endless.sum()} with infinite errors are not known"


def _add(table: Table, name: str, values: FloatArray, unit: Any) -> None:
    if name not in table.colnames:
        table[name] = plain_column(values, unit, None, None)


def take_implausible_as_missing(table: Table, source: str) -> NDArray[np.bool_]:
    """Take implausible values of sources that are in no catalogue as missing, in place; return their rows, ``(N,)``.

    A column with an implausible median goes as a whole: its unit, or its sign, is in doubt. A single value is
    implausible at ten times the highest usual median, and at half the lowest one (or 1 below it, if it may be
    negative). A value with an error above the range, and values of :data:`_RELATED` columns that contradict each
    other, are not known. Warns with CatalogWarning for each such column.
    """
    in_doubt = np.zeros(len(table), bool)
    for name in sorted((name for name in table.colnames if name in EXPECTED), key=lambda name: "_UL" in name):
        values, expected = that_count(table, name), EXPECTED[name]
        least = max(expected.least, 0.5 * expected.low if expected.positive else expected.low - 1.0)
        most = min(expected.most, 10.0 * expected.high)
        usable = np.isfinite(values)
        odd = usable & ((values < least) | (values > most))
        of = name.removeprefix("Unc_")
        lost = usable & (values > most)  # an error bar that is too long says that nothing is known
        if of != name and of in table.colnames and lost.any() and table[of].shape == lost.shape:
            set_values(table, of, np.where(lost, np.nan, table[of]))
        if values.ndim == 1 and usable.sum() >= FEW:
            odd |= usable & (not expected.low <= float(np.median(values[usable])) <= expected.high)
        if np.any(odd):
            rows = odd.reshape(len(table), -1).any(axis=1)
            in_doubt |= rows
            unit = f" {expected.unit}" * bool(expected.unit)
            warn(
                f"{source}: column {name} is implausible for {count_sources(int(rows.sum()))}, such as "
                f"{values[odd].flat[0]:.3g}{unit}: taken as not known. Check its unit and its sign"
            )
            set_values(table, name, np.where(odd, np.nan, table[name]))
    for one, other, told, least, most, start in (each for each in _RELATED if {*each[:2]} <= {*table.colnames}):
        values, others = (np.asarray(table[name], np.float64) for name in (one, other))
        with np.errstate(invalid="ignore"):
            should_be = told(others)
            odd = ((values < least * should_be) | (values > most * should_be)) & (np.maximum(values, should_be) > start)
        if np.any(odd):
            in_doubt |= odd
            warn(
                f"{source}: {one} and {other} contradict each other for {count_sources(int(odd.sum()))}, such as "
                f"{values[odd][0]:.3g} and {others[odd][0]:.3g}: both are taken as not known. Check what they are"
            )
            for name in {one, other, f"{one}_UL", f"{other}_UL"} & {*table.colnames}:
                set_values(table, name, np.where(odd, np.nan, table[name]))
    return in_doubt


def warn_of_ratios(table: Table, source: str) -> None:
    """Warn where columns of sources that are in no catalogue do not fit each other, such as errors that are values."""
    for names, of, low, high in _RATIOS:
        if {*names, of} <= {*table.colnames}:
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = np.abs(np.prod([np.asarray(table[name], float) for name in names], axis=0) / table[of])
            ratio = ratio[np.isfinite(ratio)]
            if len(ratio) >= _SOME and not low <= (middle := np.median(ratio)) <= high:
                what = f"the median of {' · '.join(names)} / {of} is {middle:.2g}, expected {low:g} to {high:g}"
                warn(f"{source}: columns do not fit each other: {what}. Check which is which")
