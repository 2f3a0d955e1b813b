"""Ways to find out how far probabilities can be trusted: across releases, from bright to faint, across folds.

Each can be given several sets of features, which are then compared on the same sources. A method's results are found
under its name; where there are several sets, under ``method@set``, such as ``mlps+unc@six``, for sets as
:func:`fermiclass.evaluation.feature_sets.name_feature_sets` calls them. What is done to the probabilities comes last:
``mlps+unc@six+shares``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fermiclass.catalog import Catalog, ClassGrouping
from fermiclass.errors import CatalogError, ClassError
from fermiclass.evaluation.crossmatch import later_classes
from fermiclass.evaluation.feature_sets import name_feature_sets
from fermiclass.evaluation.methods import Method
from fermiclass.evaluation.results import SHARES_SUFFIX, Evaluation, MethodResult
from fermiclass.evaluation.running import Correction, Progress, ScoredSources, Split, run_methods, unique_methods
from fermiclass.features import DEFAULT_FEATURE_SET, FeatureTable, extract_features
from fermiclass.features.transforms import FloatArray
from fermiclass.pipeline import training_table
from fermiclass.shares import DEFAULT_CONCENTRATION, Shares, correct_by_status


def evaluate_future(
    earlier: Catalog,
    later: Catalog,
    methods: Iterable[Method],
    *,
    features: str | Sequence[str] = DEFAULT_FEATURE_SET,
    classes: str = "bll,fsrq,psr",
    min_significance: float | None = None,
    shares: bool = True,
    concentration: float = DEFAULT_CONCENTRATION,
    radius_deg: float = 0.15,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Train on a release's associated sources; score those without a class that a later release gives one.

    Features, their errors and what is imputed come from the earlier release alone, for every source; nothing is
    dropped. With `shares`, every method is also scored with its probabilities corrected for the shares of the classes
    (:mod:`fermiclass.shares`), estimated for unassociated, bcu and unk apart from *all* of the earlier
    release's sources of that status, under its name and `SHARES_SUFFIX`.

    Which sources get a class meanwhile is not left to chance: unassociated sources mostly do as pulsars are found in
    them. The scores are those of the sources that did.

    Parameters
    ----------
    earlier, later
        Two releases.
    methods
        Names must differ.
    features
        One set or several: ``"six"``, ``["six", "extended"]``; each as for :func:`fermiclass.pipeline.train`.
    classes, min_significance
        As for :func:`fermiclass.pipeline.train`; a least significance is asked of training sources only.
    shares, concentration
        Whether to correct for label shift, and the weight of the prior.
    radius_deg
        Of the cross-match.
    seed
        Of the bootstrap.
    progress
        See `Progress`.

    Raises
    ------
    CatalogError
        When the later release gives none of the sources a class.
    ClassError, FeatureError
        As :func:`fermiclass.pipeline.train`; also when a set of features is given twice.
    ValueError
        When two methods have the same name.
    """
    grouping = ClassGrouping.parse(classes)
    methods = unique_methods(methods)
    tables = _training_tables(earlier, features, classes, min_significance)
    matches = later_classes(earlier, later, grouping, radius_deg=radius_deg)
    if not len(matches):
        raise CatalogError(
            f"none of the {len(matches.targets)} sources without a class in {earlier.source} ({earlier.release.name}) "
            f"has one of {', '.join(grouping.names)} in {later.source} ({later.release.name}). Give the earlier "
            "release first and the later one with --future."
        )
    targets = {
        label: extract_features(earlier, train.features, grouping, imputation=train.imputation)[matches.targets]
        for label, train in tables.items()
    }
    status = earlier.classes[matches.targets]
    train = next(iter(tables.values()))
    training_shares = np.array([np.mean(train.y == name) for name in grouping.names])

    def correct(p: FloatArray) -> tuple[FloatArray, dict[str, Shares]]:
        return correct_by_status(p, training_shares, status, concentration=concentration)

    corrections: dict[str, Correction] = {SHARES_SUFFIX: correct} if shares else {}
    sources = ScoredSources(
        names=earlier.names[matches.rows],
        y=matches.y,
        status=matches.status,
        significance=_significance(earlier)[matches.rows],
        rows=np.searchsorted(matches.targets, matches.rows),
        classes=grouping.names,
        seed=seed,
    )
    splits = {label: [Split.single(tables[label], targets[label])] for label in tables}
    groups, sizes = np.unique(status, return_counts=True)
    return _evaluation(
        earlier,
        f"future: trained on {matches.earlier}, scored by {matches.later}",
        tables,
        sources,
        run_methods(methods, splits, sources, corrections=corrections, progress=progress),
        later_catalog=str(later.source),
        matches=dict(matches.counts),
        n_train=len(train),
        training_shares={name: float(share) for name, share in zip(grouping.names, training_shares, strict=True)},
        targets_by_status={str(g) or "unassociated": int(size) for g, size in zip(groups, sizes, strict=True)},
    )


