"""Rows from Parquet files."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fermiclass.errors import RowsError, in_one_line
from fermiclass.io.files import exists
from fermiclass.io.parquet_tables import masked_names, open_parquet, with_nulls, without_dictionary
from fermiclass.rows.checks import check_chunk, check_dtype, check_span
from fermiclass.rows.chunk import Chunk, join
from fermiclass.rows.columns import Columns
from fermiclass.rows.rows import Rows

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


class ParquetRows(Rows):
    """Rows of a Parquet file, or of a folder of such files in the order of their names.

    The rows are read in whole row groups, and the last group is kept, so the memory is that of the largest row group.
    Only the columns in use are read. Groups of some ten thousand rows are best for shuffling; the program that writes
    the file sets their size.

    Parameters
    ----------
    path
        A file, or a folder whose files end in .parquet.
    features
        Names of D columns of numbers.
    uncertainties
        For each feature the name of the column with its standard deviation, or None for a feature without error. None
        if no feature has an error.
    label
        The column of labels, text (null or '' for none) or whole numbers; None for no labels.
    keep
        Columns to copy into the results, one number or text a row.
    dtype
        Type of the chunks: float64, or float32 with seven digits.

    Raises
    ------
    RowsError
        If a file is missing or damaged, or a column is missing or of another type.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        features: Sequence[str],
        *,
        uncertainties: Sequence[str | None] | None = None,
        label: str | None = None,
        keep: Sequence[str] = (),
        dtype: DTypeLike = np.float64,
    ):
        self._opened = partial(
            ParquetRows,
            Path(path).resolve(),
            features,
            uncertainties=uncertainties,
            label=label,
            keep=keep,
            dtype=dtype,
        )
        self._dtype = check_dtype(dtype)
        self._columns = Columns.of(features, uncertainties, label, keep)
        self.feature_names = self._columns.features
        self._files = _files(Path(path))
        self._source = f"'{path}'"
        self._groups: list[tuple[int, int]] = []  # number of the file and of the row group in it, for each block
        sizes = []
        for number, name in enumerate(self._files):
            file = _open(name, self._columns.names)
            self._check(file.schema_arrow, f"'{name}'")
            for group in range(file.num_row_groups):
                self._groups.append((number, group))
                sizes.append(file.metadata.row_group(group).num_rows)
        #: First row of each row group, then the number of rows.
        self.block_edges: NDArray[np.int64] = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self.num_rows = int(self.block_edges[-1])
        self._nothing = self._chunk(_open(self._files[0], self._columns.names).schema_arrow.empty_table(), 0)
        self._file: tuple[int, pq.ParquetFile] | None = None
        self._last: tuple[int, Chunk] | None = None
        self._lock = Lock()  # a background thread may read ahead while another thread reads

    def read(self, start: int, stop: int) -> Chunk:
        """Return rows `start` to `stop` − 1; see :meth:`fermiclass.rows.Rows.read`."""
        check_span(start, stop, self.num_rows, self._source)
        parts = [self._nothing]
        first = int(np.searchsorted(self.block_edges, start, side="right")) - 1
        last = int(np.searchsorted(self.block_edges, stop, side="left"))
        for block in range(first, last):
            edge = int(self.block_edges[block])
            chunk = self._block(block)
            parts.append(chunk.take(slice(max(start - edge, 0), stop - edge)))
        noise_names = self._columns.uncertainties
        return check_chunk(join(parts), start, self.feature_names, noise_names, self._source)

    def _block(self, block: int) -> Chunk:
        with self._lock:
            if self._last is None or self._last[0] != block:
                self._last = None  # two blocks are never in memory
                self._last = block, self._read_block(block)
            return self._last[1]

    def _read_block(self, block: int) -> Chunk:
        import pyarrow as pa

        number, group = self._groups[block]
        try:
            if self._file is None or self._file[0] != number:
                self._file = number, _open(self._files[number], self._columns.names)
            names = list(self._columns.names)
            masks = masked_names(names, self._file[1].schema_arrow)
            table = with_nulls(self._file[1].read_row_group(group, columns=list(dict.fromkeys([*names, *masks]))))
            return self._chunk(table, int(self.block_edges[block]))
        except (OSError, ValueError, pa.ArrowException) as error:
            raise _damaged(self._files[number], error) from error

    def _chunk(self, table: pa.Table, start: int) -> Chunk:
        import pyarrow as pa

        def column(name: str) -> NDArray[Any]:
            values = without_dictionary(table[name])
            kind = values.type
            if name in self._columns.numbers and not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
                values = values.cast(pa.float64(), safe=False)
            return np.asarray(values.to_numpy())

        return self._columns.chunk(column, self._dtype, self._source, start)

    def _check(self, schema: pa.Schema, source: str) -> None:
        import pyarrow as pa

        def is_number(name: str) -> bool:
            kind = schema.field(name).type
            checks = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
            return any(check(kind) for check in checks)

        self._columns.check(schema.names, is_number, source)


def parquet_columns(path: Path) -> list[str]:
    """Return the columns of a file, or of the first file in a folder."""
    return list(_open(_files(path)[0]).schema_arrow.names)


def _files(path: Path) -> list[Path]:
    if not exists(path):
        raise RowsError(f"there is no file or folder '{path}'. Check the name and the folder.")
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.glob("*.parquet") if not file.name.startswith((".", "_")))
    if not found:
        raise RowsError(f"the folder '{path}' has no file that ends in .parquet. Give another folder, or one file.")
    return found


def _open(path: Path, columns: Collection[str] = ()) -> pq.ParquetFile:
    import pyarrow as pa

    try:
        return open_parquet(path, columns)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> RowsError:
    return RowsError(f"'{path}' cannot be read as a Parquet file ({in_one_line(error)}). Write it again.")
