"""Ways to find out how far probabilities can be trusted: across releases, from bright to faint, across folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter

import numpy as np

from fermiclass.catalog import Catalog, ClassGrouping
from fermiclass.errors import CatalogError, ClassError
from fermiclass.evaluation.crossmatch import later_classes
from fermiclass.evaluation.methods import Method
from fermiclass.evaluation.results import Evaluation, MethodResult
from fermiclass.evaluation.scores import Scores
from fermiclass.features import FeatureTable, extract_features
from fermiclass.features.transforms import FloatArray
from fermiclass.pipeline import training_table
from fermiclass.shares import Shares, correct_by_status

#: Ends the name of a method whose probabilities are corrected for the shares of the classes among the targets.
SHARES_SUFFIX = "+shares"

#: Called with the name of the method that is about to start, how many are done, and how many there are.
Progress = Callable[[str, int, int], None]


def evaluate_future(
    earlier: Catalog,
    later: Catalog,
    methods: Iterable[Method],
    *,
    features: str = "six",
    classes: str = "bll,fsrq,psr",
    min_significance: float | None = None,
    shares: bool = True,
    concentration: float = 1.0,
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
    features, classes, min_significance
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
        As :func:`fermiclass.pipeline.train`.
    ValueError
        When two methods have the same name.
    """
    grouping = ClassGrouping.parse(classes)
    methods = _unique(methods)
    train = training_table(earlier, features=features, classes=classes, min_significance=min_significance)
    matches = later_classes(earlier, later, grouping, radius_deg=radius_deg)
    if not len(matches):
        raise CatalogError(
            f"none of the {len(matches.targets)} sources without a class in {earlier.source} ({earlier.release.name}) "
            f"has one of {', '.join(grouping.names)} in {later.source} ({later.release.name}). Give the earlier "
            "release first and the later one with --future."
        )
    targets = extract_features(earlier, train.features, grouping, imputation=train.imputation)[matches.targets]
    status = earlier.classes[matches.targets]
    scored = np.searchsorted(matches.targets, matches.rows)
    significance = _significance(earlier)[matches.rows]
    pi = _training_shares(train, grouping.names)

    def result(p: FloatArray, fit_seconds: float, predict_seconds: float, groups: dict[str, Shares]) -> MethodResult:
        bare = matches.status == ""
        p = p[scored]
        score = Scores.of(p, matches.y, grouping.names, significance=significance, seed=seed)
        alone = (
            Scores.of(p[bare], matches.y[bare], grouping.names, significance=significance[bare], seed=seed)
            if bare.any()
            else None
        )
        return MethodResult(score, alone, fit_seconds, predict_seconds, p, groups)

    results: dict[str, MethodResult] = {}
    for k, method in enumerate(methods):
        if progress is not None:
            progress(method.name, k, len(methods))
        p, fit_seconds, predict_seconds = _run(method, train, targets, grouping.names)
        results[method.name] = result(p, fit_seconds, predict_seconds, {})
        if shares:
            start = perf_counter()
            corrected, groups = correct_by_status(p, pi, status, concentration=concentration)
            predict_seconds += perf_counter() - start
            results[method.name + SHARES_SUFFIX] = result(corrected, fit_seconds, predict_seconds, groups)
    return Evaluation(
        catalog=str(earlier.source),
        protocol=f"future: trained on {matches.earlier}, scored by {matches.later}",
        classes=grouping.names,
        features=tuple(feature.name for feature in train.features),
        names=earlier.names[matches.rows],
        y=matches.y,
        status=matches.status,
        methods=results,
        meta={"later_catalog": str(later.source), "matches": dict(matches.counts), "n_train": len(train), "seed": seed},
    )


