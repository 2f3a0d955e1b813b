"""Training the model of a label table again, from the table's metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from astropy.table import Table

from fermiclass.catalog import Catalog
from fermiclass.errors import CatalogError, FermiclassError
from fermiclass.labelling.catalog_model import CatalogModel
from fermiclass.labelling.class_priors import WAY_KEY, WAYS, GroupPriors, stated_priors
from fermiclass.labelling.labels import CLASS2_KEY, OPTIONS_KEY, classes_of, plain_setting, settings_from_meta
from fermiclass.labelling.training import train

if TYPE_CHECKING:
    from fermiclass.nimgp.training.loop import TrainingState

_NEEDED = (
    "catalog",
    "sha256",
    "train_on",
    "trainsha",
    "classes",
    "features",
    WAY_KEY,
    CLASS2_KEY,
    "method",
    "steps",
    OPTIONS_KEY,
)


#: Metadata of a label table: other files that its model learned from, and names of columns in a table of one's own.
JOINED, COLUMNS = "joined", "columns"


def named_columns(labels: Table) -> dict[str, str]:
    """Return the names in the labelled table of the catalogue's columns, as ``--columns`` gave them."""
    pairs = (pair.partition("=") for pair in str(labels.meta.get(COLUMNS, "")).split(",") if pair)
    return {standard: own for standard, _, own in pairs}


def check_labels(labels: Table, source: str) -> None:
    """Check that the metadata of a label table say how it was made; `source` is its name in the message.

    Raises CatalogError when it is not a label table, or lacks metadata that :func:`retrain` needs.
    """
    classes_of(labels)
    missing = [key for key in _NEEDED if key not in labels.meta]
    if missing:
        raise CatalogError(
            f"'{source}' does not say how its labels were made: it lacks {', '.join(missing[:4])}"
            f"{' and more' if len(missing) > 4 else ''}. Give a table that 'fermiclass classify' wrote, in a format "
            "with metadata (any but .csv), or a model folder."
        )
    if JOINED in labels.meta:
        raise CatalogError(
            f"the model of '{source}' cannot be trained again from the catalogue alone: it learned from "
            f"{labels.meta[JOINED]} too. Train a model folder with these files (fermiclass train), and give that."
        )


def retrain(
    labels: Table,
    train_on: Catalog,
    *,
    source: str = "the label table",
    progress: Callable[[TrainingState], None] | None = None,
) -> CatalogModel:
    """Train the model of a label table again: the same settings, seed and sources give the same model.

    Other versions of the libraries may round differently; the model then differs slightly.

    Parameters
    ----------
    labels
        As `fermiclass.classify` returns it, with its metadata.
    train_on
        The training catalogue.
    source
        Name of the table, for messages.
    progress
        Called with the state of training every few steps.

    Raises
    ------
    CatalogError
        When the metadata are incomplete, a setting is not valid, or the catalogue is another one.
    """
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    check_labels(labels, source)
    check_sha256(train_on, labels.meta["train_on"], labels.meta["trainsha"])
    try:
        return train(
            train_on,
            NIMGPClassifier(**settings_from_meta(labels.meta).params()),
            features=str(labels.meta["features"]),
            classes=str(labels.meta["classes"]),
            min_significance=plain_setting(labels.meta.get("min_significance")),
            progress=progress,
        )
    except FermiclassError:
        raise
    except (TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise CatalogError(f"the settings in '{source}' cannot be used: {reason}. Label the sources again.") from error


def check_sha256(catalog: Catalog, name: str, sha256: str) -> None:
    """Raise CatalogError unless a catalogue has this checksum; `name` is its name in the message."""
    if catalog.sha256 != sha256:
        raise CatalogError(
            f"{catalog.source} has SHA-256 {catalog.sha256}, but the labels were made with {name} of SHA-256 {sha256}. "
            "Give that file."
        )


def stored_class2(meta: Mapping[str, Any]) -> bool:
    """Return whether CLASS2 counted as evidence in a label table."""
    return str(meta[CLASS2_KEY]) != "{}"


def stored_class_priors(meta: Mapping[str, Any]) -> str | GroupPriors:
    """Return the class priors of a label table, in the form that :meth:`CatalogModel.label` takes.

    Raises CatalogError when the metadata are damaged.
    """
    way = str(meta[WAY_KEY])
    return way if way in WAYS else stated_priors(meta)
