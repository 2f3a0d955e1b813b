"""Models that commands are given: of the right kind, and checked before TensorFlow is started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from fermiclass.errors import ModelFolderError
from fermiclass.terminal import load_tensorflow

if TYPE_CHECKING:
    from fermiclass.pipeline import TrainedModel
    from fermiclass.rows_model import RowsModel


def load_catalogue_model(folder: Path, *, quiet: bool) -> TrainedModel:
    """Load a model that labels catalogues."""
    from fermiclass.model_folder import CATALOGUE

    return cast("TrainedModel", _load(folder, CATALOGUE, quiet))


def load_rows_model(folder: Path, *, quiet: bool) -> RowsModel:
    """Load a model that labels rows."""
    from fermiclass.model_folder import ROWS

    return cast("RowsModel", _load(folder, ROWS, quiet))


def _load(folder: Path, kind: str, quiet: bool) -> TrainedModel | RowsModel:
    from fermiclass import model_folder

    found = model_folder.check_model_folder(folder)[0]["kind"]
    if found != kind:
        fitting = "classify-rows" if found == model_folder.ROWS else "classify"
        trained_on = {model_folder.CATALOGUE: "a catalogue", model_folder.ROWS: "rows"}
        raise ModelFolderError(
            f"the model in '{folder}' was trained on {trained_on[found]}, one trained on {trained_on[kind]} is needed "
            f"here: label by 'fermiclass {fitting}', or give another."
        )
    load_tensorflow(quiet=quiet)
    return model_folder.load_model(folder)
