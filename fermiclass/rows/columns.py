"""The roles of a table's columns: features, uncertainties, label."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from fermiclass.errors import RowsError

#: Prefix of the column with a feature's standard deviation, as in the catalogue.
UNCERTAINTY_PREFIX = "Unc_"
#: Column of the label in the feature tables that ``fermiclass features`` writes.
DEFAULT_LABEL = "CLASS"


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
        if repeated:
            raise RowsError(f"features are named more than once: {', '.join(repeated)}. Name each once.")
        if not chosen:
            raise RowsError("no features are named. Name at least one.")
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

    def check(self, found: Collection[str], is_number: Callable[[str], bool], source: str) -> None:
        """Raise RowsError if a column is missing, or the column of a feature or its error does not hold numbers."""
        for name in self.names:
            if name not in found:
                folded = {other.lower(): other for other in sorted(found)}
                close = [folded[match] for match in difflib.get_close_matches(name.lower(), list(folded), n=3)]
                hint = f"Did you mean {' or '.join(close)}?" if close else f"Its columns: {', '.join(found)}."
                raise RowsError(f"{source} has no column '{name}'. {hint}")
            if name in (*self.features, *self.uncertainties) and not is_number(name):
                raise RowsError(f"the column '{name}' of {source} does not hold one number a row. Choose another.")
