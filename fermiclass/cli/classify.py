"""``fermiclass classify``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from fermiclass.catalog import TARGETS, read_catalog
from fermiclass.cli import options
from fermiclass.cli.app import SectionedCommand
from fermiclass.cli.folders import load_folder, place_of_candidates, read_folder, stem_of
from fermiclass.cli.options import BroughtIn, CandidateTables
from fermiclass.io.model_folder import CATALOGUE
from fermiclass.io.samp import check_hub, check_sendable, send_table
from fermiclass.io.tables import check_writable, write_table
from fermiclass.labelling.catalog_model import CatalogModel
from fermiclass.labelling.counterparts import counterpart_table
from fermiclass.labelling.recipe import Recipe
from fermiclass.show.summaries import print_counterparts, print_labels, print_sources
from fermiclass.show.terminal import progress_bar, say, train_with_bar

_OF_LABELLING = {"targets", "class_priors"}  # options of the recipe that do not change a model


@click.command(cls=SectionedCommand)
@options.catalog_argument
@options.table_option("The label table to write", default="CATALOG-labels.fits")
@options.file_option("--model", "model_folder", help="Use a model that 'train' saved.")
@options.file_option("--train-on", metavar="CATALOG", help="Learn from another catalogue.")
@options.brought_options
@click.option(
    "--targets",
    type=click.Choice(TARGETS),
    help="Sources to label; 'uncertain' means unassociated, bcu and unk. [default: uncertain]",
)
@options.class_priors_option(
    help="Class priors of the sources to label. trained: as in training. selection: corrected for the selection of "
    "AGN. Or a JSON file with the prior of each class by group, such as "
    '{"unassociated": {"bll": 0.4, "fsrq": 0.2, "psr": 0.1, "msp": 0.1, "other": 0.2}}. Groups are unassociated, '
    "bcu and unk; a group that is not in the file has the priors of the training. [default: selection; trained with "
    "--paper]"
)
@options.counterparts_option
@click.option("--send", is_flag=True, help="Send the table to TOPCAT, Aladin and others by SAMP; .fits or .vot.")
@options.feature_options
@options.model_options
@options.with_recipe()
def classify(
    catalog: Path,
    output: Path | None,
    model_folder: Path | None,
    train_on: Path | None,
    brought: BroughtIn,
    recipe: Recipe,
    candidates: CandidateTables,
    send: bool,
) -> None:
    """Label the sources of a catalogue that have no certain class, with a probability for each class.

    With --train-on or --model, CATALOG is also any table of sources of your own, with what is known of them.

    \b
    Example:
      fermiclass classify 4FGL-DR4.fits
      fermiclass classify 4FGL-DR4.fits --train-on 4FGL-DR3.fits --targets unassociated -o labels.vot
      fermiclass classify mine.csv --train-on 4FGL-DR4.fits --columns Flux1000=flux,Unc_Flux1000=flux_err
    """  # noqa: D301
    output = output or Path(f"{stem_of(catalog)}-labels.fits")
    beside = place_of_candidates(output)
    for place in (output, beside) if candidates.files else (output,):
        check_writable(place, catalog, train_on, *brought.files, *candidates.files)
    counterparts = candidates.read()
    if send:
        check_sendable(output)
        check_hub()
    table, training = None, None
    if model_folder is not None:
        _refuse_with_model()
        files = read_folder(model_folder, CATALOGUE)
        loaded = brought.read(catalog)
        model: CatalogModel = load_folder(model_folder, files)
        chosen = [each.name for each in options.given_options(*_OF_LABELLING)]
        chosen += [name for name in click.get_current_context().params["changes"] if name == "evidence"]
        recipe = replace(model.recipe, **{name: getattr(recipe, name) for name in chosen})
    else:
        if (brought.columns or brought.bins) and train_on is None:
            option = "--columns" if brought.columns else "--variability-bins"
            raise click.UsageError(f"{option} is for sources of your own: name a catalogue to learn from (--train-on)")
        if train_on is None:
            loaded = brought.into(read_catalog(catalog))
            checked = recipe.check(loaded, loaded)
            table = checked.table
        else:
            loaded = brought.read(catalog, labels=False, needed=False)
            training = brought.into(read_catalog(train_on))
            checked = recipe.check(training, loaded)
            loaded = checked.sources
        model = train_with_bar(checked)
    with progress_bar("labelling") as progress:
        labels = model.label(
            loaded,
            recipe.targets,
            class_priors=recipe.class_priors,
            evidence=recipe.evidence,
            counterparts=counterparts,
            teachers=training,
            table=table,
            progress=progress,
        )
    write_table(labels, output)
    if counterparts:
        write_table(counterpart_table(labels, counterparts), beside)
    if training is not None:
        print_sources(training, [])
    print_sources(loaded, model.provenance.left_out)
    print_labels(labels, model, output)
    if counterparts:
        print_counterparts(labels, counterparts, beside)
    if send:
        say(f"Sent to {', '.join(send_table(output))}.", wrap=False)


def _refuse_with_model() -> None:
    learned = {*options.SETTINGS, *options.RECIPE_FIELDS} - _OF_LABELLING
    others = ("own_labels", "also", "paper", "config", "save_config", "train_on")
    given = options.given_options(*learned, *others)
    changes = [name for name in click.get_current_context().params["changes"] if name != "evidence"]
    if given or changes:
        names = ", ".join([*(each.opts[0] for each in given), *(f"--set {name}" for name in changes)])
        raise click.UsageError(f"--model brings its own settings: leave out {names}")
