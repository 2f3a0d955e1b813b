"""A label table's model, trained again from what its metadata say."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fermiclass.errors import CatalogError, FermiclassError

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.catalog import Catalog
    from fermiclass.group_shares import GroupShares
    from fermiclass.nimgp.training import TrainingState
    from fermiclass.pipeline import TrainedModel

_NEEDED = ("catalog", "sha256", "train_on", "trainsha", "classes", "features", "min_significance", "shares")
_SETTINGS = (int, float, bool, type(None))


def check_labels(labels: Table, source: str) -> None:
    """Check that a label table says how it was made.

    Parameters
    ----------
    labels
        As `fermiclass.classify` returns it, or read from a file.
    source
        Where it is from, for the message.

    Raises
    ------
    CatalogError
        When it is no label table, or metadata are missing that :func:`retrain` needs.
    """
    from fermiclass.estimators import NIMGPClassifier
    from fermiclass.labels import classes_of

    classes_of(labels)
    missing = [key for key in (*_NEEDED, *NIMGPClassifier().get_params()) if key not in labels.meta]
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
    """Train the model of a label table again: the same settings, seed and sources, hence the same model.

    Other versions of the libraries may round differently, and then the model differs a little.

    Parameters
    ----------
    labels
        As `fermiclass.classify` returns it, with its metadata.
    train_on
        The catalogue that it was trained on.
    source
        Where the table is from, for messages.
    progress
        Called with the state of training every few steps.

    Raises
    ------
    CatalogError
        When the metadata are incomplete, their settings are not those of a classifier, or the catalogue is another.
    """
    from fermiclass.estimators import NIMGPClassifier
    from fermiclass.pipeline import train

    check_labels(labels, source)
    check_sha256(train_on, labels.meta["train_on"], labels.meta["trainsha"])
    params = {name: _setting(labels.meta[name]) for name in NIMGPClassifier().get_params()}
    try:
        return train(
            train_on,
            NIMGPClassifier(**params),
            features=str(labels.meta["features"]),
            classes=str(labels.meta["classes"]),
            min_significance=_setting(labels.meta["min_significance"]),
            progress=progress,
        )
    except FermiclassError:
        raise
    except (TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise CatalogError(f"the settings in '{source}' cannot be used: {reason}. Label the sources again.") from error


def check_sha256(catalog: Catalog, name: str, sha256: str) -> None:
    """Raise CatalogError unless a catalogue has this checksum; `name` is what it was called."""
    if catalog.sha256 != sha256:
        raise CatalogError(
            f"{catalog.source} has SHA-256 {catalog.sha256}, but the labels were made with {name} of SHA-256 {sha256}. "
            "Give that file."
        )


def stored_shares(meta: Mapping[str, Any]) -> str | GroupShares:
    """Return the shares of the classes that labels were corrected for, as :meth:`TrainedModel.label` takes them.

    Estimated ones are estimated again, to all digits; given ones are known to the four digits of the metadata.

    Raises
    ------
    CatalogError
        When the metadata cannot be understood.
    """
    from fermiclass.group_shares import SHARES, SHARES_KEYS

    kind = str(meta["shares"])
    if kind in SHARES:
        return kind
    given = {status: str(meta[key]) for status, key in SHARES_KEYS.items() if key in meta}
    try:
        return {
            status: {name: float(share) for name, _, share in (part.partition("=") for part in text.split(","))}
            for status, text in given.items()
        }
    except ValueError as error:
        raise CatalogError(
            f"the shares in the labels' metadata are damaged ({error}). Label the sources again."
        ) from error


def _setting(text: Any) -> Any:
    """Return the number, truth value or None that a setting was written from, else its text."""
    try:
        value = ast.literal_eval(str(text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # the text may be anyone's
        return str(text)
    return value if isinstance(value, _SETTINGS) else str(text)
