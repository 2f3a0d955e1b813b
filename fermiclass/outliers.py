"""Associations that the data contradict: how probably each source's catalogued class is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fermiclass._version import __version__
from fermiclass.catalog import Catalog, ClassGrouping
from fermiclass.domain import TrainingDomain
from fermiclass.errors import ClassError
from fermiclass.features import DEFAULT_FEATURE_SET, FeatureTable
from fermiclass.features.transforms import FloatArray
from fermiclass.labels import label_table

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.estimators import NIMGPClassifier
    from fermiclass.nimgp.prediction import Prediction
    from fermiclass.nimgp.training import TrainingState
    from fermiclass.robust_estimators import RobustGPClassifier

    Estimator = NIMGPClassifier | RobustGPClassifier

#: What the catalogue itself says of an association.
ASSOCIATION_COLUMNS = ("ASSOC_PROB_BAY", "ASSOC_PROB_LR")

#: Sources that are told as the nearest ones.
NEIGHBOURS = 5

#: So many sources, at most, for expectation propagation, whose time grows with their cube.
MOST_FOR_EP = 1000


def find_outliers(
    catalog: Catalog,
    estimator: Estimator | None = None,
    *,
    features: str = DEFAULT_FEATURE_SET,
    classes: str = "bll,fsrq,psr",
    min_significance: float | None = None,
    folds: int = 5,
    seed: int = 0,
    progress: Callable[[TrainingState], None] | None = None,
) -> Table:
    """Rank the associated sources of a catalogue by how probably their class is wrong.

    Every source is predicted by a classifier that has learned from the others, in stratified folds, so that its label
    does not vouch for itself; and these classifiers take each label for wrong with a probability ρ, so that wrong ones
    do little harm (:class:`fermiclass.nimgp.contaminated.Contaminated`). With the predicted probability P of the class
    that the catalogue gives,

        P_WRONG = (ρ/C) (1 − P) / [ρ/C + (1 − ρ) P].

    ρ is learned from the catalogue as a whole; the catalogue's own probabilities of the associations take no part, and
    stand beside the result.

    Parameters
    ----------
    catalog
        Its sources with a class are used.
    estimator
        Unfitted, one that knows wrong labels; by default :func:`default_estimator`. A
        :class:`fermiclass.RobustGPClassifier` is for up to :data:`MOST_FOR_EP` sources. It is copied, not changed.
    features, classes, min_significance
        As for :func:`fermiclass.pipeline.train`.
    folds
        How many; of a class with fewer sources, as many as it has.
    seed
        Of the folds.
    progress
        Called with the state of training every few steps, or after every fold of expectation propagation.

    Returns
    -------
    Table
        A row for each source with a class, the most suspicious first: the columns of the label table
        (:mod:`fermiclass.labels`), whose probabilities are what the source looks like by the other sources; and
        ``CLASS`` (the catalogue's class in the chosen grouping), ``P_WRONG``, ``IDENTIFIED`` (by more than position),
        ``ASSOC_PROB_BAY``, ``ASSOC_PROB_LR``, and ``NEIGHBOURS`` with ``NEIGHBOUR_CLASSES``, the nearest other sources
        in the space of features by :class:`fermiclass.domain.TrainingDomain`.

    Raises
    ------
    ClassError, FeatureError
        As :func:`fermiclass.pipeline.train`; also when there are fewer than two folds, or too many sources for
        expectation propagation.
    """
    from fermiclass.pipeline import training_table

    if folds < 2:
        raise ClassError(f"{folds} folds leave nothing to learn from: give 2 at least")
    grouping = ClassGrouping.parse(classes)
    table = training_table(catalog, features=features, classes=classes, min_significance=min_significance)
    fitted, prediction, wrong = hold_out(table, estimator or default_estimator(), folds, seed, progress)
    sources = _sources_of(catalog, grouping, min_significance)
    domain = TrainingDomain.fit(table.X, table.X_var, table.y)
    names = [str(name) for name in fitted[0].classes_]
    counts = {name: int(np.sum(table.y == name)) for name in names}
    meta = {
        "creator": f"fermiclass {__version__}",
        "catalog": str(catalog.source),
        "sha256": str(catalog.sha256),
        "release": catalog.release.name,
        "classes": str(grouping),
        "counts": ",".join(f"{name}={count}" for name, count in counts.items()),
        "folds": len(fitted),
        "rho": float(np.mean([one.label_noise_ for one in fitted])),
        "min_significance": str(min_significance),
        "features": ",".join(feature.name for feature in table.features),
        **{key: str(value) for key, value in sorted(fitted[0].get_params().items())},
    }
    result = label_table(
        sources,
        names,
        prediction,
        feature_flags=table.flags,
        ood_score=domain.score(table.X, table.X_var),
        meta=meta,
    )
    _add_association(result, sources, table.y, wrong)
    _add_neighbours(result, domain, table)
    return result[np.argsort(-wrong, kind="stable")]


def _sources_of(catalog: Catalog, grouping: ClassGrouping, min_significance: float | None) -> Catalog:
    """Return the sources that :func:`fermiclass.pipeline.training_table` has features of, in the same order."""
    chosen = grouping.assign(catalog.classes) != ""
    if min_significance is not None:
        chosen &= np.asarray(catalog.table["Signif_Avg"], float) > min_significance
    return catalog[chosen]


def default_estimator(**parameters: Any) -> NIMGPClassifier:
    """Return an unfitted classifier that learns how many labels are wrong, with other parameters if given."""
    from fermiclass.estimators import NIMGPClassifier

    return NIMGPClassifier(**{"label_noise": "learned", **parameters})


def folds_of(y: NDArray[np.str_], folds: int, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return stratified folds, rows to learn from and to judge; of a class with fewer rows, as many as it has."""
    from sklearn.model_selection import StratifiedKFold

    least = int(np.unique(y, return_counts=True)[1].min())
    splitter = StratifiedKFold(min(folds, least), shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(len(y)), y))


