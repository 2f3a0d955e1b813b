"""The domain of the training rows, as arrays of a model folder."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import ModelFolderError
from fermiclass.labelling.archive.files import Arrays
from fermiclass.nimgp.domain import TrainingDomain

_ARRAYS = ("X", "covariance", "depths")


def domain_arrays(domain: TrainingDomain) -> dict[str, NDArray[np.float64]]:
    """Return the arrays of a domain, by names that say where they belong."""
    return {f"domain/{name}": getattr(domain, name) for name in _ARRAYS}


def domain_shapes(arrays: Arrays, num_features: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes that the arrays of a domain must have."""
    num_training = arrays["domain/depths"].size if "domain/depths" in arrays else 0
    return {
        "domain/X": (num_training, num_features),
        "domain/covariance": (num_features, num_features),
        "domain/depths": (num_training,),
    }


def read_domain(neighbours: Any, arrays: Arrays) -> TrainingDomain:
    """Return the domain, or raise ModelFolderError."""
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
    return TrainingDomain(neighbours=neighbours, **{name: arrays[f"domain/{name}"] for name in _ARRAYS})
