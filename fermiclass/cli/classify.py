"""``fermiclass classify``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fermiclass.catalog import TARGETS, read_catalog, read_sources
from fermiclass.cli.models import load_catalogue_model, read_catalogue_model
from fermiclass.cli.options import (
    FILE,
    bring_in,
    catalog_argument,
    class_priors_option,
    columns_option,
    common_options,
    feature_options,
    join_option,
    labels_option,
    model_options,
    table_option,
)
from fermiclass.cli.train import train_model
from fermiclass.io.samp import check_hub, check_sendable, send_table
from fermiclass.io.tables import check_writable, write_table
from fermiclass.labelling.catalog_model import targets_of
from fermiclass.labelling.class_priors import GroupPriors
from fermiclass.labelling.retraining import COLUMNS, JOINED
from fermiclass.labelling.training import LEFT_OUT
from fermiclass.show.summaries import print_labels, print_sources
from fermiclass.show.terminal import progress_bar

_COMPRESSED = (".gz", ".bz2", ".xz")
_CATALOGUES = (".fits", ".fit", ".vot", ".votable", ".xml", ".parquet", ".csv", ".ecsv")


@click.command()
@catalog_argument
@table_option("The label table to write", default="CATALOG-labels.fits")
@click.option("--model", "model_folder", type=FILE, help="Use a model that 'train' saved.")
@click.option("--train-on", type=FILE, metavar="CATALOG", help="Learn from another catalogue.")
@columns_option
@join_option
@labels_option
@click.option(
    "--targets",
    type=click.Choice(TARGETS),
    default="uncertain",
    show_default=True,
    help="Sources to label; 'uncertain' means unassociated, bcu and unk.",
)
@class_priors_option(
    help="Class priors of the sources to label. trained: as in training. selection: corrected for the selection of "
    "AGN. Or a JSON file with the prior of each class by group, such as "
    '{"unassociated": {"bll": 0.4, "fsrq": 0.2, "psr": 0.1, "msp": 0.1, "other": 0.2}}. Groups are unassociated, '
    "bcu and unk; a group that is not in the file has the priors of the training. [default: selection; trained with "
    "--paper]"
)
@click.option("--no-class2", is_flag=True, help="Do not take the class of a low-probability association as evidence.")
@click.option("--send", is_flag=True, help="Send the table to TOPCAT, Aladin and others by SAMP; .fits or .vot.")
@feature_options
@model_options
@common_options
def classify(
    catalog: Path,
    output: Path | None,
    model_folder: Path | None,
    train_on: Path | None,
    columns: dict[str, str] | None,
    joined: tuple[Path, ...],
    own_labels: Path | None,
    targets: str,
    class_priors: str | GroupPriors | None,
    no_class2: bool,
    send: bool,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Label the sources of a catalogue that have no certain class, with a probability for each class.

    With --train-on or --model, CATALOG is also any table of sources of your own, with what is known of them.

    \b
    Example:
      fermiclass classify 4FGL-DR4.fits
      fermiclass classify 4FGL-DR4.fits --train-on 4FGL-DR3.fits --targets unassociated -o labels.vot
      fermiclass classify mine.csv --train-on 4FGL-DR4.fits --columns Flux1000=flux,Unc_Flux1000=flux_err
    """  # noqa: D301
    output = output or Path(f"{_stem(catalog)}-labels.fits")
    check_writable(output, catalog, train_on, *joined, own_labels)
    if send:
        check_sendable(output)
        check_hub()
    table, left_out, given = None, list[str](), None
    if model_folder is not None:
        _refuse_with_model(train_on, {**chosen, "labels": own_labels})
        files = read_catalogue_model(model_folder)
        loaded = bring_in(read_sources(catalog, columns), joined)
        model = load_catalogue_model(model_folder, files, quiet=quiet)
    else:
        if columns and train_on is None:
            raise click.UsageError("--columns is for sources of your own: name a catalogue to learn from (--train-on)")
        loaded = read_catalog(catalog) if train_on is None else read_sources(catalog, columns)
        if train_on is None:
            training = loaded = bring_in(loaded, joined, own_labels)
        else:
            loaded = bring_in(loaded, joined, needed=False)
            training = given = bring_in(read_catalog(train_on), joined, own_labels)
        targets_of(loaded, training.grouping(chosen["classes"]), targets)
        model, features, left_out = train_model(
            training, chosen, quiet, class_priors, None if train_on is None else loaded
        )
        table = features if train_on is None else None
    if chosen["paper"]:
        class_priors, no_class2 = class_priors or "trained", True
    with progress_bar("labelling", quiet=quiet) as progress:
        labels = model.label(
            loaded, targets, class_priors=class_priors, class2=not no_class2, table=table, progress=progress
        )
    labels.meta |= {LEFT_OUT: ",".join(left_out)} if left_out else {}
    labels.meta |= {COLUMNS: ",".join(f"{name}={own}" for name, own in columns.items())} if columns else {}
    brought = [path.name for path in (*joined, own_labels) if path is not None]
    labels.meta |= {JOINED: ",".join(brought)} if brought else {}
    write_table(labels, output)
    if not quiet:
        if given is not None:
            print_sources(given, [])
        print_sources(loaded, left_out)
        print_labels(labels, model, output)
    if send:
        receivers = send_table(output)
        if not quiet:
            click.echo(f"Sent to {', '.join(receivers)}.")


def _stem(catalog: Path) -> str:
    bare = catalog.with_suffix("") if catalog.suffix.lower() in _COMPRESSED else catalog
    return bare.stem if bare.suffix.lower() in _CATALOGUES else bare.name


def _refuse_with_model(train_on: Path | None, chosen: dict[str, Any]) -> None:
    given = [
        f"--{name.replace('num_', '').replace('_', '-')}" for name, value in chosen.items() if value and name != "seed"
    ]
    if train_on is not None:
        given.append("--train-on")
    if given:
        raise click.UsageError(f"--model brings its own settings: leave out {', '.join(given)}")
