"""Checks that all kinds of rows share."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fermiclass.errors import RowsError
from fermiclass.rows.chunk import Chunk


def check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return the floating-point type of chunks, float32 or float64."""
    found = np.dtype(dtype)
    if found not in (np.float32, np.float64):
        raise RowsError(f"rows were asked for as {found}; expected float32 or float64")
    return found


def check_span(start: int, stop: int, num_rows: int, source: str) -> None:
    """Raise RowsError unless 0 ≤ start ≤ stop ≤ N."""
    if not 0 <= start <= stop <= num_rows:
        raise RowsError(f"rows {start} to {stop} were asked of {source}, which has rows 0 to {num_rows}")


def check_chunk(
    chunk: Chunk, start: int, names: Sequence[str], noise_names: Sequence[str | None], source: str
) -> Chunk:
    """Return `chunk`, whose first row is row `start`, or raise RowsError if it holds what is no number or no variance.

    Parameters
    ----------
    chunk
        Where an uncertainty is negative, so is the variance.
    start
        For the message, as are all that follow.
    names, noise_names
        Of the features and of the columns of uncertainties.
    source
        The file.
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
    _refuse(chunk.X_var < 0, chunk.X_var, "expected uncertainties of 0 or more", start, noise_names, source)
    return chunk


def _refuse(
    wrong: NDArray[np.bool_], values: NDArray[Any], expected: str, start: int, names: Sequence[str | None], source: str
) -> None:
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        value = values[row, column]
        found = "a negative number" if value < 0 and np.isfinite(value) else str(value)
        raise RowsError(
            f"{source} has {found} in row {start + row} (counted from 0) of column '{names[column]}', {expected}. "
            "Mend the row, or leave it out."
        )


def check_columns(wanted: Collection[str], found: Collection[str], source: str) -> None:
    """Raise RowsError if a column that is wanted is not among those found; the message names near ones."""
    for name in wanted:
        if name not in found:
            folded = {other.lower(): other for other in sorted(found)}
            close = [folded[match] for match in difflib.get_close_matches(name.lower(), list(folded), n=3)]
            hint = f"Did you mean {' or '.join(close)}?" if close else f"Its columns: {', '.join(found)}."
            raise RowsError(f"{source} has no column '{name}'. {hint}")


def plain_labels(values: NDArray[Any], column: str, source: str) -> NDArray[Any]:
    """Return labels ``(n,)`` as text without blanks at its end, or as whole numbers; a missing text (None, NaN) is ''.

    Raises
    ------
    RowsError
        If they are neither.
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
        f"{source}: the labels in column '{column}' are of type {values.dtype}; expected text, or whole numbers of "
        "which none is missing"
    )


def plain_values(values: NDArray[Any], column: str, source: str) -> NDArray[Any]:
    """Return numbers ``(n,)`` of this machine's byte order, or text without blanks at its end, '' where it is missing.

    Raises
    ------
    RowsError
        If they are neither.
    """
    if values.ndim == 1 and values.dtype.kind == "f":
        return values.astype(values.dtype.newbyteorder("="))
    try:
        return plain_labels(values, column, source)
    except RowsError as error:
        raise RowsError(
            f"{source}: the column '{column}' holds {values.dtype}, which cannot be kept; expected numbers or text"
        ) from error
