"""A fitted estimator as settings and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import ModelFolderError, OutputError
from fermiclass.labelling.archive.files import Arrays, Config
from fermiclass.nimgp.names import num_functions
from fermiclass.nimgp.settings import Settings

if TYPE_CHECKING:
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

_PREFIX = "weights/"
_ARRAYS = ("mean_", "scale_", "elbo_")


def estimator_entries(estimator: NIMGPClassifier) -> dict[str, Any]:
    """Return the parameters and classes in a form that JSON can hold.

    Raises
    ------
    OutputError
        When a parameter is not a number, text or None, or has a value that :func:`read_estimator` would refuse.
    """
    try:
        settings = Settings(**estimator.get_params()).to_json()
    except (TypeError, ValueError) as error:
        raise OutputError(f"a model cannot be saved with such a setting: {error}.") from error
    return {"estimator": settings, "classes": estimator.classes_.tolist()}


def estimator_arrays(estimator: NIMGPClassifier) -> dict[str, NDArray[np.float64]]:
    """Return the learned arrays; each name says where the array belongs."""
    return {
        **{f"{_PREFIX}{name}": array for name, array in estimator.weights_.items()},
        **{f"estimator/{name}": getattr(estimator, name) for name in _ARRAYS},
    }


def check_arrays(
    arrays: Arrays, num_classes: int, num_features: int, more: dict[str, tuple[int, ...]] | None = None
) -> None:
    """Check names, shapes and ranges of all arrays except the weights, which the estimator checks.

    Parameters
    ----------
    arrays
        The arrays of :func:`estimator_arrays`, and further ones.
    num_classes, num_features
        Number of classes C and of features D.
    more
        Shapes of further arrays by name.

    Raises
    ------
    ModelFolderError
        When an array is missing, unknown, or of another shape.
    """
    further = more or {}
    shapes = {"estimator/mean_": (num_features,), "estimator/scale_": (num_features,), **further}
    odd = {*(f"estimator/{name}" for name in _ARRAYS), *further} ^ {n for n in arrays if not n.startswith(_PREFIX)}
    if odd:
        raise ModelFolderError(f"weights.npz has missing or unknown arrays: {', '.join(sorted(odd))}.")
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


def read_estimator(config: Config, arrays: Arrays) -> NIMGPClassifier:
    """Return the estimator, fitted.

    Raises
    ------
    ModelFolderError
        When a setting is unknown or not valid.
    ValueError
        When the weights do not fit the settings, or have values that are not possible.
    """
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

    try:
        settings = Settings.from_json(config["estimator"])
    except (AttributeError, TypeError, ValueError) as error:
        raise ModelFolderError(f"its settings cannot be used: {error}.") from error
    estimator = NIMGPClassifier(**settings.params())
    estimator.classes_ = np.array(config["classes"])
    for name in _ARRAYS:
        setattr(estimator, name, arrays[f"estimator/{name}"])
    weights = {name.removeprefix(_PREFIX): array for name, array in arrays.items() if name.startswith(_PREFIX)}
    return estimator.restore(weights)
