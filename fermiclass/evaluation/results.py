"""The evaluation: methods on the same targets, a table of probabilities for each, and all figures of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fermiclass.evaluation import metrics
from fermiclass.evaluation.methods import Method
from fermiclass.evaluation.protocols import Targets
from fermiclass.io import FloatArray
from fermiclass.io.plain import plain_value

if TYPE_CHECKING:
    from fermiclass.evaluation.counterparts import Bin

MEAN = "mean"  #: Name of the mean of all baselines of a variant, before its suffix.

SIGNIFICANCE_EDGES = (0.0, 5.0, 7.0, 10.0, 20.0, np.inf)  #: Edges of the bins of Signif_Avg.


@dataclass(frozen=True)
class Difference:
    """Mean of n paired differences, and its standard error."""

    mean: float
    se: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ± {self.se:.3f}"


@dataclass(frozen=True, eq=False)
class Result:
    """What a method says of the N sources."""

    method: Method
    p: FloatArray = field(repr=False)  #: (N, C) probabilities.
    seconds: float  #: Wall-clock time of training and prediction.


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Methods on the same targets."""

    targets: Targets  #: The sources.
    results: Mapping[str, Result]  #: What each method says of them, by name.
    counterparts: Sequence[Bin] = ()  #: Candidate counterparts beside those of the later list.

    def __len__(self) -> int:
        return len(self.targets.scored)

    @property
    def classes(self) -> tuple[str, ...]:
        """What is told apart, in the order of the probabilities."""
        return tuple(self.targets.populations["all"].groups)

    @property
    def truth(self) -> metrics.Truth:
        """(n, G) truth of the scored sources."""
        return self.targets.truth_of("all")[self.targets.scored]

    @property
    def y(self) -> NDArray[np.str_]:
        """(n,) class of the scored sources, the first where several are possible."""
        return np.array(self.classes)[self.truth.argmax(axis=1)]

    def probabilities(self, method: str) -> FloatArray:
        """Return the probabilities of the scored sources by a method, ``(n, G)``."""
        return self._view("all", method)[0]

    @cached_property
    def figures(self) -> pd.DataFrame:
        """All columns of :data:`fermiclass.evaluation.metrics.COLUMNS`: a row for each population and method."""
        found = {
            (population, name): metrics.figures(*self._view(population, name), self.targets.low[rows])
            for population in self.targets.populations
            if len(rows := self.targets.scored_of(population))
            for name in self.results
        }
        return pd.DataFrame.from_dict(found, orient="index").rename_axis(["population", "method"])

    @property
    def table(self) -> pd.DataFrame:
        """The columns for all scored sources: a row for each method, the lowest NLL first."""
        return self.figures.loc["all"].sort_values("nll")

    @property
    def best(self) -> str:
        """The method with the lowest NLL that is no baseline, or the best baseline where there are only baselines."""
        ranking = list(self.table.index)
        return next((name for name in ranking if not self.results[name].method.is_baseline), ranking[0])

    @property
    def nll_of_constants(self) -> float:
        """The NLL of all scored sources with the best constant probabilities: the scale of the others."""
        return metrics.nll_after_best_priors(np.full(self.truth.shape, 1 / len(self.classes)), self.truth)

    def losses(self, population: str = "all") -> pd.DataFrame:
        """Return −ln P(true class) of each scored source: a row for each source, a column for each method."""
        rows = self.targets.scored_of(population)
        index = pd.DataFrame({"name": self.targets.names[rows], "significance": self.targets.significance[rows]})
        found = {name: metrics.nll_per_source(*self._view(population, name)) for name in self.results}
        return pd.DataFrame(found, index=pd.MultiIndex.from_frame(index))

    def difference(self, method: str, other: str, population: str = "all") -> Difference:
        """Return the NLL of a method minus the NLL of another on the same sources."""
        losses = self.losses(population)
        paired = losses[method] - losses[other]
        return Difference(float(paired.mean()), float(paired.sem()), len(paired))

    def by_significance(self, method: str, other: str | None = None) -> pd.DataFrame:
        """Return mean NLL, se and n by bin of Signif_Avg, of a method or of its difference to another."""
        losses = self.losses()
        values = losses[method] if other is None else losses[method] - losses[other]
        bins = pd.cut(losses.index.get_level_values("significance"), SIGNIFICANCE_EDGES, right=False)
        found = values.groupby(bins, observed=True).agg(["mean", "sem", "count"])
        return found.rename(columns={"sem": "se", "count": "n"})

    def best_baseline(self, population: str = "all") -> str | None:
        """Return the baseline with the lowest NLL on the same sources, which favours it; None without baselines."""
        wanted = [name for name, each in self.results.items() if each.method.is_baseline]
        return str(self.figures.loc[population].loc[wanted, "nll"].idxmin()) if wanted else None

    def versus_baselines(self, method: str) -> dict[str, dict[str, Any]]:
        """Return by population the best ``baseline``, the ``ratio`` of a method's NLL to its, and the `difference`."""
        found = {}
        for population in self.figures.index.unique("population"):
            if (best := self.best_baseline(population)) is not None:
                mine, theirs = self.figures["nll"].loc[population][[method, best]]
                about = {"baseline": best, "ratio": mine / theirs if theirs > 0 else None}
                found[population] = about | asdict(self.difference(method, best, population))
        return found

    @cached_property
    def same_factors(self) -> Evaluation | None:
        """The baselines with the default's factors, and own methods with and without: classifiers without priors.

        None without factors or baselines.
        """
        factors = self.targets.factors
        if factors is None or self.best_baseline() is None:
            return None
        found: dict[str, Result] = {}
        for name, each in self.results.items():
            if each.method.is_baseline:
                found[name] = replace(each, p=_times(each.p, factors))
            elif not each.method.as_trained:
                bare = replace(each.method, name=f"{name} without factors")
                found |= {name: each, bare.name: replace(each, method=bare, p=_times(each.p, 1.0 / factors))}
        return Evaluation(self.targets, found)

    def per_class(self, method: str, population: str = "all") -> dict[str, dict[str, Any]]:
        """Return :func:`fermiclass.evaluation.metrics.per_class` of a population."""
        groups, together = tuple(self.targets.populations[population].groups), self.targets.together
        together = together if set(together) < set(groups) else ()
        return metrics.per_class(*self._view(population, method, known=False), groups, together=together)

    def candidates(self, method: str, population: str = "all") -> dict[str, list[dict[str, Any]]]:
        """Return :func:`fermiclass.evaluation.metrics.candidates` of a population."""
        return metrics.candidates(*self._view(population, method), tuple(self.targets.populations[population].groups))

    def confusion(self, method: str) -> metrics.IntArray:
        """Return numbers of scored sources by true and most probable class, ``(G, G)``."""
        return metrics.confusion(self.probabilities(method), self.truth)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``fermiclass evaluate --json`` writes; docs/development/benchmarks.md describes it."""
        targets = self.targets
        found = {
            "catalog": targets.catalog,
            "later": targets.later or None,
            "protocol": targets.protocol,
            "description": targets.description,
            **targets.meta,
            "n": len(self),
            "classes": self.classes,
            "nll_of_constants": self.nll_of_constants,
            "found": {name: row["n"] for name, row in self.per_class(self.best).items()},
            "methods": {name: self._method_to_dict(name) for name in self.results},
        }
        if self.counterparts:
            found["counterparts"] = [asdict(each) for each in self.counterparts]
        if (same := self.same_factors) is not None:
            own = [name for name, each in same.results.items() if not each.method.is_baseline]
            found["same_factors"] = {name: same.versus_baselines(name) for name in own}
        # JSON has no NaN and no infinity: null stands for an undefined number.
        return json.loads(json.dumps(plain_value(found)), parse_constant=lambda name: None)

    def _method_to_dict(self, name: str) -> dict[str, Any]:
        result, targets = self.results[name], self.targets
        about: dict[str, Any] = {
            "is_baseline": result.method.is_baseline,
            "class_priors": "trained" if result.method.as_trained else str(targets.meta["class_priors"]),
            "settings": result.method.settings,
            "seconds": result.seconds,
        }
        for population in self.figures.index.unique("population"):
            p, truth = self._view(population, name)
            scores = {
                "n": len(p),
                **self.figures.loc[population].loc[name].to_dict(),
                "per_class": self.per_class(name, population),
                "reliability": [asdict(row) for row in metrics.reliability(p, truth)],
                "confusion": metrics.confusion(p, truth).tolist(),
            }
            if population == "all" or targets.populations[population].truth is not None:
                scores["candidates"] = self.candidates(name, population)
            about |= scores if population == "all" else {population: scores}
        about["by_significance"] = [
            {"low": bin.left, "high": bin.right if np.isfinite(bin.right) else None, **row}
            for bin, row in self.by_significance(name).to_dict("index").items()
        ]
        if not result.method.is_baseline:
            about["versus_baselines"] = self.versus_baselines(name)
        return about

    def _view(self, population: str, method: str, *, known: bool = True) -> tuple[FloatArray, metrics.Truth]:
        """Return probabilities and truth by the groups of a population, of its scored sources, or of all."""
        rows = self.targets.scored_of(population) if known else self.targets.populations[population].mask
        return self.targets.grouped(self.results[method].p, population)[rows], self.targets.truth_of(population)[rows]


def _times(p: FloatArray, factors: FloatArray) -> FloatArray:
    product = p * factors
    return np.asarray(product / product.sum(axis=1, keepdims=True))


def evaluate(
    targets: Targets, methods: Iterable[Method], *, progress: Callable[[str, int, int], None] | None = None
) -> Evaluation:
    """Run methods with different names on the targets of a protocol.

    In the open world the mean of two or more baselines of the same variant is a baseline too. `progress` is called with
    the name of the next method, the number of trainings done, and that of all. Raises ValueError when two methods have
    the same name, or there are none.
    """
    chosen = list(methods)
    names = [method.name for method in chosen]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"give at least one method, each with a name of its own, not {names}")
    total = len(chosen) * len(targets.splits)
    results: dict[str, Result] = {}
    for k, method in enumerate(chosen):
        p = np.empty((len(targets.names), len(targets.classes)))
        start = perf_counter()
        for j, (split, places) in enumerate(targets.splits):
            if progress is not None:
                progress(method.name, k * len(targets.splits) + j, total)
            p[places] = method.predict(split)
        results[method.name] = Result(method, p, perf_counter() - start)
    if targets.protocol == "open":
        for variant in dict.fromkeys(method.variant for method in chosen if method.is_baseline):
            baselines = [results[each.name] for each in chosen if each.is_baseline and each.variant == variant]
            if len(baselines) > 1:
                results[MEAN + variant] = _mean(baselines, MEAN + variant)
    return Evaluation(targets, results)


def _mean(results: Sequence[Result], name: str) -> Result:
    """Return the mean of the probabilities as one more baseline."""
    p = np.mean([result.p for result in results], axis=0)
    baselines = Method(name, lambda split: p, is_baseline=True, variant=results[0].method.variant)
    return Result(baselines, p, sum(result.seconds for result in results))
