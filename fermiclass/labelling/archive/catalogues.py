"""Files of models that are trained on a catalogue and label catalogues."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import ClassGrouping
from fermiclass.errors import ModelFolderError
from fermiclass.features import Imputation
from fermiclass.labelling.archive.domains import domain_arrays, domain_shapes, read_domain
from fermiclass.labelling.archive.estimators import check_arrays, estimator_arrays, estimator_entries, read_estimator
from fermiclass.labelling.archive.files import Arrays, Config
from fermiclass.labelling.catalog_model import CatalogModel, Provenance
from fermiclass.labelling.selection import SelectionPrior


def pack(model: CatalogModel) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Return the entries of ``config.json`` and the arrays of ``weights.npz``."""
    entries = {
        **estimator_entries(model.estimator),
        "grouping": str(model.grouping),
        "features": list(model.features),
        "imputation": model.imputation.to_dict(),
        "domain_neighbours": model.domain.neighbours,
        "provenance": asdict(model.provenance),
        "selection": model.selection.to_dict(),
    }
    return entries, estimator_arrays(model.estimator) | domain_arrays(model.domain)


def unpack(config: Config, arrays: Arrays) -> CatalogModel:
    """Return the model. Raises ModelFolderError, ValueError, TypeError, KeyError, AttributeError or ClassError."""
    features, classes = tuple(config["features"]), list(config["classes"])
    grouping = ClassGrouping.parse(config["grouping"])
    if classes != sorted(grouping.names):
        raise ModelFolderError(f"its classes are {', '.join(classes)}, but '{grouping}' makes other groups.")
    imputation = Imputation.from_dict(config["imputation"])
    if tuple(imputation.names) != features:
        raise ModelFolderError(f"it imputes {', '.join(imputation.names)}, but its features are {', '.join(features)}.")
    provenance = Provenance(**config["provenance"])
    check_arrays(arrays, len(classes), len(features), domain_shapes(arrays, len(features)))
    return CatalogModel(
        estimator=read_estimator(config, arrays),
        features=features,
        grouping=grouping,
        imputation=imputation,
        domain=read_domain(config["domain_neighbours"], arrays),
        provenance=provenance,
        selection=SelectionPrior.from_dict(config.get("selection", {})),
    )
