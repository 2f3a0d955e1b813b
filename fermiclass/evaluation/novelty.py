"""How well OOD_SCORE tells sources of a class that was never learned from new sources of the classes that were."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import UNCERTAIN_CLASSES, Catalog, ClassGrouping
from fermiclass.domain import TrainingDomain
from fermiclass.errors import ClassError
from fermiclass.features import DEFAULT_FEATURE_SET, extract_features
from fermiclass.features.inputs import float_column
from fermiclass.features.transforms import FloatArray
from fermiclass.features.uncertainty import BoolArray
from fermiclass.summaries import console_for_tables

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Edges of the bins of Signif_Avg, and of the distance from the Galactic plane in degrees.
SIGNIFICANCE_EDGES = (0.0, 7.0, 12.0, 20.0, 40.0, math.inf)
LATITUDE_EDGES = (0.0, 10.0, math.inf)

_NUM_RESAMPLES = 300
_SCATTERED = 0.7  # a class is, whose held-out sources have a larger median score; 0.5 is that of all of them


@dataclass(frozen=True)
class Separation:
    """Area under the ROC curve of novel against trained sources.

    Attributes
    ----------
    auc
        Probability that a novel source scores higher than a trained one, ties counting half; NaN without pairs.
    se
        Its standard error, from resampling both with replacement; NaN with fewer than two of either.
    n_novel, n_trained
        How many there are.
    """

    auc: float
    se: float
    n_novel: int
    n_trained: int

    @classmethod
    def of(cls, novel: FloatArray, trained: FloatArray, *, seed: int = 0) -> Separation:
        """Compare the scores of novel sources (m,) with those of trained ones (n,).

        AUC = (1/mn) Σ_ij k(novel_i, trained_j), with k = 1 where the first is larger, ½ for equals (Mann & Whitney
        1947). A resample draws how often each source counts, so that all of them are two products with k.
        """
        m, n = len(novel), len(trained)
        if not m or not n:
            return cls(math.nan, math.nan, m, n)
        k = (novel[:, None] > trained) + 0.5 * (novel[:, None] == trained)  # (m, n)
        if min(m, n) < 2:
            return cls(float(k.mean()), math.nan, m, n)
        rng = np.random.default_rng(seed)
        times_novel, times_trained = (rng.multinomial(j, np.full(j, 1.0 / j), _NUM_RESAMPLES) for j in (m, n))
        resampled = np.sum((times_novel @ k) * times_trained, axis=1) / (m * n)
        return cls(float(k.mean()), float(resampled.std()), m, n)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold, None for what is undefined."""
        auc, se = (value if math.isfinite(value) else None for value in (self.auc, self.se))
        return {"auc": auc, "auc_se": se, "n_novel": self.n_novel, "n_trained": self.n_trained}

    def __str__(self) -> str:
        return f"{self.auc:.3f}±{self.se:.3f}" if math.isfinite(self.se) else f"{self.auc:.3f}"


