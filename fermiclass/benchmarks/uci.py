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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermiclass.benchmarks.benchmark import Benchmark, PaperTable, Problem
from fermiclass.benchmarks.methods import METHOD_OPTIONS, authors_start
from fermiclass.errors import BenchmarkError
from fermiclass.io.arrays import FloatArray

NOISE = ("0", "0.1", "0.25", "0.5")

_TRAIN = 0.9
_NUM_SPLITS = 100

#: Names and versions at OpenML.
_OPENML: Mapping[str, tuple[str, int]] = MappingProxyType(
    {"glass": ("glass", 1), "new-thyroid": ("thyroid-new", 1), "vehicle": ("vehicle", 1), "wine": ("wine", 1)}
)

_INPUT_DIM = {"glass": 9, "new-thyroid": 5, "satellite": 36, "svmguide2": 20, "vehicle": 18, "vowel": 10} | {
    "waveform": 21,
    "wine": 13,
}

# By data set: a row of NLL (table 5) and a row of errors (table 6) for each noise, with the methods as columns.
_PUBLISHED = {
    "glass": (
        ((1.63, 1.28, 1.17, 1.19), (0.346, 0.387, 0.375, 0.345)),
        ((1.71, 1.91, 1.33, 1.37), (0.389, 0.412, 0.413, 0.387)),
        ((1.89, 1.96, 1.36, 1.45), (0.433, 0.456, 0.467, 0.432)),
        ((2.03, 2.01, 1.45, 1.52), (0.47, 0.501, 0.51, 0.473)),
    ),
    "new-thyroid": (
        ((0.096, 0.083, 0.122, 0.113), (0.041, 0.031, 0.042, 0.044)),
        ((0.278, 0.303, 0.19, 0.201), (0.076, 0.078, 0.07, 0.075)),
        ((0.445, 0.472, 0.271, 0.302), (0.101, 0.106, 0.093, 0.098)),
        ((0.565, 0.623, 0.369, 0.381), (0.125, 0.148, 0.139, 0.122)),
    ),
    "satellite": (
        ((0.5, 0.363, 0.281, 0.316), (0.092, 0.092, 0.118, 0.093)),
        ((0.703, 0.613, 0.347, 0.421), (0.128, 0.127, 0.142, 0.128)),
        ((0.835, 0.77, 0.409, 0.472), (0.155, 0.155, 0.163, 0.155)),
        ((0.973, 0.932, 0.491, 0.531), (0.181, 0.181, 0.188, 0.181)),
    ),
    "svmguide2": (
        ((0.594, 0.586, 0.519, 0.531), (0.166, 0.165, 0.174, 0.165)),
        ((0.663, 0.655, 0.565, 0.596), (0.198, 0.198, 0.192, 0.198)),
        ((0.761, 0.756, 0.627, 0.638), (0.217, 0.218, 0.237, 0.216)),
        ((0.877, 0.878, 0.706, 0.702), (0.256, 0.256, 0.288, 0.256)),
    ),
    "vehicle": (
        ((0.638, 0.514, 0.408, 0.497), (0.16, 0.155, 0.216, 0.159)),
        ((1.25, 1.28, 0.612, 0.795), (0.291, 0.295, 0.291, 0.291)),
        ((1.61, 1.65, 0.783, 0.967), (0.357, 0.366, 0.351, 0.36)),
        ((1.93, 1.99, 0.994, 1.1), (0.428, 0.422, 0.445, 0.424)),
    ),
    "vowel": (
        ((0.415, 0.278, 0.321, 0.445), (0.07, 0.054, 0.096, 0.068)),
        ((0.836, 0.815, 0.656, 0.673), (0.217, 0.217, 0.246, 0.218)),
        ((1.37, 1.38, 1.04, 0.943), (0.351, 0.345, 0.432, 0.349)),
        ((1.99, 2.08, 1.33, 1.25), (0.473, 0.478, 0.565, 0.475)),
    ),
    "waveform": (
        ((0.676, 0.657, 0.335, 0.451), (0.155, 0.153, 0.14, 0.155)),
        ((0.752, 0.734, 0.381, 0.52), (0.162, 0.163, 0.154, 0.162)),
        ((0.849, 0.836, 0.434, 0.519), (0.193, 0.193, 0.188, 0.193)),
        ((1.01, 0.984, 0.503, 0.565), (0.225, 0.225, 0.222, 0.225)),
    ),
    "wine": (
        ((0.054, 0.056, 0.074, 0.065), (0.024, 0.024, 0.019, 0.022)),
        ((0.087, 0.089, 0.097, 0.093), (0.034, 0.036, 0.033, 0.033)),
        ((0.134, 0.136, 0.15, 0.141), (0.052, 0.055, 0.049, 0.052)),
        ((0.253, 0.264, 0.24, 0.236), (0.092, 0.092, 0.093, 0.088)),
    ),
}


class _Data(NamedTuple):
    """Inputs (N, D), classes (N,), splits (100, N), and standard normal noise (100, N, D) for each level but 0."""

    X: FloatArray
    y: NDArray[np.int64]
    splits: NDArray[np.int64]
    noise: Mapping[str, FloatArray]


