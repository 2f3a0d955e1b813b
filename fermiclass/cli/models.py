"""Loading of model folders: their kind is checked before TensorFlow starts."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from fermiclass.errors import ModelFolderError
from fermiclass.labelling.archive import CATALOGUE, ESTIMATOR, ROWS, ModelFiles, load_model, read_model_folder
from fermiclass.labelling.catalog_model import CatalogModel
from fermiclass.rows import RowsModel
from fermiclass.show.terminal import load_tensorflow


def read_catalogue_model(folder: Path) -> ModelFiles:
    """Return the content of a folder with a model of catalogues, without starting TensorFlow."""
    return _read(folder, CATALOGUE)


def load_catalogue_model(folder: Path, files: ModelFiles, *, quiet: bool) -> CatalogModel:
    """Load a model of catalogues; `files` are those of :func:`read_catalogue_model`."""
    load_tensorflow(quiet=quiet)
    return cast("CatalogModel", load_model(folder, files))


def load_rows_model(folder: Path, *, quiet: bool) -> RowsModel:
    """Load a model of rows."""
    files = _read(folder, ROWS)
    load_tensorflow(quiet=quiet)
    return cast("RowsModel", load_model(folder, files))


def _read(folder: Path, kind: str) -> ModelFiles:
    files = read_model_folder(folder)
    if files.kind != kind:
        trained_on, use = {
            ROWS: ("rows", "'fermiclass classify-rows'"),
            CATALOGUE: ("a catalogue", "'fermiclass classify'"),
            ESTIMATOR: ("arrays", "fermiclass.load_model in Python"),
        }[files.kind]
        raise ModelFolderError(
            f"the model in '{folder}' was trained on {trained_on}: use {use}, or give another model."
        )
    return files
