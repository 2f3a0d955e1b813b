"""Wrong labels: "Robust Multi-Class Gaussian Process Classification", its table 2.

The data are the UCI data sets of the benchmark ``uci``. Two thirds of the rows are training rows. A share of their
labels is drawn again, uniformly from all classes, so that some of them stay right. Inputs are standardised by the
training rows. The labels drawn for a small share are also drawn for a larger one.

One score is the balanced class rate (BCR), the mean recall over classes. For methods that rank the training rows,
another score is the number of wrong labels among the first 1.25 × (number of wrong labels) rows. The paper's svmguide2
has 319 rows; that of LIBSVM has 391.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from fermiclass_benchmarks.benchmark import Benchmark, PaperTable, Problem
from fermiclass_benchmarks.methods import METHOD_OPTIONS
from fermiclass_benchmarks.uci import load_rows, standardised

SHARES = ("0", "0.05", "0.1", "0.2")

_TRAIN = 2 / 3
_SEED = 17

_DATA_SETS = ("new-thyroid", "wine", "glass", "svmguide2")


class WrongLabels(Benchmark):
    """The benchmark ``rmgpc``.

    The folder of the data holds ``uci/``; `openml` fetches missing data sets from OpenML.
    """

    name = "rmgpc"
    cells = tuple(f"{data_set}/{share}" for data_set in _DATA_SETS for share in SHARES)
    num_splits = 100
    tables = MappingProxyType({"Wrong labels, table 2": PaperTable(optimisers=("project",))})
    methods = ("rmgpc", "smgpc")
    scores = MappingProxyType({"nll": ("NLL", ".4f"), "error": ("error", ".3f"), "bcr": ("BCR", ".3f")})
    options = ("data", "openml", "noise", *METHOD_OPTIONS)

    def problem(self, cell: str, split: int) -> Problem:
        """Return a split of a cell; X_var is zero. Raises BenchmarkError when the data cannot be read or fetched."""
        data_set, _, share = cell.partition("/")
        X, y = load_rows(self.folder, data_set, self.openml, self.name)
        rng = np.random.default_rng((_SEED, split))
        train, test = np.split(rng.permutation(len(X)), [round(_TRAIN * len(X))])
        X = standardised(X, train)
        order, drawn = rng.permutation(len(train)), rng.choice(np.unique(y), len(train))
        replaced = order[: round(float(share) * len(train))]
        labels = y[train].copy()
        labels[replaced] = drawn[replaced]
        return replace(Problem.split(X, 0.0, y, train, test), y=labels, wrong=labels != y[train])
