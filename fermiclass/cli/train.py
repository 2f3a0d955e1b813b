"""``fermiclass train``, and its training, which ``classify`` uses too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fermiclass.catalog import THREE_CLASSES, Catalog, read_catalog
from fermiclass.cli.options import (
    FILE,
    bring_in,
    catalog_argument,
    common_options,
    feature_options,
    join_option,
    labels_option,
    model_options,
)
from fermiclass.features import (
    DEFAULT_FEATURE_SET,
    PAPER_MIN_SIGNIFICANCE,
    FeatureTable,
    extract_features,
    known_features,
)
from fermiclass.labelling import training
from fermiclass.labelling.archive import check_model_folder_writable, save_model
from fermiclass.labelling.catalog_model import CatalogModel
from fermiclass.labelling.class_priors import GroupPriors, check_class_priors
from fermiclass.nimgp.names import PAPER_ESTIMATOR
from fermiclass.show.summaries import print_sources, print_training
from fermiclass.show.terminal import load_tensorflow, progress_bar

_ESTIMATOR_OPTIONS = ("method", "likelihood", "label_noise", "num_inducing", "steps", "epochs")


@click.command()
@catalog_argument
@click.option("-o", "--output", type=FILE, required=True, help="The model folder to write.")
@join_option
@labels_option
@feature_options
@model_options
@common_options
def train(
    catalog: Path, output: Path, joined: tuple[Path, ...], own_labels: Path | None, quiet: bool, **chosen: Any
) -> None:
    """Train on the associated sources of a catalogue and save the model.

    \b
    Example:
      fermiclass train 4FGL-DR4.fits -o dr4-model
      fermiclass classify 4FGL-DR4.fits --model dr4-model
    """  # noqa: D301
    check_model_folder_writable(output)
    loaded = bring_in(read_catalog(catalog), joined, own_labels)
    model, *_ = train_model(loaded, chosen, quiet)
    save_model(model, output)
    if not quiet:
        print_sources(loaded, [])
        print_training(model, output)


def train_model(
    catalog: Catalog,
    chosen: dict[str, Any],
    quiet: bool,
    class_priors: str | GroupPriors | None = None,
    sources: Catalog | None = None,
) -> tuple[CatalogModel, FeatureTable, list[str]]:
    """Train with the options of ``train`` and ``classify``.

    Return the model, the features of all sources, and the names of features that no source to label (`sources`) has,
    which are left out.
    """
    paper = chosen["paper"]
    if chosen["steps"] and chosen["epochs"]:
        raise click.UsageError("--steps and --epochs cannot be combined: give one of them")
    if chosen["temperature"] and (chosen["likelihood"] or ("step" if paper else "")) == "step":
        raise click.UsageError("--temperature has no effect on the step likelihood, which learns its ε: leave it out")
    data = {
        "features": chosen["features"] or ("paper" if paper else DEFAULT_FEATURE_SET),
        "classes": catalog.grouping(chosen["classes"] or (THREE_CLASSES if paper else None)),
        "min_significance": chosen["min_significance"],
    }
    if paper and data["min_significance"] is None:
        data["min_significance"] = PAPER_MIN_SIGNIFICANCE
    check_class_priors(class_priors, data["classes"].names)
    left_out: list[str] = []
    if sources is not None:
        data["features"], left_out = known_features(data["features"], catalog, sources)
    table = extract_features(catalog, data["features"], data["classes"])
    # It reports errors of the input before TensorFlow starts.
    training.training_rows(catalog, table, data["classes"], min_significance=data["min_significance"])
    load_tensorflow(quiet=quiet)
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    given = {key: chosen[key] for key in _ESTIMATOR_OPTIONS if chosen[key]}
    if chosen["temperature"]:
        given["temperature"] = "folds"
    settings = _paper_settings(given) if paper else training.default_settings(**given)
    estimator = NIMGPClassifier(**settings, random_state=chosen["seed"])
    with progress_bar("training", quiet=quiet) as progress:
        model = training.train(
            catalog, estimator, **data, table=table, progress=lambda state: progress(state.step, state.steps)
        )
    return model, table, left_out


def _paper_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the main paper, where none are given."""
    preset = dict(PAPER_ESTIMATOR)
    if "steps" in given:
        del preset["epochs"]
    return {**preset, **given}
