"""Opening of rows on disk, by the ending of the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from fermiclass.errors import RowsError
from fermiclass.io.files import exists
from fermiclass.rows.arrays import ArrayRows
from fermiclass.rows.chunk import Rows
from fermiclass.rows.columns import DEFAULT_LABEL, UNCERTAINTY_PREFIX
from fermiclass.rows.parquet import ParquetRows, parquet_fragments
from fermiclass.rows.tables import CSVRows, FITSRows, open_csv, open_fits


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
        Columns of a Parquet or FITS table (required); for .npy, names of the columns of X.
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
    kind = kind_of(place)
    if kind == "npy":
        if uncertainties is not None or label is not None or keep:
            raise RowsError(f"'{path}' has no named columns: put the variances and labels into X_var.npy and y.npy")
        if not place.is_dir():
            return ArrayRows(place, feature_names=features)
        X_var, y = (there if there.exists() else None for there in (place / "X_var.npy", place / "y.npy"))
        return ArrayRows(place / "X.npy", y, X_var=X_var, feature_names=features)
    if features is None:
        raise RowsError(f"the features of '{path}' are not given. Name the columns that are features.")
    readers: dict[str, Callable[..., Rows]] = {"parquet": ParquetRows, "csv": CSVRows, "fits": FITSRows}
    return readers[kind](place, features, uncertainties=uncertainties, label=label, keep=keep, hdu=hdu)


def open_training_rows(
    path: str | os.PathLike[str],
    features: Sequence[str] | None = None,
    *,
    uncertainties: Sequence[str | None] | None = None,
    label: str | None = None,
    hdu: int | str = 1,
) -> Rows:
    """Open rows to learn from: :func:`open_rows`. The roles of columns that are not given follow from their names.

    A column is a feature if there is a column of the same name with `UNCERTAINTY_PREFIX`, which has its standard
    deviations. Named features without such a column have no errors. The label is the column `DEFAULT_LABEL`. The
    columns of .npy files have no names.

    Raises RowsError, also when the table has no features or no label.
    """
    place = Path(path)
    kind = kind_of(place)
    if kind == "npy":
        return open_rows(path, features, uncertainties=uncertainties, label=label)
    names_of: dict[str, Callable[[], list[str]]] = {
        "parquet": lambda: parquet_fragments(place)[0].physical_schema.names,
        "csv": lambda: open_csv(place).colnames,
        "fits": lambda: open_fits(place, hdu).columns.names,
    }
    found = names_of[kind]()
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


def kind_of(path: Path) -> str:
    """Return 'npy', 'parquet', 'csv' or 'fits'."""
    if not exists(path):
        raise RowsError(f"there is no file or folder '{path}'. Check the name and the folder.")
    if not path.is_file() and not path.is_dir():
        raise RowsError(f"'{path}' is not a regular file. Give a file on a disk.")
    name = path.name.lower()
    if name.endswith(".npy") or exists(path / "X.npy"):
        return "npy"
    if path.is_dir() or name.endswith(".parquet"):
        return "parquet"
    if name.endswith(".csv"):
        return "csv"
    if name.endswith((".fits", ".fit", ".fits.gz", ".fit.gz")):
        return "fits"
    raise RowsError(
        f"'{path}' does not have the ending of rows; expected .parquet, .csv, .fits, .fit, .npy, or a folder: rename it"
    )
