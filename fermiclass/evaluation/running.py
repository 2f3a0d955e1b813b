"""What every protocol does: train methods on some sources, predict others, score what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from fermiclass.evaluation.methods import Method
from fermiclass.evaluation.metrics import IntArray
from fermiclass.evaluation.results import MethodResult, Variant
from fermiclass.evaluation.scores import Scores
from fermiclass.features import FeatureTable
from fermiclass.features.transforms import FloatArray
from fermiclass.shares import Shares

#: Called with the name of the method that is about to start, how many trainings are done, and how many there are.
Progress = Callable[[str, int, int], None]

#: From the probabilities (T, C) of all predicted sources to corrected ones, and the estimated shares by status.
Correction = Callable[[FloatArray], tuple[FloatArray, Mapping[str, Shares]]]


@dataclass(frozen=True, eq=False)
class Split:
    """Sources to learn from and sources to predict.

    Attributes
    ----------
    train
        All of its rows have a label.
    test
        Rows without a label are fine.
    rows
        (len(test),) where among the T predicted sources those of `test` go.
    """

    train: FeatureTable
    test: FeatureTable
    rows: IntArray

    @classmethod
    def single(cls, train: FeatureTable, test: FeatureTable) -> Split:
        """Return the only split of a protocol: its T sources are those of `test`."""
        return cls(train, test, np.arange(len(test)))


@dataclass(frozen=True, eq=False)
class ScoredSources:
    """The n sources by which every method is scored.

    Attributes
    ----------
    names, y, status
        (n,) names, true classes, and what the catalogue says of them ('' for no association).
    significance
        (n,) Signif_Avg, NaN where it is not known.
    rows
        (n,) which of the T predicted sources they are.
    classes
        The C classes, in the order of the probabilities.
    seed
        Of the bootstrap.
    """

    names: NDArray[np.str_]
    y: NDArray[np.str_]
    status: NDArray[np.str_]
    significance: FloatArray
    rows: IntArray
    classes: tuple[str, ...]
    seed: int

    def score(
        self,
        variant: Variant,
        p: FloatArray,
        fit_seconds: float,
        predict_seconds: float,
        shares: Mapping[str, Shares] | None = None,
    ) -> MethodResult:
        """Score the probabilities (T, C) of all predicted sources."""
        p = p[self.rows]
        bare = self.status == ""
        return MethodResult(
            variant=variant,
            scores=self._scores(p, np.ones(len(p), dtype=bool)),
            unassociated=self._scores(p, bare) if bare.any() else None,
            fit_seconds=fit_seconds,
            predict_seconds=predict_seconds,
            probabilities=p,
            shares=shares or {},
        )

    def _scores(self, p: FloatArray, chosen: NDArray[np.bool_]) -> Scores:
        significance = self.significance[chosen]
        return Scores.of(p[chosen], self.y[chosen], self.classes, significance=significance, seed=self.seed)


def run_methods(
    methods: Sequence[Method],
    splits: Mapping[str, Sequence[Split]],
    sources: ScoredSources,
    *,
    corrections: Mapping[str, Correction] | None = None,
    progress: Progress | None = None,
) -> dict[str, MethodResult]:
    """Run every method with every set of features, with and without corrections.

    Parameters
    ----------
    methods
        Names must differ: `unique_methods`.
    splits
        By the name of the set of features; the same rows in each.
    sources
        By which to score.
    corrections
        By the suffix of the method's name. Each is given the probabilities as trained.
    progress
        See `Progress`.

    Returns
    -------
    dict
        Results by `Variant.name`: a set of features after the other, the methods in the order given, each followed by
        its corrections.
    """
    results: dict[str, MethodResult] = {}
    several = len(splits) > 1
    total = len(methods) * sum(len(of_set) for of_set in splits.values())
    done = 0
    for features, of_set in splits.items():
        for method in methods:
            variant = Variant(method.name, features, is_peer=bool(getattr(method, "is_peer", False)))
            name = variant.name(several)
            p = np.empty((sum(len(split.test) for split in of_set), len(sources.classes)))
            fit_seconds = predict_seconds = 0.0
            fit_many = getattr(method, "fit_many", None)
            together = None
            for k, split in enumerate(of_set):
                if progress is not None:
                    progress(name, done, total)
                start = perf_counter()
                if fit_many is None:
                    predictor = method.fit(split.train, sources.classes)
                else:
                    together = together or fit_many([of.train for of in of_set], sources.classes)
                    predictor = together[k]
                fitted = perf_counter()
                p[split.rows] = predictor.predict(split.test)
                fit_seconds, predict_seconds = fit_seconds + fitted - start, predict_seconds + perf_counter() - fitted
                done += 1
            results[name] = sources.score(variant, p, fit_seconds, predict_seconds)
            for suffix, correct in (corrections or {}).items():
                start = perf_counter()
                corrected, shares = correct(p)
                seconds = predict_seconds + perf_counter() - start
                changed = Variant(method.name, features, suffix, variant.is_peer)
                results[changed.name(several)] = sources.score(changed, corrected, fit_seconds, seconds, shares)
    return results


def unique_methods(methods: Iterable[Method]) -> list[Method]:
    """Return the methods as a list.

    Raises
    ------
    ValueError
        When two have the same name, or there are none.
    """
    chosen = list(methods)
    names = [method.name for method in chosen]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated or not names:
        raise ValueError(f"methods must have names of their own and be one at least; repeated: {repeated or 'none'}")
    return chosen
