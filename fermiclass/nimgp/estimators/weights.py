"""Trained parameters by name: the model, p(x) and the temperature."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fermiclass.nimgp.inputs.prior import InputPrior

_TEMPERATURE = "temperature"
_PRIOR = ("input_prior.weights", "input_prior.mean", "input_prior.precision")


def join_weights(model: Mapping[str, np.ndarray], prior: InputPrior, temperature: float) -> dict[str, np.ndarray]:
    """Return the model's parameters, p(x) and T as arrays by name."""
    return {
        **model,
        **dict(zip(_PRIOR, (prior.weights, prior.mean, prior.precision), strict=True)),
        _TEMPERATURE: np.array(float(temperature)),
    }


def part_weights(weights: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], InputPrior, float]:
    """Return the model's parameters, p(x) and T from the arrays of :func:`join_weights`.

    Raises
    ------
    ValueError
        When p(x) or T is missing, p(x) is not a mixture of Gaussians, or T is not positive.
    """
    model = {name: array for name, array in weights.items() if name not in (*_PRIOR, _TEMPERATURE)}
    parts, mean, precision = (weights.get(name, np.empty(0)) for name in _PRIOR)
    components, input_dim = mean.shape if mean.ndim == 2 else (0, 0)
    temperature = weights.get(_TEMPERATURE, np.empty(0))
    fits = (parts.shape, precision.shape) == ((components,), (components, input_dim, input_dim))
    if not components or not fits or temperature.shape != ():
        raise ValueError("the weights lack p(x) of the inputs, or the temperature")
    if np.any(parts <= 0) or abs(parts.sum() - 1.0) > 1e-6:
        raise ValueError("the components of p(x) have weights that are not positive, or do not sum to one")
    least = np.linalg.eigvalsh(precision).min()
    if least < -1e-9 * np.abs(precision).max() or (components > 1 and least <= 0):
        raise ValueError("p(x) has a negative precision along some direction")
    if not temperature > 0:
        raise ValueError(f"the temperature is {temperature}, not positive")
    return model, InputPrior(parts, mean, precision), float(temperature)
