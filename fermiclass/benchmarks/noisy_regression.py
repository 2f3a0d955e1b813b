"""Regression of counts, and of numbers with outliers, on inputs with known noise. It shows the gain from the noise.

Inputs are uniform on [−3, 3]. Their noise has known standard deviations, uniform up to 1. The function is
``f(x) = 1 + 1.5 sin(1.5 x)``. Counts are Poisson with the rate exp f. Numbers are f plus 0.2 times Student's t noise
with three degrees of freedom. Held-out sources have input noise of the same kind.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from fermiclass.benchmarks.records import RecordFile
from fermiclass.benchmarks.studies import mean_and_error, run_pieces
from fermiclass.benchmarks.tables import plain_table
from fermiclass.io.arrays import FloatArray

#: Problems, and their correct likelihood.
PROBLEMS: Mapping[str, str] = MappingProxyType({"poisson": "poisson", "student-t": "student-t"})
#: Input models; the first ignores the noise.
METHODS = ("mgp", "nimgp")
#: Keys that every record of this benchmark has.
NEEDED = frozenset({"cell", "method", "split", "log_density", "seconds"})

_NUM_TRAIN, _NUM_TEST, _LARGEST_NOISE, _OUTPUT_SCALE = 200, 500, 1.0, 0.2
_SETTINGS: Mapping[str, Any] = MappingProxyType({"num_inducing": 20, "steps": 500, "num_draws": 64})


class Observed(NamedTuple):
    """Inputs ``(n, 1)``, their variances, and outputs ``(n,)``."""

    X: FloatArray
    X_var: FloatArray
    y: FloatArray


def draw(problem: str, size: int, rng: np.random.Generator) -> Observed:
    """Draw sources of a problem."""
    x, std = rng.uniform(-3, 3, size), rng.uniform(0, _LARGEST_NOISE, size)
    f = 1 + 1.5 * np.sin(1.5 * x)
    y = rng.poisson(np.exp(f)) if problem == "poisson" else f + _OUTPUT_SCALE * rng.standard_t(3, size)
    X = x + std * rng.standard_normal(size)
    return Observed(X[:, None], std[:, None] ** 2, np.asarray(y, np.float64))


def run(
    *,
    num_sets: int = 20,
    problems: Sequence[str] = tuple(PROBLEMS),
    methods: Sequence[str] = METHODS,
    file: RecordFile | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Train each method on each training set, and score 500 other sources.

    Parameters
    ----------
    num_sets
        Number of repetitions. Each has its own training and test sources.
    problems, methods
        Some of `PROBLEMS` and `METHODS`.
    file, progress
        See :func:`fermiclass.benchmarks.studies.run_pieces`.

    Returns
    -------
    dict
        ``"cells"``: by problem and method the mean log density of held-out sources (``"log_density"``), its difference
        from that of the first method on the same sets (``"above_first"``), their standard errors over the sets
        (``"…_se"``), the number of sets in which it is higher (``"better"``), and ``"seconds"`` per set.
    """
    keys = [(problem, method, k) for problem in problems for k in range(num_sets) for method in methods]
    done = run_pieces(keys, _score, file=file, progress=progress)
    cells: dict[str, dict[str, dict[str, float]]] = {}
    for problem in problems:
        by_method = {m: np.array([done[problem, m, k]["log_density"] for k in range(num_sets)]) for m in methods}
        cells[problem] = {}
        for method, values in by_method.items():
            mean, error = mean_and_error(values)
            cells[problem][method] = {"log_density": mean, "log_density_se": error}
            if method != methods[0]:
                above = values - by_method[methods[0]]
                gain, gain_error = mean_and_error(above)
                cells[problem][method] |= {
                    "above_first": gain,
                    "above_first_se": gain_error,
                    "better": int(np.sum(above > 0)),
                }
            cells[problem][method]["seconds"] = float(
                np.mean([done[problem, method, k]["seconds"] for k in range(num_sets)])
            )
    return {"benchmark": "noisy-regression", "sets": num_sets, "cells": cells}


def print_results(results: Mapping[str, Any], console: Console | None = None) -> None:
    """Print log densities."""
    console = console or Console(highlight=False)
    table = plain_table("problem", "method", numbers=("log density", "above the first's", "sets", "seconds"))
    for problem, methods in results["cells"].items():
        for method, score in methods.items():
            gain = ""
            if "above_first" in score:
                gain = f"{score['above_first']:.4f} ± {score['above_first_se']:.4f}"
            table.add_row(
                problem,
                method,
                f"{score['log_density']:.4f} ± {score['log_density_se']:.4f}",
                gain,
                f"{score['better']}" if gain else "",
                f"{score['seconds']:.1f}",
            )
    console.print(table)
    console.print(
        f"\nMeans over held-out sources, with standard errors over {results['sets']} training sets. sets: number of "
        "sets in which a method is better than the first method, which ignores the noise of the inputs."
    )


def _score(problem: str, method: str, k: int) -> dict[str, Any]:
    from fermiclass.nimgp.estimators.sparse_regressor import NIMGPRegressor

    rng = np.random.default_rng([k, list(PROBLEMS).index(problem)])
    train, test = draw(problem, _NUM_TRAIN, rng), draw(problem, _NUM_TEST, rng)
    started = time.perf_counter()
    model = NIMGPRegressor(PROBLEMS[problem], method=method, **_SETTINGS).fit(train.X, train.y, X_var=train.X_var)
    log_p = model.log_density(test.X, test.y, X_var=test.X_var)
    return {"log_density": float(log_p.mean()), "seconds": time.perf_counter() - started}
