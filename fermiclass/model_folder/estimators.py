"""A fitted estimator as settings and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import ModelFolderError, OutputError
from fermiclass.model_folder.files import Arrays, Config
from fermiclass.nimgp.names import num_functions

if TYPE_CHECKING:
    from fermiclass.estimators import NIMGPClassifier

_PREFIX = "weights/"
# What would take memory or time without end before shapes can be compared.
_MOST = {"num_draws": 1 << 20, "hidden_units": 10_000, "hidden_layers": 100, "degree": 100}
_LONGEST_KERNEL = 200
_ARRAYS = ("mean_", "scale_", "elbo_")


def estimator_entries(estimator: NIMGPClassifier) -> dict[str, Any]:
    """Return the parameters and classes, as JSON can hold them.

    Raises
    ------
    OutputError
        When a parameter is not a number, text or None, or beyond what is read again.
    """
    params = {name: _plain(name, value) for name, value in estimator.get_params().items()}
    excess = _excess(params)
    if excess:
        raise OutputError(f"a model cannot be saved that could not be loaded: {excess}. Give the estimator another.")
    return {"estimator": params, "classes": estimator.classes_.tolist()}


def _plain(name: str, value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise OutputError(
        f"a model with {name}={value!r} cannot be saved: a model folder holds numbers and text only. Give the "
        "estimator a number."
    )


def _excess(params: Mapping[str, Any]) -> str:
    """Say which parameter is beyond what a model folder may ask for, '' if none is."""
    for name, most in _MOST.items():
        if not isinstance(params[name], int) or not 0 < params[name] <= most:
            return f"the estimator has {name}={params[name]!r}, expected a number from 1 to {most:,}"
    if len(str(params["kernel"])) > _LONGEST_KERNEL:
        return f"the estimator's kernel has more than {_LONGEST_KERNEL} letters"
    return ""


def estimator_arrays(estimator: NIMGPClassifier) -> dict[str, NDArray[np.float64]]:
    """Return what was learned, by names that say where it belongs."""
    return {
        **{f"{_PREFIX}{name}": array for name, array in estimator.weights_.items()},
        **{f"estimator/{name}": getattr(estimator, name) for name in _ARRAYS},
    }


def check_arrays(
    arrays: Arrays, num_classes: int, num_features: int, more: dict[str, tuple[int, ...]] | None = None
) -> None:
    """Check names, shapes and ranges, but for the weights, which the estimator knows.

    Parameters
    ----------
    arrays
        Those of :func:`estimator_arrays`, and more.
    num_classes, num_features
        C and D.
    more
        Shapes of further arrays by name.

    Raises
    ------
    ModelFolderError
        When one is missing, unknown, or of another shape.
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
        When it has missing or unknown parameters, or a weight has a value that it cannot have.
    ValueError
        When parameters are unknown to each other, or weights do not fit.
    """
    from tensorflow.errors import InvalidArgumentError

    from fermiclass.estimator_settings import check_parameters
    from fermiclass.estimators import NIMGPClassifier

    params = config["estimator"]
    if config["format_version"] < 7:  # it had no choice
        params = {"objective": "elbo", **params}
    odd = set(params) ^ set(NIMGPClassifier().get_params())
    if odd:
        raise ModelFolderError(f"the estimator has missing or unknown parameters: {', '.join(sorted(odd))}.")
    excess = _excess(params)
    if excess:
        raise ModelFolderError(f"{excess}.")
    estimator = NIMGPClassifier(**params)
    check_parameters(estimator)
    estimator.classes_ = np.array(config["classes"])
    for name in _ARRAYS:
        setattr(estimator, name, arrays[f"estimator/{name}"])
    estimator.n_features_in_ = len(estimator.mean_)
    weights = {name.removeprefix(_PREFIX): array for name, array in arrays.items() if name.startswith(_PREFIX)}
    try:
        return estimator.restore(weights)
    except InvalidArgumentError as error:  # such as a variance below zero
        raise ModelFolderError("a weight has a value that its parameter cannot take.") from error
