"""Numbers that some sources of a catalogue have, such as the frequency of a synchrotron peak, for those without one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from astropy.table import Table
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import KFold, cross_val_predict

from fermiclass._version import __version__
from fermiclass.brought.joining import JOINED
from fermiclass.brought.sources import CatalogLike, catalog_of
from fermiclass.catalog import Catalog
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.errors import CatalogError, FeatureError
from fermiclass.features import extract_features
from fermiclass.features.definitions import raw_feature
from fermiclass.features.inputs import Reading
from fermiclass.io import FloatArray
from fermiclass.labelling.labels import LABEL_FLAGS, LABELLED
from fermiclass.labelling.prediction_columns import add_column, add_domain
from fermiclass.labelling.recipe import Choices, Recipe
from fermiclass.labelling.unknown_values import complete
from fermiclass.nimgp.domain import TrainingDomain
from fermiclass.nimgp.estimators.folds import fit_folds

if TYPE_CHECKING:
    from fermiclass.nimgp.estimators.sparse_regressor import NIMGPRegressor

LEAST_SOURCES = 30  #: Least number of sources with the number, also of those that are new in a later table.
LEVELS = (0.05, 0.5, 0.95)  #: Levels of the quantiles: the median, and the interval that has 90 %.
METHODS = ("mean", "forest", "nimgp")  #: Methods in the table of scores; the last one gives the estimates.

_TOLD = ("Source_Name", "RAJ2000", "DEJ2000", "GLON", "GLAT", "Signif_Avg", "CLASS1", "ASSOC1", "CLASS2", "ASSOC2")
_SCORES = ("RMSE", "R2", "Unc_R2", "INSIDE")
_BINS, _RESAMPLES = 10, 400
_LEAST_SCATTER = 0.01  # part of the learned noise that is no measurement error, however large the error bars are
_OFTEN = 0.05  # part of the sources with the same number, from which on it may stand for "not known"


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of a number, and how good such estimates are where it is known."""

    table: Table  #: A row for each source without the number; with estimates if they are `better`, or were forced.
    #: A row for each test and method: TEST, METHOD, SOURCES, RMSE, R2, Unc_R2, and INSIDE, the part in the interval.
    scores: Table
    better: bool  #: Whether R² is above 0 by more than its error in every test.
    limits: int  #: Number of sources with an upper limit only, which are not learned from.


