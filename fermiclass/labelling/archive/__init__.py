"""Trained models on disk: ``config.json`` and ``weights.npz``, nothing pickled, so that loading cannot run code."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from fermiclass.errors import ClassError, ModelFolderError
from fermiclass.labelling.archive import catalogues, rows
from fermiclass.labelling.archive.files import (
    CATALOGUE,
    FORMAT,
    FORMAT_VERSION,
    ROWS,
    Arrays,
    Config,
    check_model_folder,
    check_model_folder_writable,
    write_folder,
)
from fermiclass.labelling.catalog_model import CatalogModel
from fermiclass.rows import RowsModel

__all__ = [
    "CATALOGUE",
    "FORMAT",
    "FORMAT_VERSION",
    "ROWS",
    "check_model_folder",
    "check_model_folder_writable",
    "load_model",
    "save_model",
]

_KINDS: dict[str, ModuleType] = {CATALOGUE: catalogues, ROWS: rows}


def save_model(model: CatalogModel | RowsModel, path: str | Path) -> None:
    """Save a model, whole or not at all. It replaces a model that is already there.

    Raises
    ------
    OutputError
        When the folder cannot be written, or a parameter of the estimator is not a number, text or None.
    """
    check_model_folder_writable(path)
    kind = ROWS if isinstance(model, RowsModel) else CATALOGUE
    write_folder(path, kind, *_KINDS[kind].pack(model))


def load_model(path: str | Path, content: tuple[Config, Arrays] | None = None) -> CatalogModel | RowsModel:
    """Load a model that :func:`save_model` saved.

    Parameters
    ----------
    path
        The folder.
    content
        Result of :func:`check_model_folder` for this folder, to save time.

    Raises
    ------
    ModelFolderError
        When a file is missing, damaged or of another version, or when shapes do not fit each other.
    """
    config, arrays = check_model_folder(path) if content is None else content
    try:
        model: CatalogModel | RowsModel = _KINDS[config["kind"]].unpack(config, arrays)
        return model
    except ModelFolderError as error:
        reason = str(error).removesuffix(" Train the model again.")
        raise ModelFolderError(f"the model in '{path}' is damaged: {reason} Train it again.") from error
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, MemoryError, ClassError) as error:
        reason = " ".join(str(error).split())
        raise ModelFolderError(
            f"the model in '{path}' is damaged: {type(error).__name__}: {reason}. Train it again."
        ) from error
