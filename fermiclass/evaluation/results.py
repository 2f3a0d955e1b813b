"""The result of an evaluation: all methods on the same sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.evaluation.comparisons import comparisons_to_dict
from fermiclass.evaluation.method_results import MethodResult
from fermiclass.evaluation.metrics import Difference, paired_difference
from fermiclass.io.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Evaluation:
    """All methods on the same n sources.

    Attributes
    ----------
    catalog
        Name of the catalogue that gives the features.
    protocol
        The protocol in words.
    classes
        The C classes, in the order of the probabilities.
    features
        Names of the features, by the name of their set.
    names, y, status
        (n,) names, true classes, and status in the catalogue ('' for no association).
    significance
        (n,) Signif_Avg, NaN where it is unknown.
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
        """Methods with the same features and the same correction, by `Variant.group`; groups and methods best first."""
        groups: dict[str, list[str]] = {}
        for name in self.ranking:
            groups.setdefault(self.methods[name].variant.group(len(self.features) > 1), []).append(name)
        return groups

    def difference(self, method: str, other: str, population: str = "all") -> Difference:
        """Return the NLL of a method minus the NLL of another on the same sources.

        Raises
        ------
        KeyError
            When a method or the population (``all`` or ``unassociated``) was not scored.
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
