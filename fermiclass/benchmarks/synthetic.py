"""Problems drawn from the GP prior: the main paper's section 5.2 and appendix B, tables 2, 3 and 11 to 16.

A data set such as ``n500-d5-c3`` has N = 500 training rows, D = 5 inputs and C = 3 classes; its cells are named
``n500-d5-c3/0.25``, by the variance of the noise. In ``n1000-d2-c3-learned`` methods learn the noise: X_var is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from fermiclass.benchmarks.benchmark import Benchmark, PaperTable, Problem, PublishedFigures
from fermiclass.benchmarks.gp_draws import LatentFunctions, bayes_probabilities, draw_problem
from fermiclass.benchmarks.methods import authors_start
from fermiclass.errors import BenchmarkError
from fermiclass.nimgp.settings import join_settings

NOISES = ("0.1", "0.25", "0.5")
NUM_TEST = 1000
HALF_WIDTH = 2.5
VARIANCE = 0.5  # σ²

#: ℓ by D, a squared length-scale. The paper states ℓ = 2 for D = 2, and its results for D = 2 agree with this value. It
#: does not state ℓ for D = 5 and 10. ℓ = 2 is not possible there: at V = 0.1 the Bayes classifier would have errors of
#: 23 and 29 %, while the paper's methods have 10 and 6 %. With the values here, chosen by eye, the Bayes classifier has
#: errors of 8 and 5 %. Results for D = 5 and 10 are comparable between methods, but only roughly with the paper.
LENGTHSCALES = {2: 2.0, 5: 12.5, 10: 100.0}


class DataSet(NamedTuple):
    """N, D, C, and whether methods must learn the noise."""

    num_train: int
    input_dim: int
    num_classes: int
    learned: bool = False

    def __str__(self) -> str:
        name = f"n{self.num_train}-d{self.input_dim}-c{self.num_classes}"
        return f"{name}-learned" if self.learned else name


_MAIN = DataSet(1000, 2, 3)
_SIZES = tuple(DataSet(n, d, 3) for n in (100, 500, 1000) for d in (2, 5, 10))
_MORE_CLASSES = tuple(_MAIN._replace(num_classes=c) for c in (4, 5, 6, 7))
_DATA_SETS = (_MAIN, _MAIN._replace(learned=True), *(size for size in _SIZES if size != _MAIN), *_MORE_CLASSES)


# Figures of the paper, means over 100 problems as printed. Each block has rows of noise and method, with NLL and error
# of each data set in its heading.

_TABLES_13_14 = """
               n100-d2-c3     n100-d5-c3     n100-d10-c3
0.1  mgp       0.556 0.146    0.528 0.179    0.273 0.0965
0.1  nimgp     0.36 0.144     0.456 0.176    0.246 0.0941
0.1  nimgp-nn  0.336 0.134    0.439 0.173    0.271 0.0997
0.1  nimgp-fo  0.369 0.14     0.437 0.171    0.244 0.0954
0.25 mgp       0.825 0.196    0.674 0.212    0.358 0.119
0.25 nimgp     0.505 0.205    0.521 0.208    0.309 0.118
0.25 nimgp-nn  0.455 0.186    0.501 0.199    0.328 0.122
0.25 nimgp-fo  0.519 0.188    0.508 0.201    0.3 0.117
0.5  mgp       1.07 0.242     0.828 0.243    0.419 0.133
0.5  nimgp     0.62 0.251     0.583 0.241    0.348 0.133
0.5  nimgp-nn  0.548 0.228    0.569 0.23     0.353 0.129
0.5  nimgp-fo  0.655 0.229    0.565 0.223    0.323 0.127

               n500-d2-c3     n500-d5-c3     n500-d10-c3
0.1  mgp       0.763 0.124    0.545 0.129    0.261 0.0663
0.1  nimgp     0.27 0.117     0.292 0.117    0.154 0.0598
0.1  nimgp-nn  0.277 0.117    0.291 0.117    0.153 0.0587
0.1  nimgp-fo  0.332 0.118    0.313 0.121    0.166 0.0642
0.25 mgp       1.15 0.177     0.814 0.169    0.442 0.099
0.25 nimgp     0.391 0.168    0.383 0.154    0.222 0.0903
0.25 nimgp-nn  0.398 0.167    0.384 0.153    0.218 0.0883
0.25 nimgp-fo  0.515 0.169    0.413 0.158    0.24 0.0934
0.5  mgp       1.41 0.216     1.07 0.209     0.491 0.102
0.5  nimgp     0.477 0.204    0.463 0.189    0.229 0.0914
0.5  nimgp-nn  0.5 0.205      0.468 0.187    0.235 0.0902
0.5  nimgp-fo  0.698 0.204    0.513 0.19     0.26 0.0945

               n1000-d2-c3    n1000-d5-c3    n1000-d10-c3
