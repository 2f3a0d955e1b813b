"""The steps that all protocols share: train methods on some sources, predict other sources, score the predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from fermiclass.evaluation.method_results import MethodResult, Variant
from fermiclass.evaluation.methods import Method
from fermiclass.evaluation.metrics import IntArray
from fermiclass.evaluation.scores import Scores
from fermiclass.features import FeatureTable
from fermiclass.io.arrays import FloatArray
from fermiclass.labelling.label_shift import Shares

#: Called with the name of the next method, the number of trainings done, and the number of all trainings.
Progress = Callable[[str, int, int], None]

#: Turns the probabilities (T, C) of all predicted sources into corrected ones and estimated class priors by status.
Correction = Callable[[FloatArray], tuple[FloatArray, Mapping[str, Shares]]]


@dataclass(frozen=True, eq=False)
class Split:
    """Sources to learn from and sources to predict.

    Attributes
    ----------
    train
        Training sources. All have a label.
    test
        Sources to predict, with or without a label.
    rows
        (len(test),) places of the sources of `test` among all T predicted sources.
    """

    train: FeatureTable
    test: FeatureTable
    rows: IntArray

    @classmethod
    def single(cls, train: FeatureTable, test: FeatureTable) -> Split:
        """Return the only split of a protocol: its T predicted sources are those of `test`."""
        return cls(train, test, np.arange(len(test)))


@dataclass(frozen=True, eq=False)
class ScoredSources:
    """The n sources by which every method is scored.

    Attributes
    ----------
    names, y, status
        (n,) names, true classes, and status in the catalogue ('' for no association).
    significance
        (n,) Signif_Avg, NaN where it is unknown.
    rows
        (n,) places of the sources among the T predicted ones.
    classes
        The C classes, in the order of the probabilities.
    seed
        Seed of the bootstrap.
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
    """Run every method with every feature set, with and without corrections.

    Parameters
    ----------
    methods
        Methods with different names: `unique_methods`.
    splits
        Splits by the name of the feature set; each set has the same rows.
    sources
        The sources to score.
    corrections
        Corrections by the suffix of the method's name. Each gets the uncorrected probabilities.
    progress
        See `Progress`.

    Returns
    -------
    dict
        Results by `Variant.name`, one feature set after the other, the methods in the order given. Each method is
        followed by its corrected forms.
    """
    results: dict[str, MethodResult] = {}
    several = len(splits) > 1
    total = len(methods) * sum(len(of_set) for of_set in splits.values())
    done = 0
    for features, of_set in splits.items():
        for method in methods:
            variant = Variant(method.name, features, is_baseline=bool(getattr(method, "is_baseline", False)))
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
                changed = Variant(method.name, features, suffix, variant.is_baseline)
                results[changed.name(several)] = sources.score(changed, corrected, fit_seconds, seconds, shares)
    return results


def unique_methods(methods: Iterable[Method]) -> list[Method]:
    """Return the methods as a list.

    Raises
    ------
    ValueError
        When two methods have the same name, or there are none.
    """
    chosen = list(methods)
    names = [method.name for method in chosen]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated or not names:
        raise ValueError(
            f"the methods have repeated names ({', '.join(repeated)}): give each method a name of its own"
            if repeated
            else "there are no methods: give at least one"
        )
    return chosen
