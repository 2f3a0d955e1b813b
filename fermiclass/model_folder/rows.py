"""Models that were trained on rows, and label rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import ModelFolderError
from fermiclass.model_folder.estimators import check_arrays, estimator_arrays, estimator_entries, read_estimator
from fermiclass.model_folder.files import Arrays, Config
from fermiclass.rows.columns import Columns
from fermiclass.rows_model import RowsModel


def pack(model: RowsModel) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Return what ``config.json`` and ``weights.npz`` say of a model."""
    entries = {
        **estimator_entries(model.estimator),
        "features": list(model.columns.features),
        "uncertainties": list(model.columns.uncertainties),
        "label": model.columns.label,
        "provenance": dict(model.provenance),
    }
    return entries, estimator_arrays(model.estimator)


def unpack(config: Config, arrays: Arrays) -> RowsModel:
    """Return the model; errors are ModelFolderError, ValueError, TypeError, KeyError and AttributeError."""
    named = [*config["features"], *(name for name in config["uncertainties"] if name is not None), config["label"]]
    if not all(isinstance(name, str) for name in named):
        raise ModelFolderError("the names of its columns are no texts.")
    classes = list(config["classes"])
    kinds = {type(name) for name in classes}
    if kinds not in ({str}, {int}) or len(classes) < 2 or classes != sorted(set(classes)):
        raise ModelFolderError("its classes are not texts or whole numbers, at least two, sorted.")
    columns = Columns.of(config["features"], config["uncertainties"], config["label"])
    check_arrays(arrays, len(classes), len(columns.features))
    estimator = read_estimator(config, arrays)
    estimator.row_features_ = columns.features
    return RowsModel(estimator, columns, dict(config["provenance"]))
