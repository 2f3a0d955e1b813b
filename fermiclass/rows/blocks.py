"""Checks of blocks of rows against the columns of the table that is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermiclass.errors import OutputError
from fermiclass.io.plain import plain_value

if TYPE_CHECKING:
    from astropy.table import Column, Table


def empty_like(template: Table) -> Table:
    """Return the template without rows, with plain columns and metadata.

    Raises
    ------
    OutputError
        If a column does not hold one bool, int, float or text a row.
    """
    from astropy.table import Column, Table

    empty = Table(meta={str(key): plain_value(value) for key, value in template.meta.items()})
    for name in template.colnames:
        column = template[name]
        kind = column.dtype.kind
        if kind not in "biufUS" or column.shape[1:]:
            raise OutputError(f"the column '{name}' holds {column.dtype}; expected bool, int, float or text, one a row")
        width = column.dtype.itemsize // (1 if kind == "S" else 4)
        dtype = f"<U{max(width, 1)}" if kind in "US" else column.dtype.newbyteorder("=")
        about = {key: str(text) for key, text in (column.info.meta or {}).items() if key == "ucd"}
        empty[name] = Column(np.empty(0, dtype), unit=column.info.unit, description=column.info.description, meta=about)
    return empty


def filled(empty: Table, block: Mapping[str, ArrayLike] | Table) -> Table:
    """Return a table like `empty` with the rows of `block`.

    Raises
    ------
    OutputError
        If the block has other columns, or its values do not fit into the columns.
    """
    from astropy.table import Table

    names = set(block.keys())
    if names != set(empty.colnames):
        missing, more = sorted(set(empty.colnames) - names), sorted(names - set(empty.colnames))
        what = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has also {', '.join(more)}"] * bool(more)
        raise OutputError(f"a block of rows {' and '.join(what)}; expected the columns {', '.join(empty.colnames)}")
    arrays = {name: _unmasked(block[name]) for name in empty.colnames}
    if len({values.size for values in arrays.values()}) > 1:
        found = ", ".join(f"{name} {values.size}" for name, values in arrays.items())
        raise OutputError(f"a block has columns of different lengths: {found}")
    rows = Table(meta=empty.meta)
    for name, values in arrays.items():
        dtype = empty[name].dtype
        if values.dtype.kind == "S":
            values = np.char.decode(values, "ascii", "replace")
        if values.ndim != 1 or not _can_hold(dtype, values):
            raise OutputError(
                f"a block holds {values.dtype} of shape {values.shape} in column '{name}'; expected {dtype}, one a row"
            )
        rows[name] = column_like(empty[name], values if dtype.kind == "U" else values.astype(dtype))
    return rows


def _unmasked(values: Any) -> NDArray[Any]:
    """Return the values, '' or NaN where they are masked."""
    mask, data = np.ma.getmaskarray(values), np.asarray(np.ma.getdata(values))
    if not mask.any():
        return data
    return np.where(mask, "", data) if data.dtype.kind in "US" else np.where(mask, np.nan, data)


def _can_hold(dtype: np.dtype[Any], values: NDArray[Any]) -> bool:
    if "U" in (dtype.kind, values.dtype.kind):
        return dtype.kind == values.dtype.kind
    if not np.can_cast(values.dtype, dtype, "same_kind"):
        return False
    return dtype.kind not in "iu" or np.array_equal(values.astype(dtype), values)


def column_like(column: Column, values: NDArray[Any]) -> Column:
    """Return a column with the unit, description and UCD of another."""
    from astropy.table import Column

    return Column(values, unit=column.unit, description=column.description, meta=column.meta)
