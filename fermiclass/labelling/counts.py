"""Counts of labelled sources: by class, confident, flagged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fermiclass.labelling.labels import LABEL_FLAGS, classes_of

if TYPE_CHECKING:
    from astropy.table import Table

#: A label is confident if its probability is at least this.
CONFIDENT = 0.9


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Counts of a label table. The counts of its parts add up to the counts of the whole.

    Attributes
    ----------
    classes
        Names of the C classes.
    total
        Number of sources.
    best, confident
        (C,) numbers of sources by most probable class: all, and those with P_MAX of at least `CONFIDENT`.
    expected
        (C,) sums of the probabilities: expected numbers of sources.
    flagged
        Number of sources with a flag.
    flags
        Number of sources with each bit of LABEL_FLAGS.
    """

    classes: tuple[str, ...]
    total: int
    best: NDArray[np.int64]
    confident: NDArray[np.int64]
    expected: NDArray[np.float64]
    flagged: int
    flags: NDArray[np.int64]

    @classmethod
    def of(cls, labels: Table) -> LabelCounts:
        """Count the sources of a label table."""
        classes = classes_of(labels)
        best, sure = np.asarray(labels["PRED_CLASS"]), np.asarray(labels["P_MAX"]) >= CONFIDENT
        bits = np.asarray(labels["LABEL_FLAGS"])
        return cls(
            classes=tuple(classes),
            total=len(labels),
            best=np.array([np.sum(best == name) for name in classes]),
            confident=np.array([np.sum((best == name) & sure) for name in classes]),
            expected=np.array([np.sum(labels[f"P_{name}"]) for name in classes]),
            flagged=int(np.sum(bits > 0)),
            flags=np.array([np.sum(bits & bit > 0) for bit in LABEL_FLAGS]),
        )

    def __add__(self, other: LabelCounts) -> LabelCounts:
        """Return the counts of both tables together."""
        return LabelCounts(
            classes=self.classes,
            total=self.total + other.total,
            best=self.best + other.best,
            confident=self.confident + other.confident,
            expected=self.expected + other.expected,
            flagged=self.flagged + other.flagged,
            flags=self.flags + other.flags,
        )
