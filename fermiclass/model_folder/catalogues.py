"""Models that were trained on a catalogue, and label catalogues."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import ClassGrouping
from fermiclass.domain import TrainingDomain
from fermiclass.errors import ModelFolderError
from fermiclass.features import Imputation
from fermiclass.model_folder.estimators import check_arrays, estimator_arrays, estimator_entries, read_estimator
from fermiclass.model_folder.files import Arrays, Config
from fermiclass.pipeline import TrainedModel

_DOMAIN_ARRAYS = ("X", "covariance", "depths")


def pack(model: TrainedModel) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Return what ``config.json`` and ``weights.npz`` say of a model."""
    entries = {
        **estimator_entries(model.estimator),
        "grouping": str(model.grouping),
        "features": list(model.features),
        "imputation": model.imputation.to_dict(),
        "domain_neighbours": model.domain.neighbours,
        "provenance": dict(model.provenance),
    }
    domain = {f"domain/{name}": getattr(model.domain, name) for name in _DOMAIN_ARRAYS}
    return entries, estimator_arrays(model.estimator) | domain


def unpack(config: Config, arrays: Arrays) -> TrainedModel:
    """Return the model; errors are ModelFolderError, ValueError, TypeError, KeyError, AttributeError and ClassError."""
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
    num_features = len(features)
    num_training = arrays["domain/depths"].size if "domain/depths" in arrays else 0
    check_arrays(
        arrays,
        len(classes),
        num_features,
        {
            "domain/X": (num_training, num_features),
            "domain/covariance": (num_features, num_features),
            "domain/depths": (num_training,),
        },
    )
    return TrainedModel(
        estimator=read_estimator(config, arrays),
        features=features,
        grouping=grouping,
        imputation=imputation,
        domain=_domain(config["domain_neighbours"], arrays),
        provenance=provenance,
    )


def _domain(neighbours: Any, arrays: Arrays) -> TrainingDomain:
    try:
        np.linalg.cholesky(arrays["domain/covariance"])
    except np.linalg.LinAlgError as error:
        raise ModelFolderError("domain/covariance is not positive definite.") from error
    if np.any(np.diff(arrays["domain/depths"], prepend=0.0) < 0):
        raise ModelFolderError("domain/depths is negative somewhere, or not sorted.")
    num_training = len(arrays["domain/X"])
    if not isinstance(neighbours, int) or not 1 <= neighbours < num_training:
        raise ModelFolderError(
            f"domain_neighbours is {neighbours!r}, expected a whole number from 1 to {num_training - 1}."
        )
    return TrainingDomain(neighbours=neighbours, **{name: arrays[f"domain/{name}"] for name in _DOMAIN_ARRAYS})
