"""Opening of rows on disk, by the ending of the file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from fermiclass.errors import RowsError
from fermiclass.io.files import exists
from fermiclass.rows.arrays import ArrayRows
from fermiclass.rows.fits import FITSRows, fits_columns
from fermiclass.rows.parquet import ParquetRows, parquet_columns
from fermiclass.rows.rows import Rows

_EXPECTED = (
    "a Parquet file or a folder of them, a FITS file (.fits, .fit), a .npy file, or a folder with X.npy, and X_var.npy "
    "and y.npy if there are error bars and labels"
)


def open_rows(
    path: str | os.PathLike[str],
    features: Sequence[str] | None = None,
    *,
    uncertainties: Sequence[str | None] | None = None,
    label: str | None = None,
    keep: Sequence[str] = (),
    hdu: int | str = 1,
    dtype: DTypeLike = np.float64,
) -> Rows:
    """Open rows on disk. This reads only their description.

    Parameters
    ----------
    path
        ========================== ===================================================================
        .parquet, or a folder      :class:`fermiclass.rows.ParquetRows`
        .fits, .fit                :class:`fermiclass.rows.FITSRows`; unpack compressed files first
        .npy                       features only: no error bars, no labels
        a folder with X.npy        X.npy (N, D), and X_var.npy (N, D) and y.npy (N,) if they are there
        ========================== ===================================================================
    features
        Columns of a Parquet or FITS table (required); for .npy, names of the columns of X.
    uncertainties, label, keep
        Columns of a Parquet or FITS table.
    hdu
        Number or name of the table's HDU in a FITS file.
    dtype
        Type of the chunks: float64, or float32 with seven digits.

    Raises
    ------
    RowsError
        If the file is missing, damaged or of another kind, or lacks a column.
    """
    place = Path(path)
    if not exists(place):
        raise RowsError(f"there is no file or folder '{path}'. Check the name and the folder.")
    ending = place.name.lower()
    is_folder = place.is_dir()
    if holds_arrays(place):
        if uncertainties is not None or label is not None or keep:
            raise RowsError(f"'{path}' has no named columns: put the variances and labels into X_var.npy and y.npy")
        X, X_var, y = place, None, None
        if is_folder:
            X, X_var, y = place / "X.npy", _if_there(place / "X_var.npy"), _if_there(place / "y.npy")
        return ArrayRows(X, y, X_var=X_var, feature_names=features, dtype=dtype)
    if not is_folder and not ending.endswith((".parquet", ".fits", ".fit", ".fits.gz", ".fit.gz")):
        raise RowsError(f"'{path}' does not have the ending of rows; expected {_EXPECTED}. Rename or convert it.")
    if features is None:
        raise RowsError(f"the features of '{path}' are not given. Name the columns that are features.")
    if is_folder or ending.endswith(".parquet"):
        return ParquetRows(place, features, uncertainties=uncertainties, label=label, keep=keep, dtype=dtype)
    return FITSRows(place, features, uncertainties=uncertainties, label=label, keep=keep, hdu=hdu, dtype=dtype)


def _if_there(path: Path) -> Path | None:
    return path if path.exists() else None


def holds_arrays(path: Path) -> bool:
    """Return whether rows are in .npy files, whose columns have no names."""
    return path.name.lower().endswith(".npy") or exists(path / "X.npy")


def column_names(path: str | os.PathLike[str], hdu: int | str = 1) -> list[str]:
    """Return the columns of a Parquet or FITS table; errors as :func:`open_rows`."""
    place = Path(path)
    if not exists(place):
        raise RowsError(f"there is no file or folder '{path}'. Check the name and the folder.")
    if place.is_dir() or place.name.lower().endswith(".parquet"):
        return parquet_columns(place)
    return fits_columns(place, hdu)
