"""Trained models on disk: ``config.json`` and ``weights.npz``, nothing pickled, so that loading cannot run code."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import ClassGrouping
from fermiclass.errors import FermiclassError, ModelFolderError, OutputError
from fermiclass.features import Imputation
from fermiclass.io.files import exists, move_into_place, read_arrays
from fermiclass.labelling.associations import SecondAssociations, SelectionPrior
from fermiclass.labelling.catalog_model import CatalogModel, Provenance
from fermiclass.nimgp.domain import TrainingDomain
from fermiclass.nimgp.settings import Settings
from fermiclass.rows import Columns, RowsModel, RowsProvenance

if TYPE_CHECKING:
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

FORMAT, FORMAT_VERSION = "fermiclass model", 12

#: Kinds of models.
CATALOGUE, ROWS, ESTIMATOR = "catalogue", "rows", "estimator"

_CONFIG, _WEIGHTS = "config.json", "weights.npz"
_SCRATCH = ".fermiclass-model."
_DOMAIN = ("X", "covariance", "depths")

Arrays = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class ModelFiles:
    """The content of a model folder."""

    kind: str  #: :data:`CATALOGUE`, :data:`ROWS` or :data:`ESTIMATOR`.
    estimator: dict[str, Any]  #: Settings of the classifier.
    classes: list[Any]  #: Its classes.
    neighbours: int | None  #: Setting of the domain of the training rows; None without a domain.
    model: dict[
        str, Any
    ]  #: What is needed beside the classifier, such as names of features and the training catalogue.
    arrays: Arrays  #: What was learned: ``weights/…`` and ``domain/…``.


# --- writing ---------------------------------------------------------------------------------------------------------


def save_model(model: CatalogModel | RowsModel | NIMGPClassifier, path: str | Path) -> None:
    """Save a model or a fitted classifier, whole or not at all. It replaces a model that is already there.

    Raises
    ------
    OutputError
        When the folder cannot be written; when a setting of the estimator is not one that a file can hold, such as a
        kernel with a prior of its own, or its classes are neither texts nor whole numbers; for any other estimator.
    NotFittedError
        When the classifier is not fitted.
    """
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    check_model_folder_writable(path)
    if not isinstance(model, CatalogModel | RowsModel | NIMGPClassifier):
        raise OutputError(f"a {type(model).__name__} cannot be saved in a folder, only classifiers can: pickle it.")
    estimator, domain = (model, None) if isinstance(model, NIMGPClassifier) else (model.estimator, model.domain)
    entries: dict[str, Any]
    if isinstance(model, NIMGPClassifier):
        kind = ESTIMATOR
        names, errors = (getattr(model, name, None) for name in ("feature_names_in_", "uncertainties_in_"))
        entries = {"features": None if names is None else names.tolist(), "uncertainties": errors or []}
    elif isinstance(model, CatalogModel):
        kind = CATALOGUE
        entries = {
            "features": list(model.features),
            "grouping": model.grouping.spec,
            "imputation": model.imputation.to_dict(),
            "provenance": asdict(model.provenance),
            "selection": model.selection.to_dict(),
            "second": dict(model.second.chance),
        }
    else:
        kind = ROWS
        entries = {
            "features": list(model.columns.features),
            "uncertainties": list(model.columns.uncertainties),
            "label": model.columns.label,
            "provenance": asdict(model.provenance),
        }
    arrays = {f"weights/{name}": array for name, array in estimator.weights_.items()}
    if not _storable(classes := estimator.classes_.tolist()):
        raise OutputError(f"classes such as {classes[0]!r} cannot be saved in a folder: give texts or whole numbers.")
    if domain is not None:
        arrays |= {f"domain/{name}": getattr(domain, name) for name in _DOMAIN}
    files = ModelFiles(
        kind=kind,
        estimator=_settings_of(estimator),
        classes=classes,
        neighbours=None if domain is None else domain.neighbours,
        model=entries,
        arrays=arrays,
    )
    write_folder(path, files)


def _storable(classes: list[Any]) -> bool:
    return {type(name) for name in classes} in ({str}, {int}) and classes == sorted(set(classes))


def _settings_of(estimator: NIMGPClassifier) -> dict[str, Any]:
    try:
        return Settings(**estimator.get_params()).to_json()
    except (TypeError, ValueError) as error:
        raise OutputError(f"a model with such a setting cannot be saved: {error}.") from error


def write_folder(path: str | Path, files: ModelFiles) -> None:
    """Write the files of a model, both or none. They replace those of a model that is already there.

    Raises OutputError when the folder cannot be written.
    """
    folder = check_model_folder_writable(path)
    entries = {name: value for name, value in vars(files).items() if name != "arrays"}
    config = {"format": FORMAT, "format_version": FORMAT_VERSION, **entries}
    named: dict[str, Any] = dict(files.arrays)
    stream = io.BytesIO()
    np.savez_compressed(stream, **named)
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

    It may be a new folder, an empty one, or one that holds a model and nothing else. Raises OutputError when the folder
    above is missing, or something else is in the way.
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
    try:
        config = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("format") == FORMAT


# --- reading ---------------------------------------------------------------------------------------------------------


def load_model(path: str | Path, files: ModelFiles | None = None) -> CatalogModel | RowsModel | NIMGPClassifier:
    """Load a model or classifier that :func:`save_model` saved.

    Parameters
    ----------
    path
        The folder.
    files
        Result of :func:`read_model_folder` for this folder, to save time.

    Raises
    ------
    ModelFolderError
        When a file is missing, damaged or of another version, or when shapes do not fit each other.
    """
    files = read_model_folder(path) if files is None else files
    try:
        if files.kind == ESTIMATOR:
            return _classifier(files)
        return _catalog_model(files) if files.kind == CATALOGUE else _rows_model(files)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, MemoryError, FermiclassError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ModelFolderError(
            f"the model in '{path}' is damaged: {type(error).__name__}: {reason}. Train it again."
        ) from error


def read_model_folder(path: str | Path) -> ModelFiles:
    """Read the files of a model folder, without TensorFlow.

    Raises ModelFolderError when a file is missing or damaged, or of another version.
    """
    folder = Path(path)
    if not exists(folder / _CONFIG):
        raise ModelFolderError(
            f"'{folder}' is not a model folder: it has no {_CONFIG}. Give a folder that 'fermiclass train' made."
        )
    try:
        config = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
        if not isinstance(config, dict) or config.pop("format", None) != FORMAT:
            raise ValueError(f"it does not describe a {FORMAT}")
        version = config.pop("format_version", None)
        if version != FORMAT_VERSION:
            raise ValueError(f"it has format version {version!r}; this fermiclass reads version {FORMAT_VERSION}")
        files = ModelFiles(**config, arrays=_read_arrays(folder / _WEIGHTS))
        if files.kind not in (CATALOGUE, ROWS, ESTIMATOR):
            raise ValueError(f"it has a model of unknown kind, {files.kind!r}")
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise ModelFolderError(f"the model in '{folder}' cannot be read: {error}. Train it again.") from error
    return files


def _read_arrays(path: Path) -> Arrays:
    """Return the arrays. Raises OSError or ValueError."""
    arrays = read_arrays(path)
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype != np.float64 or not np.all(np.isfinite(array)):
            raise ValueError(f"{name} holds values that are not finite or not doubles")
    return arrays


def _catalog_model(files: ModelFiles) -> CatalogModel:
    entries, features = files.model, files.model["features"]
    grouping, imputation = ClassGrouping.parse(entries["grouping"]), Imputation.from_dict(entries["imputation"])
    if files.classes != sorted(grouping.names):
        raise ValueError(f"its classes are {', '.join(files.classes)}, but '{grouping}' makes other groups")
    if list(imputation.names) != features:
        raise ValueError(f"it imputes {', '.join(imputation.names)}, but has the features {features}")
    domain = _domain(files, len(features))
    if domain is None:
        raise ValueError("it has no domain")
    return CatalogModel(
        estimator=_estimator(files, len(features)),
        features=tuple(features),
        grouping=grouping,
        imputation=imputation,
        domain=domain,
        provenance=Provenance(**entries["provenance"]),
        selection=SelectionPrior(**entries["selection"]),
        second=SecondAssociations(dict(entries["second"])),
    )


def _rows_model(files: ModelFiles) -> RowsModel:
    columns = Columns.of(*(files.model[name] for name in ("features", "uncertainties", "label")))
    provenance, num_features = RowsProvenance(**files.model["provenance"]), len(columns.features)
    return RowsModel(_estimator(files, num_features), columns, provenance, _domain(files, num_features))


def _classifier(files: ModelFiles) -> NIMGPClassifier:
    estimator, features = _estimator(files, len(files.arrays["weights/mean"])), files.model["features"]
    estimator.uncertainties_in_ = files.model["uncertainties"]
    if features is not None:
        estimator.feature_names_in_ = np.array(features, dtype=object)
    return estimator


def _estimator(files: ModelFiles, num_features: int) -> NIMGPClassifier:
    """Return the classifier, fitted."""
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    estimator = NIMGPClassifier(**Settings.from_json(files.estimator).params())
    if not _storable(files.classes):
        raise ValueError("its classes are not a sorted list of texts or whole numbers")
    start = "weights/"
    weights = {name.removeprefix(start): array for name, array in files.arrays.items() if name.startswith(start)}
    estimator.restore(weights, files.classes)
    if estimator.n_features_in_ != num_features:
        raise ValueError(f"its weights are those of {estimator.n_features_in_} features, it has {num_features}")
    return estimator


def _domain(files: ModelFiles, num_features: int) -> TrainingDomain | None:
    """Return the domain of the training rows, if the model has one."""
    if files.neighbours is None:
        return None
    X, covariance, depths = (files.arrays[f"domain/{name}"] for name in _DOMAIN)
    if X.shape != (len(depths), num_features) or covariance.shape != (num_features, num_features):
        raise ValueError(f"the arrays of its domain do not fit {num_features} features")
    return TrainingDomain(neighbours=files.neighbours, X=X, covariance=covariance, depths=depths)