def estimate(
    catalog: CatalogLike,
    column: str,
    recipe: Recipe | None = None,
    *,
    later: CatalogLike | None = None,
    folds: int = 5,
    seed: int = 0,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **changes: Unpack[Choices],
) -> Estimates:
    """Estimate a number that some sources have for those that lack it, from gamma rays with their error bars.

    A :class:`fermiclass.NIMGPRegressor` learns from all sources with the number. An estimate is for a source of the
    same kind: the frequency of a synchrotron peak means nothing if the source is a pulsar.

    Held-out sources of folds count as they are, and with weights w that make them as bright as the sources to estimate,
    in ten bins of Signif_Avg. With the weighted mean ȳ of their numbers y, ``R² = 1 − Σ w (y − ŷ)² / Σ w (y − ȳ)²``,
    and its error is that of a bootstrap over sources. An estimate has the scatter of the learned noise alone, without
    the mean variance of the errors; in a test, the variance of the source's own error is added.

    Parameters
    ----------
    catalog
        The catalogue with the column, as :func:`fermiclass.join` returns it; ``Unc_<column>`` has standard deviations.
    column
        The column; or ``log_X`` or ``ln_X``, the logarithm of a column X, of which only positive values count.
    recipe, changes
        As for :func:`fermiclass.train`: features, least significance to learn from, targets without the number, and
        those settings of a regressor that are not the usual ones of a recipe. Usual is a regressor that takes error
        bars to first order.
    later
        The same catalogue with a later table, whose new numbers are one more test, or two.
    folds, seed
        Number of folds; seed of all draws.
    force
        Whether to return estimates that are no better than the mean.
    progress
        Called with the numbers of regressors that are trained, and of all.

    Raises
    ------
    CatalogError
        When the catalogue lacks the column, too few sources have the number or none lacks it, or all numbers are equal.
    FeatureError
        When a feature is made of the number.
    """
    recipe = Recipe.of(recipe, **changes)
    catalog, later = catalog_of(catalog), None if later is None else catalog_of(later, "later")
    number, table = _measure(catalog, column), extract_features(catalog, recipe.features)
    unknown = np.isnan(number.value)
    asked = np.flatnonzero(catalog.is_target(catalog.grouping(recipe.classes), recipe.targets) & unknown)
    by_name = np.argsort(catalog.names, kind="stable")  # the order of the rows has no effect
    train = by_name[~unknown[by_name]]
    if recipe.min_significance is not None:
        train = train[catalog.column("Signif_Avg")[train] > recipe.min_significance]
    _check(column, number.value[train], len(asked))
    now = number if later is None else _measure(later, column)
    new = np.flatnonzero(unknown & np.isfinite(now.value))
    if later is not None and len(new) < LEAST_SOURCES:
        raise CatalogError(f"the later table has {column} of {len(new)} more sources: a test needs {LEAST_SOURCES}.")
    for feature in table.features:
        if {*feature.columns} & {column, column.removeprefix("log_").removeprefix("ln_")}:
            raise FeatureError(f"the feature {feature.name} is made of {column}, which is estimated. Leave it out.")
    domain = TrainingDomain.fit(table.X[train], table.X_var[train], np.full(len(train), ""))
    table = complete(domain, table)

    X, X_var, y, errors = table.X[train], table.X_var[train], number.value[train], number.sigma[train] ** 2
    splits = list(KFold(folds, shuffle=True, random_state=seed).split(X))
    all_rows = np.arange(len(y)), np.empty(0, np.intp)
    *parts, fitted = fit_folds(_regressor(recipe, seed), [*splits, all_rows], X, y, X_var, progress=progress)
    ours, forest = np.empty((len(y), 5)), RandomForestRegressor(300, random_state=seed)
    for part, (_, out) in zip(parts, splits, strict=True):
        ours[out] = _predict(part, X[out], X_var[out])
    of_forest, one = cross_val_predict(forest, X, y, cv=splits), np.ones(len(y))
    brightness = _as_bright(*(np.nan_to_num(catalog.column("Signif_Avg")[rows]) for rows in (train, asked)))
    tests = [("folds", y, errors, one, of_forest, ours), ("folds, as bright", y, errors, brightness, of_forest, ours)]
    joined = [catalog.column(name) for name in catalog.table.colnames if JOINED in catalog.table[name].meta]
    listed = np.asarray(np.any(np.isfinite(joined or [number.value]), axis=0))
    for test, k in ("later table", new), ("later, listed", new[listed[new]]):
        if len(k) >= LEAST_SOURCES and later is not None:
            both = forest.fit(X, y).predict(table.X[k]), _predict(fitted, table.X[k], table.X_var[k])
            tests.append((test, now.value[k], now.sigma[k] ** 2, np.ones(len(k)), *both))
    scores = Table(names=("TEST", "METHOD", "SOURCES", *_SCORES), dtype=("U16", "U8", int, *[float] * 4))
    of_mean = np.array([y.mean(), y.std(), *np.quantile(y, LEVELS)])[None]
    for test, truth, variance, weight, of_trees, of_ours in tests:
        alone = np.column_stack([of_trees, np.full((len(truth), 4), np.nan)])
        for method, p in zip(METHODS, (of_mean, alone, _with_noise(of_ours, errors.mean(), variance)), strict=True):
            scores.add_row((test, method, len(truth), *_score(truth, p, weight, seed)))
    of_tests = scores[scores["METHOD"] == METHODS[-1]]
    better = bool(np.all(of_tests["R2"] > of_tests["Unc_R2"]))

    result = catalog.table[[name for name in _TOLD if name in catalog.table.colnames]][asked]
    result.meta = {"creator": f"fermiclass {__version__}", **catalog.origin.to_meta(*LABELLED), "column": column}
    result.meta |= {"features": ",".join(f.name for f in table.features), "learned": len(train)}
    result.meta |= {name.lower(): float(of_tests[1][name]) for name in _SCORES}  # of the weighted test
    if better or force:
        p = _with_noise(_predict(fitted, table.X[asked], table.X_var[asked]), errors.mean(), 0.0)
        abouts = ("Mean", "Standard deviation", *(f"Quantile {level:g}" for level in LEVELS))
        names = (column, f"Unc_{column}", *(f"{column}_Q{100 * level:02.0f}" for level in LEVELS))
        for name, about, values in zip(names, abouts, p.T, strict=True):
            add_column(result, name, values, f"{about} of the estimate of {column}", "stat.value")
    add_domain(result, domain.score(table.X[asked], table.X_var[asked]), table.flags[asked], LABEL_FLAGS)
    return Estimates(result, scores, better, int(np.isfinite(number.upper).sum()))


