"""Trained models on disk: :func:`save_model` and :func:`load_model`, for all kinds of models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fermiclass.errors import FermiclassError, ModelFolderError, OutputError
from fermiclass.io.model_folder import (
    CATALOGUE,
    ESTIMATOR,
    ROWS,
    ModelFiles,
    check_model_folder_writable,
    read_model_folder,
    write_folder,
)
from fermiclass.io.plain import typed
from fermiclass.nimgp.domain import TrainingDomain
from fermiclass.nimgp.estimators.fitted import Fitted
from fermiclass.nimgp.settings import RegressorSettings, Settings

if TYPE_CHECKING:
    from fermiclass.labelling.catalog_model import CatalogModel
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
    from fermiclass.nimgp.estimators.sparse_regressor import NIMGPRegressor
    from fermiclass.rows import RowsModel

    Estimator = NIMGPClassifier | NIMGPRegressor
    Model = CatalogModel | RowsModel | Estimator

_DOMAIN = ("X", "covariance", "depths")


def save_model(model: Model, path: str | Path) -> None:
    """Save a model, a fitted classifier or regressor, whole or not at all. It replaces a model that is already there.

    Raises OutputError when the folder cannot be written; when a setting of the estimator is not one that a file can
    hold, such as a kernel with a prior of its own, or its classes are neither texts nor whole numbers; for any other
    estimator; NotFittedError when the estimator is not fitted.
    """
    check_model_folder_writable(path)
    write_folder(path, _files_of(model))


def _files_of(model: Model) -> ModelFiles:
    from fermiclass.labelling.catalog_model import CatalogModel

    fitted: Fitted
    domain: TrainingDomain | None
    if isinstance(model, CatalogModel) or hasattr(model, "to_entries"):
        kind = CATALOGUE if isinstance(model, CatalogModel) else ROWS
        fitted, domain, entries = model.fitted, model.domain, model.to_entries()
    elif hasattr(type(model), "weights_"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
        names, errors = (getattr(model, name, None) for name in ("feature_names_in_", "uncertainties_in_"))
        kind, fitted, domain = ESTIMATOR, cast("Estimator", model).fitted_, None
        entries = {"features": None if names is None else names.tolist(), "uncertainties": errors or []}
    else:
        raise OutputError(f"a {type(model).__name__} cannot be saved in a folder: pickle it.")
    arrays = {f"weights/{name}": np.asarray(array, np.float64) for name, array in fitted.to_arrays().items()}
    classes = None if fitted.classes is None else fitted.classes.tolist()
    if classes is not None and not _storable(classes):
        raise OutputError(f"classes such as {classes[0]!r} cannot be saved in a folder: give texts or whole numbers.")
    if domain is not None and classes is not None:
        arrays |= {f"domain/{name}": getattr(domain, name) for name in _DOMAIN}
        arrays["domain/y"] = np.searchsorted(classes, domain.y).astype(np.float64)
    try:
        settings = fitted.settings.to_json()
    except (TypeError, ValueError) as error:
        raise OutputError(f"a model with such a setting cannot be saved: {error}.") from error
    return ModelFiles(kind, settings, classes, None if domain is None else domain.neighbours, entries, arrays)


def _storable(classes: list[Any]) -> bool:
    return {type(name) for name in classes} in ({str}, {int}) and classes == sorted(set(classes))


def load_model(path: str | Path, files: ModelFiles | None = None) -> Model:
    """Load a model, classifier or regressor that :func:`save_model` saved.

    Parameters
    ----------
    path
        The folder.
    files
        Result of :func:`fermiclass.io.model_folder.read_model_folder` for this folder, to save time.

    Raises
    ------
    ModelFolderError
        When a file is missing, damaged or of another version, or when shapes do not fit each other.
    """
    files = read_model_folder(path) if files is None else files
    try:
        fitted = _fitted(files)
        if files.kind == ESTIMATOR:
            estimator = _estimator(fitted)
            names = typed(list[str] | None, files.model["features"], "features")
            estimator.uncertainties_in_ = typed(list[str], files.model["uncertainties"], "uncertainties")
            if names is not None:
                estimator.feature_names_in_ = np.array(names, dtype=object)
            return estimator
        model: CatalogModel | RowsModel
        if files.kind == CATALOGUE:
            from fermiclass.labelling.catalog_model import CatalogModel

            model = CatalogModel.from_entries(files.model, fitted, _domain(files))
        else:
            from fermiclass.rows import RowsModel

            model = RowsModel.from_entries(files.model, fitted, _domain(files))
        written = json.loads(json.dumps(model.to_entries()))
        if incomplete := [name for name, entry in written.items() if entry != files.model[name]]:
            raise ValueError(f"{', '.join(incomplete)} lacks an entry")
        if len(fitted.scaling.mean) != len(model.features):
            raise ValueError(f"its weights are those of {len(fitted.scaling.mean)} features, not {len(model.features)}")
        return model
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, MemoryError, FermiclassError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ModelFolderError(
            f"the model in '{path}' is damaged: {type(error).__name__}: {reason}. Train it again."
        ) from error


def _fitted(files: ModelFiles) -> Fitted:
    start = "weights/"
    weights = {name.removeprefix(start): array for name, array in files.arrays.items() if name.startswith(start)}
    if files.classes is None:
        return Fitted.from_arrays(RegressorSettings.from_json(files.estimator), None, weights)
    if not _storable(files.classes):
        raise ValueError("its classes are not a sorted list of texts or whole numbers")
    return Fitted.from_arrays(Settings.from_json(files.estimator), np.asarray(files.classes), weights)


def _estimator(fitted: Fitted) -> Estimator:
    """Return the classifier or regressor of what was fitted."""
    if fitted.classes is None:
        from fermiclass.nimgp.estimators.sparse_regressor import NIMGPRegressor

        return NIMGPRegressor.of(fitted)
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    return NIMGPClassifier.of(fitted)


def _domain(files: ModelFiles) -> TrainingDomain | None:
    """Return the domain of the training rows, if the model has one."""
    if files.neighbours is None:
        return None
    X, covariance, depths, classes = (files.arrays[f"domain/{name}"] for name in (*_DOMAIN, "y"))
    if X.ndim != 2 or len(X) != len(depths) or covariance.shape != (X.shape[1],) * 2 or classes.shape != depths.shape:
        raise ValueError("the arrays of its domain do not fit each other")
    if not 0 < files.neighbours < len(X):
        raise ValueError(f"neighbours={files.neighbours} is not valid: its domain has {len(X)} rows")
    np.linalg.cholesky(covariance)  # a ValueError unless it is positive definite
    y = np.array(files.classes)[classes.astype(np.intp)]
    return TrainingDomain(neighbours=files.neighbours, X=X, y=y, covariance=covariance, depths=depths)
