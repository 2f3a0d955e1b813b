"""Eight multi-class data sets of the UCI repository with noise put into their inputs (the main paper's tables 5 and 6).

Each data set has two files in ``DATA/uci/NAME``: ``X.txt`` (one source per row) and ``Y.txt`` (classes 0, 1, …). It may
also come from OpenML. Splits and noise are those of the authors: one generator with seed 0 makes 100 permutations of
the rows, then noise (100, N, D) of variance 0.1, 0.25 and 0.5. The methods learn the noise: X_var is zero.
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
from fermiclass_benchmarks.methods import METHOD_OPTIONS

NOISE = ("0", "0.1", "0.25", "0.5")

_TRAIN = 0.9
_NUM_SPLITS = 100

#: Names at OpenML, all of version 1.
_OPENML: Mapping[str, str] = MappingProxyType(
    {"glass": "glass", "new-thyroid": "thyroid-new", "vehicle": "vehicle", "wine": "wine"}
)

#: Numbers of inputs and of classes.
_SIZES = {"glass": (9, 6), "new-thyroid": (5, 3), "satellite": (36, 6), "svmguide2": (20, 3), "vehicle": (18, 4)} | {
    "vowel": (10, 6),
    "waveform": (21, 3),
    "wine": (13, 3),
}
_SMALL = ",".join(name for name in _SIZES if name != "satellite")


class UCI(Benchmark):
    """The benchmark ``uci``: 90 % training rows, features standardised by them, then noise of unknown variance.

    The folder of the data holds ``uci/``; `openml` fetches missing data sets from OpenML.
    """

    name = "uci"
    cells = tuple(f"{data_set}/{noise}" for data_set in _SIZES for noise in NOISE)
    num_splits = _NUM_SPLITS
    tables = MappingProxyType(
        {
            "Tables 5 and 6": PaperTable(_SMALL),
            "Tables 5 and 6, the authors' start": PaperTable(_SMALL, ("nimgp@authors",), optimisers=("paper",)),
            "Tables 5 and 6, V = 0.1 kept": PaperTable(_SMALL, ("nimgp-fo@fixed",), optimisers=("paper",)),
            **{
                f"Tables 5 and 6, V = {V} kept": PaperTable(
                    ",".join(f"{name}/{V}" for name in _SMALL.split(",")), (f"nimgp-fo@fixed-{V}",), False, ("paper",)
                )
                for V in NOISE[2:]
            },
            "Tables 5 and 6, satellite": PaperTable("satellite", slow=True),
        }
    )
    options = ("data", "openml", "noise", *METHOD_OPTIONS)
    classes = MappingProxyType({data_set: classes for data_set, (_, classes) in _SIZES.items()})

    def problem(self, cell: str, split: int) -> Problem:
        """Return a split of a cell; X_var is zero. Raises BenchmarkError when the data cannot be read or fetched."""
        data_set, _, noise = cell.partition("/")
        X, y, splits, noises = _load(self.folder, data_set, self.openml)
        train, test = np.split(splits[split], [int(_TRAIN * len(y))])
        X = standardised(X, train)
        if noise in noises:
            X += noises[noise][split]
        return Problem.split(X, 0.0, y, train, test)

    def settings(self, cell: str) -> Mapping[str, Any]:
        """Return 1,000 epochs with the step size of the authors' code, and a learned noise variance per feature.

        NIMGP starts with half the noise: from nearly none it learns no noise, and stays above table 5 on glass.
        """
        input_dim = _SIZES[cell.partition("/")[0]][0]
        start = authors_start(input_dim) | {"inputs": {"units": "noise", "spread": 0.5}}
        return {"epochs": 1000, "learning_rate": 1e-3, "noise": "per-feature", **start}


def standardised(X: FloatArray, train: NDArray[np.int64]) -> FloatArray:
    """Return all rows with the mean and scale of the training rows removed. Constant features keep their scale."""
    mean, scale = X[train].mean(axis=0), X[train].std(axis=0)
    return np.asarray((X - mean) / np.where(scale > 0, scale, 1.0))


@lru_cache(maxsize=2)
def _load(
    folder: Path, data_set: str, openml: bool
) -> tuple[FloatArray, NDArray[np.int64], NDArray[np.int64], Mapping[str, FloatArray]]:
    """Return inputs (N, D), classes (N,), splits (100, N), and noise (100, N, D) for each level but 0."""
    X, y = load_rows(folder, data_set, openml, UCI.name)
    rng = np.random.RandomState(0)  # the authors' generator: numpy.random.seed(0)
    splits = np.stack([rng.permutation(len(X)) for _ in range(_NUM_SPLITS)])
    noise = {level: rng.normal(size=(_NUM_SPLITS, *X.shape)) * np.sqrt(float(level)) for level in NOISE[1:]}
    return X, y, splits, noise


def load_rows(
    folder: Path, data_set: str, openml: bool, benchmark: str, least: int = 1
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return inputs (N, D) and classes (N,) from ``folder/uci/data_set``, or from OpenML if this is missing.

    Raises BenchmarkError when the data cannot be read or fetched, or have fewer rows than `least`. The message names
    the benchmark.
    """
    home = folder / "uci" / data_set
    if openml and not home.is_dir():
        here = f"give the folder that holds uci/{data_set}/ with --data"
        if data_set not in _OPENML:
            raise BenchmarkError(f"OpenML has no data set like the paper's '{data_set}': {here}")
        return fetch(_OPENML[data_set], here)
    try:
        X, y = np.loadtxt(home / "X.txt", ndmin=2), np.loadtxt(home / "Y.txt", dtype=np.int64)
        if len(X) != len(y) or len(y) < least:
            raise ValueError(f"{len(X)} rows and {len(y)} classes: expected as many of both, at least {least}")
    except (OSError, ValueError) as error:
        raise BenchmarkError(
            f"the data set '{data_set}' of the benchmark '{benchmark}' cannot be read from '{home}' ({error}). Give "
            "the folder that holds uci/ with --data, or fetch missing data sets with --openml if the benchmark has it."
        ) from error
    return X, y


def fetch(name: str, otherwise: str, *, parser: str = "liac-arff") -> tuple[FloatArray, NDArray[np.int64]]:
    """Return inputs and classes of a data set of OpenML; BenchmarkError when it cannot be fetched.

    The rows may have another order than the authors', which changes the splits. `otherwise` says what to do without it.
    """
    from sklearn.datasets import fetch_openml

    try:
        X, y = fetch_openml(name, version=1, return_X_y=True, as_frame=False, parser=parser)
    except (OSError, ValueError) as error:  # URLError is an OSError
        raise BenchmarkError(
            f"the data set '{name}' cannot be fetched from OpenML ({error}). Check the network, or {otherwise}."
        ) from error
    return np.asarray(X, np.float64), np.unique(np.asarray(y), return_inverse=True)[1].astype(np.int64)
