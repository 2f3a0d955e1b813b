"""Regression of spectral indices on the other features and their errors, from 4FGL-DR1 to the new sources of DR4.

Methods learn LP_Index from the other 16 default features of the DR1 sources. They predict the sources that are new in
DR4, which are fainter and have larger error bars. Rows without LP_Index in the catalogue are omitted.

Features and LP_Index come from the same photons and share their errors. A method that ignores the errors of the
features therefore also predicts the errors of LP_Index. In a second cell the features have additional errors with the
variances of the catalogue, which LP_Index does not share. The methods then know the variances of these errors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from rich.console import Console

from fermiclass.benchmarks.problem import Problem
from fermiclass.benchmarks.records import RecordFile
from fermiclass.benchmarks.studies import mean_and_error, run_pieces
from fermiclass.benchmarks.tables import plain_table
from fermiclass.io.arrays import FloatArray

TARGET = "LP_Index"
#: Methods of this package: likelihood and input model.
OURS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "nimgp student-t": ("student-t", "nimgp"),
        "mgp student-t": ("student-t", "mgp"),
        "nimgp gaussian": ("gaussian", "nimgp"),
        "mgp gaussian": ("gaussian", "mgp"),
    }
)
METHODS = (*OURS, "gpflow-svgp", "boosting", "linear")
#: Keys that every record of this benchmark has.
NEEDED = frozenset({"cell", "method", "split", "rmse", "log_density", "seconds"})

_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {"num_inducing": 100, "batch_size": 500, "steps": 1500, "num_draws": 64}
)
#: Features as in the catalogues, and features with errors that the outputs do not share.
PROBLEMS = ("shared errors", "independent errors")
_SEED = 8


def load(folder: Path) -> Problem:
    """Read both releases from a folder.

    Raises
    ------
    CatalogError
        When a catalogue is missing or cannot be read.
    """
    from fermiclass.catalog import read_catalog
    from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources
    from fermiclass.features import extract_features
    from fermiclass.features.definitions import FEATURE_SETS

    first, last = (read_catalog(folder / f"4FGL-{release}.fits.gz") for release in ("DR1", "DR4"))
    names = [feature.name for feature in FEATURE_SETS["extended"] if feature.name != TARGET]
    train = extract_features(first, [*names, TARGET])
    test = extract_features(last, [*names, TARGET], imputation=train.imputation)
    known, given = ~train.imputed_value[:, -1], ~test.imputed_value[:, -1]
    found, _ = match_sources(first, last)
    new = ~np.isin(np.arange(len(test)), found[found != UNMATCHED]) & given
    return Problem(
        X=train.X[known, :-1],
        X_var=train.X_var[known, :-1],
        y=train.X[known, -1],
        X_test=test.X[new, :-1],
        X_var_test=test.X_var[new, :-1],
        y_test=test.X[new, -1],
    )


def with_independent_errors(problem: Problem) -> Problem:
    """Add errors to all features, with the variances that the features have."""
    rng = np.random.default_rng(_SEED)
    X, X_test = (
        values + rng.standard_normal(values.shape) * np.sqrt(variances)
        for values, variances in ((problem.X, problem.X_var), (problem.X_test, problem.X_var_test))
    )
    return replace(problem, X=X, X_test=X_test)


def run(
    *,
    folder: Path,
    problems: Sequence[str] = PROBLEMS,
    file: RecordFile | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Train every method on DR1, and score the new sources of DR4.

    Parameters
    ----------
    folder
        Folder of the catalogues.
    problems
        Some of `PROBLEMS`.
    file, progress
        See :func:`fermiclass.benchmarks.studies.run_pieces`.

    Returns
    -------
    dict
        ``"train"`` and ``"test"``: numbers of sources. ``"cells"``: by problem and method the root mean squared error
        (``"rmse"``), the mean log density (``"log_density"``) with its standard error over sources
        (``"log_density_se"``), and ``"seconds"``.
    """
    catalogued = load(folder)
    data = dict(zip(PROBLEMS, (catalogued, with_independent_errors(catalogued)), strict=True))

    def work(cell: str, method: str, split: int) -> dict[str, Any]:
        problem = data[cell]
        started = time.perf_counter()
        mean, log_p = _PREDICT.get(method, _ours)(method, problem)
        mean_p, error = mean_and_error(log_p)
        return {
            "rmse": float(np.sqrt(np.mean((mean - problem.y_test) ** 2))),
            "log_density": mean_p,
            "log_density_se": error,
            "seconds": time.perf_counter() - started,
        }

    keys = [(cell, method, 0) for cell in problems for method in METHODS]
    done = run_pieces(keys, work, file=file, progress=progress)
    kept = ("rmse", "log_density", "log_density_se", "seconds")
    return {
        "benchmark": "lp-index",
        "train": len(catalogued.y),
        "test": len(catalogued.y_test),
        "cells": {
            cell: {method: {name: done[cell, method, 0][name] for name in kept} for method in METHODS}
            for cell in problems
        },
    }


