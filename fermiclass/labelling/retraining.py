"""Training the model of a label table again, from the table's metadata."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fermiclass.errors import CatalogError, FermiclassError
from fermiclass.nimgp.settings import DROPPED, FIELDS, FIRST, settings_from_file

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.catalog import Catalog
    from fermiclass.labelling.class_priors import GroupShares
    from fermiclass.labelling.model import TrainedModel
    from fermiclass.nimgp.training.loop import TrainingState

_NEEDED = ("catalog", "sha256", "train_on", "trainsha", "classes", "features", "shares")
#: Metadata that are absent for None; before version 3 of the format they were the text 'None'.
_CAN_BE_NONE = frozenset(name for name, each in FIELDS.items() if each.metadata["check"].accepts(None))
_SETTINGS = (int, float, bool, type(None))


def check_labels(labels: Table, source: str) -> None:
    """Check that the metadata of a label table say how it was made.

    Parameters
    ----------
    labels
        As `fermiclass.classify` returns it, or read from a file.
    source
        Name of the table, for the message.

    Raises
    ------
    CatalogError
        When it is not a label table, or lacks metadata that :func:`retrain` needs.
    """
    from fermiclass.labelling.labels import classes_of

    classes_of(labels)
    missing = [
        key for key in (*_NEEDED, *(name for name in FIELDS if name in FIRST - _CAN_BE_NONE)) if key not in labels.meta
    ]
    if missing:
        raise CatalogError(
            f"'{source}' does not say how its labels were made: it lacks {', '.join(missing[:4])}"
            f"{' and more' if len(missing) > 4 else ''}. Give a table that 'fermiclass classify' wrote, in a format "
            "with metadata (any but .csv), or a model folder."
        )


def retrain(
    labels: Table,
    train_on: Catalog,
    *,
    source: str = "the label table",
    progress: Callable[[TrainingState], None] | None = None,
) -> TrainedModel:
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
    from fermiclass.labelling.training import train
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    check_labels(labels, source)
    check_sha256(train_on, labels.meta["train_on"], labels.meta["trainsha"])
    try:
        stored = {name: _setting(labels.meta[name]) for name in (*FIELDS, *DROPPED) if name in labels.meta}
        params = settings_from_file(dict.fromkeys(_CAN_BE_NONE) | stored if _none_is_absent(labels) else stored)
        return train(
            train_on,
            NIMGPClassifier(**params),
            features=str(labels.meta["features"]),
            classes=str(labels.meta["classes"]),
            min_significance=_setting(labels.meta.get("min_significance")),
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


def stored_shares(meta: Mapping[str, Any]) -> str | GroupShares:
    """Return the class priors of a label table, in the form that :meth:`TrainedModel.label` takes.

    Estimated priors are estimated again, with all digits. Given priors have the four digits of the metadata.

    Raises
    ------
    CatalogError
        When the metadata are damaged.
    """
    from fermiclass.labelling.class_priors import SHARES, stated_priors

    kind = str(meta["shares"])
    if kind in SHARES:
        return kind
    try:
        given = stated_priors(meta)
        return {group: {name: float(value) for name, value in priors.items()} for group, priors in given.items()}
    except ValueError as error:
        raise CatalogError(
            f"the class priors in the labels' metadata are damaged ({error}). Label the sources again."
        ) from error


def _none_is_absent(labels: Table) -> bool:
    from fermiclass.labelling.labels import FORMAT_KEY

    return int(labels.meta.get(FORMAT_KEY, 1)) >= 3


def _setting(text: Any) -> Any:
    """Return the number, truth value or None that the text of a setting stands for, else the text itself."""
    try:
        value = ast.literal_eval(str(text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # the text may be anything
        return str(text)
    return value if isinstance(value, _SETTINGS) else str(text)
