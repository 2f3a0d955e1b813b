"""Parquet: tables with units, descriptions, UCDs and metadata as astropy writes them."""

from __future__ import annotations

import io
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from astropy.table import Table
from astropy.table.meta import get_header_from_yaml, get_yaml_from_table
from numpy.typing import NDArray

from fermiclass.io.plain import check_dimensions, plain_column, rows_of_numbers, text_of

if TYPE_CHECKING:
    import pyarrow as pa

_ASTROPY = b"table_meta_yaml"  # the entry of the schema in which astropy describes a table


def to_parquet(table: Table) -> bytes:
    """Return a plain table as a Parquet file."""
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    pq.write_table(arrow_table(table, arrow_schema(table)), stream)
    return stream.getvalue()


def from_parquet(content: bytes) -> Table:
    """Return the table of a Parquet file as a plain table, with metadata if fermiclass or astropy wrote it."""
    import pyarrow.parquet as pq

    stored = with_nulls(pq.ParquetFile(io.BytesIO(content)).read())
    stored = stored.drop_columns(masked_names(stored.schema.names, stored.schema))
    header = (stored.schema.metadata or {}).get(_ASTROPY, b"").decode("utf-8", "replace")
    described = get_header_from_yaml(header.splitlines()) if header else {"datatype": []}
    columns = {column["name"]: column for column in described["datatype"]}
    table = Table(meta=described.get("meta"))
    for name, values in zip(stored.column_names, stored.columns, strict=True):
        about = columns.get(name, {})
        ucd = about.get("meta", {}).get("ucd")
        table[name] = plain_column(_values(values), about.get("unit"), about.get("description"), ucd)
    return table


def arrow_table(table: Table, schema: pa.Schema) -> pa.Table:
    """Return a plain table as an Arrow table of a schema that :func:`arrow_schema` made."""
    import pyarrow as pa

    columns = {field.name: np.asarray(table[field.name]) for field in schema}
    arrays = [
        pa.array(values.tolist(), pa.string()) if values.dtype.kind == "U" else pa.array(values)
        for values in columns.values()
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def arrow_schema(table: Table) -> pa.Schema:
    """Return types, units, descriptions, UCDs and metadata of a plain table."""
    import pyarrow as pa

    fields, about = [], {_ASTROPY: "\n".join(get_yaml_from_table(table))}
    for name in check_dimensions(table, 1).colnames:
        dtype = table[name].dtype
        fields.append(pa.field(name, pa.string() if dtype.kind == "U" else pa.from_numpy_dtype(dtype)))
        if dtype.kind == "U":  # without the widths of texts astropy warns
            about[f"table::len::{name}".encode()] = str(max(dtype.itemsize // 4, 1))
    return pa.schema(fields, metadata=about)


def masked_names(names: Collection[str], schema: pa.Schema) -> list[str]:
    """Return the columns NAME.mask in which astropy says where values of the columns NAME are missing."""
    import pyarrow as pa

    masks = [f"{name}.mask" for name in names if f"{name}.mask" in schema.names]
    return [mask for mask in masks if pa.types.is_boolean(schema.field(mask).type)]


def with_nulls(stored: pa.Table) -> pa.Table:
    """Return a table with nulls where astropy's columns NAME.mask are true."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for mask in masked_names(stored.schema.names, stored.schema):
        place = stored.schema.get_field_index(mask.removesuffix(".mask"))
        values = without_dictionary(stored.column(place))
        values = pc.if_else(pc.fill_null(stored[mask], True), pa.scalar(None, values.type), values)
        stored = stored.set_column(place, stored.schema.field(place).with_type(values.type), values)
    return stored


def without_dictionary(values: Any) -> Any:
    """Return an Arrow column with its values themselves, where it holds indices of a dictionary of values."""
    import pyarrow as pa

    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _values(values: Any) -> NDArray[Any]:
    """Return a column's numbers, or its texts. A missing number is NaN, a missing text is empty."""
    import pyarrow as pa

    values = without_dictionary(values)
    kind = values.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return rows_of_numbers(values.to_pylist())
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return np.asarray(values.to_numpy())  # integers with gaps become float64
    return np.array([text_of(value) for value in values.to_pylist()], dtype=str)
