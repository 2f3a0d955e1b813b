"""``fermiclass explain``."""

from __future__ import annotations

import warnings
from pathlib import Path

import click
import numpy as np
from astropy.table import Table

from fermiclass.analysis.explain import Explanation
from fermiclass.analysis.explain import explain as explain_source
from fermiclass.catalog import read_catalog, read_sources
from fermiclass.catalog.source_names import find_source
from fermiclass.cli.models import load_catalogue_model, look_for, read_catalogue_model
from fermiclass.cli.options import FILE, class_priors_option, common_options
from fermiclass.errors import CatalogError, ModelFolderError
from fermiclass.io.files import check_figure_place, exists, write_figure
from fermiclass.labelling.archive import ModelFiles
from fermiclass.labelling.class_priors import GroupPriors
from fermiclass.labelling.labels import read_labels
from fermiclass.labelling.retraining import (
    check_labels,
    check_sha256,
    named_columns,
    retrain,
    stored_class2,
    stored_class_priors,
)
from fermiclass.plots import explanation, explanation_size
from fermiclass.show.explanation import print_explanation
from fermiclass.show.terminal import load_tensorflow, progress_bar

# Largest difference without a warning between the probabilities in the table and those of the model trained again.
_SAME = 1e-3


@click.command()
@click.argument("labels_or_model", type=FILE)
@click.argument("name")
@click.option(
    "--catalog",
    type=FILE,
    help="The catalogue with the source. [default: the catalogue of the labels or of the model, if it is in this "
    "folder or beside them]",
)
@click.option(
    "--train-on",
    type=FILE,
    metavar="CATALOG",
    help="The training catalogue, if it is another one. [default: searched for in the same folders]",
)
@class_priors_option(help="Class priors, for a model folder only, as in 'classify'. A label table contains its own.")
@click.option("--plot", type=FILE, help="Figure of the explanation: .png, .pdf or .svg.")
@common_options
def explain(
    labels_or_model: Path,
    name: str,
    catalog: Path | None,
    train_on: Path | None,
    class_priors: str | GroupPriors | None,
    plot: Path | None,
    quiet: bool,
) -> None:
    """Explain the probabilities of one source.

    NAME is any name of the source: in 4FGL (with or without '4FGL'), of its association, or in an earlier catalogue
    down to 1FGL. The effects of the features are printed as log-odds, with bars.
    With a model folder the explanation takes seconds. With a label table the model is trained again, with the
    settings, the seed and the catalogue in the table's metadata.

    \b
    Example:
      fermiclass explain labels.fits "4FGL J0000.3-7355" --plot source.pdf
      fermiclass explain dr4-model "Mkn 421" --catalog 4FGL-DR4.fits
    """  # noqa: D301
    if plot is not None:
        check_figure_place(plot, labels_or_model, catalog, train_on)
    if not exists(labels_or_model):
        raise CatalogError(f"there is no label table or model folder '{labels_or_model}'. Check the name.")
    labels, files, class2, columns = None, None, True, dict[str, str]()
    if labels_or_model.is_dir():
        files = read_catalogue_model(labels_or_model)
        made_of = trained_on = _training_catalogue(files, labels_or_model)
    elif class_priors is not None:
        raise click.UsageError("a label table contains its own class priors: leave out --class-priors")
    else:
        labels = read_labels(labels_or_model)
        check_labels(labels, str(labels_or_model))
        made_of, trained_on = (
            (str(labels.meta[file]), str(labels.meta[sha256]))
            for file, sha256 in (("catalog", "sha256"), ("train_on", "trainsha"))
        )
        columns = named_columns(labels)
    if catalog is None:
        loaded = look_for(*made_of, labels_or_model, "--catalog", columns)
    else:
        loaded = read_sources(catalog, columns)
    if labels is not None:
        check_sha256(loaded, *made_of)
    found = str(loaded.names[find_source(loaded, name)])  # reports errors before the slow steps
    if train_on is not None:
        training = read_catalog(train_on)
    else:
        is_same = loaded.sha256 == trained_on[1]
        training = loaded if is_same else look_for(*trained_on, labels_or_model, "--train-on")
    if files is not None:
        model = load_catalogue_model(labels_or_model, files, quiet=quiet)
    else:
        assert labels is not None
        check_sha256(training, *trained_on)
        load_tensorflow(quiet=quiet)
        with progress_bar("training again", quiet=quiet) as show:
            path = str(labels_or_model)
            model = retrain(labels, training, source=path, progress=lambda state: show(state.step, state.steps))
        class_priors, class2 = stored_class_priors(labels.meta), stored_class2(labels.meta)
    explained = explain_source(model, loaded, found, train_on=training, class_priors=class_priors, class2=class2)
    if labels is not None:
        _compare(labels, explained)
    if plot is not None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=explanation_size(explained), layout="constrained")
        explanation(explained, figure=figure)
        write_figure(plot, figure)
    if not quiet:
        print_explanation(explained)


def _training_catalogue(files: ModelFiles, folder: Path) -> tuple[str, str]:
    """Return name and checksum of the training catalogue of a model."""
    provenance = files.model.get("provenance")
    if not isinstance(provenance, dict) or not {"catalog", "sha256"} <= provenance.keys():
        raise ModelFolderError(f"the model in '{folder}' does not name its training catalogue. Train it again.")
    return str(provenance["catalog"]), str(provenance["sha256"])


def _compare(labels: Table, explained: Explanation) -> None:
    """Warn if the model trained again and the label table have different probabilities."""
    rows = np.flatnonzero(np.asarray(labels["Source_Name"]) == explained.name)
    if not len(rows):
        return
    stored = np.array([float(labels[f"P_{name}"][rows[0]]) for name in explained.classes])
    if np.abs(stored - explained.probabilities).max() > _SAME:
        both = ", ".join(
            f"P({name}) {one:.3f} and {other:.3f}"
            for name, one, other in zip(explained.classes, stored, explained.probabilities, strict=True)
        )
        warnings.warn(
            f"the label table and the model trained again differ: {both}. The table was made with "
            f"{labels.meta.get('versions')}.",
            stacklevel=2,
        )
