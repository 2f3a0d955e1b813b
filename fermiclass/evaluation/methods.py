"""A method: something with a name that learns from a feature table and gives every source of another probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fermiclass.evaluation.peers import PeerClassifier, available_peers
from fermiclass.features import FeatureTable
from fermiclass.features.transforms import FloatArray

#: Ends the name of a peer that gets the uncertainties as extra features.
UNCERTAINTIES_SUFFIX = "+unc"


class Predictor(Protocol):
    """What a method is after training."""

    def predict(self, table: FeatureTable) -> FloatArray:
        """Return class probabilities, ``(n, C)``, in the order of the classes that were asked for."""
        ...


class Method(Protocol):
    """What is evaluated; one that has an attribute ``is_peer`` that is true is what others are compared with.

    One that has ``fit_many(tables, classes)`` is given all training tables of a protocol at once.
    """

    @property
    def name(self) -> str:
        """Unique among the methods of an evaluation."""
        ...

    def fit(self, table: FeatureTable, classes: Sequence[str]) -> Predictor:
        """Learn from a table whose rows all have a label, one of `classes`."""
        ...


@dataclass(frozen=True)
class EstimatorPredictor:
    """A fitted estimator, its probabilities put in the order of `classes`."""

    estimator: Any
    classes: tuple[str, ...]

    def predict(self, table: FeatureTable) -> FloatArray:
        """Return class probabilities, ``(n, C)``; 0 for a class that there was nothing to learn of."""
        p = np.asarray(self.estimator.predict_proba(table.X, X_var=table.X_var), dtype=np.float64)
        ordered = np.zeros((len(table), len(self.classes)))
        for k, name in enumerate(self.estimator.classes_):
            ordered[:, self.classes.index(str(name))] = p[:, k]
        return ordered


@dataclass(frozen=True)
class EstimatorMethod:
    """Any estimator with ``fit(X, y, *, X_var)`` and ``predict_proba(X, *, X_var)``; it is copied, not changed.

    Attributes
    ----------
    name
        Unique among the methods of an evaluation.
    estimator
        Unfitted.
    is_peer
        Whether it is what a user would pick instead, which others are compared with.
    """

    name: str
    estimator: Any
    is_peer: bool = False

    def fit(self, table: FeatureTable, classes: Sequence[str]) -> EstimatorPredictor:
        """Train a copy of the estimator."""
        return self.fit_many([table], classes)[0]

    def fit_many(self, tables: Sequence[FeatureTable], classes: Sequence[str]) -> list[EstimatorPredictor]:
        """Train a copy of the estimator on each table, at once where the estimator can."""
        from sklearn.base import clone

        data = [(table.X, table.y, table.X_var) for table in tables]
        if hasattr(self.estimator, "fit_many"):
            fitted = self.estimator.fit_many(data)
        else:
            fitted = [clone(self.estimator).fit(X, y, X_var=X_var) for X, y, X_var in data]
        return [EstimatorPredictor(estimator, tuple(classes)) for estimator in fitted]


def peer_method(name: str, seed: int = 0) -> EstimatorMethod:
    """Return the method of a peer: a name in ``PEERS``, with `UNCERTAINTIES_SUFFIX` for uncertainties as features.

    Raises
    ------
    ValueError
        When there is no such peer, or its package is not installed.
    """
    peer = name.removesuffix(UNCERTAINTIES_SUFFIX)
    if peer not in available_peers():
        raise ValueError(
            f"no peer '{peer}': available are {', '.join(available_peers())}, each also with "
            f"'{UNCERTAINTIES_SUFFIX}' (xgboost where the package is installed)"
        )
    return EstimatorMethod(name, PeerClassifier(peer, uncertainties=name != peer, seed=seed), is_peer=True)


def peer_methods(
    names: Iterable[str] | None = None, *, seed: int = 0, uncertainties: bool = False
) -> list[EstimatorMethod]:
    """Return the methods of several peers, by default of all available; with `uncertainties` also with these."""
    chosen = list(available_peers() if names is None else names)
    if uncertainties:
        chosen += [name + UNCERTAINTIES_SUFFIX for name in chosen if not name.endswith(UNCERTAINTIES_SUFFIX)]
    return [peer_method(name, seed) for name in chosen]
