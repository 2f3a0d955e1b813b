"""Loading of model folders: their kind is checked before TensorFlow starts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from fermiclass.errors import ModelFolderError
from fermiclass.show.terminal import load_tensorflow

if TYPE_CHECKING:
    from fermiclass.labelling.archive.files import Arrays, Config
    from fermiclass.labelling.catalog_model import CatalogModel
    from fermiclass.rows import RowsModel

    Content = tuple[Config, Arrays]


def check_catalogue_model(folder: Path) -> Content:
    """Return the content of a folder with a model of catalogues, without starting TensorFlow."""
    from fermiclass.labelling.archive import CATALOGUE

    return _check(folder, CATALOGUE)


def load_catalogue_model(folder: Path, *, quiet: bool, content: Content | None = None) -> CatalogModel:
    """Load a model of catalogues; `content` is the result of :func:`check_catalogue_model`, if at hand."""
    from fermiclass.labelling.archive import load_model

    content = check_catalogue_model(folder) if content is None else content
    load_tensorflow(quiet=quiet)
    return cast("CatalogModel", load_model(folder, content))


def load_rows_model(folder: Path, *, quiet: bool) -> RowsModel:
    """Load a model of rows."""
    from fermiclass.labelling.archive import ROWS, load_model

    content = _check(folder, ROWS)
    load_tensorflow(quiet=quiet)
    return cast("RowsModel", load_model(folder, content))


def _check(folder: Path, kind: str) -> Content:
    from fermiclass.labelling import archive

    content = archive.check_model_folder(folder)
    found = content[0]["kind"]
    if found != kind:
        fitting = "classify-rows" if found == archive.ROWS else "classify"
        trained_on = {archive.CATALOGUE: "a catalogue", archive.ROWS: "rows"}
        raise ModelFolderError(
            f"the model in '{folder}' was trained on {trained_on[found]}, expected a model trained on "
            f"{trained_on[kind]}: use 'fermiclass {fitting}', or give another model."
        )
    return content
