"""Tables that are written a block of rows at a time. The file appears when it is complete, or not at all."""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.errors import OutputError, in_one_line
from fermiclass.io.files import atomic_file, check_place, os_errors_as_output_errors
from fermiclass.io.fits_tables import bare_hdu, fits_hdu
from fermiclass.io.parquet_tables import arrow_schema, arrow_table
from fermiclass.rows.blocks import column_like, empty_like, filled

if TYPE_CHECKING:
    from astropy.io import fits
    from astropy.table import Table

_ROW_GROUP = 65536  # largest number of rows; a reader reads a whole row group
_FITS_BLOCK = 2880  # bytes; a FITS file is a multiple of this


class RowWriter(ABC):
    """A table that is being written; a context manager.

    Parameters
    ----------
    path
        The file. It is first written under a temporary name in the same folder.
    template
        An astropy table with the columns; it need not have rows. Names, types, units, descriptions, UCDs
        (``column.meta["ucd"]``) and ``table.meta`` are written as by :func:`fermiclass.io.tables.write_table`.

    Raises
    ------
    OutputError
        If the place cannot be written to, or a column does not hold one bool, int, float or text a row.
    """

    def __init__(self, path: str | os.PathLike[str], template: Table):
        self._target = check_place(path)
        self._empty = empty_like(template)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Begin the file under a temporary name."""
        with ExitStack() as stack, os_errors_as_output_errors(self._target):
            self._begin(stack, stack.enter_context(atomic_file(self._target)))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put the file in its place; after an error, remove it."""
        if error is not None:
            self._stack.__exit__(kind, error, trace)
        else:
            with os_errors_as_output_errors(self._target):
                self._stack.close()

    @abstractmethod
    def _begin(self, stack: ExitStack, temporary: Path) -> None:
        """Open the temporary file; what has to be closed goes on the stack."""

    @abstractmethod
    def write(self, block: Mapping[str, ArrayLike] | Table) -> None:
        """Append rows.

        Parameters
        ----------
        block
            For each column of the table an array ``(n,)``.

        Raises
        ------
        OutputError
            If the columns or their types are not those of the table, or it cannot be written.
        """


class ParquetRowWriter(RowWriter):
    """A Parquet file that grows; parameters and errors are those of :class:`RowWriter`."""

    def _begin(self, stack: ExitStack, temporary: Path) -> None:
        import pyarrow.parquet as pq

        self._schema = arrow_schema(self._empty)
        self._writer = stack.enter_context(pq.ParquetWriter(temporary, self._schema))

    def write(self, block: Mapping[str, ArrayLike] | Table) -> None:
        """Append rows as one row group or several; see :meth:`RowWriter.write`."""
        rows = filled(self._empty, block)
        with os_errors_as_output_errors(self._target):
            self._writer.write_table(arrow_table(rows, self._schema), row_group_size=_ROW_GROUP)


class FITSRowWriter(RowWriter):
    """A FITS file whose binary table grows. The header comes first, so the number of rows must be known.

    Parameters
    ----------
    path, template
        As for :class:`RowWriter`. A column of text has the width of the template's column, such as ``<U12``.
    num_rows
        Number of rows that will be written. With fewer, the file is removed at the end.

    Raises
    ------
    OutputError
        As for :class:`RowWriter`.
    """

    def __init__(self, path: str | os.PathLike[str], template: Table, num_rows: int):
        super().__init__(path, template)
        self._num_rows = num_rows
        self._written = 0

    def _begin(self, stack: ExitStack, temporary: Path) -> None:
        from astropy.io import fits

        try:
            header = fits_hdu(self._encoded(self._empty)).header
        except (ValueError, AssertionError) as error:  # astropy's, of names that no card can hold
            raise OutputError(
                f"'{self._target}' cannot be written as FITS ({in_one_line(error)}). Write a .parquet file."
            ) from error
        header["NAXIS2"] = self._num_rows
        stack.enter_context(self._complete())
        self._stream = stack.enter_context(fits.StreamingHDU(temporary, header))
        self._written = 0

    def write(self, block: Mapping[str, ArrayLike] | Table) -> None:
        """Append rows; see :meth:`RowWriter.write`."""
        rows = filled(self._empty, block)
        if self._written + len(rows) > self._num_rows:
            raise OutputError(
                f"'{self._target}' was begun for {self._num_rows} rows, but there are more. Begin it again with "
                "their number."
            )
        if len(rows):
            with os_errors_as_output_errors(self._target):
                self._stream.write(np.frombuffer(_data_bytes(bare_hdu(self._encoded(rows))), np.uint8))
            self._written += len(rows)

    def _encoded(self, rows: Table) -> Table:
        """Return the rows with text as bytes of the template's width."""
        encoded = rows.copy()
        for name in self._empty.colnames:
            dtype = self._empty[name].dtype
            if dtype.kind == "U":
                width = dtype.itemsize // dtype.alignment
                text = np.char.encode(np.asarray(rows[name]), "ascii", "replace")
                if text.size and text.itemsize > width:
                    raise OutputError(
                        f"a block has a text of {text.itemsize} letters in column '{name}' of '{self._target}', "
                        f"expected {width} at most. Begin with a wider column."
                    )
                encoded[name] = column_like(rows[name], text.astype(f"S{width}"))
        return encoded

    @contextmanager
    def _complete(self) -> Iterator[None]:
        yield
        if self._written != self._num_rows:
            raise OutputError(
                f"'{self._target}' was begun for {self._num_rows} rows, but only {self._written} were written. "
                "Begin it again with their number."
            )


def open_writer(path: str | os.PathLike[str], template: Table, *, num_rows: int | None = None) -> RowWriter:
    """Return the writer for the ending of `path`: .parquet or .fits. The latter needs `num_rows`.

    Raises
    ------
    OutputError
        If the ending is another one, and as for the writer.
    """
    check_rows_place(path)
    if os.fspath(path).lower().endswith(".parquet"):
        return ParquetRowWriter(path, template)
    if num_rows is None:
        raise OutputError(f"'{path}' needs its number of rows before the first one. Give num_rows, or write .parquet.")
    return FITSRowWriter(path, template, num_rows)


def check_rows_place(path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> Path:
    """Check the ending of `path`, and that a table can be written there: :func:`fermiclass.io.files.check_place`."""
    if not os.fspath(path).lower().endswith((".parquet", ".fits", ".fit")):
        raise OutputError(f"'{path}' cannot be written in blocks; expected the ending .parquet or .fits. Rename it.")
    return check_place(path, *inputs)


def _data_bytes(hdu: fits.BinTableHDU) -> bytes:
    """Return the rows of a table as the bytes of a FITS file."""
    from astropy.io import fits

    stream = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(stream)
    begin = stream.tell() - -(-hdu.size // _FITS_BLOCK) * _FITS_BLOCK
    return stream.getvalue()[begin : begin + hdu.size]