def hold_out(
    table: FeatureTable,
    estimator: Estimator,
    folds: int,
    seed: int,
    progress: Callable[[TrainingState], None] | None = None,
) -> tuple[list[Estimator], Prediction, FloatArray]:
    """Return the classifiers of the folds, and of each source the prediction and P_WRONG of the one without it."""
    from fermiclass.nimgp.prediction import join

    splits = folds_of(table.y, folds, seed)
    rows = [(table.X[train], table.y[train], table.X_var[train]) for train, _ in splits]
    fitted = _fitted(estimator, rows, progress)
    predictions, wrong = [], np.empty(len(table))
    for one, (_, test) in zip(fitted, splits, strict=True):
        predictions.append(one.predict_distribution(table.X[test], X_var=table.X_var[test]))
        wrong[test] = one.predict_wrong_label(table.X[test], table.y[test], X_var=table.X_var[test])
    back = np.argsort(np.concatenate([test for _, test in splits]))
    return fitted, join(predictions).take(back), wrong


def _fitted(
    estimator: Estimator, rows: list[tuple[FloatArray, NDArray[np.str_], FloatArray]], progress: Any
) -> list[Estimator]:
    """Return a copy of the estimator for each fold, fitted to its X, y and X_var."""
    from sklearn.base import clone

    from fermiclass.fitting import fit_many
    from fermiclass.nimgp.training import TrainingState
    from fermiclass.robust_estimators import RobustGPClassifier

    if not isinstance(estimator, RobustGPClassifier):
        return list(fit_many(estimator, rows, progress=progress))
    largest = max(len(X) for X, _, _ in rows)
    if largest > MOST_FOR_EP:
        raise ClassError(
            f"expectation propagation learns from up to {MOST_FOR_EP} sources, as its time grows with their cube, and "
            f"here are {largest}. Choose fewer, with min_significance or fewer classes, or a method other than rmgpc."
        )
    fitted = []
    for X, y, X_var in rows:
        fitted.append(clone(estimator).fit(X, y, X_var=X_var))
        if progress is not None:
            evidences = np.array([one.log_evidence_ for one in fitted])
            progress(TrainingState(len(fitted), len(rows), evidences[-1], 0, evidences))
    return fitted


def _add_association(result: Table, sources: Catalog, y: NDArray[np.str_], wrong: FloatArray) -> None:
    """Put in front what the catalogue says and how probably that is wrong."""
    from astropy.table import Column

    place = result.colnames.index("ASSOC1") + 1
    columns = [
        Column(y, "CLASS", description="Catalogued class in the chosen grouping", meta={"ucd": "src.class"}),
        Column(wrong, "P_WRONG", description="Probability that CLASS is wrong", meta={"ucd": "stat.probability"}),
        Column(
            sources.identified, "IDENTIFIED", description="Identified, not only associated", meta={"ucd": "meta.code"}
        ),
    ]
    for name in ASSOCIATION_COLUMNS:
        if sources.has_column(name):
            columns.append(Column(sources.table[name], name))
    result.add_columns(columns, indexes=[place] * len(columns))


def _add_neighbours(result: Table, domain: TrainingDomain, table: FeatureTable) -> None:
    from astropy.table import Column

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
        texts = [", ".join(values[row]) for row in nearest]
        result[name] = Column(texts, description=description, meta={"ucd": ucd})