0.1  mgp       0.802 0.122    0.553 0.115    0.287 0.0635
0.1  nimgp     0.268 0.115    0.252 0.102    0.141 0.0567
0.1  nimgp-nn  0.274 0.115    0.255 0.102    0.139 0.056
0.1  nimgp-fo  0.34 0.116     0.275 0.107    0.156 0.0607
0.25 mgp       1.13 0.167     0.865 0.161    0.454 0.0897
0.25 nimgp     0.372 0.16     0.355 0.145    0.197 0.0812
0.25 nimgp-nn  0.388 0.16     0.357 0.145    0.2 0.0811
0.25 nimgp-fo  0.529 0.16     0.391 0.148    0.217 0.0844
0.5  mgp       1.49 0.213     1.12 0.193     0.507 0.0929
0.5  nimgp     0.485 0.204    0.437 0.178    0.211 0.0852
0.5  nimgp-nn  0.507 0.206    0.453 0.181    0.215 0.0844
0.5  nimgp-fo  0.76 0.205     0.507 0.179    0.238 0.0865
"""

_TABLES_15_16 = """
               n1000-d2-c4    n1000-d2-c5    n1000-d2-c6    n1000-d2-c7
0.1  mgp       1.11 0.161     1.28 0.183     1.45 0.203     1.58 0.221
0.1  nimgp     0.361 0.152    0.419 0.174    0.47 0.192     0.512 0.21
0.1  nimgp-nn  0.37 0.153     0.424 0.174    0.482 0.192    0.527 0.211
0.1  nimgp-fo  0.45 0.153     0.512 0.175    0.583 0.195    0.636 0.213
0.25 mgp       1.63 0.228     1.92 0.261     2.13 0.286     2.34 0.308
0.25 nimgp     0.529 0.219    0.612 0.251    0.688 0.277    0.748 0.297
0.25 nimgp-nn  0.553 0.221    0.637 0.254    0.72 0.278     0.792 0.299
0.25 nimgp-fo  0.757 0.221    0.882 0.252    0.976 0.279    1.06 0.299
0.5  mgp       2.13 0.293     2.47 0.33      2.77 0.366     3.06 0.397
0.5  nimgp     0.685 0.282    0.787 0.32     0.891 0.355    0.991 0.387
0.5  nimgp-nn  0.735 0.284    0.842 0.322    0.94 0.354     1.07 0.384
0.5  nimgp-fo  1.08 0.281     1.25 0.318     1.37 0.354     1.54 0.385
"""

# The baselines on the problems of tables 2 and 3. These tables print n1000-d2-c3 again, with other values and misprints
# (0.0256 for 0.256). Therefore its rows above are from tables 13c and 14c.
_TABLES_11_12 = """
               n1000-d2-c3
0.1  mgp-aug       0.8  0.12
0.1  mgp-sampling  0.45 0.13
0.25 mgp-aug       1.2  0.17
0.25 mgp-sampling  0.61 0.194
0.5  mgp-aug       1.6  0.22
0.5  mgp-sampling  0.74 0.26
"""

# Noise learned.
_TABLES_2_3 = """
               n1000-d2-c3-learned
