"""Trained models on disk: ``config.json`` and ``weights.npz``, nothing pickled, so that loading cannot run code."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import ClassGrouping
from fermiclass.domain import TrainingDomain
from fermiclass.errors import ClassError, ModelFolderError, OutputError
from fermiclass.features import Imputation
from fermiclass.pipeline import TrainedModel

FORMAT, FORMAT_VERSION = "fermiclass model", 1

_CONFIG, _WEIGHTS = "config.json", "weights.npz"
_CONFIG_KEYS = {
    "format",
    "format_version",
    "estimator",
    "classes",
    "grouping",
    "features",
    "imputation",
    "domain_neighbours",
    "provenance",
}
_ESTIMATOR_ARRAYS = ("mean_", "scale_", "elbo_")
_DOMAIN_ARRAYS = ("X", "X_var", "scale", "depths")


def check_model_folder_writable(path: str | Path) -> Path:
    """Check, before any work is done, that a model can be saved in ``path``: a new folder, or one that holds a model.

    Raises
    ------
    OutputError
        When the folder above is missing, or something else is in the way.
    """
    folder = Path(path)
    if not folder.parent.is_dir():
        raise OutputError(f"cannot save a model in '{path}': there is no folder '{folder.parent}'. Create it first.")
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"cannot save a model in '{path}': it is a file. Give the name of a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _CONFIG).is_file():
        raise OutputError(f"cannot save a model in '{path}': the folder holds other files. Give the name of a new one.")
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}."):
            pass
    except OSError as error:
        raise OutputError(
            f"cannot save a model in '{path}': {error.strerror} in '{folder.parent}'. Choose another place."
        ) from error
    return folder


def save_model(model: TrainedModel, path: str | Path) -> None:
    """Save a model, whole or not at all; a model that is there already is replaced.

    Raises
    ------
    OutputError
        When the folder cannot be written.
    """
    folder = check_model_folder_writable(path)
    config = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "estimator": model.estimator.get_params(),
        "classes": [str(name) for name in model.estimator.classes_],
        "grouping": str(model.grouping),
        "features": list(model.features),
        "imputation": model.imputation.to_dict(),
        "domain_neighbours": model.domain.neighbours,
        "provenance": dict(model.provenance),
    }
    arrays = {
        **{f"weights/{name}": array for name, array in model.estimator.weights_.items()},
        **{f"estimator/{name}": getattr(model.estimator, name) for name in _ESTIMATOR_ARRAYS},
        **{f"domain/{name}": getattr(model.domain, name) for name in _DOMAIN_ARRAYS},
    }
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        fresh.chmod(0o755)
        (fresh / _CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
        (fresh / _WEIGHTS).write_bytes(stream.getvalue())
        if folder.exists():
            shutil.rmtree(folder)
        fresh.replace(folder)
    except OSError as error:
        raise OutputError(
            f"cannot save a model in '{path}': {error.strerror or error}. Choose another place."
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def load_model(path: str | Path) -> TrainedModel:
    """Load a model that :func:`save_model` saved.

    Raises
    ------
    ModelFolderError
        When a file is missing or damaged, of another version, or shapes do not fit each other.
    """
    config, arrays = check_model_folder(path)
    try:
        return _assemble(config, arrays)
    except ModelFolderError as error:
        raise ModelFolderError(f"the model in '{path}' is damaged: {error} Train it again.") from error
    except (ValueError, TypeError, KeyError, AttributeError, ClassError) as error:
        reason = " ".join(str(error).split())
        raise ModelFolderError(
            f"the model in '{path}' is damaged: {type(error).__name__}: {reason}. Train it again."
        ) from error


def check_model_folder(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Read a model folder as far as is possible without TensorFlow; errors are those of :func:`load_model`."""
    return _read_config(Path(path)), _read_arrays(Path(path))


def _read_config(folder: Path) -> dict[str, Any]:
    if not (folder / _CONFIG).is_file():
        raise ModelFolderError(
            f"'{folder}' is not a model folder: it has no {_CONFIG}. Give a folder that 'fermiclass train' made."
        )
    try:
        config = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFolderError(f"'{folder / _CONFIG}' cannot be read: {error}. Train the model again.") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ModelFolderError(f"'{folder / _CONFIG}' does not describe a {FORMAT}. Train the model again.")
    if config.get("format_version") != FORMAT_VERSION:
        raise ModelFolderError(
            f"'{folder}' has format version {config.get('format_version')!r}, this fermiclass reads version "
            f"{FORMAT_VERSION}. Train the model again, or use the fermiclass that made it."
        )
    if config.keys() != _CONFIG_KEYS:
        odd = ", ".join(sorted(config.keys() ^ _CONFIG_KEYS))
        raise ModelFolderError(f"'{folder / _CONFIG}' has missing or unknown entries: {odd}. Train the model again.")
    return config


def _read_arrays(folder: Path) -> dict[str, NDArray[np.float64]]:
    path = folder / _WEIGHTS
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except FileNotFoundError as error:
        raise ModelFolderError(f"'{folder}' has no {_WEIGHTS}. Train the model again.") from error
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ModelFolderError(f"'{path}' cannot be read: {error}. Train the model again.") from error
    for name, array in arrays.items():
        if array.dtype != np.float64 or not np.all(np.isfinite(array)):
            raise ModelFolderError(f"'{path}': {name} is not all finite double precision. Train the model again.")
    return arrays


def _assemble(config: Mapping[str, Any], arrays: Mapping[str, NDArray[np.float64]]) -> TrainedModel:
    from fermiclass.estimators import NIMGPClassifier

    features, classes = tuple(config["features"]), config["classes"]
    imputation = Imputation.from_dict(config["imputation"])
    if tuple(imputation.names) != features:
        raise ModelFolderError(f"it imputes {', '.join(imputation.names)}, but its features are {', '.join(features)}.")
    num_features = len(features)
    num_training = len(arrays["domain/X"])
    shapes = {
        "estimator/mean_": (num_features,),
        "estimator/scale_": (num_features,),
        "domain/X": (num_training, num_features),
        "domain/X_var": (num_training, num_features),
        "domain/scale": (num_features,),
        "domain/depths": (num_training,),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ModelFolderError(f"{name} has shape {arrays[name].shape}, expected {shape}.")
    Z = arrays["weights/posterior.Z"]
    if Z.ndim != 3 or (Z.shape[0], Z.shape[2]) != (len(classes), num_features):
        raise ModelFolderError(
            f"weights/posterior.Z has shape {Z.shape}, expected ({len(classes)}, any number, {num_features})."
        )
    estimator = NIMGPClassifier(**config["estimator"])
    estimator.classes_ = np.array(classes)
    estimator.n_features_in_ = num_features
    for name in _ESTIMATOR_ARRAYS:
        setattr(estimator, name, arrays[f"estimator/{name}"])
    prefix = "weights/"
    estimator.restore({name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)})
    return TrainedModel(
        estimator=estimator,
        features=features,
        grouping=ClassGrouping.parse(config["grouping"]),
        imputation=imputation,
        domain=TrainingDomain(
            neighbours=int(config["domain_neighbours"]), **{name: arrays[f"domain/{name}"] for name in _DOMAIN_ARRAYS}
        ),
        provenance=config["provenance"],
    )