class UCI(Benchmark):
    """The benchmark ``uci``: 90 % training rows, features standardised by them, then noise of unknown variance.

    The folder of the data holds ``uci/``; `openml` fetches missing data sets from OpenML.
    """

    name = "uci"
    cells = tuple(f"{data_set}/{noise}" for data_set in _PUBLISHED for noise in NOISE)
    num_splits = _NUM_SPLITS
    tables = MappingProxyType(
        {
            "Tables 5 and 6": PaperTable(",".join(name for name in _PUBLISHED if name != "satellite")),
            "Tables 5 and 6, satellite": PaperTable("satellite", slow=True),
        }
    )
    published = MappingProxyType(
        {
            (f"{data_set}/{noise}", method): {"nll": nll, "error": error}
            for data_set, rows in _PUBLISHED.items()
            for noise, (nlls, errors) in zip(NOISE, rows, strict=True)
            for method, nll, error in zip(Benchmark.methods, nlls, errors, strict=True)
        }
    )
    options = ("data", "openml", "noise", *METHOD_OPTIONS)

    def __init__(self, data: Path, openml: bool = False) -> None:
        self.folder = data
        self.openml = openml

    def problem(self, cell: str, split: int) -> Problem:
        """Return a split of a cell; X_var is zero. Raises BenchmarkError when the data cannot be read or fetched."""
        data_set, _, noise = cell.partition("/")
        data = _load(self.folder, data_set, self.openml)
        order = data.splits[split]
        train, test = np.split(order, [int(_TRAIN * len(order))])
        X = standardised(data.X, train)
        if noise in data.noise:
            X += data.noise[noise][split]
        zeros = np.zeros_like(X)
        return Problem(X[train], zeros[train], data.y[train], X[test], zeros[test], data.y[test])

    def settings(self, cell: str) -> Mapping[str, Any]:
        """Return 1,000 epochs with the step size of the authors' code, and a learned noise variance per feature.

        NIMGP starts with half the noise: from nearly none it learns no noise, and stays above table 5 on glass.
        """
        input_dim = _INPUT_DIM[cell.partition("/")[0]]
        start = authors_start(input_dim) | {"inputs": {"units": "noise", "spread": 0.5}}
        return {"epochs": 1000, "learning_rate": 1e-3, "noise": "per-feature", **start}


def standardised(X: FloatArray, train: NDArray[np.int64]) -> FloatArray:
    """Return all rows with the mean and scale of the training rows removed. Constant features keep their scale."""
    mean, scale = X[train].mean(axis=0), X[train].std(axis=0)
    return np.asarray((X - mean) / np.where(scale > 0, scale, 1.0))


@lru_cache(maxsize=2)
def _load(folder: Path, data_set: str, openml: bool) -> _Data:
    X, y = load_rows(folder, data_set, openml, UCI.name)
    rng = np.random.RandomState(0)  # the authors' generator: numpy.random.seed(0)
    splits = np.stack([rng.permutation(len(X)) for _ in range(_NUM_SPLITS)])
    noise = {level: rng.normal(size=(_NUM_SPLITS, *X.shape)) * np.sqrt(float(level)) for level in NOISE[1:]}
    return _Data(X, y, splits, noise)


def load_rows(folder: Path, data_set: str, openml: bool, benchmark: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return inputs (N, D) and classes (N,) from ``folder/uci/data_set``, or from OpenML if this is missing.

    Raises BenchmarkError when the data cannot be read or fetched. The message names the benchmark.
    """
    home = folder / "uci" / data_set
    return _fetch(data_set) if openml and not home.is_dir() else _read(home, benchmark)


def _read(home: Path, benchmark: str) -> tuple[FloatArray, NDArray[np.int64]]:
    try:
        X, y = np.loadtxt(home / "X.txt", ndmin=2), np.loadtxt(home / "Y.txt", dtype=np.int64)
        if len(X) != len(y):
            raise ValueError(f"{len(X)} rows, {len(y)} classes")
    except (OSError, ValueError) as error:
        raise BenchmarkError(
            f"the data set '{home.name}' of the benchmark '{benchmark}' cannot be read from '{home}' ({error}). Give "
            "the folder that holds uci/ with --data, or fetch missing data sets with --openml."
        ) from error
    return X, y


def _fetch(data_set: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Fetch a data set from OpenML. Its rows may have another order than the authors', which changes the splits."""
    from sklearn.datasets import fetch_openml

    if data_set not in _OPENML:
        raise BenchmarkError(
            f"OpenML has no data set like the paper's '{data_set}'. Give the folder that holds uci/{data_set}/ with "
            "--data."
        )
    name, version = _OPENML[data_set]
    try:
        X, y = fetch_openml(name, version=version, return_X_y=True, as_frame=False, parser="liac-arff")
    except (OSError, ValueError) as error:  # URLError is an OSError
        raise BenchmarkError(
            f"the data set '{data_set}' cannot be fetched from OpenML ({error}). Check the network, or give the folder "
            f"that holds uci/{data_set}/ with --data."
        ) from error
    return np.asarray(X, np.float64), np.unique(np.asarray(y), return_inverse=True)[1].astype(np.int64)
