"""Plain tables: columns of bool, int, float and text, and metadata of Python's own types."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from importlib.metadata import PackageNotFoundError, version
from numbers import Real
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from astropy.table import Column, Table
from astropy.units import Unit, UnrecognizedUnit
from numpy.typing import NDArray

from fermiclass.errors import require

EMPTY = ("", "-", "--", "nan", "na", "n/a", "#n/a", "<na>", "none", "null", "*")  #: Texts of no value.


def plain_table(table: Table) -> Table:
    """Copy a table or frame to columns of bool, int, float and str without masks, and plain metadata; or TypeError."""
    table = table if isinstance(table, Table) else from_frame(table)
    plain = Table(meta={str(key): plain_value(value) for key, value in table.meta.items()})
    for name in table.colnames:
        column = table[name]
        data = _plain_data(column)
        if data.dtype.kind not in "biufU":
            raise TypeError(f"column '{name}' is of type {data.dtype}, not bool, int, float or text")
        about = column.info
        plain[name] = plain_column(data, about.unit, about.description, (about.meta or {}).get("ucd"))
    return plain


def from_frame(frame: Any) -> Table:
    """Return a frame of pandas as a table, with the named levels of its index; an index of texts is that of names."""
    if not hasattr(frame, "set_axis"):
        require(Table, table=frame)
    frame = frame.set_axis([*map(str, frame.columns)], axis=1)
    if frame.index.names == [None] and frame.index.inferred_type == "string":
        frame = frame.rename_axis("name")
    levels = [name for name in frame.index.names if name not in (None, *frame)]
    return Table.from_pandas(frame.reset_index(levels) if levels else frame)


def _plain_data(column: Any) -> NDArray[Any]:
    """Return the values in native byte order: a missing number is NaN, a missing text is empty."""
    data, mask = np.asarray(np.ma.getdata(column)), np.ma.getmaskarray(column)
    if data.dtype.kind == "O":
        items = [None if np.all(gone) else item for item, gone in zip(data, mask, strict=True)]
        if any(isinstance(item, list | np.ndarray) for item in items):
            return rows_of_numbers(items)
        return np.array([text_of(item) for item in items], dtype=str)
    if data.dtype.kind == "S":
        try:
            data = data.astype(str)  # ASCII, ten times faster
        except UnicodeDecodeError:
            data = np.char.decode(data, "utf-8", "replace")
    if mask.any():
        data = np.where(mask, "" if data.dtype.kind == "U" else np.nan, data)
    return data.astype(data.dtype.newbyteorder("="))


def rows_of_numbers(items: list[Any]) -> NDArray[np.float64]:
    """Return lists of numbers as the rows of an array. Shorter lists end in NaN, and None is NaN."""
    rows = [np.ravel(np.ma.filled(np.ma.asarray([] if x is None else x).astype(np.float64), np.nan)) for x in items]
    filled = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for row, numbers in zip(filled, rows, strict=True):
        row[: len(numbers)] = numbers
    return filled


def text_of(item: Any) -> str:
    """Return an item of a column of objects as text, empty where it is missing."""
    if item is None:
        return ""
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)


def texts(column: Any) -> NDArray[np.str_]:
    """Return a column as texts without blanks at their ends, empty where they stand for nothing."""
    data = np.char.strip(np.asarray(column).astype(str))
    return np.where(np.isin(np.char.lower(data), EMPTY), "", data)


def numbers(data: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers, or texts of numbers, in double precision, NaN for an empty one. Raises ValueError for others."""
    if data.dtype.kind == "U":
        data = np.where(np.isin(np.char.lower(np.char.strip(data)), EMPTY), "nan", np.char.replace(data, "−", "-"))
    return np.array(data.tolist() if data.dtype.kind == "U" else data, np.float64)


def plain_column(data: Any, unit: Any, description: str | None, ucd: str | None) -> Column:
    """Return a column with its unit parsed and its UCD in ``column.meta``."""
    given = str(unit) if isinstance(unit, UnrecognizedUnit) else unit  # FITS has no "%" and no hour angle, astropy has
    parsed = Unit(given, parse_strict="silent") if given else None
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


def typed(kind: Any, value: Any, name: str = "it") -> Any:
    """Return a value of JSON as a type: text, number, mapping, tuple, union, dataclass; or ValueError, TypeError."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any or (isinstance(kind, type) and is_dataclass(kind) and isinstance(value, kind)):
        return value
    if origin is UnionType:
        for each in inner:
            with suppress(ValueError):
                return typed(each, value, name)
    elif is_dataclass(kind) and isinstance(value, Mapping):
        kinds = get_type_hints(kind)
        return kind(**{each: typed(kinds.get(each, Any), content, each) for each, content in value.items()})  # type: ignore[operator]
    elif origin in (Mapping, dict) and isinstance(value, Mapping):
        return {key: typed(inner[1], content, f"{name}[{key!r}]") for key, content in value.items()}
    elif origin in (tuple, list) and isinstance(value, tuple | list):
        return origin(typed(inner[0], content, f"{name}[{place}]") for place, content in enumerate(value))
    elif kind is float:
        with suppress(OverflowError):  # a whole number beyond all floats
            if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
                return float(value)
    elif kind is type(value):
        return value
    raise ValueError(
        f"{name}={value!r} is not valid: expected {getattr(kind, '__name__', kind)}".replace("collections.abc.", "")
    )


def check_dimensions(table: Table, most: int) -> Table:
    """Return the table, or raise ValueError if a column has more than `most` dimensions."""
    for name in table.colnames:
        if table[name].ndim > most:
            raise ValueError(f"column '{name}' has {table[name].shape[1:]} numbers a row")
    return table


def the_table(tables: Sequence[Any], names: Sequence[Collection[str]], columns: Collection[str]) -> Any:
    """Return the one of several tables, with `names` of columns, that has some columns, or else the first.

    Raises ValueError when there is none, or several have the columns.
    """
    fitting = [table for table, there in zip(tables, names, strict=True) if set(columns) <= set(there)]
    if not tables:
        raise ValueError("it has no table")
    if columns and len(fitting) > 1:
        raise ValueError(f"it has {len(fitting)} tables with the columns {', '.join(columns)}: keep only one of them")
    return (fitting or tables)[0]


#: The packages on which the predictions of a model depend.
MODEL_PACKAGES = ("fermiclass", "tensorflow", "numpy", "astropy")


def versions(packages: Iterable[str] = MODEL_PACKAGES) -> dict[str, str]:
    """Return versions by the name of the package, or 'python'. Packages that are not installed are left out."""
    found = {}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = platform.python_version() if name == "python" else version(name)
    return found
