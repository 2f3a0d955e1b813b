"""Rows from a CSV file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from astropy.table import Table

from fermiclass.errors import CatalogError, RowsError
from fermiclass.io.tables import read_table
from fermiclass.rows.chunk import Chunk, TableRows


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
