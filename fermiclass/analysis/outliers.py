"""Associations that the data contradict: the probability that the catalogued class of a source is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from astropy.table import Table
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from fermiclass._version import __version__
from fermiclass.brought.sources import CatalogLike, catalog_of
from fermiclass.errors import ClassError
from fermiclass.features import FeatureTable
from fermiclass.io import FloatArray
from fermiclass.labelling.labels import LABELLED, label_table
from fermiclass.labelling.prediction_columns import add_column
from fermiclass.labelling.recipe import Choices, Recipe
from fermiclass.labelling.training import estimator_of
from fermiclass.nimgp.domain import TrainingDomain
from fermiclass.nimgp.estimators.folds import fit_folds, stratified_folds

if TYPE_CHECKING:
    from fermiclass.nimgp.prediction.prediction import Prediction

NEIGHBOURS = 5  #: Number of nearest sources in the result.

MOST_FOR_EP = 1000  #: Largest number of sources for expectation propagation.

_GRID = 1000  # values of ρ


def find_outliers(
    catalog: CatalogLike,
    recipe: Recipe | None = None,
    *,
    rmgpc: bool = False,
    folds: int = 5,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    **changes: Unpack[Choices],
) -> Table:
    """Rank the associated sources of a catalogue by the probability that their class is wrong.

    The classifier of a source is trained on sources of the other of some stratified folds, and assumes that each label
    is wrong with a probability ρ, so wrong labels have little influence. With the predicted probability P of the
    catalogued class,

        P_WRONG = (ρ/C) (1 − P) / [ρ/C + (1 − ρ) P],

    averaged over the posterior of ρ, of all held-out sources. ``meta["rho"]`` and ``meta["rhoerr"]`` are its mean and
    standard deviation; by expectation propagation, the mean of those that the folds have learned. No ρ sees wrong
    labels that look like the overlap of classes.

    Parameters
    ----------
    catalog
        The catalogue, or its file. Its sources of one class each are used, not those whose class stands for several.
    recipe, changes
        As for :func:`fermiclass.train`; the default is :func:`default_recipe`.
    rmgpc
        Whether to judge by expectation propagation, :class:`fermiclass.RobustGPClassifier`, in place of the settings of
        the recipe. It can have up to :data:`MOST_FOR_EP` sources, and ignores weights of labels of your own.
    folds, seed
        Number of folds, or of the sources of a class, if that is less; and their seed.
    progress
        Called after each fold with the numbers of folds done and of all.

    Returns
    -------
    Table
        A row for each source of one class, the most suspicious first: the columns of the label table, with predictions
        from the other sources; ``CLASS`` (the catalogue's class in the chosen grouping), ``P_WRONG``, ``IDENTIFIED``;
        and ``NEIGHBOURS`` with ``NEIGHBOUR_CLASSES``, the nearest other sources in the space of features. By
        expectation propagation there is ``P_OUTLIER``, too: P(z = 1 | X, y), the probability that the class was drawn
        at random, after training on all sources (Hernández-Lobato et al. 2011, equation 21).

    Raises
    ------
    ClassError, FeatureError
        As :func:`fermiclass.train`; also when there are fewer than two folds, or too many sources for `rmgpc`.
    """
    if folds < 2:
        raise ClassError(f"folds={folds} is not valid: give at least 2 folds")
    recipe = Recipe.of(default_recipe() if recipe is None else recipe, **changes)
    catalog = catalog_of(catalog)
    checked = recipe.check(catalog)
    table = checked.of_one_class
    fitted, prediction, wrong, rho = hold_out(table, None if rmgpc else recipe, folds, seed, progress)
    sources = catalog[table.rows]
    domain = TrainingDomain.fit(table.X, table.X_var, table.y)
    names = [str(name) for name in fitted[0].classes_]
    meta = {
        "creator": f"fermiclass {__version__}",
        **catalog.origin.to_meta(*LABELLED),
        "classes": checked.grouping.spec,
        "counts": ",".join(f"{name}={np.sum(table.y == name)}" for name in names),
        "folds": len(fitted),
        **rho,
        "min_significance": str(recipe.min_significance),
        "features": ",".join(feature.name for feature in table.features),
        **{key: str(value) for key, value in sorted(fitted[0].get_params().items())},
    }
    result = label_table(
        sources, names, prediction, feature_flags=table.flags, ood_score=domain.score(table.X, table.X_var), meta=meta
    )
    place = result.colnames.index("ASSOC1") + 1
    add_column(result, "IDENTIFIED", sources.identified, "Identified, not only associated", "meta.code", place)
    add_column(result, "P_WRONG", wrong, "Probability that CLASS is wrong", "stat.probability", place)
    add_column(result, "CLASS", table.y, "Catalogued class in the chosen grouping", "src.class", place)
    if rmgpc:
        whole = clone(fitted[0]).fit(table.X, table.y, X_var=table.X_var)
        about = "Probability that CLASS is random, learned from it as well"
        add_column(result, "P_OUTLIER", whole.outlier_probability_, about, "stat.probability", place + 2)
    _add_neighbours(result, domain, table)
    return result[np.argsort(-wrong, kind="stable")]


def default_recipe(**settings: Any) -> Recipe:
    """Return the recipe: that of `classify` with learned label noise, trained by the bound, with `settings` changed.

    The predictive objective lets functions be less certain instead of labels being wrong.
    """
    return Recipe().with_settings(**{"objective": "elbo", "label_noise": "learned", **settings})


def hold_out(
    table: FeatureTable,
    recipe: Recipe | None,
    folds: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[Any], Prediction, FloatArray, dict[str, float]]:
    """Return the classifiers of the folds, each source's prediction and P_WRONG by the one without it, and ρ.

    Without a recipe, expectation propagation judges.
    """
    from fermiclass.nimgp.estimators.robust_classifier import RobustGPClassifier
    from fermiclass.nimgp.prediction.prediction import join

    splits = stratified_folds(table.y, folds, seed)
    if recipe is None and len(table) > MOST_FOR_EP:
        raise ClassError(
            f"there are {len(table)} sources with a class, but expectation propagation takes {MOST_FOR_EP} at most, as "
            "its time grows with the cube of their number. Use fewer, with min_significance or fewer classes, or a "
            "method other than rmgpc."
        )
    estimator, weight = (RobustGPClassifier(), None) if recipe is None else (estimator_of(recipe), table.weight)
    fitted = fit_folds(estimator, splits, table.X, table.y, table.X_var, weight, progress)
    tests = [test for _, test in splits]
    parts = [one.predict_distribution(table.X[t], X_var=table.X_var[t]) for one, t in zip(fitted, tests, strict=True)]
    prediction = join(parts).take(np.argsort(np.concatenate(tests)))
    if recipe is not None:
        own = prediction.probabilities[np.arange(len(table)), np.searchsorted(fitted[0].classes_, table.y)]
        wrong, mean, error = wrong_labels(own, len(fitted[0].classes_))
        return fitted, prediction, wrong, {"rho": mean, "rhoerr": error}
    wrong = np.empty(len(table))
    for one, test in zip(fitted, tests, strict=True):
        wrong[test] = one.predict_wrong_label(table.X[test], table.y[test], X_var=table.X_var[test])
    return fitted, prediction, wrong, {"rho": float(np.mean([one.label_noise_ for one in fitted]))}


def wrong_labels(P: FloatArray, num_classes: int) -> tuple[FloatArray, float, float]:
    """Return the probability that each label is wrong, ``(n,)``, and mean and standard deviation of their share ρ.

    The posterior is ``p(ρ) ∝ (1 − ρ)⁸ Π_i [(1 − ρ) P_i + ρ/C]`` with the held-out probability P_i of each label, and a
    Beta(1, 9) prior, as in training (Hernández-Lobato et al. 2011).
    """
    rho = np.linspace(0.0, 1.0, _GRID + 1)[1:-1] ** 3  # dense near 0
    random, right = rho / num_classes, P[:, None] * (1.0 - rho)
    log_p = np.log(right + random).sum(axis=0) + 8.0 * np.log1p(-rho) + np.log(np.gradient(rho))
    weight = np.exp(log_p - log_p.max())
    weight /= weight.sum()
    wrong = (random * (1.0 - P[:, None]) / (random + right)) @ weight
    mean = float(weight @ rho)
    return wrong, mean, float(np.sqrt(weight @ (rho - mean) ** 2))


def _add_neighbours(result: Table, domain: TrainingDomain, table: FeatureTable) -> None:
    nearest = np.empty((len(table), min(NEIGHBOURS, len(table) - 1)), int)
    with threadpool_limits(1):
        for i in range(len(table)):
            distances = domain.distances(table.X[i], table.X_var[i], table.X)
            distances[i] = np.inf
            nearest[i] = np.argsort(distances, kind="stable")[: nearest.shape[1]]
    for name, values, description, ucd in (
        ("NEIGHBOURS", table.names, "Nearest other sources in the space of features, nearest first", "meta.id.cross"),
        ("NEIGHBOUR_CLASSES", table.y, "Their classes", "src.class"),
    ):
        add_column(result, name, [", ".join(values[row]) for row in nearest], description, ucd)
