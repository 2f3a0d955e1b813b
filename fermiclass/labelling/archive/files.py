"""The files of a model folder, for every kind of model. They are written whole, and checked when read."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import ModelFolderError, OutputError
from fermiclass.io.files import exists
from fermiclass.io.inputs import check_regular
from fermiclass.nimgp.archives import read_arrays
from fermiclass.nimgp.files import move_into_place

FORMAT, FORMAT_VERSION = "fermiclass model", 9

#: Version 5 has no limits of the features' values; none are then applied. A setting that a version does not have takes
#: the value that it stood for at that time.
_READ_VERSIONS = (5, 6, 7, 8, FORMAT_VERSION)

_CONFIG, _WEIGHTS = "config.json", "weights.npz"
_SCRATCH = ".fermiclass-model."

#: Kinds of models, and the entries of ``config.json`` for each, without the format.
CATALOGUE, ROWS = "catalogue", "rows"
ENTRIES = {
    CATALOGUE: {
        "estimator",
        "classes",
        "grouping",
        "features",
        "imputation",
        "domain_neighbours",
        "provenance",
        "selection",
    },
    ROWS: {"estimator", "classes", "features", "uncertainties", "label", "provenance", "domain_neighbours"},
}

#: Entries that a version added, by kind.
_ADDED = {(CATALOGUE, "selection"): 8, (ROWS, "domain_neighbours"): 9}

_MOST_TEXT, _MOST_BYTES = 16 << 20, 4 << 30  # limits of the files that are read

Config = Mapping[str, Any]
Arrays = Mapping[str, NDArray[np.float64]]


def check_model_folder_writable(path: str | Path) -> Path:
    """Check before any work that a model can be saved in ``path``. Return the path with links resolved.

    It may be a new folder, an empty one, or one that holds a model and nothing else.

    Raises
    ------
    OutputError
        When the folder above is missing, or something else is in the way.
    """
    try:
        folder = Path(path).resolve()
        obstacle = _obstacle(folder)
        if not obstacle:
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_SCRATCH):
                pass
    except OSError as error:
        raise OutputError(
            f"cannot save a model in '{path}': {error.strerror or error}. Choose another place."
        ) from error
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
    entries = {entry.name for entry in folder.iterdir()}
    # Saving removes the old content, so only a model may be there. Other programs have a config.json too.
    if entries and not (entries <= {_CONFIG, _WEIGHTS} and _declares_model(folder)):
        return "the folder holds other files. Give the name of a new one."
    return ""


def _declares_model(folder: Path) -> bool:
    try:
        config = json.loads(_read_file(folder / _CONFIG, _MOST_TEXT).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("format") == FORMAT


def write_folder(path: str | Path, kind: str, entries: Config, arrays: Arrays) -> None:
    """Write a model, whole or not at all. It replaces a model that is already there.

    Raises
    ------
    OutputError
        When the folder cannot be written.
    """
    folder = check_model_folder_writable(path)
    config = {"format": FORMAT, "format_version": FORMAT_VERSION, "kind": kind, **entries}
    text = json.dumps(config, indent=1) + "\n"
    stream = io.BytesIO()
    named: dict[str, Any] = dict(arrays)
    np.savez_compressed(stream, **named)
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_SCRATCH) as scratch:
            fresh = Path(scratch, "new")
            fresh.mkdir()
            (fresh / _CONFIG).write_text(text, encoding="utf-8")
            (fresh / _WEIGHTS).write_bytes(stream.getvalue())
            for old in (folder, folder / _CONFIG, folder / _WEIGHTS):
                if old.exists():  # permissions stay
                    shutil.copymode(old, fresh / old.relative_to(folder))
            _put_in_place(fresh, folder, Path(scratch, "old"))
    except OSError as error:
        raise OutputError(
            f"cannot save a model in '{path}': {error.strerror or error}. Choose another place."
        ) from error


def _put_in_place(fresh: Path, folder: Path, aside: Path) -> None:
    """Rename ``fresh`` to ``folder``; the old folder moves ``aside`` first, as only an empty one can be replaced."""
    try:
        try:
            move_into_place(fresh, folder)
        except OSError:
            if not folder.is_dir():
                raise
            folder.rename(aside)
            move_into_place(fresh, folder)
    except BaseException:
        if aside.exists() and not folder.exists():
            aside.rename(folder)
        raise


def check_model_folder(path: str | Path) -> tuple[Config, Arrays]:
    """Read a model folder as far as possible without TensorFlow.

    Raises
    ------
    ModelFolderError
        When a file is missing or damaged, or of another version.
    """
    return _read_config(Path(path)), _read_arrays(Path(path))


def _read_config(folder: Path) -> Config:
    if not exists(folder / _CONFIG) or not (folder / _CONFIG).is_file():
        raise ModelFolderError(
            f"'{folder}' is not a model folder: it has no {_CONFIG}. Give a folder that 'fermiclass train' made."
        )
    try:
        config = json.loads(_read_file(folder / _CONFIG, _MOST_TEXT).decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFolderError(f"'{folder / _CONFIG}' cannot be read: {error}. Train the model again.") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ModelFolderError(f"'{folder / _CONFIG}' does not describe a {FORMAT}. Train the model again.")
    version = config.get("format_version")
    if version not in _READ_VERSIONS or isinstance(version, bool | float):
        raise ModelFolderError(
            f"'{folder}' has format version {version!r}; this fermiclass reads versions "
            f"{_READ_VERSIONS[0]} to {_READ_VERSIONS[-1]}. Train the model again, or use the fermiclass that made it."
        )
    kind = config.get("kind")
    if kind not in (CATALOGUE, ROWS):
        raise ModelFolderError(f"'{folder / _CONFIG}' has a model of unknown kind, {kind!r}. Train the model again.")
    later = {name for (of_kind, name), since in _ADDED.items() if of_kind == kind and version < since}
    expected = {"format", "format_version", "kind", *ENTRIES[kind]} - later
    if config.keys() != expected:
        odd = ", ".join(sorted(config.keys() ^ expected))
        raise ModelFolderError(f"'{folder / _CONFIG}' has missing or unknown entries: {odd}. Train the model again.")
    return config


def _read_file(path: Path, most: int) -> bytes:
    check_regular(path)
    with path.open("rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it is larger than {most >> 20} MiB")
    return content


def _read_arrays(folder: Path) -> Arrays:
    path = folder / _WEIGHTS
    if not path.is_file():
        raise ModelFolderError(f"'{folder}' has no {_WEIGHTS}. Train the model again.")
    try:
        arrays = read_arrays(_read_file(path, _MOST_BYTES))
    except (OSError, ValueError) as error:
        raise ModelFolderError(f"'{path}' cannot be read: {error}. Train the model again.") from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype != np.float64 or not np.all(np.isfinite(array)):
            raise ModelFolderError(
                f"'{path}': {name} holds values that are not finite or not doubles. Train the model again."
            )
    return arrays
