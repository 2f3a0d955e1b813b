"""From a catalogue to labels: train on the sources that have a class, and label the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.catalog import CHANCE_CODES, CLASS_CODES, UNCERTAIN_CLASSES, Catalog, ClassGrouping
from fermiclass.errors import ClassError
from fermiclass.features import DEFAULT_FEATURE_SET, FeatureTable, extract_features, known_features
from fermiclass.features.inputs import column_or_nan
from fermiclass.io.versions import versions
from fermiclass.labelling.catalog_model import CatalogModel, Provenance, targets_of
from fermiclass.labelling.class_priors import GroupPriors, check_class_priors
from fermiclass.labelling.unknown_values import complete
from fermiclass.nimgp.domain import TrainingDomain
from fermiclass.nimgp.names import FULL_BATCH, PER_SOURCE

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
    from fermiclass.nimgp.training.loop import TrainingState

#: Settings of the estimator for catalogues, whatever the defaults of :class:`NIMGPClassifier`.
DEFAULT_SETTINGS = {
    "method": "nimgp-fo",
    "objective": "predictive",
    "label_noise": 0.0,
    "steps": 500,
    "learning_rate": 0.03,
}

#: Minibatches end at the same objective as all sources in every step, in a quarter of the time. The mean of the steps
#: and more draws make another seed change less.
_MINIBATCHES = {"batch_size": 512, "training": {"mean": True, "draw_pairs": 32}}
_ALL_ROWS = {name: FULL_BATCH[name] for name in _MINIBATCHES}

#: Weight of labels that are guesses. Chance associations have what their code can be. Unassociated sources that the
#: catalogue flags as soft Galactic emission are no pulsars: most match no known class, and two of the 22 that got a
#: class since DR4 are pulsars. Both are much more alike than the sources with a class.
_GUESS = 0.15

LEFT_OUT = "leftout"  #: Metadata of a label table: features that no source had.

#: Part of the training sources that lack a feature, from which on the median with the variance of all is no good value.
_OFTEN = 0.01

MIN_PER_CLASS = 5  #: Least number of training sources of a class.


def default_settings(**given: Any) -> dict[str, Any]:
    """Return the settings of the estimator for catalogues; `given` ones come first.

    It learns from minibatches, except with methods that have parameters for every source.
    """
    settings = {**DEFAULT_SETTINGS, **given}
    return {**(_ALL_ROWS if settings["method"] in PER_SOURCE else _MINIBATCHES), **settings}


def default_estimator(**settings: Any) -> NIMGPClassifier:
    """Return the unfitted estimator for catalogues with :func:`default_settings`."""
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    return NIMGPClassifier(**default_settings(**settings))


def training_table(
    catalog: Catalog,
    *,
    features: str = DEFAULT_FEATURE_SET,
    classes: str | ClassGrouping | None = None,
    min_significance: float | None = None,
    one_class: bool = False,
) -> FeatureTable:
    """Extract the features of the sources that :func:`train` learns from. Parameters and errors are the same.

    With `one_class`, the table has only sources of one class: no labels that stand for several classes, and no
    unassociated sources.
    """
    grouping = catalog.grouping(classes)
    table = extract_features(catalog, features, grouping)
    return training_rows(catalog, table, grouping, min_significance=min_significance, one_class=one_class)


def training_rows(
    catalog: Catalog,
    table: FeatureTable,
    classes: str | ClassGrouping | None,
    *,
    min_significance: float | None = None,
    one_class: bool = False,
) -> FeatureTable:
    """Return the rows of the sources to learn from in the features of all sources of a catalogue.

    Raises ClassError when a class has too few sources to learn from.
    """
    grouping = catalog.grouping(classes)
    if min_significance is not None:
        table = table[column_or_nan(catalog, "Signif_Avg") > min_significance]
    counts = {name: int(np.sum(table.y == name)) for name in grouping.names}
    for name, count in counts.items():
        if count < MIN_PER_CLASS:
            found = ", ".join(f"{other} {number}" for other, number in counts.items())
            raise ClassError(
                f"{catalog.source} has {count} sources of class '{name}' to learn from, at least {MIN_PER_CLASS} are "
                f"needed (found: {found}). Leave the class out or merge it with another (--classes), lower "
                "--min-significance, or learn from another catalogue (--train-on)."
            )
    if one_class:
        return table[np.isin(table.y, grouping.names)]
    table = _with_guesses(catalog, table, grouping)
    return table[table.labelled]


def _with_guesses(catalog: Catalog, table: FeatureTable, grouping: ClassGrouping) -> FeatureTable:
    """Return a table with the labels of soft Galactic sources, and with the weight of labels that are guesses."""
    codes = catalog.classes[table.rows]
    guessed = np.isin(codes, CHANCE_CODES) & np.isin(table.y, list(grouping.sets))
    covers_all = {*CLASS_CODES} <= {*UNCERTAIN_CLASSES}.union(*grouping.members.values())
    soft = catalog.soft_galactic[table.rows] & (codes == "") & bool(grouping.sets and covers_all)
    no_pulsar = "|".join(np.array(grouping.names)[~grouping.within("psr", grouping.names)])
    own = False if catalog.own_labels is None else (catalog.own_labels != "")[table.rows]
    weight = np.where((guessed | soft) & ~own, _GUESS, table.weight)
    return replace(table, y=np.where(soft & ~own, no_pulsar, table.y), weight=weight)


def with_label_sets(estimator: NIMGPClassifier, table: FeatureTable) -> NIMGPClassifier:
    """Return an unfitted copy of an estimator that knows the labels of a table that stand for sets of classes."""
    from sklearn.base import clone

    sets: dict[str, Any] = {label: tuple(label.split("|")) for label in np.unique(table.y).tolist() if "|" in label}
    sets |= estimator.label_sets or {}
    copy: NIMGPClassifier = clone(estimator).set_params(label_sets=sets or None)
    return copy


def train(
    catalog: Catalog,
    estimator: NIMGPClassifier | None = None,
    *,
    features: str = DEFAULT_FEATURE_SET,
    classes: str | ClassGrouping | None = None,
    min_significance: float | None = None,
    table: FeatureTable | None = None,
    progress: Callable[[TrainingState], None] | None = None,
) -> CatalogModel:
    """Train a classifier on the sources of a catalogue that have a class.

    Parameters
    ----------
    catalog
        The training catalogue.
    estimator
        Unfitted classifier; by default that of the command ``fermiclass train`` (:func:`default_estimator`). It is
        copied, not changed.
    features
        A feature set ('six', 'extended', 'galactic' or 'paper'), or names of features and numeric columns, separated
        by commas.
    classes
        Grouping of the catalogue's classes, such as ``'bll,fsrq,psr'``; see :meth:`fermiclass.ClassGrouping.parse`. By
        default what each code can be: :func:`fermiclass.catalog.default_classes`.
    min_significance
        Train only on sources with a larger Signif_Avg.
    table
        The features of all sources of the catalogue (:func:`fermiclass.extract_features` with the same features and
        classes), to save time.
    progress
        Called with the state of training every few steps.

    Returns
    -------
    CatalogModel
        The model, with everything that it needs to label a catalogue.

    Raises
    ------
    ClassError
        When a class has too few sources to learn from.
    FeatureError
        When the catalogue does not support a feature.
    """
    grouping = catalog.grouping(classes)
    table = extract_features(catalog, features, grouping) if table is None else table
    rows = training_rows(catalog, table, grouping, min_significance=min_significance)
    unfitted = with_label_sets(default_estimator() if estimator is None else estimator, rows)
    words = [f"{label}@{weight:g}".removesuffix("@1") for label, weight in zip(rows.y, rows.weight, strict=True)]
    learned = (*grouping.names, *sorted({*words} - {*grouping.names}))
    domain = _domain(rows, grouping)
    limited = np.isfinite(rows.upper)
    if np.any(limited):  # such values are known from then on: what nobody looked for is like sources with limits, too
        rows = replace(complete(domain, rows, limited), imputed_value=rows.imputed_value & ~limited)
        domain = _domain(rows, grouping)
    # A feature that many sources lack has, for them, mean and variance of the population with their other features.
    often = rows.imputed_value.mean(axis=0) >= _OFTEN
    known = complete(domain, rows, rows.imputed_value & often)
    model = CatalogModel(
        estimator=unfitted.fit(known.X, rows.y, X_var=known.X_var, sample_weight=rows.weight, progress=progress),
        features=tuple(feature.name for feature in rows.features),
        grouping=grouping,
        imputation=rows.imputation,
        domain=domain,
        provenance=Provenance(
            catalog=str(catalog.source),
            sha256=str(catalog.sha256),
            release=catalog.release.name,
            min_significance=min_significance,
            training_counts={word: words.count(word) for word in learned},
            versions=versions(),
        ),
    )
    return model.with_selection(catalog, table)


def _domain(rows: FeatureTable, grouping: ClassGrouping) -> TrainingDomain:
    has_class = np.isin(rows.y, grouping.names)
    return TrainingDomain.fit(rows.X[has_class], rows.X_var[has_class], rows.y[has_class])


def classify(
    catalog: Catalog,
    estimator: NIMGPClassifier | None = None,
    *,
    targets: str = "uncertain",
    train_on: Catalog | None = None,
    features: str = DEFAULT_FEATURE_SET,
    classes: str | ClassGrouping | None = None,
    min_significance: float | None = None,
    class_priors: str | GroupPriors | None = None,
    class2: bool = True,
) -> Table:
    """Train on the sources of a catalogue that have a class, and label the others.

    Parameters
    ----------
    catalog
        The catalogue to label.
    estimator, features, classes, min_significance
        As for :func:`train`.
    targets, class_priors, class2
        As for :meth:`CatalogModel.label`.
    train_on
        Another training catalogue. Features that no source of `catalog` has are then left out of the model.

    Returns
    -------
    Table
        The label table, the same as the command ``fermiclass classify`` writes. In its metadata, ``leftout`` has the
        features that were left out.

    Raises
    ------
    CatalogError, ClassError, FeatureError
        As for :func:`train` and :meth:`CatalogModel.label`.
    """
    training, left_out = catalog, list[str]()
    if train_on is not None:
        training = train_on
        features, left_out = known_features(features, training, catalog)
    grouping = training.grouping(classes)
    check_class_priors(class_priors, grouping.names)
    targets_of(catalog, grouping, targets)
    table = extract_features(training, features, grouping)
    model = train(
        training, estimator, features=features, classes=grouping, min_significance=min_significance, table=table
    )
    same = table if training is catalog else None
    labels = model.label(catalog, targets, class_priors=class_priors, class2=class2, table=same)
    labels.meta |= {LEFT_OUT: ",".join(left_out)} if left_out else {}
    return labels
