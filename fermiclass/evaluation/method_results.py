"""The result of one method on one set of sources: scores, times and probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fermiclass.evaluation.scores import Scores
from fermiclass.io.arrays import FloatArray
from fermiclass.labelling.label_shift import Shares

#: Stands between the names of a method and of its feature set, if there are several feature sets.
FEATURES_MARK = "@"

#: Suffix of the name of a method whose probabilities are corrected for the class priors of the targets.
SHARES_SUFFIX = "+shares"


@dataclass(frozen=True)
class Variant:
    """A method, the features that it used, and the correction of its probabilities.

    Attributes
    ----------
    method
        Name of the method.
    features
        Name of the feature set.
    correction
        Suffix of the correction, such as ``"+shares"``; empty without a correction.
    is_baseline
        Whether the method is a baseline.
    """

    method: str
    features: str
    correction: str = ""
    is_baseline: bool = False

    def name(self, several_sets: bool) -> str:
        """Return ``method+correction``, or with several feature sets ``method@features+correction``."""
        return self.method + self.group(several_sets)

    def group(self, several_sets: bool) -> str:
        """Return the part of the name after the method. Methods that share it can be compared like for like."""
        return (FEATURES_MARK + self.features if several_sets else "") + self.correction


@dataclass(frozen=True, eq=False)
class MethodResult:
    """The result of one variant of a method.

    Attributes
    ----------
    variant
        The variant.
    scores
        Scores of all sources.
    unassociated
        Scores of the sources that had no association; None if the protocol has no such sources.
    fit_seconds, predict_seconds
        Wall-clock time of training, and of the prediction of all sources, scored or not; sums over folds.
    probabilities
        (n, C) class probabilities.
    shares
        Estimated class priors by the status of the sources; empty without a correction.
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
        """Scores by population: ``all``, and ``unassociated`` if there are such sources."""
        return {"all": self.scores} | ({} if self.unassociated is None else {"unassociated": self.unassociated})

    def to_dict(self, classes: tuple[str, ...]) -> dict[str, Any]:
        """Return the keys of the JSON."""
        result = self.scores.to_dict()
        result |= {"fit_seconds": self.fit_seconds, "predict_seconds": self.predict_seconds}
        result |= {
            "method": self.variant.method,
            "feature_set": self.variant.features,
            "correction": self.variant.correction.removeprefix("+") or None,
            "is_peer": self.variant.is_baseline,
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
