"""The roles of a table's columns, and checks and conversions of their values."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import RowsError
from fermiclass.io import FloatArray
from fermiclass.io.plain import texts
from fermiclass.nimgp.names import UNCERTAINTY_PREFIX as UNCERTAINTY_PREFIX

DEFAULT_LABEL = "CLASS"  #: Column of the label in the feature tables that ``fermiclass features`` writes.


@dataclass(frozen=True)
class Columns:
    """Columns of D features, of their standard deviations (None for no error), of the label, and others to keep."""

    features: tuple[str, ...]
    uncertainties: tuple[str | None, ...]
    label: str | None
    keep: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        features: Sequence[str],
        uncertainties: Sequence[str | None] | None,
        label: str | None,
        keep: Sequence[str] = (),
    ) -> Columns:
        """Return the roles from the names that a user gives.

        Raises RowsError if there are no features, a feature is named twice, or the number of uncertainties differs.
        """
        if any(isinstance(names, str) for names in (features, uncertainties, keep)):
            raise RowsError("the columns were given as one text; expected a list of names")
        noise = [None] * len(features) if uncertainties is None else uncertainties
        if not features:
            raise RowsError("no features are named. Name at least one.")
        if len(set(features)) < len(features):
            raise RowsError(f"a feature is named twice in {', '.join(features)}. Name each once.")
        if len(noise) != len(features):
            raise RowsError(
                f"{len(noise)} columns of uncertainties were named for {len(features)} features; expected one for "
                "each, None for a feature without"
            )
        return cls(tuple(features), tuple(noise), label, tuple(dict.fromkeys(keep)))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read, each once."""
        every = (*self.features, *self.uncertainties, self.label, *self.keep)
        return tuple(dict.fromkeys(name for name in every if name is not None))

    def check(self, found: Collection[str], is_number: Callable[[str], bool], source: str) -> None:
        """Raise RowsError if a column is missing, or the column of a feature or its error does not hold numbers."""
        for name in self.names:
            if name not in found:
                folded = {other.lower(): other for other in sorted(found)}
                close = [folded[match] for match in difflib.get_close_matches(name.lower(), list(folded), n=3)]
                hint = f"Did you mean {' or '.join(close)}?" if close else f"Its columns: {', '.join(found)}."
                raise RowsError(f"'{source}' has no column '{name}'. {hint}")
            if name in (*self.features, *self.uncertainties) and not is_number(name):
                raise RowsError(f"the column '{name}' of '{source}' does not hold one number a row. Choose another.")


def as_floats(values: NDArray[Any]) -> FloatArray:
    """Return numbers in double precision."""
    return values.astype(np.float64, order="C")  # sums depend on the order in memory


def refuse(wrong: NDArray[np.bool_], values: NDArray[Any], why: str, start: int, name: str) -> None:
    """Raise RowsError with the place of the first value that is wrong; `start` is the number of the first row."""
    if wrong.any():
        row = np.flatnonzero(wrong)[0]
        raise RowsError(f"there is {values[row]} in row {start + row} (counted from 0) of column '{name}', {why}")


def plain_values(values: NDArray[Any], name: str, *, as_label: bool = False) -> NDArray[Any]:
    """Return text without trailing blanks, or numbers in this machine's byte order; a label is text or a whole number.

    A label such as nan or null is none. Raises RowsError if the values are something else.
    """
    if values.dtype.kind in "OT" and all(isinstance(value, str) for value in values.tolist()):
        values = values.astype(str)
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind == "U":
        return texts(values) if as_label else np.char.rstrip(np.asarray(values))
    if values.ndim == 1 and values.dtype.kind in ("biu" if as_label else "biuf"):
        return values.astype(values.dtype.newbyteorder("="))
    expected = "text, or whole numbers without missing ones" if as_label else "numbers or text"
    raise RowsError(f"the column '{name}' holds {values.dtype}; expected {expected}")
