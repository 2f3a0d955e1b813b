"""Files of models that are trained on rows and label rows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import ModelFolderError
from fermiclass.labelling.archive.domains import domain_arrays, domain_shapes, read_domain
from fermiclass.labelling.archive.estimators import check_arrays, estimator_arrays, estimator_entries, read_estimator
from fermiclass.labelling.archive.files import Arrays, Config
from fermiclass.rows import Columns, RowsModel, RowsProvenance


def pack(model: RowsModel) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Return the entries of ``config.json`` and the arrays of ``weights.npz``."""
    entries = {
        **estimator_entries(model.estimator),
        "features": list(model.columns.features),
        "uncertainties": list(model.columns.uncertainties),
        "label": model.columns.label,
        "provenance": asdict(model.provenance),
        "domain_neighbours": None if model.domain is None else model.domain.neighbours,
    }
    domain = {} if model.domain is None else domain_arrays(model.domain)
    return entries, estimator_arrays(model.estimator) | domain


def unpack(config: Config, arrays: Arrays) -> RowsModel:
    """Return the model. Raises ModelFolderError, ValueError, TypeError, KeyError or AttributeError."""
    named = [*config["features"], *(name for name in config["uncertainties"] if name is not None), config["label"]]
    if not all(isinstance(name, str) for name in named):
        raise ModelFolderError("the names of its columns are not text.")
    classes = list(config["classes"])
    kinds = {type(name) for name in classes}
    if kinds not in ({str}, {int}) or len(classes) < 2 or classes != sorted(set(classes)):
        raise ModelFolderError("its classes are not a sorted list of two or more texts or whole numbers.")
    columns = Columns.of(config["features"], config["uncertainties"], config["label"])
    neighbours = config.get("domain_neighbours")  # models of versions before 9 have no domain
    shapes = {} if neighbours is None else domain_shapes(arrays, len(columns.features))
    check_arrays(arrays, len(classes), len(columns.features), shapes)
    domain = None if neighbours is None else read_domain(neighbours, arrays)
    return RowsModel(read_estimator(config, arrays), columns, RowsProvenance(**config["provenance"]), domain)
