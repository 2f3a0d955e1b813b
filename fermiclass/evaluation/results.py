"""What an evaluation found: scores, times and probabilities of every method on the same sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.evaluation.metrics import Difference, paired_difference
from fermiclass.evaluation.scores import Scores
from fermiclass.features.transforms import FloatArray
from fermiclass.shares import Shares


@dataclass(frozen=True, eq=False)
class MethodResult:
    """One method.

    Attributes
    ----------
    scores
        On all sources.
    unassociated
        On those that had no association at all; None if there are none, or the protocol has no such sources.
    fit_seconds, predict_seconds
        Wall-clock time of training, and of predicting every source without a class, scored or not; sums over folds.
    probabilities
        (n, C).
    shares
        By the sources' status, the estimated shares of the classes; empty without a correction.
    """

    scores: Scores
    unassociated: Scores | None
    fit_seconds: float
    predict_seconds: float
    probabilities: FloatArray = field(repr=False)
    shares: Mapping[str, Shares] = field(default_factory=dict)

    def to_dict(self, classes: tuple[str, ...]) -> dict[str, Any]:
        """Return what JSON can hold."""
        result = self.scores.to_dict()
        result |= {"fit_seconds": self.fit_seconds, "predict_seconds": self.predict_seconds}
        if self.unassociated is not None:
            result["unassociated"] = self.unassociated.to_dict()
        if self.shares:
            result["shares"] = {
                status or "unassociated": {
                    name: {"mean": float(group.mean[c]), "std": float(group.std[c])} for c, name in enumerate(classes)
                }
                for status, group in self.shares.items()
            }
        return result


@dataclass(frozen=True, eq=False)
class Evaluation:
    """All methods on the same n sources.

    Attributes
    ----------
    catalog
        What the features are from.
    protocol
        In words.
    classes
        The C classes, in the order of the probabilities.
    features
        Names of the features.
    names, y, status
        (n,) the sources, their true classes, and what the catalogue said of them ('' for no association).
    methods
        Results by the methods' names.
    meta
        Seed, counts, releases.
    """

    catalog: str
    protocol: str
    classes: tuple[str, ...]
    features: tuple[str, ...]
    names: NDArray[np.str_]
    y: NDArray[np.str_]
    status: NDArray[np.str_]
    methods: Mapping[str, MethodResult]
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def ranking(self) -> list[str]:
        """The methods, best NLL first."""
        return sorted(self.methods, key=lambda name: self.methods[name].scores.nll)

    def difference(self, method: str, other: str) -> Difference:
        """Return by how much the NLL of a method exceeds that of another on the same sources."""
        a, b = (self.methods[name].scores.nll_per_source for name in (method, other))
        return paired_difference(a, b)

    def to_dict(self) -> dict[str, Any]:
        """Return the layout that ``fermiclass evaluate --json`` writes."""
        return {
            "catalog": self.catalog,
            "protocol": self.protocol,
            "n": len(self),
            "classes": list(self.classes),
            "features": list(self.features),
            **self.meta,
            "methods": {name: result.to_dict(self.classes) for name, result in self.methods.items()},
        }