0.1  mgp       0.758 0.113
0.1  nimgp     0.61  0.11
0.1  nimgp-nn  0.28  0.11
0.1  nimgp-fo  0.72  0.11
0.25 mgp       1.14  0.164
0.25 nimgp     0.87  0.17
0.25 nimgp-nn  0.4   0.17
0.25 nimgp-fo  1.1   0.16
0.5  mgp       1.537 0.218
0.5  nimgp     0.93  0.23
0.5  nimgp-nn  0.53  0.21
0.5  nimgp-fo  1.5   0.22
"""


def published() -> PublishedFigures:
    """Return the figures by cell, such as ``n1000-d2-c3/0.1``, and method."""
    return dict(row for text in (_TABLES_13_14, _TABLES_15_16, _TABLES_11_12, _TABLES_2_3) for row in _rows(text))


def _rows(text: str) -> Iterator[tuple[tuple[str, str], dict[str, float]]]:
    data_sets: list[str] = []
    for line in text.strip().splitlines():
        words = line.split()
        if line.lstrip().startswith("n"):
            data_sets = words
        elif words:
            noise, method, *figures = words
            for data_set, nll, error in zip(data_sets, figures[::2], figures[1::2], strict=True):
                yield (f"{data_set}/{noise}", method), {"nll": float(nll), "error": float(error)}


class Synthetic(Benchmark):
    """The benchmark ``synthetic``.

    Each split is a separate problem. Cells with the same D and C share its functions, rows and (scaled) noise. A class
    may have no training row, mostly for D = 10. Functions are drawn again if all rows have the same class.
    """

    name = "synthetic"
    cells = tuple(f"{data_set}/{noise}" for data_set in _DATA_SETS for noise in NOISES)
    default_cells = tuple(f"{_MAIN}/{noise}" for noise in NOISES)
    num_splits = 100
    tables = MappingProxyType(
        {
            "Tables 2 and 3, noise given": PaperTable(str(_MAIN)),
            "Tables 2 and 3, noise learned": PaperTable(f"{_MAIN}-learned"),
            "Tables 11 and 12": PaperTable(str(_MAIN), ("mgp", "mgp-aug", "mgp-sampling")),
            "Tables 13 and 14": PaperTable(",".join(map(str, _SIZES)), slow=True),
            "Tables 15 and 16": PaperTable(",".join(map(str, _MORE_CLASSES)), slow=True),
        }
    )
    published = published()
    # Length-scales start near the true ones, as in the authors' code: from long ones, training is slow.
    fast = MappingProxyType(
        {
            "epochs": None,
            "steps": 2000,
            "learning_rate": 0.01,
            "training": {"decay": True, "inducing": "kmeans"},
            "hyper": {"white": 0.01},
            "inputs": {"units": "noise", "spread": 0.5},
        }
    )

    def problem(self, cell: str, split: int) -> Problem:
        """Draw a problem, with the probabilities of the Bayes classifier."""
        data_set, noise_variance = _parse(cell)
        attempt = 0
        while True:
            rng = np.random.default_rng((data_set.input_dim, data_set.num_classes, split, attempt))
            functions = LatentFunctions.draw(
                data_set.num_classes,
                data_set.input_dim,
                rng,
                variance=VARIANCE,
                lengthscale=LENGTHSCALES[data_set.input_dim],
            )
            problem = draw_problem(
                functions,
                rng,
                num_train=data_set.num_train,
                num_test=NUM_TEST,
                noise_variance=noise_variance,
                half_width=HALF_WIDTH,
            )
            if len(np.unique(problem.y)) > 1:
                bayes = bayes_probabilities(functions, problem.X_test, noise_variance, HALF_WIDTH)
                return replace(problem, bayes=bayes, **(_unknown_noise(problem) if data_set.learned else {}))
            attempt += 1

    def settings(self, cell: str) -> Mapping[str, Any]:
        """Return the settings of sections 5.1 and 5.2. The network has two layers in the authors' code."""
        data_set, _ = _parse(cell)
        return join_settings(
            authors_start(data_set.input_dim),
            {
                "num_inducing": 100,
                "batch_size": 200,
                "inputs": {"hidden": (50, 50)},
                "noise": "shared" if data_set.learned else "given",
            },
        )


def _unknown_noise(problem: Problem) -> dict[str, Any]:
    return {"X_var": np.zeros_like(problem.X_var), "X_var_test": np.zeros_like(problem.X_var_test)}


def _parse(cell: str) -> tuple[DataSet, float]:
    for data_set in _DATA_SETS:
        for noise in NOISES:
            if cell == f"{data_set}/{noise}":
                return data_set, float(noise)
    raise BenchmarkError(
        f"the benchmark 'synthetic' has no cell '{cell}': its data sets are {', '.join(map(str, _DATA_SETS))}, "
        f"its noises {', '.join(NOISES)}"
    )
