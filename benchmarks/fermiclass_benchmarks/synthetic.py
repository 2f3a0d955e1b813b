"""Problems drawn from the GP prior: the main paper's section 5.2 and appendix B, tables 2, 3 and 11 to 16.

A data set such as ``n500-d5-c3`` has N = 500 training rows, D = 5 inputs and C = 3 classes; its cells are named
``n500-d5-c3/0.25``, by the variance of the noise. In ``n1000-d2-c3-learned`` methods learn the noise: X_var is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from fermiclass.nimgp.estimators.of_papers import authors_start, join_settings
from fermiclass_benchmarks.benchmark import Benchmark, PaperTable, Problem
from fermiclass_benchmarks.gp_draws import SETTINGS, LatentFunctions, bayes_probabilities, draw_problem

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
_PLANE = tuple(DataSet(n, 2, 3) for n in (100, 500))
_SPACE = tuple(DataSet(n, d, 3) for n in (100, 500, 1000) for d in (5, 10))
_MORE_CLASSES = tuple(_MAIN._replace(num_classes=c) for c in (4, 5, 6, 7))
_DATA_SETS = (_MAIN, _MAIN._replace(learned=True), *_PLANE, *_SPACE, *_MORE_CLASSES)


_CELLS = {f"{data_set}/{noise}": (data_set, float(noise)) for data_set in _DATA_SETS for noise in NOISES}

# Published figures are means over 100 problems. Those of n1000-d2-c3 are from tables 2 and 3, without the misprint
# (0.0256 for 0.256). Tables 13c and 14c print it again, with other problems: MGP has 0.802 in place of 0.758.


class Synthetic(Benchmark):
    """The benchmark ``synthetic``.

    Each split is a separate problem. Cells with the same D and C share its functions, rows and (scaled) noise. A class
    may have no training row, mostly for D = 10. Functions are drawn again if all rows have the same class.
    """

    name = "synthetic"
    cells = tuple(_CELLS)
    default_cells = tuple(f"{_MAIN}/{noise}" for noise in NOISES)
    num_splits = 100
    tables = MappingProxyType(
        {
            "Tables 2 and 3, noise given": PaperTable(str(_MAIN)),
            "Tables 2 and 3, noise learned": PaperTable(f"{_MAIN}-learned"),
            "Tables 11 and 12": PaperTable(str(_MAIN), ("mgp", "mgp-aug", "mgp-sampling")),
            "Tables 13 and 14, D = 2": PaperTable(",".join(map(str, _PLANE)), slow=True),
            "Tables 13 and 14, D = 5 and 10": PaperTable(",".join(map(str, _SPACE)), slow=True),
            "Tables 15 and 16": PaperTable(",".join(map(str, _MORE_CLASSES)), slow=True),
        }
    )
    classes = MappingProxyType({str(data_set): data_set.num_classes for data_set in _DATA_SETS})
    # Length-scales start near the true ones, as in the authors' code: from long ones, training is slow.
    fast = MappingProxyType(
        {
            "epochs": None,
            "steps": 2000,
            "learning_rate": 0.01,
            "training": {"decay": True, "inducing": "kmeans"},
            "hyper": {"variance": None, "white": 0.01},
            "inputs": {"units": "noise", "spread": 0.5},
        }
    )

    def problem(self, cell: str, split: int) -> Problem:
        """Draw a problem, with the probabilities of the Bayes classifier."""
        data_set, V = _CELLS[cell]
        num_train, D, C, learned = data_set
        size = {"num_train": num_train, "num_test": NUM_TEST}
        for attempt in count():
            rng = np.random.default_rng((D, C, split, attempt))
            functions = LatentFunctions.draw(C, D, rng, variance=VARIANCE, lengthscale=LENGTHSCALES[D])
            problem = draw_problem(functions, rng, **size, noise_variance=V, half_width=HALF_WIDTH)
            if len(np.unique(problem.y)) > 1:
                break
        known = 0.0 if learned else 1.0
        X_var, X_var_test = known * problem.X_var, known * problem.X_var_test
        bayes = bayes_probabilities(functions, problem.X_test, V, HALF_WIDTH)
        return replace(problem, bayes=bayes, X_var=X_var, X_var_test=X_var_test)

    def settings(self, cell: str) -> Mapping[str, Any]:
        """Return the settings of sections 5.1 and 5.2. The network has two layers in the authors' code."""
        data_set, _ = _CELLS[cell]
        noise = "shared" if data_set.learned else "given"
        return join_settings(authors_start(data_set.input_dim), {**SETTINGS, "noise": noise})
