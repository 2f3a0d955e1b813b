"""Loading of model folders, whose kind is checked before TensorFlow starts, and of the catalogues of labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from fermiclass.catalog import Catalog, read_sources
from fermiclass.errors import CatalogError, ModelFolderError
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


def look_for(name: str, sha256: str, beside: Path, option: str, columns: Mapping[str, str] | None = None) -> Catalog:
    """Return the catalogue with this file name and checksum, from this folder or the folder of the labels or model."""
    folders = dict.fromkeys(folder.resolve() for folder in (Path(), beside.parent))
    there = [path for path in (folder / Path(name).name for folder in folders) if path.is_file()]
    for path in there:
        found = read_sources(path, columns)
        if found.sha256 == sha256:
            return found
    where = " and ".join(f"'{folder}'" for folder in folders)
    what = f"'{there[0]}' is another file" if there else f"it is not in {where}"
    raise CatalogError(f"the catalogue {name} with SHA-256 {sha256} is needed, but {what}. Give it: {option} FILE.")


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
