"""Learning the dynamics of a cart-pole from uncertain states, after Dallaire, Besse & Chaib-draa (2011), section 4.2.

The inputs are position φ and velocity of the cart, angle α and angular velocity of the pole, and the force F. The
output is the next state, by Euler's method with the accelerations that the paper prints. States and forces are drawn
uniformly. Inputs and outputs have noise with known standard deviations, uniform up to 2.5. The paper does not state
domains, constants and step. Here the domains are ±10 for φ, both velocities and F, and ±π for α; g is 9.8, the masses
are 1 and 0.1, the half-length is 0.5, and the step is 0.1. The paper shows figures only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.console import Console

from fermiclass.benchmarks.records import RecordFile
from fermiclass.benchmarks.studies import fit_network, mean_and_error, run_pieces
from fermiclass.benchmarks.tables import plain_table
from fermiclass.io.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Sizes of the training sets by name.
PROBLEMS: Mapping[str, int] = MappingProxyType({"50": 50, "100": 100, "200": 200, "300": 300})
#: The paper's classic and uncertain processes, and its network with two layers of five units.
METHODS = ("classic", "uncertain", "mlp")
OUTPUTS = ("position", "velocity", "angle", "angular velocity")
#: Keys that every record of this benchmark has.
NEEDED = frozenset({"cell", "method", "split", "mse", "seconds"})

_KERNELS = {"classic": "plain-se", "uncertain": "se"}
_HALF_WIDTHS = np.array([10.0, 10.0, np.pi, 10.0, 10.0])
_G, _CART, _POLE, _HALF_LENGTH, _STEP = 9.8, 1.0, 0.1, 0.5, 0.1
_LARGEST_NOISE, _NUM_TEST, _STARTS = 2.5, 1000, 1


class TrainingSet(NamedTuple):
    """Observed states with forces ``(N, 5)``, their variances, next states ``(N, 4)``, and their variances."""

    X: FloatArray
    X_var: FloatArray
    Y: FloatArray
    Y_var: FloatArray


def next_state(state: FloatArray) -> FloatArray:
    """Return ``(n, 4)`` next states of states and forces ``(n, 5)``."""
    velocity, angle, spin, force = state.T[1:]
    sine, cosine, mass = np.sin(angle), np.cos(angle), _CART + _POLE
    pull = _POLE * _HALF_LENGTH
    turn = (_G * sine + cosine * (-force - pull * spin**2 * sine) / mass) / (
        _HALF_LENGTH * (4.0 / 3.0 - _POLE * cosine**2 / mass)
    )
    # The paper prints sin α in the last term; the equation of motion has cos α.
    push = (force + pull * (spin**2 * sine - turn * cosine)) / mass
    change = np.stack([velocity, push, spin, turn], axis=1)
    return np.asarray(state[:, :4] + _STEP * change)


def draw(size: int, rng: np.random.Generator) -> TrainingSet:
    """Draw N noisy states with forces, and the noisy next states of the noiseless states."""
    x = rng.uniform(-_HALF_WIDTHS, _HALF_WIDTHS, (size, 5))
    std, output_std = rng.uniform(0, _LARGEST_NOISE, (size, 5)), rng.uniform(0, _LARGEST_NOISE, (size, 4))
    X = x + std * rng.standard_normal(x.shape)
    Y = next_state(x) + output_std * rng.standard_normal(output_std.shape)
    return TrainingSet(X, std**2, Y, output_std**2)


def run(
    *,
    num_sets: int = 25,
    problems: Sequence[str] = tuple(PROBLEMS),
    file: RecordFile | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Train each method on each training set, one output at a time, and predict 1000 noiseless states.

    Parameters
    ----------
    num_sets
        Number of training sets of each size.
    problems
        Some of `PROBLEMS`.
    file, progress
        See :func:`fermiclass.benchmarks.studies.run_pieces`.

    Returns
    -------
    dict
        ``"cells"``: by size and method the mean squared error of each output (``"mse"``), its standard error over the
        sets (``"mse_se"``), and ``"seconds"`` per set.
    """
    keys = [(problem, method, k) for problem in problems for k in range(num_sets) for method in METHODS]
    done = run_pieces(keys, _score, file=file, progress=progress)
    cells: dict[str, Any] = {}
    for problem in problems:
        cells[problem] = {}
        for method in METHODS:
            records = [done[problem, method, k] for k in range(num_sets)]
            pairs = [mean_and_error(record["mse"][j] for record in records) for j in range(len(OUTPUTS))]
            cells[problem][method] = {
                "mse": [mean for mean, _ in pairs],
                "mse_se": [error for _, error in pairs],
                "seconds": float(np.mean([record["seconds"] for record in records])),
            }
    return {"benchmark": "cartpole", "sets": num_sets, "outputs": list(OUTPUTS), "cells": cells}


