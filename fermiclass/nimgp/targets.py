"""What labels and outputs of training rows mean.

Classes have the numbers 0 … C − 1, labels that stand for sets of classes, such as "bll or fsrq", those from C on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fermiclass.nimgp.arrays import FloatArray, mean_and_scale

MOST_CLASSES = 1000  #: More distinct labels than this are names or measurements, and would take minutes and gigabytes.
_MANY_CLASSES, _ROWS_PER_CLASS = 100, 5  # with more classes, each needs this number of rows on average

#: Likelihoods of numbers with arbitrary units. Their outputs are standardised.
STANDARDISED = ("gaussian", "student-t")


def has_label(y: np.ndarray) -> np.ndarray:
    """Return which rows have a label with other characters than blanks, ``(N,)``; TypeError for bytes and times."""
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

        `sets` are the classes of labels that stand for sets, which need not occur; `num_rows` is by default that of y.
        Raises ValueError when a set names a class that no row has, two labels differ by blanks alone, there are fewer
        than two classes, or too many for so many rows.
        """
        labels, sets = np.unique(y), sets or {}
        bare: dict[str, str] = {}
        for label in map(str, labels):
            if (first := bare.setdefault(label.strip(), label)) != label:
                raise ValueError(f"the labels {first!r} and {label!r} differ by blanks alone: strip or rename them")
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
        if lost := [(label, member) for label, each in members.items() for member in each if member not in known]:
            raise ValueError(
                f"the label '{lost[0][0]}' may stand for the class '{lost[0][1]}', but no row has that class: leave "
                "the class out of the set"
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


class Outputs(NamedTuple):
    """Where outputs lie. Those in arbitrary units are standardised."""

    #: Mean and scale by which outputs are standardised; 0 and 1 if they are not.
    mean: float
    scale: float
    #: Mean and scale of the outputs that a model learns from.
    centre: float
    spread: float

    @classmethod
    def of(cls, likelihood: Any, y: FloatArray) -> Outputs:
        """Measure outputs ``y`` (N,); ValueError as :func:`check_outputs`, and when the square of y overflows."""
        mean, scale = map(float, mean_and_scale(y, "y"))
        check_outputs(likelihood, y)
        standardised = isinstance(likelihood, str) and likelihood in STANDARDISED
        return cls(mean, scale, 0.0, 1.0) if standardised else cls(0.0, 1.0, mean, scale)

    @classmethod
    def from_arrays(cls, *arrays: FloatArray) -> Outputs:
        """Return the outputs with these fields. Raises ValueError when they have values that are not possible."""
        mean, scale, centre, spread = (float(a) if a.shape == () else np.nan for a in arrays)
        if not (scale > 0 and spread > 0 and np.isfinite(mean + centre)):
            raise ValueError("the arrays of outputs are not means and positive scales")
        return cls(mean, scale, centre, spread)


def check_outputs(likelihood: Any, y: FloatArray) -> None:
    """Raise ValueError when counts are not whole numbers of 0 or more, or a y for 'bernoulli' is not 0 or 1."""
    if not isinstance(likelihood, str) or likelihood in STANDARDISED:
        return
    odd = np.flatnonzero((y < 0) | (y != np.floor(y)) | ((y > 1) if likelihood == "bernoulli" else False))
    if odd.size:
        expected = "0 or 1" if likelihood == "bernoulli" else "whole numbers of 0 or more"
        raise ValueError(f"y is {y[odd[0]]:g} in row {odd[0]}: the likelihood '{likelihood}' needs {expected}")
