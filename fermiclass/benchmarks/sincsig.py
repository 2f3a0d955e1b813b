"""Regression with uncertain inputs on *sincsig*, after Dallaire, Besse & Chaib-draa (2011), section 4.1.

``sin(x)/x`` for x ≥ 0 and ``0.5 / (1 + exp(−10 x − 5)) + 0.5`` for x < 0, on [−10, 10]. The paper shows figures only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from scipy.special import expit

from fermiclass.benchmarks.studies import fit_network
from fermiclass.benchmarks.tables import plain_table
from fermiclass.io.arrays import FloatArray

#: Kernels of the Gaussian processes. The paper's third experiment has the mixture.
KERNELS: Mapping[str, str] = MappingProxyType({"classic": "plain-se", "uncertain": "se", "mixture": "se+plain-se"})

_GRID = np.linspace(-10.0, 10.0, 100)
_STARTS = 2
_FIRST_BOUND, _FIRST_OUTPUT_STD = 2.5, 0.1


class TrainingSet(NamedTuple):
    """Observed inputs, their variances, outputs ``(N,)``, and the variances of the outputs if they are known."""

    X: FloatArray
    X_var: FloatArray
    y: FloatArray
    y_var: FloatArray | None


def sincsig(x: FloatArray) -> FloatArray:
    """Return the values of the true function."""
    return np.where(x >= 0, np.sinc(x / np.pi), 0.5 * expit(10.0 * x + 5.0) + 0.5)


def draw(size: int, rng: np.random.Generator, *, bound: float, output_std: float | None = None) -> TrainingSet:
    """Draw N points. Standard deviations of inputs are uniform up to `bound`.

    The standard deviation of all outputs is `output_std`, and unknown. If it is None, the standard deviations of the
    outputs are uniform up to `bound`, and known.
    """
    x, std = rng.uniform(-10, 10, size), rng.uniform(0, bound, size)
    output = rng.uniform(0, bound, size) if output_std is None else np.full(size, output_std)
    X, y = x + std * rng.standard_normal(size), sincsig(x) + output * rng.standard_normal(size)
    return TrainingSet(X[:, None], std[:, None] ** 2, y, output**2 if output_std is None else None)


def run(
    *,
    num_sets: int = 25,
    sizes: Sequence[int] = (50, 100, 200, 300),
    bounds: Sequence[float] = (0.1, 0.4, 1.0, 3.0),
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Run the paper's first experiment for several N, and its third for several bounds of the noise.

    Parameters
    ----------
    num_sets
        Number of training sets of each.
    sizes
        N of the first experiment. The noise of inputs has standard deviations up to 2.5, that of outputs 0.1 (unknown).
    bounds
        Bounds of the third experiment. The noise of outputs has known variances, and N is 100.
    progress
        Called with the numbers of sets done and in total.

    Returns
    -------
    dict
        ``"cells"``: by experiment and method the mean squared error over a grid of known inputs (``"mse"``). Gaussian
        processes also have the mean log density of the true function there (``"log_density"``). Both have standard
        errors (``"mse_error"``, …).
    """
    cells: dict[str, tuple[int, float, float | None]] = {
        f"N = {size}": (size, _FIRST_BOUND, _FIRST_OUTPUT_STD) for size in sizes
    }
    cells |= {f"noise to {bound:g}": (100, bound, None) for bound in bounds}
    results: dict[str, Any] = {}
    for place, (cell, (size, bound, output_std)) in enumerate(cells.items()):
        scores: dict[str, list[tuple[float, ...]]] = {}
        for k in range(num_sets):
            data = draw(size, np.random.default_rng([k, place]), bound=bound, output_std=output_std)
            for method, kernel in KERNELS.items():
                scores.setdefault(method, []).append(_process(data, kernel))
            scores.setdefault("mlp", []).append(_network(data))
            if progress is not None:
                progress(place * num_sets + k + 1, len(cells) * num_sets)
        results[cell] = {method: _summary(values) for method, values in scores.items()}
    return {"benchmark": "sincsig", "sets": num_sets, "cells": results}


def print_sincsig(results: Mapping[str, Any], console: Console | None = None) -> None:
    """Print errors and log densities."""
    console = console or Console(highlight=False)
    for score, title, factor in (("mse", "MSE × 1000", 1e3), ("log_density", "log density", 1.0)):
        cells = results["cells"]
        methods = [method for method, value in next(iter(cells.values())).items() if score in value]
        table = plain_table(title, numbers=methods)
        for cell, values in cells.items():
            pairs = [(factor * values[method][score], factor * values[method][f"{score}_error"]) for method in methods]
            table.add_row(cell, *[f"{value:.3g} ± {error:.2g}" for value, error in pairs])
        console.print(table)
        console.print()
    console.print(
        f"Means and standard errors over {results['sets']} training sets. N: number of points, with input noise up to "
        "2.5 and unknown output noise of 0.1. Below: 100 points, with known noise of inputs and outputs up to the same "
        "bound. classic ignores the noise of the inputs; mlp has two layers of five units."
    )


def _process(data: TrainingSet, kernel: str) -> tuple[float, float]:
    from fermiclass.nimgp.estimators.exact_regressor import UncertainGPRegressor

    model = UncertainGPRegressor(kernel, starts=_STARTS).fit(data.X, data.y, X_var=data.X_var, y_var=data.y_var)
    mean, std = model.predict(_GRID[:, None], return_std=True)
    off = mean - sincsig(_GRID)
    density = -0.5 * np.log(2.0 * np.pi * std**2) - 0.5 * (off / std) ** 2
    return float(np.mean(off**2)), float(np.mean(density))


def _network(data: TrainingSet) -> tuple[float]:
    centre, scale = data.X.mean(), data.X.std()
    network = fit_network((data.X - centre) / scale, data.y)
    off = network.predict((_GRID[:, None] - centre) / scale) - sincsig(_GRID)
    return (float(np.mean(off**2)),)


def _summary(values: Sequence[tuple[float, ...]]) -> dict[str, float]:
    scores = np.array(values)
    means, errors = scores.mean(axis=0), scores.std(axis=0) / np.sqrt(max(1, len(scores) - 1))
    found: dict[str, float] = {}
    for name, mean, error in zip(("mse", "log_density"), means, errors, strict=False):
        found |= {name: float(mean), f"{name}_error": float(error)}
    return found