def evaluate_faint(
    catalog: Catalog,
    methods: Iterable[Method],
    *,
    fraction: float = 0.5,
    features: str | Sequence[str] = DEFAULT_FEATURE_SET,
    classes: str = "bll,fsrq,psr",
    min_significance: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Train on the brighter associated sources of a release, score the fainter ones.

    As labelling does, this goes from bright to faint, and it needs no later release: what a default can be chosen by
    without a look at the data that it is judged on. In each class the given fraction with the smallest Signif_Avg is
    scored, so the classes' shares stay as they are.

    Parameters
    ----------
    catalog
        Its sources with a class are used.
    methods
        Names must differ.
    fraction
        Of each class's sources that are scored, between 0 and 1.
    features
        One set or several: ``"six"``, ``["six", "extended"]``; each as for :func:`fermiclass.pipeline.train`.
    classes, min_significance
        As for :func:`fermiclass.pipeline.train`.
    seed
        Of the bootstrap.
    progress
        See `Progress`.

    Raises
    ------
    ClassError, FeatureError
        As :func:`fermiclass.pipeline.train`; also when a set of features is given twice.
    ValueError
        When the fraction is not between 0 and 1, or two methods have the same name.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction={fraction} of the sources cannot be scored: give a number between 0 and 1")
    grouping = ClassGrouping.parse(classes)
    methods = unique_methods(methods)
    tables = _training_tables(catalog, features, classes, min_significance)
    table = next(iter(tables.values()))
    significance = _training_significance(catalog, grouping, min_significance)
    faint = np.zeros(len(table), dtype=bool)
    for name in grouping.names:
        own = table.y == name
        faint |= own & (significance < np.nanquantile(significance[own], fraction))
    sources = _labelled_sources(table[faint], significance[faint], grouping, seed)
    splits = {label: [Split.single(of_set[~faint], of_set[faint])] for label, of_set in tables.items()}
    return _evaluation(
        catalog,
        f"the faintest {fraction:.0%} of each class, learned from the others",
        tables,
        sources,
        run_methods(methods, splits, sources, progress=progress),
        n_train=int(np.sum(~faint)),
    )


def evaluate_folds(
    catalog: Catalog,
    methods: Iterable[Method],
    *,
    folds: int = 10,
    features: str | Sequence[str] = DEFAULT_FEATURE_SET,
    classes: str = "bll,fsrq,psr",
    min_significance: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Score every associated source by a model that was trained without it: stratified K-fold cross-validation.

    The same folds for every method. Associated sources are brighter than those to be labelled: the figures flatter.

    Parameters
    ----------
    catalog
        Its sources with a class are used.
    methods
        Names must differ.
    folds
        K.
    features
        One set or several: ``"six"``, ``["six", "extended"]``; each as for :func:`fermiclass.pipeline.train`.
    classes, min_significance
        As for :func:`fermiclass.pipeline.train`.
    seed
        Of the folds and of the bootstrap.
    progress
        See `Progress`.

    Raises
    ------
    ClassError, FeatureError
        When a class has fewer sources than there are folds; as :func:`fermiclass.pipeline.train`; when a set of
        features is given twice.
    ValueError
        When there are fewer than two folds, or two methods have the same name.
    """
    from sklearn.model_selection import StratifiedKFold

    grouping = ClassGrouping.parse(classes)
    methods = unique_methods(methods)
    tables = _training_tables(catalog, features, classes, min_significance)
    table = next(iter(tables.values()))
    _check_folds(folds, table, catalog)
    sources = _labelled_sources(table, _training_significance(catalog, grouping, min_significance), grouping, seed)
    rows = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(table.X, table.y))
    splits = {
        label: [Split(of_set[train], of_set[test], test) for train, test in rows] for label, of_set in tables.items()
    }
    return _evaluation(
        catalog,
        f"{folds} folds",
        tables,
        sources,
        run_methods(methods, splits, sources, progress=progress),
    )


def _training_tables(
    catalog: Catalog, features: str | Sequence[str], classes: str, min_significance: float | None
) -> dict[str, FeatureTable]:
    """Return the features of the sources to learn from, by the name of their set: the same rows in each."""
    return {
        label: training_table(catalog, features=spec, classes=classes, min_significance=min_significance)
        for label, spec in name_feature_sets(features).items()
    }


def _labelled_sources(
    table: FeatureTable, significance: FloatArray, grouping: ClassGrouping, seed: int
) -> ScoredSources:
    """Return what to score by where all predicted sources have a class."""
    return ScoredSources(
        names=table.names,
        y=table.y,
        status=table.y,
        significance=significance,
        rows=np.arange(len(table)),
        classes=grouping.names,
        seed=seed,
    )


def _evaluation(
    catalog: Catalog,
    protocol: str,
    tables: Mapping[str, FeatureTable],
    sources: ScoredSources,
    methods: Mapping[str, MethodResult],
    **meta: Any,
) -> Evaluation:
    return Evaluation(
        catalog=str(catalog.source),
        protocol=protocol,
        classes=sources.classes,
        features={label: tuple(feature.name for feature in table.features) for label, table in tables.items()},
        names=sources.names,
        y=sources.y,
        status=sources.status,
        significance=sources.significance,
        methods=methods,
        meta={"seed": sources.seed, **meta},
    )


def _significance(catalog: Catalog) -> FloatArray:
    if not catalog.has_column("Signif_Avg"):
        return np.full(len(catalog), np.nan)
    return np.asarray(catalog.table["Signif_Avg"], dtype=np.float64)


def _training_significance(catalog: Catalog, grouping: ClassGrouping, min_significance: float | None) -> FloatArray:
    """Signif_Avg of the rows of `training_table`."""
    significance = _significance(catalog)
    chosen = grouping.assign(catalog.classes) != ""
    return significance[chosen if min_significance is None else chosen & (significance > min_significance)]


def _check_folds(folds: int, table: FeatureTable, catalog: Catalog) -> None:
    if folds < 2:
        raise ValueError(f"folds={folds}: cross-validation needs two folds at least")
    groups, counts = np.unique(table.y, return_counts=True)
    if counts.min() < folds:
        rarest = groups[np.argmin(counts)]
        raise ClassError(
            f"{catalog.source} has {counts.min()} sources of class '{rarest}', which cannot be spread over {folds} "
            f"folds: ask for {counts.min()} folds at most, or leave the class out (--classes)."
        )
