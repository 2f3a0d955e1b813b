"""``fermiclass classify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fermiclass.cli.models import check_catalogue_model, load_catalogue_model
from fermiclass.cli.options import catalog_argument, common_options, feature_options, model_options, table_option
from fermiclass.cli.train import train_model
from fermiclass.show.terminal import progress_bar

if TYPE_CHECKING:
    pass

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
_CATALOGUES = (".fits", ".fit", ".vot", ".votable", ".xml", ".parquet")
_MOST_TEXT = 1 << 20  # largest number of characters in a file of shares


@click.command()
@catalog_argument
@table_option("The label table to write", default="CATALOG-labels.fits")
@click.option("--model", "model_folder", type=click.Path(path_type=Path), help="Use a model that 'train' saved.")
@click.option("--train-on", type=click.Path(path_type=Path), metavar="CATALOG", help="Learn from another catalogue.")
@click.option(
    "--targets",
    type=click.Choice(["unassociated", "uncertain", "all"]),
    default="uncertain",
    show_default=True,
    help="Sources to label; 'uncertain' means unassociated, bcu and unk.",
)
@click.option(
    "--shares",
    metavar="trained|selection|estimated|latitude|FILE",
    help="Class priors of the sources to label. trained: as in training. selection: corrected for the selection of "
    "AGN. estimated: estimated for unassociated, bcu and unk sources separately. latitude: the same, and separately "
    "below and above 10 deg Galactic latitude. Or a JSON file with the prior of each class by group, such as "
    '{"unassociated": {"bll": 0.4, "fsrq": 0.2, "psr": 0.2, "other": 0.2}}. Groups are unassociated (or unassociated '
    "low and unassociated high), bcu and unk; a group that is not in the file has the priors of the training. "
    "[default: selection; trained with --paper or if the classes do not cover all sources]",
)
@click.option("--send", is_flag=True, help="Send the table to TOPCAT, Aladin and others by SAMP; .fits or .vot.")
@feature_options
@model_options
@common_options
def classify(
    catalog: Path,
    output: Path | None,
    model_folder: Path | None,
    train_on: Path | None,
    targets: str,
    shares: str | None,
    send: bool,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Label the sources of a catalogue that have no certain class, with a probability for each class.

    \b
    Example:
      fermiclass classify 4FGL-DR4.fits
      fermiclass classify 4FGL-DR4.fits --train-on 4FGL-DR3.fits --targets unassociated -o labels.vot
    """  # noqa: D301
    from fermiclass.catalog import Catalog, open_large_catalog, read_catalog
    from fermiclass.io.samp import check_hub, check_sendable, send_table
    from fermiclass.io.tables import check_writable, write_table
    from fermiclass.labelling.bulk import GROWING, write_labels
    from fermiclass.labelling.counts import LabelCounts
    from fermiclass.show.summaries import print_labels

    output = output or Path(f"{_stem(catalog)}-labels.fits")
    check_writable(output, catalog, train_on)
    if send:
        check_sendable(output)
        check_hub()
    group_shares = None if shares is None else parse_shares(shares)
    if model_folder is not None:
        _refuse_with_model(train_on, chosen)
        content = check_catalogue_model(model_folder)
    learns_from_it = model_folder is None and train_on is None
    in_parts = output.suffix.lower() in GROWING and not learns_from_it
    loaded = (open_large_catalog(catalog) if in_parts else None) or read_catalog(catalog)
    if model_folder is not None:
        model = load_catalogue_model(model_folder, quiet=quiet, content=content)
    else:
        training = loaded if isinstance(loaded, Catalog) and learns_from_it else read_catalog(train_on or catalog)
        model = train_model(training, chosen, quiet)
    if group_shares is None and chosen["paper"]:
        group_shares = "trained"
    with progress_bar("labelling", quiet=quiet) as progress:
        if isinstance(loaded, Catalog):
            labels = model.label(loaded, targets, shares=group_shares, progress=progress)
            write_table(labels, output)
            counts, meta = LabelCounts.of(labels), labels.meta
        else:
            counts, meta = write_labels(model, loaded, output, targets, shares=group_shares, progress=progress)
    if not quiet:
        print_labels(counts, meta, model, output)
    if send:
        receivers = send_table(output)
        if not quiet:
            click.echo(f"Sent to {', '.join(receivers)}.")


def _stem(catalog: Path) -> str:
    bare = catalog.with_suffix("") if catalog.suffix.lower() in _COMPRESSED else catalog
    return bare.stem if bare.suffix.lower() in _CATALOGUES else bare.name


def parse_shares(shares: str) -> str | dict[str, dict[str, float]]:
    """Return the name of a way to choose the class priors, or the class priors in a JSON file."""
    from fermiclass.labelling.class_priors import SHARES

    return shares if shares in SHARES else _read_shares(Path(shares))


def _read_shares(path: Path) -> dict[str, dict[str, float]]:
    import json

    from fermiclass.errors import ClassError
    from fermiclass.labelling.class_priors import SHARES

    try:
        if not path.is_file():
            raise ValueError("there is no such file")
        with path.open(encoding="utf-8") as stream:
            content = json.loads(stream.read(_MOST_TEXT))
        return {str(k): {str(name): float(share) for name, share in v.items()} for k, v in content.items()}
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise ClassError(
            f"the class priors cannot be read from '{path}' ({error}). Give one of {', '.join(SHARES)}, or a "
            "JSON file such as "
            '{"unassociated": {"bll": 0.5, "fsrq": 0.3, "psr": 0.2}, "bcu": {...}}.'
        ) from error


def _refuse_with_model(train_on: Path | None, chosen: dict[str, Any]) -> None:
    given = [
        f"--{name.replace('num_', '').replace('_', '-')}" for name, value in chosen.items() if value and name != "seed"
    ]
    if train_on is not None:
        given.append("--train-on")
    if given:
        raise click.UsageError(f"--model brings its own settings: leave out {', '.join(given)}")