def print_results(results: Mapping[str, Any], console: Console | None = None) -> None:
    """Print errors and log densities."""
    console = console or Console(highlight=False)
    table = plain_table("features", "method", numbers=("RMSE", "log density", "seconds"))
    for cell, methods in results["cells"].items():
        for method, score in methods.items():
            density = f"{score['log_density']:.4f} ± {score['log_density_se']:.4f}"
            table.add_row(cell, method, f"{score['rmse']:.4f}", density, f"{score['seconds']:.1f}")
    console.print(table)
    console.print(
        f"\nThe methods learn {TARGET} from {results['train']} sources of DR1 and predict the {results['test']} new "
        "sources of DR4. Only nimgp uses the errors of the features. The densities of boosting and linear are "
        "Gaussian, with the width of their errors on held-out sources of DR1."
    )


def _ours(method: str, problem: Problem) -> tuple[FloatArray, FloatArray]:
    from fermiclass.nimgp.estimators.sparse_regressor import NIMGPRegressor

    likelihood, input_model = OURS[method]
    model = NIMGPRegressor(likelihood, method=input_model, **_SETTINGS).fit(problem.X, problem.y, X_var=problem.X_var)
    mean = model.predict(problem.X_test, X_var=problem.X_var_test)
    return mean, model.log_density(problem.X_test, problem.y_test, X_var=problem.X_var_test)


def _svgp(method: str, problem: Problem) -> tuple[FloatArray, FloatArray]:
    from fermiclass.benchmarks.gpflow_svgp import regression

    centre, scale = problem.X.mean(axis=0), problem.X.std(axis=0)
    y_centre, y_scale = problem.y.mean(), problem.y.std()
    X, X_test = (problem.X - centre) / scale, (problem.X_test - centre) / scale
    y, y_test = ((values - y_centre) / y_scale for values in (problem.y, problem.y_test))
    mean, log_p = regression(
        X, y, X_test, y_test, num_inducing=_SETTINGS["num_inducing"], batch_size=_SETTINGS["batch_size"],
        steps=_SETTINGS["steps"],
    )  # fmt: skip
    return y_centre + y_scale * mean, log_p - np.log(y_scale)


def _boosting(method: str, problem: Problem) -> tuple[FloatArray, FloatArray]:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return _of_scikit_learn(HistGradientBoostingRegressor(random_state=0), problem)


def _linear(method: str, problem: Problem) -> tuple[FloatArray, FloatArray]:
    from sklearn.linear_model import LinearRegression

    return _of_scikit_learn(LinearRegression(), problem)


def _of_scikit_learn(model: Any, problem: Problem) -> tuple[FloatArray, FloatArray]:
    from sklearn.model_selection import KFold, cross_val_predict
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):  # several threads are slow while other processes are busy
        held_out = cross_val_predict(model, problem.X, problem.y, cv=KFold(5, shuffle=True, random_state=0))
        mean = model.fit(problem.X, problem.y).predict(problem.X_test)
    std = np.sqrt(np.mean((held_out - problem.y) ** 2))
    return mean, -0.5 * np.log(2 * np.pi * std**2) - 0.5 * ((problem.y_test - mean) / std) ** 2


_PREDICT = {"gpflow-svgp": _svgp, "boosting": _boosting, "linear": _linear}
