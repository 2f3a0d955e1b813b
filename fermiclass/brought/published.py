"""Forms of published tables: limits as text or with a flag, two-sided errors, arrays as one column for each number."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from astropy.table import Table

from fermiclass.brought.column_names import error_of, with_units_of_names
from fermiclass.catalog.plausibility import set_values, take_marks_as_missing
from fermiclass.errors import CatalogError
from fermiclass.io import FloatArray
from fermiclass.io.plain import numbers, plain_column, plain_table, texts

_LIMIT = re.compile(r"[<≤]\s*(?=[+.\d])")
_TWO_SIDED = (("_pos", "_neg"), ("_errp", "_errn"), ("_err_pos", "_err_neg"), ("_upper_error", "_lower_error"))
_BAND_ERROR = re.compile(r"unc_flux_band_(\d+)", re.IGNORECASE)


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