@dataclass(frozen=True, eq=False)
class NoveltyResult:
    """Scores of novel sources and of held-out sources of the trained classes, n in all.

    Attributes
    ----------
    catalog
        What the features are from.
    classes
        The trained classes.
    features
        Names of the features.
    names
        (n,) the sources.
    y
        (n,) the trained class, '' of a novel source.
    status
        (n,) the catalogue's class.
    score
        (n,) OOD_SCORE.
    significance, latitude
        (n,) Signif_Avg, and |GLAT| in degrees; NaN where the catalogue gives none.
    meta
        Seed, folds, least significance.
    """

    catalog: str
    classes: tuple[str, ...]
    features: tuple[str, ...]
    names: NDArray[np.str_]
    y: NDArray[np.str_]
    status: NDArray[np.str_]
    score: FloatArray = field(repr=False)
    significance: FloatArray = field(repr=False)
    latitude: FloatArray = field(repr=False)
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def overall(self) -> Separation:
        """All novel sources against all trained ones."""
        return self._separation(np.ones(len(self), dtype=bool))

    @cached_property
    def per_class(self) -> dict[str, Separation]:
        """Each novel class against all trained sources, the most frequent first."""
        codes, counts = np.unique(self.status[self.y == ""], return_counts=True)
        order = np.lexsort((codes, -counts))
        return {str(code): self._separation((self.y != "") | (self.status == code)) for code in codes[order]}

    @cached_property
    def against(self) -> dict[str, Separation]:
        """All novel sources against each trained class."""
        return {name: self._separation((self.y == "") | (self.y == name)) for name in self.classes}

    @cached_property
    def by_significance(self) -> dict[tuple[float, float], Separation]:
        """Novel against trained sources of similar Signif_Avg, by the bin's edges."""
        return self._binned(self.significance, SIGNIFICANCE_EDGES)

    @cached_property
    def by_latitude(self) -> dict[tuple[float, float], Separation]:
        """Novel against trained sources close to the Galactic plane, and away from it."""
        return self._binned(self.latitude, LATITUDE_EDGES)

    @property
    def at_equal_significance(self) -> float:
        """Mean of the AUC in the bins of Signif_Avg, weighted by their novel sources.

        What is left when a novel source is compared only with trained ones about as bright: as large as the overall
        AUC, unless the score owes something to significance alone.
        """
        bins = [found for found in self.by_significance.values() if math.isfinite(found.auc)]
        n = sum(found.n_novel for found in bins)
        return sum(found.n_novel * found.auc for found in bins) / n if n else math.nan

    @property
    def median_score(self) -> dict[str, float]:
        """Median score of the held-out sources of each trained class; far above 0.5 where they are scattered."""
        return {name: float(np.median(self.score[self.y == name])) for name in self.classes}

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        equal = self.at_equal_significance
        return {
            "catalog": self.catalog,
            "protocol": "novel classes against held-out sources of the trained ones",
            "n": len(self),
            "classes": list(self.classes),
            "features": list(self.features),
            **self.meta,
            **self.overall.to_dict(),
            "auc_at_equal_significance": equal if math.isfinite(equal) else None,
            "per_class": {code: found.to_dict() for code, found in self.per_class.items()},
            "against": {name: found.to_dict() for name, found in self.against.items()},
            "median_score": self.median_score,
            "by_significance": _rows(self.by_significance),
            "by_latitude": _rows(self.by_latitude),
        }

    def _separation(self, chosen: BoolArray) -> Separation:
        novel = self.y == ""
        return Separation.of(self.score[chosen & novel], self.score[chosen & ~novel], seed=self.meta["seed"])

    def _binned(self, values: FloatArray, edges: Sequence[float]) -> dict[tuple[float, float], Separation]:
        return {
            (low, high): self._separation((values >= low) & (values < high)) for low, high in itertools.pairwise(edges)
        }


def evaluate_novelty(
    catalog: Catalog,
    *,
    features: str = DEFAULT_FEATURE_SET,
    classes: str = "bll,fsrq,psr",
    folds: int = 5,
    seed: int = 0,
    min_significance: float | None = None,
) -> NoveltyResult:
    """Score classes that are kept out of training, and held-out sources of the classes that are trained.

    The trained sources are spread over stratified folds. Each fold is scored by the :class:`TrainingDomain` of the
    others, so no source is compared with itself. The novel sources, which are all those with a definite class outside
    the grouping (not bcu, not unk), are scored by every fold's domain; theirs is the mean. No model is trained: the
    score does not depend on it.

    Parameters
    ----------
    catalog
        Its sources with a class are used.
    features, classes
        As for :func:`fermiclass.pipeline.train`.
    folds
        Number of folds.
    seed
        Of the folds and of the bootstrap.
    min_significance
        Use only sources, novel ones too, with a larger Signif_Avg.

    Raises
    ------
    ClassError
        When a trained class has fewer sources than there are folds, or no class is left to be novel.
    FeatureError
        When the catalogue does not support a feature.
    ValueError
        When there are fewer than two folds.
    """
    from sklearn.model_selection import StratifiedKFold

    if folds < 2:
        raise ValueError(f"folds={folds}: holding sources out needs two folds at least")
    grouping = ClassGrouping.parse(classes)
    table = extract_features(catalog, features, grouping)
    significance, latitude = _column(catalog, "Signif_Avg"), np.abs(_column(catalog, "GLAT"))
    chosen = ~np.isin(catalog.classes, ("", *UNCERTAIN_CLASSES)) | table.labelled
    if min_significance is not None:
        chosen &= significance > min_significance
    table, status = table[chosen], catalog.classes[chosen]
    trained, novel = np.flatnonzero(table.labelled), np.flatnonzero(~table.labelled)
    for name in grouping.names:
        if (count := int(np.sum(table.y == name))) < folds:
            raise ClassError(
                f"{catalog.source} has {count} sources of class '{name}', which cannot be spread over {folds} folds: "
                "ask for fewer folds, or leave the class out (--classes)."
            )
    if not len(novel):
        raise ClassError(
            f"{catalog.source} has no source of a class outside '{grouping}': leave classes out that shall be novel, "
            "such as --classes bll,fsrq,psr"
        )
    score = np.zeros(len(table))
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(trained, table.y[trained])
    for others, held_out in ((trained[a], trained[b]) for a, b in splits):
        domain = TrainingDomain.fit(table.X[others], table.X_var[others], table.y[others])
        score[held_out] = domain.score(table.X[held_out], table.X_var[held_out])
        score[novel] += domain.score(table.X[novel], table.X_var[novel]) / folds
    return NoveltyResult(
        catalog=str(catalog.source),
        classes=grouping.names,
        features=tuple(feature.name for feature in table.features),
        names=table.names,
        y=table.y,
        status=status,
        score=score,
        significance=significance[chosen],
        latitude=latitude[chosen],
        meta={"seed": seed, "folds": folds, "min_significance": min_significance},
    )


