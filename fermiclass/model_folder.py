"""Trained models on disk: ``config.json`` and ``weights.npz``, nothing pickled, so that loading cannot run code."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import ClassGrouping
from fermiclass.domain import TrainingDomain
from fermiclass.errors import ClassError, ModelFolderError, OutputError
from fermiclass.features import Imputation
from fermiclass.nimgp.names import num_functions
from fermiclass.pipeline import TrainedModel

if TYPE_CHECKING:
    from fermiclass.estimators import NIMGPClassifier

FORMAT, FORMAT_VERSION = "fermiclass model", 4

_CONFIG, _WEIGHTS = "config.json", "weights.npz"
_SCRATCH = ".fermiclass-model."
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
_PREFIX = "weights/"
_ESTIMATOR_ARRAYS = ("mean_", "scale_", "elbo_")
_DOMAIN_ARRAYS = ("X", "covariance", "depths")


def check_model_folder_writable(path: str | Path) -> Path:
    """Check, before any work is done, that a model can be saved in ``path``; return the path with links resolved.

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
    """Say what keeps a model from being saved in ``folder``, '' if nothing does."""
    if not folder.parent.is_dir():
        return f"there is no folder '{folder.parent}'. Create it first."
    if not folder.exists():
        return ""
    if not folder.is_dir():
        return "it is a file. Give the name of a folder."
    entries = {entry.name for entry in folder.iterdir()}
    # Saving removes what is there: nothing but a model, whatever else calls its settings config.json.
    if entries and not (entries <= {_CONFIG, _WEIGHTS} and _declares_model(folder)):
        return "the folder holds other files. Give the name of a new one."
    return ""


def _declares_model(folder: Path) -> bool:
    try:
        config = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("format") == FORMAT


def save_model(model: TrainedModel, path: str | Path) -> None:
    """Save a model, whole or not at all; a model that is there already is replaced.

    Raises
    ------
    OutputError
        When the folder cannot be written, or a parameter of the estimator is not a number, text or None.
    """
    folder = check_model_folder_writable(path)
    config = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "estimator": {name: _plain(name, value) for name, value in model.estimator.get_params().items()},
        "classes": [str(name) for name in model.estimator.classes_],
        "grouping": str(model.grouping),
        "features": list(model.features),
        "imputation": model.imputation.to_dict(),
        "domain_neighbours": model.domain.neighbours,
        "provenance": dict(model.provenance),
    }
    arrays = {
        **{f"{_PREFIX}{name}": array for name, array in model.estimator.weights_.items()},
        **{f"estimator/{name}": getattr(model.estimator, name) for name in _ESTIMATOR_ARRAYS},
        **{f"domain/{name}": getattr(model.domain, name) for name in _DOMAIN_ARRAYS},
    }
    text = json.dumps(config, indent=1) + "\n"
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_SCRATCH) as scratch:
            fresh = Path(scratch, "new")
            fresh.mkdir()
            (fresh / _CONFIG).write_text(text, encoding="utf-8")
            (fresh / _WEIGHTS).write_bytes(stream.getvalue())
            _put_in_place(fresh, folder, Path(scratch, "old"))
    except OSError as error:
        raise OutputError(
            f"cannot save a model in '{path}': {error.strerror or error}. Choose another place."
        ) from error


