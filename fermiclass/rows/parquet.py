"""Rows from Parquet files, and Parquet files that are written a block of rows at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import OutputError, RowsError, in_one_line
from fermiclass.io.files import atomic_file, check_place, os_errors_as_output_errors
from fermiclass.io.parquet_tables import arrow_schema, arrow_table, masked_names, with_nulls, without_dictionary
from fermiclass.rows.chunk import Chunk, TableRows, join, stamp_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds
    from astropy.table import Table

_ROW_GROUP = 65536  # largest number of rows that are written as a row group; a reader reads a whole one


class ParquetRows(TableRows):
    """Rows of a Parquet file, or of a folder of such files in the order of their names.

    They are read in whole row groups, of the columns in use. The last group is kept, so the memory is that of the
    largest one. Groups of some ten thousand rows, which the program that writes the file makes, are best for shuffling.
    """

    @staticmethod
    def names_in(path: Path, hdu: int | str) -> list[str]:
        """Return the names of the columns."""
        return list(_fragments(path)[0].physical_schema.names)

    def _open(self, path: Path, hdu: int | str) -> None:
        self._last: tuple[int, Chunk] | None = None
        self._lock = Lock()  # a background thread may read ahead while another thread reads
        fragments = _fragments(path)
        self._stamps = {Path(fragment.path): stamp_of(Path(fragment.path)) for fragment in fragments}
        for fragment in fragments:
            schema = fragment.physical_schema
            self.columns.check(schema.names, partial(_is_number, schema), fragment.path)
        self._groups = [group for fragment in fragments for group in fragment.split_by_row_group()]
        sizes = [group.row_groups[0].num_rows for group in self._groups]
        self.block_edges = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self.num_rows = int(self.block_edges[-1])
        self._nothing = self._chunk_of(schema.empty_table(), 0)

    def _read(self, start: int, stop: int) -> Chunk:
        parts = [self._nothing]
        after, last = np.searchsorted(self.block_edges, (start + 1, stop))
        for block in range(after - 1, last):
            edge = int(self.block_edges[block])
            parts.append(self._block(block).take(slice(max(start - edge, 0), stop - edge)))
        return join(parts)

    def _block(self, block: int) -> Chunk:
        with self._lock:
            if self._last is None or self._last[0] != block:
                self._last = None  # two blocks are never in memory
                self._last = block, self._read_block(block)
            return self._last[1]

    def _read_block(self, block: int) -> Chunk:
        group, names = self._groups[block], self.columns.names
        with _errors_as_rows_errors(group.path):
            masks = masked_names(names, group.physical_schema)
            table = with_nulls(group.to_table(columns=list(dict.fromkeys([*names, *masks]))))
            return self._chunk_of(table, int(self.block_edges[block]))

    def _chunk_of(self, table: pa.Table, start: int) -> Chunk:
        import pyarrow as pa

        def column(name: str) -> NDArray[Any]:
            values = without_dictionary(table[name])
            if pa.types.is_decimal(values.type):
                values = values.cast(pa.float64(), safe=False)
            if any(check(values.type) for check in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)):
                return values.cast(pa.string()).fill_null("").to_numpy().astype(str)
            return np.asarray(values.to_numpy())

        return self._chunk(column, start)


def _is_number(schema: pa.Schema, name: str) -> bool:
    import pyarrow as pa

    kind = schema.field(name).type
    checks = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
    return any(check(kind) for check in checks)


def _fragments(path: Path) -> list[ds.ParquetFileFragment]:
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.glob("*.parquet") if not file.name.startswith((".", "_")))
    if not files:
        raise RowsError(f"the folder '{path}' has no file that ends in .parquet. Give another folder, or one file.")
    fragments = [ds.ParquetFileFormat().make_fragment(str(file), LocalFileSystem()) for file in files]
    for fragment in fragments:
        with _errors_as_rows_errors(fragment.path):
            fragment.ensure_complete_metadata()
    return fragments


@contextmanager
def _errors_as_rows_errors(path: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise RowsError(f"'{path}' cannot be read as a Parquet file: {in_one_line(error)}") from error


check_rows_place = partial(check_place, kind="rows", endings=(".parquet",))


@contextmanager
def parquet_writer(path: str | os.PathLike[str], template: Table) -> Iterator[Callable[[Table], None]]:
    """Yield a function that appends rows to a Parquet file, which appears when it is complete, or not at all.

    The template has the columns, with units, descriptions and UCDs. Raises OutputError if the file cannot be written,
    or rows do not fit into the columns.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    target, schema = check_rows_place(path), arrow_schema(template)

    def write(rows: Table) -> None:
        try:
            with os_errors_as_output_errors(target):
                writer.write_table(arrow_table(rows, schema), row_group_size=_ROW_GROUP)
        except (pa.ArrowInvalid, TypeError) as error:
            raise OutputError(f"rows do not fit into the columns of '{path}': {in_one_line(error)}") from error

    with atomic_file(target) as temporary:
        with os_errors_as_output_errors(target):
            writer = pq.ParquetWriter(temporary, schema)
        try:
            yield write
        finally:
            with os_errors_as_output_errors(target):
                writer.close()
