"""Checks and conversions of the values of rows, for all kinds of files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import RowsError
from fermiclass.io.arrays import FloatArray


def as_floats(values: NDArray[Any], start: int, names: Sequence[str | None], source: str) -> FloatArray:
    """Return numbers ``(n, D)`` in double precision; RowsError where a whole number has too many digits."""
    floats = values.astype(np.float64, order="C")  # sums depend on the order in memory
    if values.dtype.kind in "iu":
        lost = floats.astype(values.dtype) != values
        refuse(lost, values, "which float64 cannot hold; expected fewer digits", start, names, source)
    return floats


def as_variances(sigma: FloatArray, start: int, names: Sequence[str | None], source: str) -> FloatArray:
    """Return the squares of uncertainties ``(n, D)``; RowsError where one is negative, or its square would be 0."""
    with np.errstate(over="ignore", under="ignore"):
        variances = sigma**2
    refuse(sigma < 0, sigma, "expected uncertainties of 0 or more", start, names, source)
    lost = (variances == 0) & (sigma != 0)
    refuse(lost, sigma, "whose square float64 cannot hold; expected other units", start, names, source)
    return variances


def check_numbers(values: FloatArray, start: int, names: Sequence[str | None], source: str) -> None:
    """Raise RowsError where a number is not finite."""
    refuse(~np.isfinite(values), values, "expected finite numbers", start, names, source)


def refuse(
    wrong: NDArray[np.bool_], values: NDArray[Any], expected: str, start: int, names: Sequence[str | None], source: str
) -> None:
    """Raise RowsError with the place of the first value that is wrong; `start` is the number of the first row."""
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise RowsError(
            f"{source} has {values[row, column]} in row {start + row} (counted from 0) of column '{names[column]}', "
            f"{expected}. Correct the row, or remove it."
        )


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
