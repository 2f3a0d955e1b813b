"""The main paper's astrophysics data: 454 bright sources of 4FGL-DR1, 100 splits (its tables 9, 10 and 17).

The data are three files in ``DATA/astro454``: ``features.csv`` (Flux1000 and its uncertainty, ln Signif_Avg,
ln Pivot_Energy, LP_Index and its uncertainty, LP_beta and its uncertainty, ln LP_SigCurv), ``sources.csv`` (names and
classes) and ``splits.txt.gz`` (one permutation of the rows per line: 408 train, 46 test).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import BenchmarkError
from fermiclass.io import FloatArray
from fermiclass.nimgp.estimators.of_papers import authors_start
from fermiclass_benchmarks.benchmark import Benchmark, PaperTable, Problem
from fermiclass_benchmarks.methods import FAST_OPTIMISER, METHOD_OPTIONS

NUM_TRAIN = 408

_VALUES, _ERRORS = (0, 2, 3, 4, 6, 8), (1, None, None, 5, 7, None)  # columns of features.csv

#: Columns of X in each cell: all six, or all except the significances of detection and curvature (appendix B.4).
_FEATURES: Mapping[str, list[int]] = MappingProxyType({"six": [0, 1, 2, 3, 4, 5], "four": [0, 2, 3, 4]})


class Astro454(Benchmark):
    """Sources of DR1 above 30 σ, classes bll, fsrq and psr, input noise from the catalogue's error bars.

    The folder of the data holds ``astro454/``.
    """

    name = "astro454"
    cells = tuple(_FEATURES)
    default_cells = ("six",)
    num_splits = 100
    tables = MappingProxyType({"Tables 9 and 10": PaperTable("six"), "Tables 17 and 18": PaperTable("four")})
    options = ("data", *METHOD_OPTIONS)
    classes = MappingProxyType({"six": 3, "four": 3})
    paper_first = True  # the quick optimiser has another order of the methods

    def problem(self, cell: str, split: int) -> Problem:
        """Return a split of a cell: 408 training sources and 46 test sources.

        Raises BenchmarkError when the data cannot be read.
        """
        (X, X_var, y, splits), features = _load(self.folder), _FEATURES[cell]
        train, test = np.split(splits[split], [NUM_TRAIN])
        return Problem.split(X[:, features], X_var[:, features], y, train, test)

    def fast_settings(self, cell: str, method: str) -> Mapping[str, Any] | None:
        """Return larger steps for methods that end at the same bound with them (docs/development/training.md)."""
        large = method in ("mgp", "nimgp", "nimgp-fo")
        return {**FAST_OPTIMISER, "steps": 150, "learning_rate": 0.1} if large else None

    def settings(self, cell: str) -> Mapping[str, Any]:
        """Return inducing points and step size of the authors' code. The text of the paper has a step size of 0.01."""
        input_dim = 6 if cell == "six" else 4
        return {"num_inducing": 100, "learning_rate": 1e-3, **authors_start(input_dim)}


@lru_cache(maxsize=1)
def _load(folder: Path) -> tuple[FloatArray, FloatArray, NDArray[np.str_], NDArray[np.int64]]:
    """Return inputs and variances (454, 6), classes (454,), and splits (100, 454)."""
    home = folder / "astro454"
    try:
        columns = np.loadtxt(home / "features.csv", delimiter=",", skiprows=1)
        y = np.loadtxt(home / "sources.csv", delimiter=",", skiprows=1, usecols=3, dtype=str)
        splits = np.loadtxt(home / "splits.txt.gz", dtype=np.int64)
        if not (len(columns) == len(y) == splits.shape[1]):
            raise ValueError(f"{len(columns)} rows of features, {len(y)} classes, splits of {splits.shape[1]} rows")
        zeros = np.zeros(len(columns))
        X_var = np.stack([zeros if k is None else columns[:, k] ** 2 for k in _ERRORS], axis=1)
        return columns[:, _VALUES], X_var, y, splits
    except (OSError, EOFError, ValueError, IndexError) as error:
        raise BenchmarkError(
            f"the data of the benchmark 'astro454' cannot be read from '{home}' ({error}). Give the folder that holds "
            "astro454/ with --data."
        ) from error
