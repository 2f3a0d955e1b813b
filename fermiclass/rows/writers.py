"""Tables that grow a block of rows at a time, whole in the end or not there at all."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from fermiclass.errors import OutputError
from fermiclass.files import check_place, reported, whole_file
from fermiclass.rows.blocks import column_like, empty_like, filled
from fermiclass.tables import arrow_table, fits_hdu

if TYPE_CHECKING:
    from astropy.io import fits
    from astropy.table import Table

_ROW_GROUP = 65536  # rows at most; a row group is what a reader has to read at once
_FITS_BLOCK = 2880  # bytes, of which a FITS file is a multiple


class RowWriter(Protocol):
    """A table that is being written; a context manager."""

    def __enter__(self) -> RowWriter:
        """Begin, under a temporary name."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put the file in its place; after an error, remove it."""

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


class ParquetRowWriter:
    """A Parquet file that grows.

    Parameters
    ----------
    path
        The file, which is written beside it under a temporary name.
    template
        An astropy table with the columns, of whose rows there need be none: names, types, units, descriptions, UCDs
        (``column.meta["ucd"]``) and ``table.meta`` are written as by :func:`fermiclass.tables.write_table`.

    Raises
    ------
    OutputError
        If the place cannot be written to, or a column is not of bool, int, float or text, one a row.
    """

    def __init__(self, path: str | os.PathLike[str], template: Table):
        self._target = check_place(path)
        self._empty = empty_like(template)
        self._stack = ExitStack()

    def __enter__(self) -> ParquetRowWriter:
        """Begin, under a temporary name."""
        import pyarrow.parquet as pq

        with ExitStack() as stack, reported(self._target):
            temporary = stack.enter_context(whole_file(self._target))
            self._writer = stack.enter_context(pq.ParquetWriter(temporary, arrow_table(self._empty).schema))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put the file in its place; after an error, remove it."""
        _leave(self._stack, self._target, kind, error, trace)

    def write(self, block: Mapping[str, ArrayLike] | Table) -> None:
        """Append rows, as a row group or several; see :meth:`RowWriter.write`."""
        rows = filled(self._empty, block)
        with reported(self._target):
            self._writer.write_table(arrow_table(rows), row_group_size=_ROW_GROUP)


class FITSRowWriter:
    """A FITS file whose binary table grows; how many rows it will have is to be known beforehand.

    Parameters
    ----------
    path, template
        As for :class:`ParquetRowWriter`. The width of a column of text is that of the template's, such as ``<U12``.
    num_rows
        All rows that will be written.

    Raises
    ------
    OutputError
        If the place cannot be written to, or a column is not of bool, int, float or text, one a row.
    """

    def __init__(self, path: str | os.PathLike[str], template: Table, num_rows: int):
        self._target = check_place(path)
        self._empty = empty_like(template)
        self._num_rows = num_rows
        self._written = 0
        self._stack = ExitStack()

    def __enter__(self) -> FITSRowWriter:
        """Begin, under a temporary name."""
        from astropy.io import fits

        header = fits_hdu(self._encoded(self._empty)).header
        header["NAXIS2"] = self._num_rows
        with ExitStack() as stack, reported(self._target):
            temporary = stack.enter_context(whole_file(self._target))
            stack.enter_context(self._complete())
            self._stream = stack.enter_context(fits.StreamingHDU(temporary, header))
            self._written = 0
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put the file in its place; after an error, or with too few rows, remove it."""
        _leave(self._stack, self._target, kind, error, trace)

    def write(self, block: Mapping[str, ArrayLike] | Table) -> None:
        """Append rows; see :meth:`RowWriter.write`."""
        rows = filled(self._empty, block)
        if self._written + len(rows) > self._num_rows:
            raise OutputError(
                f"'{self._target}' was begun for {self._num_rows} rows, and there are more. Begin it anew."
            )
        if len(rows):
            with reported(self._target):
                self._stream.write(np.frombuffer(_data_bytes(fits_hdu(self._encoded(rows))), np.uint8))
            self._written += len(rows)

    def _encoded(self, rows: Table) -> Table:
        """Text as bytes, of the template's width."""
        encoded = rows.copy()
        for name in self._empty.colnames:
            dtype = self._empty[name].dtype
            if dtype.kind == "U":
                width = dtype.itemsize // dtype.alignment
                text = np.char.encode(np.asarray(rows[name]), "ascii", "replace")
                if text.size and text.itemsize > width:
                    raise OutputError(
                        f"a block has a text of {text.itemsize} letters in column '{name}' of '{self._target}', which "
                        f"holds {width}. Begin with a wider column."
                    )
                encoded[name] = column_like(rows[name], text.astype(f"S{width}"))
        return encoded

    @contextmanager
    def _complete(self) -> Iterator[None]:
        yield
        if self._written != self._num_rows:
            raise OutputError(
                f"'{self._target}' was begun for {self._num_rows} rows, but only {self._written} were written. "
                "Begin it anew."
            )


def open_writer(path: str | os.PathLike[str], template: Table, *, num_rows: int | None = None) -> RowWriter:
    """Return the writer for the ending of `path`: .parquet, or .fits, which needs `num_rows`.

    Raises
    ------
    OutputError
        If the ending is another, or as by the writer.
    """
    check_rows_place(path)
    if os.fspath(path).lower().endswith(".parquet"):
        return ParquetRowWriter(path, template)
    if num_rows is None:
        raise OutputError(f"'{path}' needs to know its number of rows beforehand. Give num_rows, or write .parquet.")
    return FITSRowWriter(path, template, num_rows)


def check_rows_place(path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> Path:
    """Check, as :func:`fermiclass.files.check_place`, that a table can grow at `path`, and its ending."""
    if not os.fspath(path).lower().endswith((".parquet", ".fits", ".fit")):
        raise OutputError(f"'{path}' cannot grow a block at a time; expected the ending .parquet or .fits. Rename it.")
    return check_place(path, *inputs)


def _leave(
    stack: ExitStack,
    target: Any,
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> None:
    if error is not None:
        stack.__exit__(kind, error, trace)
    else:
        with reported(target):
            stack.close()


def _data_bytes(hdu: fits.BinTableHDU) -> bytes:
    """Return the rows of a table as they are in a FITS file."""
    from astropy.io import fits

    stream = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(stream)
    begin = stream.tell() - -(-hdu.size // _FITS_BLOCK) * _FITS_BLOCK
    return stream.getvalue()[begin : begin + hdu.size]