def novelty_table(result: NoveltyResult) -> Table:
    """Return the separation overall, by novel class, by trained class, by significance and by Galactic latitude."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("novel sources", overflow="fold")
    for heading in ("AUC", "novel", "trained"):
        table.add_column(heading, justify="right", no_wrap=True)

    def add(name: str, found: Separation) -> None:
        if found.n_novel and found.n_trained:
            auc = str(found) if math.isfinite(found.se) else f"{found}      "  # in line with those that have ±0.000
            table.add_row(name, auc, str(found.n_novel), str(found.n_trained))

    add("all", result.overall)
    table.add_section()
    for code, found in result.per_class.items():
        add(code, found)
    table.add_section()
    for name, found in result.against.items():
        add(f"all, against {name}", found)
    for symbol, bins in (("Signif_Avg", result.by_significance), ("|GLAT|", result.by_latitude)):
        table.add_section()
        for (low, high), found in bins.items():
            add(f"{symbol} {low:g} to {high:g}" if math.isfinite(high) else f"{symbol} from {low:g}", found)
    return table


def print_novelty(result: NoveltyResult, console: Console | None = None, *, feature_set: str | None = None) -> None:
    """Print what was scored, the table, and what to keep in mind when reading it.

    Parameters
    ----------
    result
        What to print.
    console
        Where; by default the terminal.
    feature_set
        What the features are called together, if that is worth saying.
    """
    console = console or console_for_tables()

    def say(text: str) -> None:
        console.print(text, markup=False)

    overall, number = result.overall, len(result.features)
    called = f" ({feature_set})" if feature_set else ""
    say(
        f"{result.catalog}: {overall.n_novel} sources of classes kept out of training against {overall.n_trained} "
        f"held-out ones of {', '.join(result.classes)}, {number} feature{'s' if number > 1 else ''}{called}."
    )
    console.print(novelty_table(result))
    say(
        "A source's OOD_SCORE is the share of training sources that lie less far from the others than it does; AUC is "
        "the probability that it is higher for a novel source than for a trained one, 0.5 by chance."
    )
    if math.isfinite(result.at_equal_significance):
        say(f"AUC among sources of similar Signif_Avg: {result.at_equal_significance:.3f}.")
    scattered = {name: median for name, median in result.median_score.items() if median > _SCATTERED}
    if scattered:
        medians = ", ".join(f"{median:.2f}" for median in scattered.values())
        say(
            f"Sources of {', '.join(scattered)} are scattered: half of the held-out ones score above {medians}, so "
            f"that a high score may mean {' or '.join(scattered)} as well as something new."
        )


def _rows(bins: Mapping[tuple[float, float], Separation]) -> list[dict[str, Any]]:
    return [
        {"low": low, "high": high if math.isfinite(high) else None, **found.to_dict()}
        for (low, high), found in bins.items()
    ]


def _column(catalog: Catalog, name: str) -> FloatArray:
    return float_column(catalog, name) if catalog.has_column(name) else np.full(len(catalog), np.nan)
