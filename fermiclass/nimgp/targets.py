"""What labels and outputs of training rows mean.

A label may say less than a class: "bll or fsrq". It stands for a set S of classes of which one is right, and its
likelihood is ``p(S | f) = Σ_{c in S} p(c | f)``. Classes have the numbers 0 … C − 1, labels that stand for sets the
numbers from C on.
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


class Outputs(NamedTuple):
    """Where outputs lie. Those in arbitrary units are standardised."""

    #: Mean and scale by which outputs are standardised; 0 and 1 if they are not.
    mean: float
    scale: float
    #: Mean and scale of the outputs that a model learns from.
    centre: float
    spread: float
    #: Share of each binary output, ``(1,)`` or ``(2,)``; else empty.
    shares: FloatArray

    @classmethod
    def of(cls, likelihood: Any, y: FloatArray) -> Outputs:
        """Measure outputs ``y`` (N,) for a likelihood: a name, or an object of GPflow.

        Raises ValueError as :func:`check_outputs`, and when the square of y overflows.
        """
        mean, scale = map(float, mean_and_scale(y, "y"))
        shares = np.empty(0)
        if isinstance(likelihood, str):
            check_outputs(likelihood, y)
            if likelihood in STANDARDISED:
                return cls(mean, scale, 0.0, 1.0, shares)
            if likelihood == "bernoulli":
                shares = (np.bincount(y.astype(int)) + 1.0) / (len(y) + y.max() + 1.0)
        return cls(0.0, 1.0, mean, scale, shares)

    @classmethod
    def from_arrays(cls, *arrays: FloatArray) -> Outputs:
        """Return the outputs with these fields. Raises ValueError when they have values that are not possible."""
        *numbers, shares = arrays
        mean, scale, centre, spread = (float(a) if a.shape == () else np.nan for a in numbers)
        if not (scale > 0 and spread > 0 and np.isfinite(mean + centre) and shares.ndim == 1 and np.all(shares > 0)):
            raise ValueError("the arrays of outputs are not means, positive scales and positive shares")
        return cls(mean, scale, centre, spread, shares)


def check_outputs(likelihood: str, y: FloatArray) -> None:
    """Check that outputs are valid for a likelihood by name.

    Raises ValueError when counts are not integers of 0 or more, or a binary y is not 0 or 1.
    """
    if likelihood in STANDARDISED:
        return
    odd = np.flatnonzero((y < 0) | (y != np.floor(y)) | ((y > 1) if likelihood == "bernoulli" else False))
    if odd.size:
        expected = "0 or 1" if likelihood == "bernoulli" else "whole numbers of 0 or more"
        raise ValueError(f"y is {y[odd[0]]:g} in row {odd[0]}: the likelihood '{likelihood}' needs {expected}")
