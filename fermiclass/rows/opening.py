"""Rows of FITS and CSV tables and of arrays, and opening of rows by the ending of their file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from astropy.io import fits
from astropy.table import Table
from astropy.utils.exceptions import AstropyWarning
from numpy.typing import NDArray

from fermiclass.errors import CatalogError, RowsError, in_one_line
from fermiclass.io.files import exists
from fermiclass.io.tables import read_table
from fermiclass.nimgp.arrays import align_columns
from fermiclass.nimgp.names import UNCERTAINTY_PREFIX
from fermiclass.rows.chunk import Chunk, Columns, Rows, TableRows, plain_values, refuse, stamp_of
from fermiclass.rows.parquet import ParquetRows

_PATH = (str, os.PathLike)
DEFAULT_LABEL = "CLASS"  #: Column of the label in the feature tables that ``fermiclass features`` writes.


def open_rows(
    path: str | os.PathLike[str],
    features: Sequence[str] | None = None,
    *,
    uncertainties: Sequence[str | None] | None = None,
    label: str | None = None,
    keep: Sequence[str] = (),
    hdu: int | str = 1,
) -> Rows:
    """Open rows on disk. This reads only their description.

    Parameters
    ----------
    path
        ========================== ===================================================================
        .parquet, or a folder      a Parquet table, or a folder of them in the order of their names
        .csv                       a table, which is read into memory as a whole
        .fits, .fit                a FITS binary table; unpack compressed files first
        .npy                       features only: no error bars, no labels
        a folder with X.npy        X.npy (N, D), and X_var.npy (N, D) and y.npy (N,) if they are there
        ========================== ===================================================================
    features
        Columns of a table (required); for .npy, names of the columns of X.
    uncertainties
        For each feature the column with its standard deviation, or None for a feature without error. None if no
        feature has an error.
    label
        The column of labels, text (null or '' for none) or whole numbers; None for no labels.
    keep
        Columns to copy into the results.
    hdu
        Number or name of the table's HDU in a FITS file.

    Raises
    ------
    RowsError
        If the file is missing, damaged or of another kind, or lacks a column.
    """
    place = Path(path)
    reader: Any = reader_of(place)
    if reader is not ArrayRows:
        if features is None:
            raise RowsError(f"the features of '{path}' are not given. Name the columns that are features.")
        return reader(place, Columns.of(features, uncertainties, label, keep), hdu)
    if uncertainties is not None or label is not None or keep:
        raise RowsError(f"'{path}' has no named columns: put the variances and labels into X_var.npy and y.npy")
    if not place.is_dir():
        return ArrayRows(place, feature_names=features)
    X_var, y = (there if there.exists() else None for there in (place / "X_var.npy", place / "y.npy"))
    return ArrayRows(place / "X.npy", y, X_var=X_var, feature_names=features)


def open_training_rows(
    path: str | os.PathLike[str],
    features: Sequence[str] | None = None,
    *,
    uncertainties: Sequence[str | None] | None = None,
    label: str | None = None,
    hdu: int | str = 1,
) -> Rows:
    """Open rows to learn from: :func:`open_rows`. The roles of columns that are not given follow from their names.

    A column x is a feature if there is a column Unc_x, which has its standard deviations; a named feature without one
    has no errors. The label is the column `DEFAULT_LABEL`. Raises RowsError, also when there are no features or labels.
    """
    reader = reader_of(Path(path))
    if reader is ArrayRows:
        return open_rows(path, features, uncertainties=uncertainties, label=label)
    found = reader.names_in(Path(path), hdu)
    if features is None:
        features = [name for name in found if f"{UNCERTAINTY_PREFIX}{name}" in found]
        if not features:
            raise RowsError(
                f"'{path}' has no pair of columns such as LP_Index and Unc_LP_Index, so the features are unknown. "
                "Name them (--features)."
            )
    if uncertainties is None:
        names = [f"{UNCERTAINTY_PREFIX}{name}" for name in features]
        uncertainties = [name if name in found else None for name in names]
    if label is None and DEFAULT_LABEL not in found:
        raise RowsError(f"'{path}' has no column '{DEFAULT_LABEL}'. Name the one with the labels (--label).")
    return open_rows(path, features, uncertainties=uncertainties, label=label or DEFAULT_LABEL, hdu=hdu)


def reader_of(path: Path) -> Any:
    """Return the class that reads a file or folder: that of a table, or :class:`ArrayRows`."""
    if not exists(path):
        raise RowsError(f"there is no file or folder '{path}'. Check the name and the folder.")
    if not path.is_file() and not path.is_dir():
        raise RowsError(f"'{path}' is not a regular file. Give a file on a disk.")
    name = path.name.lower()
    if name.endswith(".npy") or exists(path / "X.npy"):
        return ArrayRows
    if path.is_dir() or name.endswith(".parquet"):
        return ParquetRows
    if name.endswith(".csv"):
        return CSVRows
    if name.endswith((".fits", ".fit", ".fits.gz", ".fit.gz")):
        return FITSRows
    raise RowsError(
        f"'{path}' does not have the ending of rows; expected .parquet, .csv, .fits, .fit, .npy, or a folder: rename it"
    )


class FITSRows(TableRows):
    """Rows of a binary table that astropy maps into memory. Only the rows that are read are converted."""

    @staticmethod
    def names_in(path: Path, hdu: int | str) -> list[str]:
        """Return the names of the columns."""
        return list(_open_fits(path, hdu).columns.names)

    def _open(self, path: Path, hdu: int | str) -> None:
        self._data = _open_fits(path, hdu)
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


def _open_fits(path: Path, hdu: int | str) -> fits.FITS_rec:
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

    @staticmethod
    def names_in(path: Path, hdu: int | str) -> list[str]:
        """Return the names of the columns."""
        return list(_open_csv(path).colnames)

    def _open(self, path: Path, hdu: int | str) -> None:
        self._table = _open_csv(path)
        self._open_one_block(path, len(self._table))
        self.columns.check(self._table.colnames, lambda name: self._table[name].dtype.kind in "biuf", self.source)

    def _read(self, start: int, stop: int) -> Chunk:
        return self._chunk(lambda name: np.array(self._table[name][start:stop]), start)


def _open_csv(path: Path) -> Table:
    try:
        return read_table(path)
    except CatalogError as error:
        raise RowsError(str(error)) from error


class ArrayRows(Rows):
    """Rows of arrays or frames in memory, or of .npy files that stay on disk.

    `X`: features ``(N, D)``. `y`: labels ``(N,)``, text or whole numbers, '' for none; None if there are no labels.
    `X_var`: variances ``(N, D)`` of the errors of `X`; None for zeros. Each is an array or the path of a file.
    `feature_names`: D names; by default x0, x1, ... Raises RowsError.
    """

    def __init__(self, X: Any, y: Any = None, *, X_var: Any = None, feature_names: Sequence[str] | None = None):
        self.source = str(X) if isinstance(X, _PATH) else "X"
        # Full paths, because another process may open them.
        X, y, X_var = (Path(given).resolve() if isinstance(given, _PATH) else given for given in (X, y, X_var))
        self._opened = partial(ArrayRows, X, y, X_var=X_var, feature_names=feature_names)
        try:
            X_var = align_columns(X, X_var, y=y)
        except ValueError as error:
            raise RowsError(str(error)) from error
        self._X = _array(X)
        self._X_var, self._y = (None if given is None else _array(given) for given in (X_var, y))
        self._stamps = {given: stamp_of(given) for given in (X, y, X_var) if isinstance(given, Path)}
        if self._X.ndim != 2 or self._X.shape[1] == 0:
            raise RowsError(
                f"X has the shape {self._X.shape}; expected (N, D), a row for each source and a column for each feature"
            )
        self.num_rows, num_features = self._X.shape
        self.block_edges = np.array([0, self.num_rows])
        names = [f"x{j}" for j in range(num_features)] if feature_names is None else feature_names
        if len(names) != num_features:
            raise RowsError(f"there are {len(names)} names for the {num_features} columns of X")
        noise = [None if X_var is None else f"{UNCERTAINTY_PREFIX}{name}" for name in names]
        self.columns = Columns.of(names, noise, None if y is None else DEFAULT_LABEL, ())
        shapes = {"X": self._X.shape, "X_var": self._X.shape, "y": (self.num_rows,)}
        for name, values in (("X", self._X), ("X_var", self._X_var), ("y", self._y)):
            if values is not None and values.shape != shapes[name]:
                raise RowsError(f"{name} has the shape {values.shape}; expected {shapes[name]}")
            if values is not None and name != "y" and values.dtype.kind not in "biuf":
                raise RowsError(f"{name} holds {values.dtype}; expected numbers")
        self.read(0, 0)  # checks the type of the labels

    def _read(self, start: int, stop: int) -> Chunk:
        X = np.array(self._X[start:stop], np.float64, order="C")  # sums depend on the order in memory
        X_var = np.zeros_like(X)
        if self._X_var is not None:
            for j, name in enumerate(self.columns.features):
                X_var[:, j] = self._X_var[start:stop, j]
                refuse(X_var[:, j] < 0, X_var[:, j], "expected variances of 0 or more", start, f"X_var of {name}")
        y = None if self._y is None else plain_values(np.array(self._y[start:stop]), "y", as_label=True)
        return Chunk(X, X_var, y)


def _array(given: Any) -> NDArray[Any]:
    if not isinstance(given, _PATH):
        return np.asarray(given)
    try:
        return np.lib.format.open_memmap(given, mode="r")  # refuses pickles
    except FileNotFoundError as error:
        raise RowsError(f"there is no file '{given}'. Check the name and the folder.") from error
    except (OSError, ValueError, EOFError) as error:
        raise RowsError(f"'{given}' cannot be read as a .npy file: {in_one_line(error)}") from error
