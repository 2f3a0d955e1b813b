"""Methods: each learns from one feature table, and predicts class probabilities for the sources of another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fermiclass.evaluation.baselines import BaselineClassifier, available_baselines
from fermiclass.features import FeatureTable
from fermiclass.io.arrays import FloatArray

#: Suffix of the name of a baseline that gets the uncertainties as extra features.
UNCERTAINTIES_SUFFIX = "+unc"


class TrainedMethod(Protocol):
    """A method after training."""

    def predict(self, table: FeatureTable) -> FloatArray:
        """Return class probabilities, ``(n, C)``, in the order of the classes given to `Method.fit`."""
        ...


class Method(Protocol):
    """A method that can be evaluated.

    If it has a true attribute ``is_baseline``, the other methods are compared with it. If it has a method
    ``fit_many(tables, classes)``, it gets all training tables of a protocol at once.
    """

    @property
    def name(self) -> str:
        """The name, unique among the methods of an evaluation."""
        ...

    def fit(self, table: FeatureTable, classes: Sequence[str]) -> TrainedMethod:
        """Learn from a table. Each of its rows has a label among `classes`."""
        ...


@dataclass(frozen=True)
class TrainedEstimator:
    """A fitted estimator that returns its probabilities in the order of `classes`."""

    estimator: Any
    classes: tuple[str, ...]

    def predict(self, table: FeatureTable) -> FloatArray:
        """Return class probabilities, ``(n, C)``; 0 for a class without training sources."""
        p = np.asarray(self.estimator.predict_proba(table.X, X_var=table.X_var), dtype=np.float64)
        ordered = np.zeros((len(table), len(self.classes)))
        for k, name in enumerate(self.estimator.classes_):
            ordered[:, self.classes.index(str(name))] = p[:, k]
        return ordered


@dataclass(frozen=True)
class EstimatorMethod:
    """Any estimator with ``fit(X, y, *, X_var)`` and ``predict_proba(X, *, X_var)``.

    Attributes
    ----------
    name
        The name, unique among the methods of an evaluation.
    estimator
        An unfitted estimator. It is copied, not changed.
    is_baseline
        Whether the other methods are compared with it.
    """

    name: str
    estimator: Any
    is_baseline: bool = False

    def fit(self, table: FeatureTable, classes: Sequence[str]) -> TrainedEstimator:
        """Train a copy of the estimator."""
        return self.fit_many([table], classes)[0]

    def fit_many(self, tables: Sequence[FeatureTable], classes: Sequence[str]) -> list[TrainedEstimator]:
        """Train a copy of the estimator on each table, on all at once if the estimator can."""
        from sklearn.base import clone

        data = [(table.X, table.y, table.X_var) for table in tables]
        if hasattr(self.estimator, "fit_many"):
            fitted = self.estimator.fit_many(data)
        else:
            fitted = [clone(self.estimator).fit(X, y, X_var=X_var) for X, y, X_var in data]
        return [TrainedEstimator(estimator, tuple(classes)) for estimator in fitted]


def baseline_method(name: str, seed: int = 0) -> EstimatorMethod:
    """Return a baseline as a method.

    The name is one of ``BASELINES``. If it ends in `UNCERTAINTIES_SUFFIX`, the uncertainties are features too.

    Raises
    ------
    ValueError
        When there is no such baseline, or its package is not installed.
    """
    baseline = name.removesuffix(UNCERTAINTIES_SUFFIX)
    if baseline not in available_baselines():
        raise ValueError(
            f"no baseline '{baseline}': available are {', '.join(available_baselines())}, each also with "
            f"'{UNCERTAINTIES_SUFFIX}' (xgboost where the package is installed)"
        )
    return EstimatorMethod(
        name, BaselineClassifier(baseline, uncertainties=name != baseline, seed=seed), is_baseline=True
    )


def baseline_methods(
    names: Iterable[str] | None = None, *, seed: int = 0, uncertainties: bool = False
) -> list[EstimatorMethod]:
    """Return several baselines as methods, by default all that are installed.

    With `uncertainties`, each baseline is there a second time, with the uncertainties as features.
    """
    chosen = list(available_baselines() if names is None else names)
    if uncertainties:
        chosen += [name + UNCERTAINTIES_SUFFIX for name in chosen if not name.endswith(UNCERTAINTIES_SUFFIX)]
    return [baseline_method(name, seed) for name in chosen]
