"""Parquet: tables with units, descriptions and UCDs in the metadata of the columns."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.io.inputs import check_regular
from fermiclass.io.plain import check_dimensions, plain_column

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from astropy.table import Table

_META_KEY = "fermiclass"

# A few bytes of Parquet can stand for any number of rows, and one text for many. Decoded data may take so many times
# the size of their file, or less than `_SMALL`.
_MOST_RATIO = 100
_SMALL = 256 << 20
_MOST_TEXT = 1 << 30  # bytes of a column's texts, each as wide as the longest
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": 16}


def to_parquet(table: Table) -> bytes:
    """Return a plain table as a Parquet file."""
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    schema = arrow_schema(table)
    texts = [name for name in table.colnames if table[name].dtype.kind == "U"]
    # Without the widths of texts astropy warns.
    widths = {f"table::len::{name}".encode(): str(table[name].dtype.itemsize // 4).encode() for name in texts}
    pq.write_table(arrow_table(table, schema.with_metadata({**schema.metadata, **widths})), stream)
    return stream.getvalue()


def from_parquet(content: bytes) -> Table:
    """Return the table of a Parquet file that :func:`to_parquet` made."""
    from astropy.table import Table

    stored = open_parquet(content).read()
    table = Table(meta=json.loads(decoded(stored.schema.metadata).get(_META_KEY, "{}")))
    for field, array in zip(stored.schema, stored.columns, strict=True):
        about = decoded(field.metadata)
        data = without_dictionary(array).to_numpy()
        data = data.astype(str) if data.dtype.kind == "O" else data
        table[field.name] = plain_column(data, about.get("unit"), about.get("description"), about.get("ucd"))
    return table


def open_parquet(source: bytes | Path, columns: Collection[str] | None = None) -> pq.ParquetFile:
    """Open a Parquet file whose row groups are not far larger than the file. Texts will be indices of a dictionary.

    Parameters
    ----------
    source
        The bytes of a file, or its path.
    columns
        The columns that will be read, one row group at a time; None for all at once.

    Raises
    ------
    ValueError
        When the data would take far more memory than the file, or a column holds lists of texts.
    Exception
        Any error of pyarrow.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not isinstance(source, bytes):
        check_regular(source)
    opened = pq.ParquetFile(io.BytesIO(source) if isinstance(source, bytes) else source)
    chosen = [field for field in opened.schema_arrow if columns is None or field.name in columns]
    whole = [field.name for field in chosen]
    nested = tuple(f"{field.name}." for field in chosen if pa.types.is_nested(field.type))
    sizes = [0] * opened.num_row_groups
    for number in range(len(opened.schema)):
        column = opened.schema.column(number)
        if column.path not in whole and not column.path.startswith(nested):
            continue
        if column.physical_type == "BYTE_ARRAY" and column.path not in whole:
            raise ValueError(
                f"column {column.path.partition('.')[0]} holds lists of texts; expected one text for each row"
            )
        width = _WIDTHS.get(column.physical_type, column.length)
        for group in range(opened.num_row_groups):
            about = opened.metadata.row_group(group).column(number)
            sizes[group] += max(about.total_uncompressed_size, about.num_values * width)
    stored = len(source) if isinstance(source, bytes) else source.stat().st_size
    decoded_size = sum(sizes) if columns is None else max(sizes, default=0)
    if decoded_size > max(_SMALL, _MOST_RATIO * stored):
        raise ValueError(f"its data take {decoded_size:,} bytes, more than {_MOST_RATIO} times the size of the file")
    texts = [field.name for field in chosen if _is_text(field.type)]
    return pq.ParquetFile(
        io.BytesIO(source) if isinstance(source, bytes) else source, metadata=opened.metadata, read_dictionary=texts
    )


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(check(kind) for check in checks)


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

    fields = []
    for name in check_dimensions(table, 1).colnames:
        column = table[name]
        kind = pa.string() if column.dtype.kind == "U" else pa.from_numpy_dtype(column.dtype)
        about = {"unit": column.unit, "description": column.description, "ucd": column.meta.get("ucd")}
        fields.append(pa.field(name, kind, metadata={key: str(text) for key, text in about.items() if text}))
    return pa.schema(fields, metadata={_META_KEY: json.dumps(table.meta), **_astropy_metadata(table)})


def _astropy_metadata(table: Table) -> dict[str, str]:
    """Return the entry from which astropy's ``Table.read`` takes units, descriptions and UCDs."""
    from astropy.table.meta import get_yaml_from_table

    bare = table.copy(copy_data=False)
    bare.meta.clear()
    return {"table_meta_yaml": "\n".join(get_yaml_from_table(bare))}


def decoded(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    """Return the metadata of a Parquet schema or column as text."""
    return {key.decode("utf-8", "replace"): text.decode("utf-8", "replace") for key, text in (metadata or {}).items()}


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
    """Return an Arrow column with its values themselves, where it holds indices of a dictionary of values.

    Raises
    ------
    ValueError
        When texts would take far more memory than in the dictionary.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(values.type):
        return values
    kind = values.type.value_type
    if _is_text(kind):
        longest = max((pc.max(pc.binary_length(part.dictionary)).as_py() or 0 for part in values.chunks), default=0)
        if longest * len(values) > _MOST_TEXT:
            raise ValueError(f"texts of {longest:,} bytes in a column of {len(values):,} rows do not fit into memory")
    return values.cast(kind)
