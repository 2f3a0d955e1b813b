"""What a benchmark is made of: problems, each a cell of a table and one split of its data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to learn from and rows to predict.

    Attributes
    ----------
    X, X_var, y
        Observed inputs, their noise variances, and labels of the training rows: ``(N, D)``, ``(N, D)``, ``(N,)``.
    X_test, X_var_test, y_test
        The same of the test rows: ``(n, D)``, ``(n, D)``, ``(n,)``.
    bayes
        Probabilities ``(n, C)`` that nothing can beat, classes sorted, where whoever generated the data knows them.
    wrong
        Which training labels the benchmark made wrong, ``(N,)``, where it does that.
    """

    X: FloatArray
    X_var: FloatArray
    y: NDArray[Any]
    X_test: FloatArray
    X_var_test: FloatArray
    y_test: NDArray[Any]
    bayes: FloatArray | None = None
    wrong: NDArray[np.bool_] | None = None


class Published(NamedTuple):
    """The paper's mean over splits; NaN where it has none."""

    nll: float
    error: float


class PublishedRate(NamedTuple):
    """The paper's mean over splits of the balanced class rate, 0 to 1."""

    bcr: float


class Benchmark(Protocol):
    """A table of a paper: methods by cells, each cell a mean over splits.

    Attributes
    ----------
    name
        As on the command line.
    cells
        Such as ``glass/0.25``: a data set, and the variance of the noise put into it, where there is one.
    num_splits
        How many there are.
    published
        The paper's figures by cell and method: :class:`Published` or :class:`PublishedRate`.

    One that has an attribute ``fast`` says what stands in for the paper's optimiser, a mapping of estimator settings,
    or a function that returns it for a cell and a method; one that has ``largest_block`` how many splits of it may be
    trained at once, where memory is short for more; one that has ``run(cell, method, estimator, splits)`` makes the
    records of a block itself, and one that has ``figure(estimators, records)`` can be drawn.
    """

    name: str
    cells: Sequence[str]
    num_splits: int
    published: Mapping[tuple[str, str], Any]

    def problem(self, cell: str, split: int) -> Problem:
        """Return a split of a cell, the same whenever it is asked for.

        Raises
        ------
        BenchmarkError
            When its data cannot be read.
        """
        ...

    def settings(self, cell: str) -> Mapping[str, Any]:
        """Return the paper's settings of the estimator for this cell, beside the method."""
        ...