def _plain(name: str, value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise OutputError(
        f"a model with {name}={value!r} cannot be saved: a model folder holds numbers and text only. Give the "
        "estimator a number."
    )


def _put_in_place(fresh: Path, folder: Path, aside: Path) -> None:
    """Rename ``fresh`` to ``folder``; what was there goes ``aside``, and comes back if that fails."""
    try:
        if folder.exists():
            folder.rename(aside)
        fresh.rename(folder)
    except BaseException:
        if aside.exists() and not folder.exists():
            aside.rename(folder)
        raise


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
        reason = str(error).removesuffix(" Train the model again.")
        raise ModelFolderError(f"the model in '{path}' is damaged: {reason} Train it again.") from error
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
    except (OSError, ValueError, RecursionError) as error:
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
        content = path.read_bytes()
        if not content.startswith(b"PK"):
            raise ValueError("it is no zip archive of arrays")
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except FileNotFoundError as error:
        raise ModelFolderError(f"'{folder}' has no {_WEIGHTS}. Train the model again.") from error
    except Exception as error:  # the readers of zip archives and of what is in them have no common exception
        reason = " ".join(str(error).split())
        raise ModelFolderError(
            f"'{path}' cannot be read: {type(error).__name__}: {reason}. Train the model again."
        ) from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype != np.float64 or not np.all(np.isfinite(array)):
            raise ModelFolderError(f"'{path}': {name} is not all finite double precision. Train the model again.")
    return arrays


def _assemble(config: Mapping[str, Any], arrays: Mapping[str, NDArray[np.float64]]) -> TrainedModel:
    features, classes = tuple(config["features"]), list(config["classes"])
    grouping = ClassGrouping.parse(config["grouping"])
    if classes != sorted(grouping.names):
        raise ModelFolderError(f"its classes are {', '.join(classes)}, but '{grouping}' makes other groups.")
    imputation = Imputation.from_dict(config["imputation"])
    if tuple(imputation.names) != features:
        raise ModelFolderError(f"it imputes {', '.join(imputation.names)}, but its features are {', '.join(features)}.")
    provenance = config["provenance"]
    if not all(isinstance(provenance[key], dict) for key in ("training_counts", "versions")):
        raise ModelFolderError("its training counts or versions are no lists of names and values.")
    _check_arrays(arrays, len(classes), len(features))
    return TrainedModel(
        estimator=_estimator(config["estimator"], classes, arrays),
        features=features,
        grouping=grouping,
        imputation=imputation,
        domain=_domain(config["domain_neighbours"], arrays),
        provenance=provenance,
    )


def _check_arrays(arrays: Mapping[str, NDArray[np.float64]], num_classes: int, num_features: int) -> None:
    """Check names, shapes and ranges, but for the weights, which the estimator knows."""
    expected = {*(f"estimator/{name}" for name in _ESTIMATOR_ARRAYS), *(f"domain/{name}" for name in _DOMAIN_ARRAYS)}
    odd = expected ^ {name for name in arrays if not name.startswith(_PREFIX)}
    if odd:
        raise ModelFolderError(f"{_WEIGHTS} has missing or unknown arrays: {', '.join(sorted(odd))}.")
    num_training = arrays["domain/depths"].size
    shapes = {
        "estimator/mean_": (num_features,),
        "estimator/scale_": (num_features,),
        "domain/X": (num_training, num_features),
        "domain/covariance": (num_features, num_features),
        "domain/depths": (num_training,),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ModelFolderError(f"{name} has shape {arrays[name].shape}, expected {shape}.")
    Z = arrays[f"{_PREFIX}posterior.Z"]
    functions = num_functions(num_classes)
    if Z.ndim != 3 or (Z.shape[0], Z.shape[2]) != (functions, num_features):
        raise ModelFolderError(
            f"weights/posterior.Z has shape {Z.shape}, expected ({functions}, any number, {num_features})."
        )
    if np.any(arrays["estimator/scale_"] <= 0):
        raise ModelFolderError("estimator/scale_ is not positive everywhere.")
    try:
        np.linalg.cholesky(arrays["domain/covariance"])
    except np.linalg.LinAlgError as error:
        raise ModelFolderError("domain/covariance is not positive definite.") from error
    if np.any(np.diff(arrays["domain/depths"], prepend=0.0) < 0):
        raise ModelFolderError("domain/depths is negative somewhere, or not sorted.")


def _estimator(
    params: Mapping[str, Any], classes: list[str], arrays: Mapping[str, NDArray[np.float64]]
) -> NIMGPClassifier:
    from tensorflow.errors import InvalidArgumentError

    from fermiclass.estimators import NIMGPClassifier

    odd = set(params) ^ set(NIMGPClassifier().get_params())
    if odd:
        raise ModelFolderError(f"the estimator has missing or unknown parameters: {', '.join(sorted(odd))}.")
    estimator = NIMGPClassifier(**params)
    estimator.classes_ = np.array(classes)
    for name in _ESTIMATOR_ARRAYS:
        setattr(estimator, name, arrays[f"estimator/{name}"])
    estimator.n_features_in_ = len(estimator.mean_)
    weights = {name.removeprefix(_PREFIX): array for name, array in arrays.items() if name.startswith(_PREFIX)}
    try:
        return estimator.restore(weights)
    except InvalidArgumentError as error:  # such as a variance below zero
        raise ModelFolderError("a weight has a value that its parameter cannot take.") from error


def _domain(neighbours: Any, arrays: Mapping[str, NDArray[np.float64]]) -> TrainingDomain:
    num_training = len(arrays["domain/X"])
    if not isinstance(neighbours, int) or not 1 <= neighbours < num_training:
        raise ModelFolderError(
            f"domain_neighbours is {neighbours!r}, expected a whole number from 1 to {num_training - 1}."
        )
    return TrainingDomain(neighbours=neighbours, **{name: arrays[f"domain/{name}"] for name in _DOMAIN_ARRAYS})
