"""What an evaluation found: scores, times and probabilities of every method on the same sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.evaluation.comparisons import comparisons_to_dict
from fermiclass.evaluation.metrics import Difference, paired_difference
from fermiclass.evaluation.scores import Scores
from fermiclass.features.transforms import FloatArray
from fermiclass.shares import Shares

#: Comes between the name of a method and that of its features, where there are several sets of these.
FEATURES_MARK = "@"

#: Ends the name of a method whose probabilities are corrected for the shares of the classes among the targets.
SHARES_SUFFIX = "+shares"


@dataclass(frozen=True)
class Variant:
    """What was run: a method, the features that it got, and what was done to its probabilities.

    Attributes
    ----------
    method
        Its name.
    features
        The name of the set of features.
    correction
        The suffix of what was done to the probabilities, such as ``"+shares"``; empty for nothing.
    is_peer
        Whether the method is what a user would pick instead.
    """

    method: str
    features: str
    correction: str = ""
    is_peer: bool = False

    def name(self, several_sets: bool) -> str:
        """Return ``method+correction``, or with several sets of features ``method@features+correction``."""
        return self.method + self.group(several_sets)

    def group(self, several_sets: bool) -> str:
        """Return what follows the method in its name: methods that share it can be compared like for like."""
        return (FEATURES_MARK + self.features if several_sets else "") + self.correction


@dataclass(frozen=True, eq=False)
class MethodResult:
    """One variant of a method.

    Attributes
    ----------
    variant
        What was run.
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

    variant: Variant
    scores: Scores
    unassociated: Scores | None
    fit_seconds: float
    predict_seconds: float
    probabilities: FloatArray = field(repr=False)
    shares: Mapping[str, Shares] = field(default_factory=dict)

    @property
    def populations(self) -> dict[str, Scores]:
        """Scores by what they are of: ``all``, and ``unassociated`` where there are such sources."""
        return {"all": self.scores} | ({} if self.unassociated is None else {"unassociated": self.unassociated})

    def to_dict(self, classes: tuple[str, ...]) -> dict[str, Any]:
        """Return what JSON can hold."""
        result = self.scores.to_dict()
        result |= {"fit_seconds": self.fit_seconds, "predict_seconds": self.predict_seconds}
        result |= {
            "method": self.variant.method,
            "feature_set": self.variant.features,
            "correction": self.variant.correction.removeprefix("+") or None,
            "is_peer": self.variant.is_peer,
        }
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
        Names of the features, by the name of their set.
    names, y, status
        (n,) the sources, their true classes, and what the catalogue said of them ('' for no association).
    significance
        (n,) Signif_Avg, NaN where it is not known.
    methods
        Results by the names of the variants: `Variant.name`.
    meta
        Seed, counts, releases.
    """

    catalog: str
    protocol: str
    classes: tuple[str, ...]
    features: Mapping[str, tuple[str, ...]]
    names: NDArray[np.str_]
    y: NDArray[np.str_]
    status: NDArray[np.str_]
    significance: FloatArray
    methods: Mapping[str, MethodResult]
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def ranking(self) -> list[str]:
        """The methods, best NLL first."""
        return sorted(self.methods, key=lambda name: self.methods[name].scores.nll)

    @property
    def groups(self) -> dict[str, list[str]]:
        """Methods with the same features and the same correction, best NLL first, by `Variant.group`; best first."""
        groups: dict[str, list[str]] = {}
        for name in self.ranking:
            groups.setdefault(self.methods[name].variant.group(len(self.features) > 1), []).append(name)
        return groups

    def difference(self, method: str, other: str, population: str = "all") -> Difference:
        """Return by how much the NLL of a method exceeds that of another on the same sources.

        Raises
        ------
        KeyError
            When a method, or the population (``all`` or ``unassociated``), was not scored.
        """
        a, b = (self.methods[name].populations[population].nll_per_source for name in (method, other))
        return paired_difference(a, b)

    def to_dict(self) -> dict[str, Any]:
        """Return the layout that ``fermiclass evaluate --json`` writes."""
        sets = {label: list(names) for label, names in self.features.items()}
        return {
            "catalog": self.catalog,
            "protocol": self.protocol,
            "n": len(self),
            "classes": list(self.classes),
            "features": sets if len(sets) > 1 else next(iter(sets.values())),
            **self.meta,
            "methods": {name: result.to_dict(self.classes) for name, result in self.methods.items()},
            **comparisons_to_dict(self),
        }
