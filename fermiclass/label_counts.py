"""How many sources of each class there are among the labelled, how many are sure, how many flagged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fermiclass.labels import LABEL_FLAGS, classes_of

if TYPE_CHECKING:
    from astropy.table import Table

#: A label is called confident from this probability on.
CONFIDENT = 0.9


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Counts of a label table; those of its parts add up to those of the whole.

    Attributes
    ----------
    classes
        Names of the C classes.
    total
        Sources.
    best, confident
        (C,) sources whose most probable class it is, and those of them with P_MAX of `CONFIDENT` or more.
    expected
        (C,) sums of the probabilities.
    flagged
        Sources with any flag.
    flags
        Sources with each bit of LABEL_FLAGS.
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
