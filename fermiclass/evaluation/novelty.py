"""How well OOD_SCORE separates sources of new classes from new sources of the trained classes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import THREE_CLASSES, UNCERTAIN_CLASSES, Catalog, ClassGrouping
from fermiclass.errors import ClassError
from fermiclass.features import DEFAULT_FEATURE_SET, extract_features
from fermiclass.features.inputs import column_or_nan
from fermiclass.features.uncertainty import BoolArray
from fermiclass.io.arrays import FloatArray
from fermiclass.nimgp.domain import TrainingDomain

#: Edges of the bins in which novel sources are compared with trained ones: Signif_Avg, and |GLAT| in degrees.
NOVELTY_SIGNIFICANCE_EDGES = (0.0, 7.0, 12.0, 20.0, 40.0, math.inf)
NOVELTY_LATITUDE_EDGES = (0.0, 10.0, math.inf)

_NUM_RESAMPLES = 300


@dataclass(frozen=True)
class Separation:
    """Area under the ROC curve of novel against trained sources.

    Attributes
    ----------
    auc
        Probability that a novel source scores higher than a trained one. Ties count half. NaN without pairs.
    se
        Standard error of `auc`, by resampling both samples with replacement. NaN if a sample has fewer than two.
    n_novel, n_trained
        Numbers of novel and of trained sources.
    """

    auc: float
    se: float
    n_novel: int
    n_trained: int

    @classmethod
    def of(cls, novel: FloatArray, trained: FloatArray, *, seed: int = 0) -> Separation:
        """Compare the scores of novel sources (m,) with the scores of trained ones (n,).

        AUC = (1/mn) Σ_ij k(novel_i, trained_j), with k = 1 where the first is larger and ½ where both are equal (Mann
        & Whitney 1947). A resample draws how often each source counts, so all resamples are two products with k.
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
        """Return the keys of the JSON; None stands for an undefined number."""
        auc, se = (value if math.isfinite(value) else None for value in (self.auc, self.se))
        return {"auc": auc, "auc_se": se, "n_novel": self.n_novel, "n_trained": self.n_trained}

    def __str__(self) -> str:
        return f"{self.auc:.3f}±{self.se:.3f}" if math.isfinite(self.se) else f"{self.auc:.3f}"


@dataclass(frozen=True, eq=False)
class NoveltyResult:
    """Scores of n sources: novel sources, and held-out sources of the trained classes.

    Attributes
    ----------
    catalog
        Name of the catalogue.
    classes
        The trained classes.
    features
        Names of the features.
    names
        (n,) names of the sources.
    y
        (n,) the trained class, '' for a novel source.
    status
        (n,) the catalogue's class.
    score
        (n,) OOD_SCORE.
    significance, latitude
        (n,) Signif_Avg, and |GLAT| in degrees; NaN where the catalogue gives none.
    meta
        Seed, number of folds, minimum significance.
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
        """Separation of all novel sources from all trained ones."""
        return self._separation(np.ones(len(self), dtype=bool))

    @cached_property
    def per_class(self) -> dict[str, Separation]:
        """Separation of each novel class from all trained sources, the most frequent class first."""
        codes, counts = np.unique(self.status[self.y == ""], return_counts=True)
        order = np.lexsort((codes, -counts))
        return {str(code): self._separation((self.y != "") | (self.status == code)) for code in codes[order]}

    @cached_property
    def against(self) -> dict[str, Separation]:
        """Separation of all novel sources from each trained class."""
        return {name: self._separation((self.y == "") | (self.y == name)) for name in self.classes}

    @cached_property
    def by_significance(self) -> dict[tuple[float, float], Separation]:
        """Separation of novel from trained sources of similar Signif_Avg, by the edges of the bin."""
        return self._binned(self.significance, NOVELTY_SIGNIFICANCE_EDGES)

    @cached_property
    def by_latitude(self) -> dict[tuple[float, float], Separation]:
        """Separation of novel from trained sources close to the Galactic plane, and far from it."""
        return self._binned(self.latitude, NOVELTY_LATITUDE_EDGES)

    @property
    def at_equal_significance(self) -> float:
        """Mean of the AUC in the bins of Signif_Avg, weighted by their numbers of novel sources.

        It compares a novel source only with trained sources of similar brightness. It is as large as the overall AUC
        unless the score depends on significance itself.
        """
        bins = [found for found in self.by_significance.values() if math.isfinite(found.auc)]
        n = sum(found.n_novel for found in bins)
        return sum(found.n_novel * found.auc for found in bins) / n if n else math.nan

    @property
    def median_score(self) -> dict[str, float]:
        """Median score of the held-out sources of each trained class; far above 0.5 for a scattered class."""
        return {name: float(np.median(self.score[self.y == name])) for name in self.classes}

    def to_dict(self) -> dict[str, Any]:
        """Return the layout that ``fermiclass evaluate --ood --json`` writes."""
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
    classes: str = THREE_CLASSES,
    folds: int = 5,
    seed: int = 0,
    min_significance: float | None = None,
) -> NoveltyResult:
    """Score sources of classes outside the training, and held-out sources of the trained classes.

    The trained sources are divided into stratified folds. The :class:`TrainingDomain` of the other folds scores each
    fold, so no source is compared with itself. The novel sources are all sources with a definite class outside the
    grouping (not bcu, not unk). Their score is the mean over the domains of all folds. No model is trained, because the
    score does not depend on one.

    Parameters
    ----------
    catalog
        The catalogue. Its sources with a class are used.
    features, classes
        As for :func:`fermiclass.labelling.training.train`, but the default classes leave some out, which are novel.
        Sources whose class stands for several groups are left out.
    folds
        Number of folds.
    seed
        Seed of the folds and of the bootstrap.
    min_significance
        Use only sources with a larger Signif_Avg, also among the novel ones.

    Returns
    -------
    NoveltyResult
        The scores, and the areas under the ROC curve.

    Raises
    ------
    ClassError
        When a trained class has fewer sources than there are folds, or no class is novel.
    FeatureError
        When the catalogue does not support a feature.
    ValueError
        When there are fewer than two folds.
    """
    from sklearn.model_selection import StratifiedKFold

    if folds < 2:
        raise ValueError(f"folds={folds} is not valid: give at least 2 folds, so that sources can be held out")
    grouping = ClassGrouping.parse(classes)
    table = extract_features(catalog, features, grouping)
    significance, latitude = column_or_nan(catalog, "Signif_Avg"), np.abs(column_or_nan(catalog, "GLAT"))
    of_one_group = np.isin(table.y, grouping.names)
    chosen = of_one_group | (~np.isin(catalog.classes, ("", *UNCERTAIN_CLASSES)) & ~table.labelled)
    if min_significance is not None:
        chosen &= significance > min_significance
    table, status = table[chosen], catalog.classes[chosen]
    trained, novel = np.flatnonzero(table.labelled), np.flatnonzero(~table.labelled)
    for name in grouping.names:
        if (count := int(np.sum(table.y == name))) < folds:
            raise ClassError(
                f"{catalog.source} has {count} sources of class '{name}', too few for {folds} folds: use fewer folds, "
                "or leave the class out (--classes)."
            )
    if not len(novel):
        raise ClassError(
            f"{catalog.source} has no source of a class outside '{grouping}': leave out classes, so that they are "
            "novel, such as --classes bll,fsrq,psr"
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


def _rows(bins: Mapping[tuple[float, float], Separation]) -> list[dict[str, Any]]:
    return [
        {"low": low, "high": high if math.isfinite(high) else None, **found.to_dict()}
        for (low, high), found in bins.items()
    ]
