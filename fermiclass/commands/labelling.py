"""The main job: ``train`` and ``classify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fermiclass.commands.models import load_catalogue_model
from fermiclass.commands.options import catalog_argument, common_options, feature_options, model_options, table_option
from fermiclass.terminal import load_tensorflow, progress_bar

if TYPE_CHECKING:
    from fermiclass.catalog import Catalog
    from fermiclass.pipeline import TrainedModel

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
_CATALOGUES = (".fits", ".fit", ".vot", ".votable", ".xml", ".parquet")
_MOST_TEXT = 1 << 20  # characters of a file of shares
_ESTIMATOR_OPTIONS = ("method", "likelihood", "label_noise", "num_inducing", "steps", "epochs")


@click.command()
@catalog_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The model folder to write.")
@feature_options
@model_options
@common_options
def train(catalog: Path, output: Path, quiet: bool, **chosen: Any) -> None:
    """Train on the associated sources of a catalogue and save the model.

    \b
    Example:
      fermiclass train 4FGL-DR4.fits -o dr4-model
      fermiclass classify 4FGL-DR4.fits --model dr4-model
    """  # noqa: D301
    from fermiclass.catalog import read_catalog
    from fermiclass.model_folder import check_model_folder_writable, save_model
    from fermiclass.summaries import print_training

    check_model_folder_writable(output)
    model = _train(read_catalog(catalog), chosen, quiet)
    save_model(model, output)
    if not quiet:
        print_training(model, output)


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
    help="Which sources to label; 'uncertain': unassociated, bcu and unk.",
)
@click.option(
    "--shares",
    metavar="trained|estimated|latitude|FILE",
    help="The classes' shares among unassociated, bcu and unk sources: as in training, estimated from these sources, "
    "the same with unassociated sources below and from 10 deg Galactic latitude apart, or from a JSON file. "
    "[default: estimated; trained with --paper, or with a class 'other']",
)
@click.option("--send", is_flag=True, help="Offer the table to TOPCAT, Aladin and others by SAMP; .fits or .vot.")
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
    """Label the sources of a catalogue that have no class, with a probability for each class.

    \b
    Example:
      fermiclass classify 4FGL-DR4.fits
      fermiclass classify 4FGL-DR4.fits --train-on 4FGL-DR3.fits --targets unassociated -o labels.vot
    """  # noqa: D301
    from fermiclass.bulk_labels import GROWING, write_labels
    from fermiclass.catalog import Catalog, open_large_catalog, read_catalog
    from fermiclass.group_shares import default_shares
    from fermiclass.label_counts import LabelCounts
    from fermiclass.messaging import check_hub, check_sendable, send_table
    from fermiclass.model_folder import check_model_folder
    from fermiclass.summaries import print_labels
    from fermiclass.tables import check_writable, write_table

    output = output or Path(f"{_stem(catalog)}-labels.fits")
    check_writable(output, catalog, train_on)
    if send:
        check_sendable(output)
        check_hub()
    group_shares = None if shares is None else parse_shares(shares)
    if model_folder is not None:
        _refuse_with_model(train_on, chosen)
        check_model_folder(model_folder)
    learns_from_it = model_folder is None and train_on is None
    in_parts = output.suffix.lower() in GROWING and not learns_from_it
    loaded = (open_large_catalog(catalog) if in_parts else None) or read_catalog(catalog)
    if model_folder is not None:
        model = load_catalogue_model(model_folder, quiet=quiet)
    else:
        training = loaded if isinstance(loaded, Catalog) and learns_from_it else read_catalog(train_on or catalog)
        model = _train(training, chosen, quiet)
    if group_shares is None:
        group_shares = "trained" if chosen["paper"] else default_shares(model.grouping)
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


def _train(catalog: Catalog, chosen: dict[str, Any], quiet: bool) -> TrainedModel:
    from fermiclass import pipeline, settings
    from fermiclass.features import DEFAULT_FEATURE_SET

    paper = chosen["paper"]
    if chosen["steps"] and chosen["epochs"]:
        raise click.UsageError("--steps and --epochs are two ways to say the same: give one of them")
    if chosen["temperature"] and (chosen["likelihood"] or ("step" if paper else "")) == "step":
        raise click.UsageError("--temperature is not for the step likelihood, which learns its ε instead")
    data = {
        "features": chosen["features"] or (settings.PAPER_FEATURES if paper else DEFAULT_FEATURE_SET),
        "classes": chosen["classes"] or settings.PAPER_CLASSES,
        "min_significance": chosen["min_significance"],
    }
    if paper and data["min_significance"] is None:
        data["min_significance"] = settings.PAPER_MIN_SIGNIFICANCE
    pipeline.training_table(catalog, **data)  # faults of the input come to light before TensorFlow starts
    load_tensorflow(quiet=quiet)
    from fermiclass.estimators import NIMGPClassifier

    given = {key: chosen[key] for key in _ESTIMATOR_OPTIONS if chosen[key]}
    if chosen["temperature"]:
        given["temperature"] = "folds"
    preset = dict(settings.PAPER_ESTIMATOR) if paper else {}
    if "steps" in given:
        preset.pop("epochs", None)
    if given.get("likelihood", "step") in ("softmax", "softmax-bound"):
        preset.pop("epsilon", None)
    estimator = NIMGPClassifier(**{**preset, **given}, random_state=chosen["seed"])
    with progress_bar("training", quiet=quiet) as progress:
        return pipeline.train(catalog, estimator, **data, progress=lambda state: progress(state.step, state.steps))


def parse_shares(shares: str) -> str | dict[str, dict[str, float]]:
    """Return a way to choose the shares, or what a JSON file holds."""
    from fermiclass.group_shares import SHARES

    return shares if shares in SHARES else _read_shares(Path(shares))


def _read_shares(path: Path) -> dict[str, dict[str, float]]:
    import json

    from fermiclass.errors import ClassError

    try:
        if not path.is_file():
            raise ValueError("there is no such file")
        with path.open(encoding="utf-8") as stream:
            content = json.loads(stream.read(_MOST_TEXT))
        return {str(k): {str(name): float(share) for name, share in v.items()} for k, v in content.items()}
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise ClassError(
            f"the shares cannot be read from '{path}' ({error}). Give 'trained', 'estimated', 'latitude', or a "
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
