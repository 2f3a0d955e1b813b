"""Labels as numbers: classes, and labels that stand for a set of classes of which one is right.

A row's label may say less than a class: "bll or fsrq". Its likelihood is ``p(S | f) = Σ_{c in S} p(c | f)``. Classes
have the numbers 0 … C − 1, labels that stand for sets the numbers from C on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fermiclass.nimgp.arrays import FloatArray

MOST_CLASSES = 1000  #: More distinct labels than this are names or measurements, and would take minutes and gigabytes.
_MANY_CLASSES, _ROWS_PER_CLASS = 100, 5  # with more classes, each needs this number of rows on average


def has_label(y: np.ndarray) -> np.ndarray:
    """Return which rows have a label, ``(N,)``: one with other characters than blanks.

    Raises TypeError when labels are bytes or times.
    """
    if y.dtype.kind in "mM":
        raise TypeError(f"y holds times ({y.dtype}); expected text or whole numbers: give the class of each source")
    first = next(iter(y.ravel()[:1].tolist()), None)
    if isinstance(first, bytes):
        raise TypeError(
            f"y holds bytes, such as {first!r}; expected text or whole numbers: decode them, as "
            "[label.decode() for label in y]"
        )
    if y.dtype.kind not in "UO":
        return np.ones(len(y), bool)
    return np.array([not isinstance(label, str) or bool(label.strip()) for label in y], bool)


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Meaning of the labels of training rows."""

    classes: np.ndarray  #: Class labels ``(C,)``, sorted.
    names: np.ndarray  #: All labels ``(K,)``: the classes, then the labels that stand for sets, sorted.
    #: Membership ``(K, C)``, 1 where a label may stand for a class; None where every label is a class.
    sets: FloatArray | None = None

    @classmethod
    def of(
        cls, y: np.ndarray, sets: Mapping[str, tuple[str, ...]] | None = None, num_rows: int | None = None
    ) -> LabelTable:
        """Return what the labels ``y`` stand for. One that may stand for every class says nothing, and has no place.

        `sets` are the classes of labels that stand for sets, of which some may not occur; `num_rows` is the number of
        training rows, by default that of y.

        Raises ValueError when a set names a class that no row has, two labels differ by blanks alone, there are fewer
        than two classes, or too many for so many rows.
        """
        labels, sets = np.unique(y), sets or {}
        bare: dict[str, str] = {}
        for label in map(str, labels):
            if bare.setdefault(label.strip(), label) != label:
                raise ValueError(
                    f"the labels {bare[label.strip()]!r} and {label!r} differ by blanks alone: strip them, or rename "
                    "one"
                )
        is_set = np.isin(np.array([str(label) for label in labels], dtype=str), list(sets))
        classes = labels[~is_set]
        if len(classes) < 2:
            raise ValueError(f"a classifier needs sources of at least two classes; found only {len(classes)} class")
        num_rows = len(y) if num_rows is None else num_rows
        if len(classes) > MOST_CLASSES or (len(classes) > _MANY_CLASSES and num_rows < _ROWS_PER_CLASS * len(classes)):
            raise ValueError(
                f"{num_rows} sources of {len(classes)} classes, such as {classes[0]!r}, are too few of each to learn "
                f"from: are these labels names or measurements? Give at most {MOST_CLASSES} classes, of "
                f"{_ROWS_PER_CLASS} sources or more on average"
            )
        known = [str(name) for name in classes]
        members = {label: sets[str(label)] for label in labels[is_set]}
        for label, each in members.items():
            if not set(each) <= set(known):
                lost = next(member for member in each if member not in known)
                raise ValueError(
                    f"the label '{label}' may stand for the class '{lost}', but no row has that class: leave the class "
                    "out of the set"
                )
        open_labels = [label for label, each in members.items() if len(each) < len(known)]
        names = np.concatenate([classes, np.array(open_labels, dtype=labels.dtype)])
        membership = [np.isin(known, members[label]) for label in open_labels]
        return cls(classes, names, np.concatenate([np.eye(len(known)), membership]) if open_labels else None)

    def codes(self, y: np.ndarray) -> np.ndarray:
        """Return the numbers 0 … K − 1 of labels, ``(n,)``, each of which is in `names`."""
        order = np.argsort(self.names, kind="stable")
        return np.asarray(order[np.searchsorted(self.names, y, sorter=order)])

    def weights(self, codes: np.ndarray, by_label: Mapping[str, float]) -> FloatArray:
        """Return the weights of rows by their labels, ``(n,)``; 1 for a label without one."""
        return np.array([by_label.get(str(name), 1.0) for name in self.names])[codes]
