"""Rows from a binary table in a FITS file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fermiclass.errors import RowsError, in_one_line
from fermiclass.io.fits_tables import fits_column
from fermiclass.io.inputs import check_regular
from fermiclass.rows.checks import check_chunk, check_dtype, check_span
from fermiclass.rows.chunk import Chunk
from fermiclass.rows.columns import Columns
from fermiclass.rows.rows import Rows

if TYPE_CHECKING:
    from astropy.io import fits


class FITSRows(Rows):
    """Rows of a binary table that is mapped into memory. Only the rows that are read are converted.

    Parameters
    ----------
    path
        A FITS file that is not compressed.
    features
        Names of D columns with one number a row.
    uncertainties
        For each feature the name of the column with its standard deviation, or None for a feature without error. None
        if no feature has an error.
    label
        The column of labels, text ('' for none) or whole numbers; None for no labels.
    keep
        Columns to copy into the results, one number or text a row.
    hdu
        Number or name of the table's HDU.
    dtype
        Type of the chunks: float64, or float32 with seven digits.

    Raises
    ------
    RowsError
        If the file is missing, damaged or compressed, has no such table, or a column is missing or of another type.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        features: Sequence[str],
        *,
        uncertainties: Sequence[str | None] | None = None,
        label: str | None = None,
        keep: Sequence[str] = (),
        hdu: int | str = 1,
        dtype: DTypeLike = np.float64,
    ):
        self._opened = partial(
            FITSRows,
            Path(path).resolve(),
            features,
            uncertainties=uncertainties,
            label=label,
            keep=keep,
            hdu=hdu,
            dtype=dtype,
        )
        self._dtype = check_dtype(dtype)
        self._columns = Columns.of(features, uncertainties, label, keep)
        self.feature_names = self._columns.features
        self._source = f"'{path}'"
        self._data = _table(Path(path), hdu)
        self.num_rows = len(self._data)
        described = self._data.columns

        def is_number(name: str) -> bool:
            return self._data.dtype[name].shape in ((), (1,)) and described[name].format.lstrip("1")[0] in "LBIJKED"

        self._columns.check(described.names, is_number, self._source)
        for name in self._columns.names:
            if self._data.dtype[name].shape not in ((), (1,)):
                raise RowsError(f"the column '{name}' of {self._source} does not hold one value a row. Choose another.")
        self.read(0, 0)  # checks the types of label and kept columns

    def read(self, start: int, stop: int) -> Chunk:
        """Return rows `start` to `stop` − 1; see :meth:`fermiclass.rows.Rows.read`."""
        check_span(start, stop, self.num_rows, self._source)
        rows = self._data[start:stop]

        def column(name: str) -> NDArray[Any]:
            return fits_column(rows, self._data.columns.names.index(name)).reshape(stop - start)

        chunk = self._columns.chunk(column, self._dtype, self._source, start)
        return check_chunk(chunk, start, self.feature_names, self._columns.uncertainties, self._source)


def fits_columns(path: Path, hdu: int | str) -> list[str]:
    """Return the columns of a binary table."""
    return list(_table(path, hdu).columns.names)


def _table(path: Path, hdu: int | str) -> fits.FITS_rec:
    from astropy.io import fits
    from astropy.utils.exceptions import AstropyWarning

    try:
        check_regular(path)
        with path.open("rb") as stream:
            if stream.read(2) == b"\x1f\x8b":
                raise RowsError(f"'{path}' is compressed and cannot be read in parts. Decompress it first (gunzip).")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AstropyWarning)  # a file that ends too early is an error below
            with fits.open(path, memmap=True) as hdus:
                found = hdus[hdu]
                if not isinstance(found, fits.BinTableHDU):
                    raise RowsError(f"HDU {hdu!r} of '{path}' is not a binary table. Choose another with hdu.")
                end = found.fileinfo()["datLoc"] + found.size
                if path.stat().st_size < end:
                    raise RowsError(f"'{path}' is truncated: its table should end at byte {end}. Write it again.")
                return found.data  # the memory map stays open while it is in use
    except (RowsError, MemoryError):
        raise
    except FileNotFoundError as error:
        raise RowsError(f"there is no file '{path}'. Check the name and the folder.") from error
    except (KeyError, IndexError) as error:
        raise RowsError(f"'{path}' has no HDU {hdu!r}. Choose another with hdu.") from error
    except Exception as error:  # astropy has no common exception for damaged files
        raise RowsError(f"'{path}' cannot be read as a FITS file ({in_one_line(error)}). Write it again.") from error
