"""The roles of a table's columns: features, uncertainties, label."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import RowsError
from fermiclass.rows.checks import check_columns, held, plain_labels, plain_values, variances
from fermiclass.rows.chunk import Chunk


@dataclass(frozen=True)
class Columns:
    """The roles of columns.

    Attributes
    ----------
    features
        Names of the D features.
    uncertainties
        For each feature the name of the column with its standard deviation, or None if it has no error.
    label
        Name of the column of labels, or None.
    keep
        Names of columns to copy into the results.
    """

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

        Raises
        ------
        RowsError
            If there are no features, a feature is named twice, or the number of uncertainties differs.
        """
        if any(isinstance(names, str) for names in (features, uncertainties, keep)):
            raise RowsError("the columns were given as one text; expected a list of names")
        chosen = tuple(features)
        noise = (None,) * len(chosen) if uncertainties is None else tuple(uncertainties)
        repeated = sorted({name for name in chosen if chosen.count(name) > 1})
        if not chosen or repeated:
            raise RowsError(
                f"features are named more than once: {', '.join(repeated)}. Name each once."
                if repeated
                else "no features are named. Name at least one."
            )
        if len(noise) != len(chosen):
            raise RowsError(
                f"{len(noise)} columns of uncertainties were named for {len(chosen)} features; expected one for each, "
                "None for a feature without"
            )
        return cls(chosen, noise, label, tuple(dict.fromkeys(keep)))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read, each once."""
        every = (*self.features, *self.uncertainties, self.label, *self.keep)
        return tuple(dict.fromkeys(name for name in every if name is not None))

    @property
    def numbers(self) -> frozenset[str]:
        """The columns that have to hold numbers."""
        return frozenset(name for name in (*self.features, *self.uncertainties) if name is not None)

    def check(self, found: Collection[str], is_number: Callable[[str], bool], source: str) -> None:
        """Raise RowsError if a column is missing, or the column of a feature or its error does not hold numbers."""
        check_columns(self.names, found, source)
        for name in self.names:
            if name in self.numbers and not is_number(name):
                raise RowsError(f"the column '{name}' of {source} does not hold one number a row. Choose another.")

    def chunk(self, column: Callable[[str], NDArray[Any]], dtype: np.dtype[Any], source: str, start: int) -> Chunk:
        """Build an unchecked chunk, whose first row is `start`, from a function that returns a column ``(n,)``.

        The variance of a negative uncertainty is negative, so that the check finds it.

        Raises
        ------
        RowsError
            If `dtype` cannot hold a number, or labels or kept columns are of a wrong type.
        """
        n, D = len(column(self.names[0])), len(self.features)
        X, X_var = np.empty((n, D), dtype), np.zeros((n, D), dtype)
        for j, (name, noise) in enumerate(zip(self.features, self.uncertainties, strict=True)):
            X[:, j] = held(column(name)[:, None], dtype, start, [name], source)[:, 0]
            if noise is not None:
                X_var[:, j] = variances(column(noise)[:, None], dtype, start, [noise], source)[:, 0]
        y = None if self.label is None else plain_labels(column(self.label), self.label, source)
        return Chunk(X, X_var, y, {name: plain_values(column(name), name, source) for name in self.keep})