def evaluate_faint(
    catalog: Catalog,
    methods: Iterable[Method],
    *,
    fraction: float = 0.5,
    features: str = "six",
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
    features, classes, min_significance
        As for :func:`fermiclass.pipeline.train`.
    seed
        Of the bootstrap.
    progress
        See `Progress`.

    Raises
    ------
    ValueError
        When the fraction is not between 0 and 1, or two methods have the same name.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction={fraction} of the sources cannot be scored: give a number between 0 and 1")
    grouping = ClassGrouping.parse(classes)
    methods = _unique(methods)
    table = training_table(catalog, features=features, classes=classes, min_significance=min_significance)
    significance = _training_significance(catalog, grouping, min_significance)
    faint = np.zeros(len(table), dtype=bool)
    for name in grouping.names:
        own = table.y == name
        faint |= own & (significance < np.nanquantile(significance[own], fraction))
    results = {}
    for k, method in enumerate(methods):
        if progress is not None:
            progress(method.name, k, len(methods))
        p, fit_seconds, predict_seconds = _run(method, table[~faint], table[faint], grouping.names)
        score = Scores.of(p, table.y[faint], grouping.names, significance=significance[faint], seed=seed)
        results[method.name] = MethodResult(score, None, fit_seconds, predict_seconds, p)
    return Evaluation(
        catalog=str(catalog.source),
        protocol=f"the faintest {fraction:.0%} of each class, learned from the others",
        classes=grouping.names,
        features=tuple(feature.name for feature in table.features),
        names=table.names[faint],
        y=table.y[faint],
        status=table.y[faint],
        methods=results,
        meta={"seed": seed, "n_train": int(np.sum(~faint))},
    )


def evaluate_folds(
    catalog: Catalog,
    methods: Iterable[Method],
    *,
    folds: int = 10,
    features: str = "six",
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
    features, classes, min_significance
        As for :func:`fermiclass.pipeline.train`.
    seed
        Of the folds and of the bootstrap.
    progress
        See `Progress`.

    Raises
    ------
    ClassError
        When a class has fewer sources than there are folds.
    ValueError
        When there are fewer than two folds, or two methods have the same name.
    """
    from sklearn.model_selection import StratifiedKFold

    grouping = ClassGrouping.parse(classes)
    methods = _unique(methods)
    table = training_table(catalog, features=features, classes=classes, min_significance=min_significance)
    _check_folds(folds, table, catalog)
    significance = _training_significance(catalog, grouping, min_significance)
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(table.X, table.y))
    results = {}
    for k, method in enumerate(methods):
        p = np.empty((len(table), len(grouping.names)))
        fit_seconds = predict_seconds = 0.0
        for j, (train, test) in enumerate(splits):
            if progress is not None:
                progress(method.name, k * folds + j, len(methods) * folds)
            p[test], *seconds = _run(method, table[train], table[test], grouping.names)
            fit_seconds, predict_seconds = fit_seconds + seconds[0], predict_seconds + seconds[1]
        score = Scores.of(p, table.y, grouping.names, significance=significance, seed=seed)
        results[method.name] = MethodResult(score, None, fit_seconds, predict_seconds, p)
    return Evaluation(
        catalog=str(catalog.source),
        protocol=f"{folds} folds",
        classes=grouping.names,
        features=tuple(feature.name for feature in table.features),
        names=table.names,
        y=table.y,
        status=table.y,
        methods=results,
        meta={"seed": seed},
    )


def _run(
    method: Method, train: FeatureTable, test: FeatureTable, classes: Sequence[str]
) -> tuple[FloatArray, float, float]:
    """Train on one table and predict another: probabilities (n, C), seconds of training and of prediction."""
    start = perf_counter()
    predictor = method.fit(train, classes)
    fitted = perf_counter()
    return predictor.predict(test), fitted - start, perf_counter() - fitted


def _training_shares(table: FeatureTable, classes: Sequence[str]) -> FloatArray:
    return np.array([np.mean(table.y == name) for name in classes])


def _significance(catalog: Catalog) -> FloatArray:
    if not catalog.has_column("Signif_Avg"):
        return np.full(len(catalog), np.nan)
    return np.asarray(catalog.table["Signif_Avg"], dtype=np.float64)


def _training_significance(catalog: Catalog, grouping: ClassGrouping, min_significance: float | None) -> FloatArray:
    """Signif_Avg of the rows of `training_table`."""
    significance = _significance(catalog)
    chosen = grouping.assign(catalog.classes) != ""
    return significance[chosen if min_significance is None else chosen & (significance > min_significance)]


def _unique(methods: Iterable[Method]) -> list[Method]:
    chosen = list(methods)
    names = [method.name for method in chosen]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated or not names:
        raise ValueError(f"methods must have names of their own and be one at least; repeated: {repeated or 'none'}")
    return chosen


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
