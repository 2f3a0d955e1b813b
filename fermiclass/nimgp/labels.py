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


def check_number_of_classes(classes: np.ndarray, num_rows: int) -> None:
    """Raise ValueError when there are too many classes, or too few rows of each."""
    if len(classes) > MOST_CLASSES or (len(classes) > _MANY_CLASSES and num_rows < _ROWS_PER_CLASS * len(classes)):
        raise ValueError(
            f"{num_rows} sources of {len(classes)} classes, such as {classes[0]!r}, are too few of each to learn from: "
            f"are these labels names or measurements? Give at most {MOST_CLASSES} classes, of {_ROWS_PER_CLASS} "
            "sources or more on average"
        )


def has_label(y: np.ndarray) -> np.ndarray:
    """Return which rows have a label, ``(N,)``: one with other characters than blanks."""
    if y.dtype.kind not in "UO":
        return np.ones(len(y), bool)
    return np.array([not isinstance(label, str) or bool(label.strip()) for label in y], bool)


def distinct_labels(y: np.ndarray) -> np.ndarray:
    """Return the distinct labels, sorted.

    Raises ValueError when two differ by blanks around them alone.
    """
    labels = np.unique(y)
    bare: dict[str, str] = {}
    for label in map(str, labels):
        if bare.setdefault(label.strip(), label) != label:
            raise ValueError(
                f"the labels {bare[label.strip()]!r} and {label!r} differ by blanks alone: strip them, or rename one"
            )
    return labels


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Meaning of the labels of training rows."""

    classes: np.ndarray  #: Class labels ``(C,)``, sorted.
    names: np.ndarray  #: All labels ``(K,)``: the classes, then the labels that stand for sets, sorted.
    #: Membership ``(K, C)``, 1 where a label may stand for a class; None where every label is a class.
    sets: FloatArray | None = None
    weights: FloatArray | None = None  #: Weight ``(K,)`` of a row with each label; None where all weights are 1.

    @classmethod
    def of(cls, labels: np.ndarray, sets: Mapping[str, tuple[str, ...]], weights: Mapping[str, float]) -> LabelTable:
        """Return what the distinct labels of training rows stand for.

        `sets` are the classes of labels that stand for sets, of which some may not occur; `weights` are 1 by default.

        Raises ValueError when a set names a class that no row has, or two labels differ by blanks alone.
        """
        labels = distinct_labels(labels)
        text = np.array([str(label) for label in labels], dtype=str)
        is_set = np.isin(text, list(sets))
        classes, open_labels = labels[~is_set], labels[is_set]
        names = np.concatenate([classes, open_labels])
        position = {str(name): k for k, name in enumerate(classes)}
        membership = np.zeros((len(names), len(classes)))
        membership[: len(classes)] = np.eye(len(classes))
        for k, label in enumerate(open_labels, start=len(classes)):
            for member in sets[str(label)]:
                if member not in position:
                    raise ValueError(
                        f"the label '{label}' may stand for the class '{member}', but no row has that class: leave the "
                        "class out of the set"
                    )
                membership[k, position[member]] = 1.0
        weight = np.array([weights.get(str(name), 1.0) for name in names])
        weighted = np.any(weight != 1.0)
        return cls(classes, names, membership if len(open_labels) else None, weight if weighted else None)

    def codes(self, y: np.ndarray) -> np.ndarray:
        """Return the numbers 0 … K − 1 of labels, ``(n,)``, each of which is in `names`."""
        order = np.argsort(self.names, kind="stable")
        return np.asarray(order[np.searchsorted(self.names, y, sorter=order)])

    def weighted(self, codes: np.ndarray, weights: np.ndarray) -> tuple[LabelTable, np.ndarray]:
        """Return a table with a label for each pair of a label and a weight of rows ``(n,)``, and the rows' numbers."""
        both = weights if self.weights is None else weights * self.weights[codes]
        pairs, numbers = np.unique(np.stack([codes, both]), axis=1, return_inverse=True)
        own = pairs[0].astype(int)
        sets = np.eye(len(self.classes))[own] if self.sets is None else self.sets[own]
        return LabelTable(self.classes, self.names[own], sets, pairs[1]), numbers.ravel()

    def is_informative(self) -> np.ndarray:
        """Return which labels ``(K,)`` rule out a class; a label that may stand for every class says nothing."""
        if self.sets is None:
            return np.ones(len(self.names), bool)
        return np.asarray(self.sets.sum(axis=1) < len(self.classes))
