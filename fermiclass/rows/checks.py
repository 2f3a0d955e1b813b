"""Checks for all kinds of rows."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fermiclass.errors import RowsError
from fermiclass.rows.chunk import Chunk


def check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return the type of the chunks; raise RowsError unless it is float32 or float64."""
    found = np.dtype(dtype)
    if found not in (np.float32, np.float64):
        raise RowsError(f"the dtype of the rows is {found}; expected float32 or float64")
    return found


def check_span(start: int, stop: int, num_rows: int, source: str) -> None:
    """Raise RowsError unless 0 ≤ start ≤ stop ≤ N."""
    if not 0 <= start <= stop <= num_rows:
        raise RowsError(f"rows {start} to {stop} of {source} do not exist; expected rows from 0 to {num_rows}")


def held(
    values: NDArray[Any], dtype: np.dtype[Any], start: int, names: Sequence[str | None], source: str
) -> NDArray[Any]:
    """Return numbers ``(n, D)`` in a type of floats; infinities stay.

    Raises
    ------
    RowsError
        If a number would become 0, or a whole number another one. The message gives the place.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        found = values.astype(dtype, order="C")  # sums depend on the order in memory
        lost = (found == 0) & (values != 0)
        if values.dtype.kind in "iu":
            lost |= found.astype(values.dtype) != values
    _refuse(lost, values, f"which {dtype} cannot hold; expected fewer digits, or other units", start, names, source)
    return found


def variances(
    sigma: NDArray[Any], dtype: np.dtype[Any], start: int, names: Sequence[str | None], source: str
) -> NDArray[Any]:
    """Return the variances of uncertainties ``(n, D)``, negative for negative ones; errors as :func:`held`."""
    double = held(sigma, np.dtype(np.float64), start, names, source)
    with np.errstate(over="ignore", under="ignore"):
        found = (double * np.abs(double)).astype(dtype)
    lost = (found == 0) & (double != 0)
    _refuse(lost, double, f"whose square {dtype} cannot hold; expected other units", start, names, source)
    return found


def check_chunk(
    chunk: Chunk, start: int, names: Sequence[str], noise_names: Sequence[str | None], source: str
) -> Chunk:
    """Return `chunk`, or raise RowsError if a value is not finite or a variance is negative.

    Parameters
    ----------
    chunk
        The chunk. A negative variance stands for a negative uncertainty.
    start
        Number of the chunk's first row, for the message.
    names, noise_names
        Names of the features and of the columns of uncertainties, for the message.
    source
        Name of the file, for the message.
    """
    for values, columns in ((chunk.X, names), (chunk.X_var, noise_names)):
        _refuse(
            ~np.isfinite(values),
            values,
            f"expected finite numbers that {values.dtype} can hold",
            start,
            columns,
            source,
        )
    less = np.where(chunk.X_var < 0, "a negative number", "")  # the number itself is a square
    _refuse(chunk.X_var < 0, less, "expected uncertainties of 0 or more", start, noise_names, source)
    return chunk


def _refuse(
    wrong: NDArray[np.bool_], values: NDArray[Any], expected: str, start: int, names: Sequence[str | None], source: str
) -> None:
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise RowsError(
            f"{source} has {values[row, column]} in row {start + row} (counted from 0) of column '{names[column]}', "
            f"{expected}. Correct the row, or remove it."
        )


def check_columns(wanted: Collection[str], found: Collection[str], source: str) -> None:
    """Raise RowsError if a wanted column is missing. The message gives similar names."""
    for name in wanted:
        if name not in found:
            folded = {other.lower(): other for other in sorted(found)}
            close = [folded[match] for match in difflib.get_close_matches(name.lower(), list(folded), n=3)]
            hint = f"Did you mean {' or '.join(close)}?" if close else f"Its columns: {', '.join(found)}."
            raise RowsError(f"{source} has no column '{name}'. {hint}")


def plain_labels(values: NDArray[Any], column: str, source: str) -> NDArray[Any]:
    """Return labels ``(n,)`` as text without trailing blanks, or as whole numbers. A missing text (None, NaN) is ''.

    Raises
    ------
    RowsError
        If the labels are neither text nor whole numbers.
    """
    if values.dtype.kind in "OT":
        import pandas as pd

        missing = pd.isna(np.asarray(values, object))
        present = values[~missing].tolist()
        if all(isinstance(value, str) for value in present):
            text = np.full(len(values), "", f"<U{max([1, *map(len, present)])}")
            text[~missing] = present
            values = text
        elif not missing.any():
            values = np.array(present)
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind == "U":
        return np.char.rstrip(np.asarray(values))
    if values.dtype.kind in "biu":
        return values.astype(values.dtype.newbyteorder("="))
    raise RowsError(
        f"{source}: the labels in column '{column}' are of type {values.dtype}; expected text, or whole numbers "
        "without missing ones"
    )


def plain_values(values: NDArray[Any], column: str, source: str) -> NDArray[Any]:
    """Return numbers ``(n,)`` in this machine's byte order, or text without trailing blanks, '' where it is missing.

    Raises
    ------
    RowsError
        If the values are neither numbers nor text.
    """
    if values.ndim == 1 and values.dtype.kind == "f":
        return values.astype(values.dtype.newbyteorder("="))
    try:
        return plain_labels(values, column, source)
    except RowsError as error:
        raise RowsError(
            f"{source}: the column '{column}' to keep holds {values.dtype}; expected numbers or text"
        ) from error
