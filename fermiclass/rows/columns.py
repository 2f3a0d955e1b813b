"""Which columns of a table are features, uncertainties and label."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import RowsError
from fermiclass.rows.checks import check_columns, plain_labels, plain_values
from fermiclass.rows.chunk import Chunk


@dataclass(frozen=True)
class Columns:
    """The roles of columns.

    Attributes
    ----------
    features
        D names.
    uncertainties
        For each feature the name of the column with its standard deviation, or None where it has no error.
    label
        A name, or None.
    keep
        Columns that are to stand beside the results.
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
        """Return the roles as users give them.

        Raises
        ------
        RowsError
            If there are no features, one is named twice, or the uncertainties are not as many.
        """
        if any(isinstance(names, str) for names in (features, uncertainties, keep)):
            raise RowsError("the columns were given as one text; expected a list of names")
        chosen = tuple(features)
        noise = (None,) * len(chosen) if uncertainties is None else tuple(uncertainties)
        repeated = sorted({name for name in chosen if chosen.count(name) > 1})
        if not chosen or repeated:
            raise RowsError(
                f"features named more than once: {', '.join(repeated)}" if repeated else "no features named"
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
        """Raise RowsError if a column is missing from those found, or a feature or its error is not of numbers."""
        check_columns(self.names, found, source)
        for name in self.names:
            if name in self.numbers and not is_number(name):
                raise RowsError(f"the column '{name}' of {source} does not hold one number a row. Choose another.")

    def chunk(self, column: Callable[[str], NDArray[Any]], dtype: np.dtype[Any], source: str) -> Chunk:
        """Build a chunk, not checked yet, from a function that returns a column ``(n,)``.

        The variance of a negative uncertainty is negative, so that it is found out.
        """
        n, D = len(column(self.names[0])), len(self.features)
        X, X_var = np.empty((n, D), dtype), np.zeros((n, D), dtype)
        with np.errstate(over="ignore"):  # infinities are for check_chunk to tell
            for j, (name, noise) in enumerate(zip(self.features, self.uncertainties, strict=True)):
                X[:, j] = column(name)
                if noise is not None:
                    sigma = np.asarray(column(noise), np.float64)
                    X_var[:, j] = sigma * np.abs(sigma)
        y = None if self.label is None else plain_labels(column(self.label), self.label, source)
        return Chunk(X, X_var, y, {name: plain_values(column(name), name, source) for name in self.keep})
