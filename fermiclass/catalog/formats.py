"""Catalogues that other tools wrote: VOTable and Parquet."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.io.arrays import FloatArray
from fermiclass.io.parquet_tables import decoded, open_parquet, with_nulls, without_dictionary
from fermiclass.io.votables import parse_votable

if TYPE_CHECKING:
    from astropy.table import Table

_PARQUET = b"PAR1"
_NUMBERED = re.compile(r"(.*_Band)_(\d+)")


def is_votable(content: bytes) -> bool:
    """Return whether a file is an XML file with an element VOTABLE near its beginning."""
    start = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    return start.startswith(b"<") and re.search(rb"<(\w+:)?VOTABLE\b", start) is not None


def is_parquet(content: bytes) -> bool:
    """Return whether a file begins like a Parquet file."""
    return content.startswith(_PARQUET)


def from_votable(content: bytes) -> tuple[Table, dict[str, Any]]:
    """Return the table with Source_Name, or else the first, and all PARAM and INFO by their names in upper case.

    Raises
    ------
    ValueError
        When there is no table.
    Exception
        Any error of :func:`fermiclass.io.votables.parse_votable`.
    """
    from astropy.utils.exceptions import AstropyWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AstropyWarning)
        file = parse_votable(content)
        tables = list(file.iter_tables())
        if not tables:
            raise ValueError("it holds no table")
        named = [table for table in tables if any(field.name == "Source_Name" for field in table.fields)]
        element = (named or tables)[0]
        table = element.to_table(use_names_over_ids=True)
    about = [*file.infos, *(item for resource in file.resources for item in (*resource.params, *resource.infos))]
    header = {str(item.name).upper(): item.value for item in (*about, *element.params, *element.infos)}
    return _whole(table), header


def from_parquet(content: bytes) -> tuple[Table, dict[str, Any]]:
    """Return the table and the schema's metadata. Units and descriptions are kept if fermiclass or astropy wrote them.

    Raises
    ------
    Exception
        Any error of the parser.
    """
    from astropy.table import Column, Table

    stored = with_nulls(open_parquet(content).read())
    metadata = decoded(stored.schema.metadata)
    by_astropy = _astropy_columns(metadata.get("table_meta_yaml", ""))
    table = Table()
    for field, values in zip(stored.schema, stored.columns, strict=True):
        about = by_astropy.get(field.name, {}) | decoded(field.metadata)
        ucd = {"ucd": about["ucd"]} if about.get("ucd") else {}
        data = _numbers(values.to_pylist()) if _is_nested(field.type) else _plain(values)
        table[field.name] = Column(data, unit=about.get("unit"), description=about.get("description"), meta=ucd)
    return _whole(table), {key.upper(): text for key, text in metadata.items()}


def _astropy_columns(header: str) -> dict[str, dict[str, str]]:
    """Return unit and description of each column from the YAML that astropy puts into its Parquet files."""
    from astropy.table.meta import get_header_from_yaml

    if not header:
        return {}
    columns = get_header_from_yaml(header.splitlines())["datatype"]
    return {column["name"]: {k: str(column[k]) for k in ("unit", "description") if k in column} for column in columns}


def _is_nested(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _plain(values: Any) -> NDArray[Any]:
    """Return a column's numbers, or its texts. A missing number is NaN, a missing text is empty."""
    import pyarrow as pa

    values = without_dictionary(values)
    kind = values.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return np.asarray(values.to_numpy())  # integers with gaps become float64
    return np.array([_text(value) for value in values.to_pylist()], dtype=str)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _whole(table: Table) -> Table:
    """Turn columns of objects into texts or arrays, and the columns X_Band_1 ... X_Band_n into one column X_Band."""
    from astropy.table import Column

    for name in table.colnames:
        column = table[name]
        if column.dtype.kind == "O":
            values, mask = np.ma.getdata(column), np.ma.getmaskarray(column)
            items = [None if np.all(gone) else value for value, gone in zip(values, mask, strict=True)]
            texts = all(item is None or isinstance(item, str | bytes) for item in items)
            data = np.array([_text(item) for item in items], dtype=str) if texts else _numbers(items)
            table[name] = Column(data, unit=column.unit, description=column.description, meta=column.meta)
    bands: dict[str, list[tuple[int, str]]] = {}
    for name in table.colnames:
        if found := _NUMBERED.fullmatch(name):
            bands.setdefault(found[1], []).append((int(found[2]), name))
    for name, members in bands.items():
        numbers, names = zip(*sorted(members), strict=True)
        if name not in table.colnames and numbers == tuple(range(1, len(numbers) + 1)):
            parts = [np.ma.filled(np.ma.asarray(table[part]).astype(np.float64), np.nan) for part in names]
            unit = table[names[0]].unit
            table[name] = Column(np.stack(parts, axis=1), unit=unit)
            table.remove_columns(list(names))
    return table


def _numbers(items: Iterable[Any]) -> FloatArray:
    """Return lists of numbers as the rows of an array. Shorter lists end in NaN.

    Raises
    ------
    ValueError
        When an item is not a number.
    """
    rows = [np.ravel(np.array([] if item is None else _filled(item), dtype=np.float64)) for item in items]
    filled = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for row, numbers in zip(filled, rows, strict=True):
        row[: len(numbers)] = numbers
    return filled


def _filled(item: Any) -> Any:
    if isinstance(item, list | tuple):
        return [np.nan if part is None else _filled(part) if isinstance(part, list) else part for part in item]
    return np.ma.filled(np.ma.asarray(item).astype(np.float64), np.nan)
