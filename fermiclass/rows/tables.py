"""Rows from a binary table in a FITS file, or from a CSV file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from astropy.io import fits
from astropy.table import Table
from astropy.utils.exceptions import AstropyWarning
from numpy.typing import NDArray

from fermiclass.errors import CatalogError, RowsError, in_one_line
from fermiclass.io.tables import read_table
from fermiclass.rows.chunk import Chunk, TableRows


class FITSRows(TableRows):
    """Rows of a binary table that astropy maps into memory. Only the rows that are read are converted."""

    def _open(self, path: Path, hdu: int | str) -> None:
        self._data = open_fits(path, hdu)
        self._open_one_block(path, len(self._data))
        columns, types = self._data.columns, self._data.dtype

        def is_number(name: str) -> bool:
            return types[name].shape in ((), (1,)) and columns[name].format.lstrip("1")[0] in "LBIJKED"

        self.columns.check(columns.names, is_number, self.source)
        for name in self.columns.names:
            if types[name].shape not in ((), (1,)):
                raise RowsError(f"the column '{name}' of '{path}' does not hold one value a row. Choose another.")

    def _read(self, start: int, stop: int) -> Chunk:
        rows = self._data[start:stop]  # once: it takes astropy long

        def column(name: str) -> NDArray[Any]:
            try:
                values, null = np.asarray(rows.field(name)), rows.columns[name].null
            except (NameError, TypeError, ValueError, OverflowError) as error:  # of scaled 64 bits
                raise RowsError(f"the column '{name}' cannot be read ({in_one_line(error)}): write doubles") from error
            if null not in (None, "") and values.dtype.kind in "iuf":
                # astropy takes the null value as a number. It is one before TSCAL and TZERO.
                missing = rows.view(np.ndarray)[name] == null
                values = np.where(missing, np.nan, values) if missing.any() else values
            return values.reshape(stop - start)

        return self._chunk(column, start)


def open_fits(path: Path, hdu: int | str) -> fits.FITS_rec:
    """Map a binary table into memory; RowsError if that is not possible."""
    try:
        with warnings.catch_warnings(action="ignore", category=AstropyWarning):
            warnings.filterwarnings("error", "File may have been truncated")
            with fits.open(path, memmap=True) as hdus:
                if hdus._file.compression:  # it would be unpacked in memory
                    raise RowsError(f"'{path}' is compressed, so it cannot be read in parts. Unpack it first (gunzip).")
                if not isinstance(hdus[hdu], fits.BinTableHDU):
                    raise RowsError(f"HDU {hdu!r} of '{path}' is not a binary table. Choose another with hdu.")
                return hdus[hdu].data  # the memory map stays open while it is in use
    except (RowsError, MemoryError):
        raise
    except (KeyError, IndexError) as error:
        raise RowsError(f"'{path}' has no HDU {hdu!r}. Choose another with hdu.") from error
    except Exception as error:  # astropy has no common exception for damaged files
        raise RowsError(f"'{path}' cannot be read as a FITS file: {in_one_line(error)}") from error


class CSVRows(TableRows):
    """Rows of a CSV file, which is in memory as a whole."""

    def _open(self, path: Path, hdu: int | str) -> None:
        self._table = open_csv(path)
        self._open_one_block(path, len(self._table))
        self.columns.check(self._table.colnames, lambda name: self._table[name].dtype.kind in "biuf", self.source)

    def _read(self, start: int, stop: int) -> Chunk:
        return self._chunk(lambda name: np.array(self._table[name][start:stop]), start)


def open_csv(path: Path) -> Table:
    """Return the table of a CSV file. RowsError if that is not possible."""
    try:
        return read_table(path)
    except CatalogError as error:
        raise RowsError(str(error)) from error
