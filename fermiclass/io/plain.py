"""Plain tables: columns of bool, int, float and text, and metadata of Python's own types."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from astropy.table import Column, Table


def plain_table(table: Table) -> Table:
    """Copy a table to columns of bool, int, float and str without masks, and metadata of plain Python types.

    Raises
    ------
    TypeError
        If a column holds anything else.
    """
    from astropy.table import Table

    plain = Table(meta={str(key): plain_value(value) for key, value in table.meta.items()})
    for name in table.colnames:
        column = table[name]
        data, mask = np.asarray(np.ma.getdata(column)), np.ma.getmaskarray(column)
        if data.dtype.kind == "S":
            data = np.char.decode(data, "utf-8")
        elif data.dtype.kind == "O":
            data = np.array(["" if item is None else str(item) for item in data.ravel()], dtype=str).reshape(data.shape)
        if mask.any():
            data = np.where(mask, "", data) if data.dtype.kind == "U" else np.where(mask, np.nan, data)
        if data.dtype.kind not in "biufU":
            raise TypeError(f"column '{name}' is of type {data.dtype}, not bool, int, float or text")
        data = data.astype(data.dtype.newbyteorder("="))
        ucd = column.info.meta.get("ucd") if column.info.meta else None
        plain[name] = plain_column(data, column.info.unit, column.info.description, ucd)
    return plain


def plain_column(data: Any, unit: Any, description: str | None, ucd: str | None) -> Column:
    """Return a column with its unit parsed and its UCD in ``column.meta``."""
    from astropy.table import Column
    from astropy.units import Unit

    parsed = Unit(unit, parse_strict="silent") if unit else None
    return Column(data, unit=parsed, description=description, meta={"ucd": str(ucd)} if ucd else {})


def plain_value(value: Any) -> Any:
    """Turn numpy scalars, arrays, tuples and mappings into types that JSON, YAML and FITS can hold."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_value(item) for item in (sorted(value) if isinstance(value, set | frozenset) else value)]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def flat_value(value: Any) -> bool | int | float | str:
    """Turn a metadata value into one scalar. NaN and infinity become text, because FITS has neither."""
    if isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
        return ",".join(str(item) for item in value)
    if isinstance(value, list | dict):
        return json.dumps(value)
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def check_dimensions(table: Table, most: int) -> Table:
    """Return the table, or raise ValueError if a column has more than `most` dimensions."""
    for name in table.colnames:
        if table[name].ndim > most:
            raise ValueError(f"column '{name}' has {table[name].shape[1:]} numbers a row")
    return table
