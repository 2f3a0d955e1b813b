"""Model folders: ``config.json`` and ``weights.npz``, nothing pickled, so that reading them cannot run code."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import ModelFolderError, OutputError
from fermiclass.io.files import exists, move_into_place
from fermiclass.io.plain import typed

FORMAT, FORMAT_VERSION = "fermiclass model", 14

#: Kinds of models.
CATALOGUE, ROWS, ESTIMATOR = "catalogue", "rows", "estimator"

_CONFIG, _WEIGHTS = "config.json", "weights.npz"
_SCRATCH = ".fermiclass-model."
_ARRAYS = ("weights/", "domain/")

Arrays = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class ModelFiles:
    """The content of a model folder."""

    kind: str  #: :data:`CATALOGUE`, :data:`ROWS` or :data:`ESTIMATOR`.
    estimator: dict[str, Any]  #: Settings of the estimator.
    classes: list[Any] | None  #: Its classes; None of a regressor.
    neighbours: int | None  #: Setting of the domain of the training rows; None without a domain.
    model: dict[str, Any]  #: What is needed beside the estimator, such as the recipe and the training catalogue.
    arrays: Arrays  #: What was learned: ``weights/…`` and ``domain/…``.


# --- writing ---------------------------------------------------------------------------------------------------------


def write_folder(path: str | Path, files: ModelFiles) -> None:
    """Write the files of a model, both or none, in place of those that are there. Raises OutputError."""
    folder = check_model_folder_writable(path)
    entries = {name: value for name, value in vars(files).items() if name != "arrays"}
    stream = io.BytesIO()
    np.savez_compressed(stream, **dict[str, Any](files.arrays))
    bound = hashlib.sha256(stream.getvalue()).hexdigest()
    config = {"format": FORMAT, "format_version": FORMAT_VERSION, **entries, "weights": bound}
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_SCRATCH) as scratch:
            fresh, aside = Path(scratch, "new"), Path(scratch, "old")
            fresh.mkdir()
            (fresh / _CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
            (fresh / _WEIGHTS).write_bytes(stream.getvalue())
            for old in (folder, folder / _CONFIG, folder / _WEIGHTS):
                if old.exists():  # permissions stay
                    shutil.copymode(old, fresh / old.relative_to(folder))
            if folder.exists():
                folder.rename(aside)
            try:
                move_into_place(fresh, folder)
            except BaseException:
                if aside.exists():
                    aside.rename(folder)
                raise
    except OSError as error:
        raise OutputError(
            f"cannot save a model in '{path}': {error.strerror or error}. Choose another place."
        ) from error


def check_model_folder_writable(path: str | Path) -> Path:
    """Check before any work that a model can be saved in ``path``. Return the path with links resolved.

    Raises OutputError unless it is a new folder, an empty one, or one that holds a model and nothing else.
    """
    try:
        folder = Path(path).resolve()
        obstacle = _obstacle(folder)
        if not obstacle:
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_SCRATCH):
                pass
    except OSError as error:
        obstacle = f"{error.strerror or error}. Choose another place."
    if obstacle:
        raise OutputError(f"cannot save a model in '{path}': {obstacle}")
    return folder


def _obstacle(folder: Path) -> str:
    """Return the reason why no model can be saved in ``folder``, or '' if there is none."""
    if not folder.parent.is_dir():
        return f"there is no folder '{folder.parent}'. Create it first."
    if not folder.exists():
        return ""
    if not folder.is_dir():
        return "it is a file. Give the name of a folder."
    # Saving removes the old content, so only a model may be there. Other programs have a config.json too.
    entries = {entry.name for entry in folder.iterdir()}
    if entries and not (entries <= {_CONFIG, _WEIGHTS} and _declares_model(folder)):
        return "the folder holds other files. Give the name of a new one."
    return ""


def _declares_model(folder: Path) -> bool:
    with suppress(OSError, ValueError, RecursionError, AttributeError):
        return bool(json.loads((folder / _CONFIG).read_text(encoding="utf-8")).get("format") == FORMAT)
    return False


# --- reading ---------------------------------------------------------------------------------------------------------


def read_model_folder(path: str | Path) -> ModelFiles:
    """Read the files of a model folder. Raises ModelFolderError."""
    folder = Path(path)
    if not exists(folder / _CONFIG):
        raise ModelFolderError(
            f"'{folder}' is not a model folder: it has no {_CONFIG}. Give a folder that 'fermiclass train' made."
        )
    try:
        config = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
        weights = (folder / _WEIGHTS).read_bytes()
        if not isinstance(config, dict) or config.pop("format", None) != FORMAT:
            raise ValueError(f"it does not describe a {FORMAT}")
        version = config.pop("format_version", None)
        if version != FORMAT_VERSION:
            raise ValueError(f"it has format version {version!r}; this fermiclass reads version {FORMAT_VERSION}")
        if config.pop("weights", None) != hashlib.sha256(weights).hexdigest():
            raise ValueError(f"{_CONFIG} and {_WEIGHTS} are of different models")
        files = replace(typed(ModelFiles, {**config, "arrays": {}}), arrays=_arrays(weights))
        if files.kind not in (CATALOGUE, ROWS, ESTIMATOR):
            raise ValueError(f"it has a model of unknown kind, {files.kind!r}")
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise ModelFolderError(f"the model in '{folder}' cannot be read: {error}. Train it again.") from error
    return files


def _arrays(content: bytes) -> Arrays:
    """Return the arrays of an archive, of which nothing is unpickled. Raises ValueError if it is damaged."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files if name.startswith(_ARRAYS)}
    except Exception as error:  # of NumPy or zipfile
        raise ValueError(f"{_WEIGHTS} is no archive of the arrays of a model, or damaged") from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype != np.float64 or not np.all(np.isfinite(array)):
            raise ValueError(f"{name} holds values that are not finite or not doubles")
    return arrays