def print_results(results: Mapping[str, Any], console: Console | None = None) -> None:
    """Print errors."""
    console = console or Console(highlight=False)
    table = plain_table("N", "method", numbers=results["outputs"])
    for size, methods in results["cells"].items():
        for method, score in methods.items():
            pairs = zip(score["mse"], score["mse_se"], strict=True)
            table.add_row(size, method, *[f"{mean:.3g} ± {error:.2g}" for mean, error in pairs])
    console.print(table)
    console.print(
        f"\nMean squared errors of noiseless next states, with standard errors over {results['sets']} training sets. "
        "classic ignores the noise of the inputs; mlp has two layers of five units."
    )


def figure(results: Mapping[str, Any]) -> Figure:
    """Draw the error of each output against N, one panel per output (the paper's figure 7)."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    from fermiclass.plots.colours import PALETTE

    drawn = Figure(figsize=(7.2, 5.2), layout="constrained")
    panels = drawn.subplots(2, 2, sharex=True)
    sizes = [int(size) for size in results["cells"]]
    for j, (axes, output) in enumerate(zip(panels.flat, results["outputs"], strict=True)):
        for method, colour in zip(METHODS, PALETTE, strict=False):
            scores = [cell[method] for cell in results["cells"].values()]
            axes.errorbar(
                sizes,
                [score["mse"][j] for score in scores],
                [score["mse_se"][j] for score in scores],
                color=colour,
                marker="o",
                markersize=4,
                label=method,
            )
        axes.set_title(output, fontsize="medium")
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    for axes in panels[1]:
        axes.set_xlabel("training points")
    for axes in panels[:, 0]:
        axes.set_ylabel("mean squared error")
    panels[1, 1].legend(frameon=False)
    return drawn


def _score(problem: str, method: str, k: int) -> dict[str, Any]:
    data = draw(PROBLEMS[problem], np.random.default_rng([k, PROBLEMS[problem]]))
    x = np.random.default_rng([k, 0]).uniform(-_HALF_WIDTHS, _HALF_WIDTHS, (_NUM_TEST, 5))
    started = time.perf_counter()
    predict = _network if method == "mlp" else _process
    found = np.stack([predict(method, data, j, x) for j in range(len(OUTPUTS))], axis=1)
    mse = np.mean((found - next_state(x)) ** 2, axis=0)
    return {"mse": mse.tolist(), "seconds": time.perf_counter() - started}


def _process(method: str, data: TrainingSet, j: int, x: FloatArray) -> FloatArray:
    from fermiclass.nimgp.estimators.exact_regressor import UncertainGPRegressor

    model = UncertainGPRegressor(_KERNELS[method], starts=_STARTS)
    return np.asarray(model.fit(data.X, data.Y[:, j], X_var=data.X_var, y_var=data.Y_var[:, j]).predict(x))


def _network(method: str, data: TrainingSet, j: int, x: FloatArray) -> FloatArray:
    y = data.Y[:, j]
    network = fit_network(data.X / _HALF_WIDTHS, (y - y.mean()) / y.std())
    return np.asarray(y.mean() + y.std() * network.predict(x / _HALF_WIDTHS))
