"""Protocols that test the probabilities: across releases, from bright to faint sources, and by cross-validation.

Each protocol can compare several feature sets on the same sources. The results of a method have its name. With several
feature sets the name is ``method@set``, such as ``mlps+unc@six``, with the names of the sets of
:func:`fermiclass.evaluation.feature_sets.name_feature_sets`. A correction of the probabilities comes last:
``mlps+unc@six+shares``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fermiclass.catalog import DEFAULT_CLASSES, Catalog, ClassGrouping
from fermiclass.errors import CatalogError, ClassError
from fermiclass.evaluation.crossmatch import later_classes
from fermiclass.evaluation.feature_sets import name_feature_sets
from fermiclass.evaluation.method_results import SHARES_SUFFIX, MethodResult
from fermiclass.evaluation.methods import Method
from fermiclass.evaluation.results import Evaluation
from fermiclass.evaluation.running import Correction, Progress, ScoredSources, Split, run_methods, unique_methods
from fermiclass.features import DEFAULT_FEATURE_SET, FeatureTable, extract_features
from fermiclass.features.inputs import column_or_nan
from fermiclass.io.arrays import FloatArray
from fermiclass.labelling.label_shift import DEFAULT_CONCENTRATION, Shares, correct_by_status
from fermiclass.labelling.training import training_table


def evaluate_future(
    earlier: Catalog,
    later: Catalog,
    methods: Iterable[Method],
    *,
    features: str | Sequence[str] = DEFAULT_FEATURE_SET,
    classes: str = DEFAULT_CLASSES,
    min_significance: float | None = None,
    shares: bool = True,
    concentration: float = DEFAULT_CONCENTRATION,
    radius_deg: float = 0.15,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Train on the associated sources of a release; score its other sources by their class in a later release.

    Features, their errors and the imputation come from the earlier release alone. No source is dropped. With `shares`,
    every method is scored a second time, under its name and `SHARES_SUFFIX`, with probabilities corrected for the class
    priors (:mod:`fermiclass.labelling.label_shift`). The priors of unassociated, bcu and unk sources are estimated
    separately, from *all* sources of that status in the earlier release.

    The scored sources are not a random sample: most unassociated sources get a class because a pulsar is found in them.

    Parameters
    ----------
    earlier, later
        The two releases.
    methods
        Methods with different names.
    features
        One set or several: ``"six"``, ``["six", "extended"]``; each as for :func:`fermiclass.labelling.training.train`.
    classes, min_significance
        As for :func:`fermiclass.labelling.training.train`. The minimum significance holds for training sources only.
    shares, concentration
        Whether to correct for label shift, and the weight of the prior on the class priors, in sources.
    radius_deg
        Radius of the cross-match in degrees.
    seed
        Seed of the bootstrap.
    progress
        Called with the name of the next method, the number of trainings done, and the number of all trainings.

    Returns
    -------
    Evaluation
        The scores of all methods on the same sources.

    Raises
    ------
    CatalogError
        When none of the sources has a class in the later release.
    ClassError, FeatureError
        As :func:`fermiclass.labelling.training.train`; also when a feature set is given twice.
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
            f"has one of the classes {', '.join(grouping.names)} in {later.source} ({later.release.name}). Give the "
            "earlier release first and the later one with --future."
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
        significance=column_or_nan(earlier, "Signif_Avg")[matches.rows],
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
    classes: str = DEFAULT_CLASSES,
    min_significance: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Train on the brighter associated sources of a release; score the fainter ones.

    Labelling goes from bright to faint sources too. This protocol needs no later release, so it can choose a default
    without the data of the final test. It scores the given fraction of each class with the smallest Signif_Avg, so the
    class frequencies do not change.

    Parameters
    ----------
    catalog
        The catalogue. Its sources with a class are used.
    methods
        Methods with different names.
    fraction
        Fraction of each class that is scored, between 0 and 1.
    features
        One set or several: ``"six"``, ``["six", "extended"]``; each as for :func:`fermiclass.labelling.training.train`.
    classes, min_significance
        As for :func:`fermiclass.labelling.training.train`.
    seed
        Seed of the bootstrap.
    progress
        Called with the name of the next method, the number of trainings done, and the number of all trainings.

    Returns
    -------
    Evaluation
        The scores of all methods on the same sources.

    Raises
    ------
    ClassError, FeatureError
        As :func:`fermiclass.labelling.training.train`; also when a feature set is given twice.
    ValueError
        When the fraction is not between 0 and 1, or two methods have the same name.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction={fraction} is not valid: give a number between 0 and 1")
    grouping = ClassGrouping.parse(classes)
    methods = unique_methods(methods)
    tables = _training_tables(catalog, features, classes, min_significance)
    table = next(iter(tables.values()))
    significance = column_or_nan(catalog, "Signif_Avg")[table.rows]
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
    classes: str = DEFAULT_CLASSES,
    min_significance: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Score every associated source by a model that was trained without it: stratified K-fold cross-validation.

    All methods have the same folds. Associated sources are brighter than the sources to be labelled, so the scores are
    better than those to expect of labels.

    Parameters
    ----------
    catalog
        The catalogue. Its sources with a class are used.
    methods
        Methods with different names.
    folds
        Number of folds, K.
    features
        One set or several: ``"six"``, ``["six", "extended"]``; each as for :func:`fermiclass.labelling.training.train`.
    classes, min_significance
        As for :func:`fermiclass.labelling.training.train`.
    seed
        Seed of the folds and of the bootstrap.
    progress
        Called with the name of the next method, the number of trainings done, and the number of all trainings.

    Returns
    -------
    Evaluation
        The scores of all methods on the same sources.

    Raises
    ------
    ClassError, FeatureError
        As :func:`fermiclass.labelling.training.train`; also when a class has fewer sources than there are folds, or a
        feature set is given twice.
    ValueError
        When there are fewer than two folds, or two methods have the same name.
    """
    from sklearn.model_selection import StratifiedKFold

    grouping = ClassGrouping.parse(classes)
    methods = unique_methods(methods)
    tables = _training_tables(catalog, features, classes, min_significance)
    table = next(iter(tables.values()))
    _check_folds(folds, table, catalog)
    sources = _labelled_sources(table, column_or_nan(catalog, "Signif_Avg")[table.rows], grouping, seed)
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
    """Return the features of the training sources of one class by the name of their set; each set has the same rows.

    Baselines know no labels that stand for several classes, and all methods learn from the same sources.
    """
    return {
        label: training_table(
            catalog, features=spec, classes=classes, min_significance=min_significance, one_class=True
        )
        for label, spec in name_feature_sets(features).items()
    }


def _labelled_sources(
    table: FeatureTable, significance: FloatArray, grouping: ClassGrouping, seed: int
) -> ScoredSources:
    """Return the scored sources of a protocol in which all predicted sources have a class."""
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


def _check_folds(folds: int, table: FeatureTable, catalog: Catalog) -> None:
    if folds < 2:
        raise ValueError(f"folds={folds} is not valid: give at least 2 folds")
    groups, counts = np.unique(table.y, return_counts=True)
    if counts.min() < folds:
        rarest = groups[np.argmin(counts)]
        raise ClassError(
            f"{catalog.source} has {counts.min()} sources of class '{rarest}', too few for {folds} folds: use "
            f"{counts.min()} folds at most, or leave the class out (--classes)."
        )