def _regressor(recipe: Recipe, seed: int) -> NIMGPRegressor:
    """Return the unfitted regressor, with those settings of a recipe that are not usual."""
    from fermiclass.nimgp.estimators.sparse_regressor import NIMGPRegressor

    chosen: dict[str, Any] = {"method": "nimgp-fo", "steps": 300, "random_state": seed}
    for name in NIMGPRegressor().get_params().keys() - {"likelihood"}:
        value, usual = (getattr(each.settings, name) for each in (recipe, Recipe()))
        if value != usual:
            chosen[name] = dict(vars(value).items() - vars(usual).items()) if is_dataclass(usual) else value
    return NIMGPRegressor(**chosen)


def _measure(catalog: Catalog, column: str) -> Reading:
    """Return a number of every source, with an error everywhere. Raises CatalogError when there is no such column."""
    decadic = column.startswith("log_") and column not in catalog.table.colnames
    feature = raw_feature(f"ln_{column.removeprefix('log_')}" if decadic else column)
    if missing := feature.missing(catalog):
        raise CatalogError(f"{catalog} has no column {missing[0]} of numbers. Give a table that has it (--join).")
    found = feature.measure(catalog)
    known = found.sigma[np.isfinite(found.sigma) & np.isfinite(found.value)]
    sigma = np.where(np.isfinite(found.sigma), found.sigma, np.median(known) if len(known) else 0.0)
    unit = np.log(10.0) if decadic else 1.0
    return Reading(found.value / unit, sigma / unit, found.measured, found.upper / unit)


def _check(column: str, y: FloatArray, asked: int) -> None:
    """Refuse numbers from which nothing can be learned, and warn if many are the same."""
    if len(y) < LEAST_SOURCES:
        raise CatalogError(f"{len(y)} sources have {column}: expected {LEAST_SOURCES} or more.")
    values, times = np.unique(y, return_counts=True)
    if len(values) == 1 or not asked:
        raise CatalogError(f"{column} is {y[0]:g} for every source." if asked else f"No such source lacks {column}.")
    if times.max() > _OFTEN * len(y):
        often = f"{column} is {values[times.argmax()]:g} for {times.max()} of {len(y)} sources"
        warnings.warn(f"{often}: if this stands for 'not known', leave it empty", CatalogWarning, stacklevel=3)


def _predict(fitted: NIMGPRegressor, X: FloatArray, X_var: FloatArray) -> FloatArray:
    """Return mean, standard deviation and the quantiles at `LEVELS`, ``(n, 5)``."""
    moments = fitted.predict(X, X_var=X_var, return_std=True)
    return np.column_stack([*moments, fitted.predict_quantiles(X, LEVELS, X_var=X_var)])


def _with_noise(p: FloatArray, learned: float, own: FloatArray | float) -> FloatArray:
    """Return predictions ``(n, 5)`` with noise variances of their own in place of that which was learned."""
    mean, variance = p[:, :1], p[:, 1] ** 2
    wider = np.sqrt((np.maximum(variance - learned, _LEAST_SCATTER * variance) + own) / variance)[:, None]
    return np.hstack([mean, wider * p[:, 1:2], mean + wider * (p[:, 2:] - mean)])


def _as_bright(known: FloatArray, asked: FloatArray) -> FloatArray:
    """Return weights of known sources by which their significances are distributed as those of the others, ``(n,)``."""
    edges = np.unique(np.quantile(known, np.linspace(0.0, 1.0, _BINS + 1)[1:-1]))
    here, there = (np.bincount(np.digitize(x, edges), minlength=len(edges) + 1) for x in (known, asked))
    return np.asarray((there / np.maximum(here, 1))[np.digitize(known, edges)] * len(known) / len(asked))


def _score(y: FloatArray, p: FloatArray, weight: FloatArray, seed: int) -> tuple[float, ...]:
    """Return RMSE, R², its bootstrap error, and the part inside of the interval (NaN without one)."""
    squares, deviation = (y - p[:, 0]) ** 2, y - y.mean()
    draws = np.random.default_rng(seed).multinomial(len(y), np.full(len(y), 1.0 / len(y)), _RESAMPLES)
    w = weight * np.vstack([np.ones(len(y)), draws])
    total = w @ deviation**2 - (w @ deviation) ** 2 / w.sum(axis=1)
    r2, share = 1.0 - w @ squares / total, weight / weight.sum()
    inside = np.where(np.isnan(p[:, 2]), np.nan, (p[:, 2] <= y) & (y <= p[:, 4]))
    return float(np.sqrt(share @ squares)), float(r2[0]), float(np.std(r2[1:])), float(share @ inside)
