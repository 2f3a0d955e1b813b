"""From a catalogue to labels: train on the sources that have a class, and label the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Unpack

import numpy as np

from fermiclass.brought.candidates import Candidates
from fermiclass.brought.sources import CatalogLike, catalog_of
from fermiclass.catalog import Catalog, ClassGrouping
from fermiclass.errors import CatalogError
from fermiclass.features import DEFAULT_FEATURE_SET, FeatureTable, parse_features
from fermiclass.io.plain import versions
from fermiclass.labelling.associations import of_release
from fermiclass.labelling.catalog_model import CatalogModel, Provenance
from fermiclass.labelling.counterparts import one_or_several
from fermiclass.labelling.labels import Labels, labels_of
from fermiclass.labelling.recipe import Checked, Choices, Recipe
from fermiclass.labelling.unknown_values import complete
from fermiclass.nimgp.domain import TrainingDomain
from fermiclass.nimgp.estimators.fitting import fit_classes
from fermiclass.nimgp.estimators.preparation import labelled_rows, refuse_rescaled
from fermiclass.nimgp.settings import Settings

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
    from fermiclass.nimgp.training.loop import TrainingState

    Progress = Callable[[TrainingState], None]

#: Part of the training sources that lack a feature, from which on the median with the variance of all is no good value.
_OFTEN = 0.01


def estimator_of(recipe: Recipe, rows: FeatureTable | None = None) -> NIMGPClassifier:
    """Return the unfitted estimator of a recipe; it knows the labels of `rows` that stand for sets of classes."""
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    return NIMGPClassifier(**_settings(recipe, rows).params())


def _settings(recipe: Recipe, rows: FeatureTable | None) -> Settings:
    labels = [] if rows is None else np.unique(rows.y).tolist()
    sets = {label: tuple(label.split("|")) for label in labels if "|" in label}
    return replace(recipe.settings, label_sets={**sets, **(recipe.settings.label_sets or {})})


def train(
    catalog: CatalogLike,
    recipe: Recipe | None = None,
    *,
    progress: Progress | None = None,
    **changes: Unpack[Choices],
) -> CatalogModel:
    """Train a classifier on the sources of a catalogue that have a class.

    Parameters
    ----------
    catalog
        The training catalogue, or its file.
    recipe
        What to learn from and how; by default as the command ``fermiclass train``: ``Recipe()``. Settings of the
        classifier are given by :meth:`fermiclass.Recipe.with_settings`.
    progress
        Called with the state of training every few steps.
    changes
        Fields of the recipe that are changed, such as ``features="six"``: see :class:`fermiclass.Recipe`.

    Returns
    -------
    CatalogModel
        With everything that it needs to label a catalogue.

    Raises
    ------
    ClassError
        When a class has too few sources to learn from.
    FeatureError
        When the catalogue does not support a feature.
    RecipeError
        When `recipe` is none, or a field is unknown.
    """
    return train_checked(Recipe.of(recipe, **changes).check(catalog), progress)


def train_checked(checked: Checked, progress: Progress | None = None) -> CatalogModel:
    """Train the classifier of a recipe that was checked."""
    catalog, grouping, rows = checked.catalog, checked.grouping, checked.rows
    settings = _settings(checked.recipe, rows)
    domain = _domain(rows, grouping)
    limited = np.isfinite(rows.upper)
    if np.any(limited):  # such values are known from then on: what nobody looked for is like sources with limits, too
        rows = replace(complete(domain, rows, limited), imputed_value=rows.imputed_value & ~limited)
        domain = _domain(rows, grouping)
    # A feature that many sources lack has, for them, mean and variance of the population with their other features.
    often = rows.imputed_value.mean(axis=0) >= _OFTEN
    known = complete(domain, rows, rows.imputed_value & often)
    refuse_rescaled(known.X, known.X_var, as_columns=False)
    used = labelled_rows(settings, known.X, known.X_var, rows.y, rows.weight)
    model = CatalogModel(
        fitted=fit_classes(settings, used, progress=progress),
        recipe=checked.recipe,
        imputation=rows.imputation,
        domain=domain,
        provenance=Provenance(catalog.origin, training_counts(checked), versions(), checked.left_out),
    )
    return _with_selection(model, checked)


def _with_selection(model: CatalogModel, checked: Checked) -> CatalogModel:
    """Return the model with what associations say: of a known release as it is kept, else by the default features."""
    of_agn = checked.grouping.of_agn(model.classes)
    if of_agn.all() or not of_agn.any():  # nothing changes the odds among AGN, or among other sources
        return model
    catalog, recipe = checked.catalog, checked.recipe
    default = [feature.name for feature in parse_features(DEFAULT_FEATURE_SET, catalog)]
    has_default = set(default) <= set(model.features)
    known = of_release(catalog.release.name)
    if known is None:
        by = checked if has_default else replace(recipe, features=",".join(default)).check(catalog)
        known = (model if has_default else train_checked(by)).associations(catalog, by.table)
    selection = known.selection if has_default else model.expecting(known, catalog, checked.table)
    return replace(model, selection=selection, second=known.second, claims=known.claims)


def training_counts(checked: Checked) -> dict[str, int]:
    """Return the number of training sources of each label, with a weight behind ``@``; those of classes come first."""
    labels = zip(checked.rows.y, checked.rows.weight, strict=True)
    counts = Counter(f"{label}@{weight:g}".removesuffix("@1") for label, weight in labels)
    return {word: counts[word] for word in dict.fromkeys([*checked.grouping.names, *sorted(counts)])}


def _domain(rows: FeatureTable, grouping: ClassGrouping) -> TrainingDomain:
    has_class = np.isin(rows.y, grouping.names)
    return TrainingDomain.fit(rows.X[has_class], rows.X_var[has_class], rows.y[has_class])


def classify(
    catalog: CatalogLike,
    recipe: Recipe | None = None,
    *,
    train_on: CatalogLike | None = None,
    counterparts: Candidates | Sequence[Candidates] = (),
    **changes: Unpack[Choices],
) -> Table:
    """Train on the sources of a catalogue that have a class, and label the others.

    Parameters
    ----------
    catalog
        The catalogue to label, or its file: see :func:`fermiclass.read_sources`.
    recipe, changes
        As for :func:`train`; and see :meth:`CatalogModel.label`.
    train_on
        Another training catalogue. Features that no source of `catalog` has are then left out of the model.
    counterparts
        As for :meth:`CatalogModel.label`.

    Returns
    -------
    Table
        The label table, as the command ``fermiclass classify`` writes it. Its metadata ``leftout`` are the features
        that were left out.

    Raises
    ------
    CatalogError, ClassError, FeatureError, RecipeError
        As for :func:`train` and :meth:`CatalogModel.label`.
    """
    recipe = Recipe.of(recipe, **changes)
    counterparts = one_or_several(counterparts)  # before the training
    checked = recipe.check(catalog if train_on is None else train_on, catalog)
    table = checked.table if train_on is None else None
    teachers = None if train_on is None else checked.catalog
    return train_checked(checked).label(checked.sources, counterparts=counterparts, teachers=teachers, table=table)


def retrain(
    labels: Table | str | PathLike[str],
    train_on: CatalogLike,
    *,
    source: str = "the label table",
    progress: Progress | None = None,
) -> CatalogModel:
    """Train the model of a label table again: the same recipe and sources give the same model.

    Parameters
    ----------
    labels
        As `fermiclass.classify` returns it, with its metadata.
    train_on
        The training catalogue, with the same columns and labels brought in.
    source
        Name of the table, for messages.
    progress
        Called with the state of training every few steps.

    Raises
    ------
    CatalogError
        When the metadata are incomplete, a setting is not valid, or the catalogue is another one.
    """
    train_on, about = catalog_of(train_on, "train_on"), Labels(labels_of(labels), source)
    return train_checked(checked_again(about, train_on), progress)


def checked_again(labels: Labels, train_on: Catalog) -> Checked:
    """Return the recipe of a label table, checked with its training catalogue, which gives the same numbers."""
    labels.trained_on.check(train_on.origin, f"the model of '{labels.source}'")
    checked = labels.recipe.check(train_on)
    found, expected = training_counts(checked), labels.training_counts
    if found != expected:
        odd = [name for name in {**expected, **found} if found.get(name) != expected.get(name)]
        numbers = ", ".join(f"{found.get(name, 0)} {name} for {expected.get(name, 0)}" for name in odd)
        raise CatalogError(
            f"{train_on.source} does not give the training sources of '{labels.source}': {numbers}. Give the catalogue "
            "from which these labels were learned, with the same labels of your own."
        )
    return checked
