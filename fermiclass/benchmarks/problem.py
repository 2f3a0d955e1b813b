"""Benchmarks and their problems. A problem is one split of the data of one cell of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fermiclass.io.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Problem:
    """Training rows and test rows.

    Attributes
    ----------
    X, X_var, y
        Observed inputs, their noise variances, and labels of the training rows: ``(N, D)``, ``(N, D)``, ``(N,)``.
    X_test, X_var_test, y_test
        The same for the test rows: ``(n, D)``, ``(n, D)``, ``(n,)``.
    bayes
        Probabilities ``(n, C)`` of the Bayes classifier, in the order of the sorted classes. None if they are unknown.
    wrong
        Whether the benchmark made a training label wrong, ``(N,)``. None if it made none wrong.
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
    """The paper's means over splits; NaN if it has none."""

    nll: float
    error: float


class PublishedRate(NamedTuple):
    """The paper's mean over splits of the balanced class rate, 0 to 1."""

    bcr: float


class Benchmark(Protocol):
    """A table of a paper: methods by cells. Each entry is a mean over splits.

    Attributes
    ----------
    name
        Name on the command line.
    cells
        Names of the cells such as ``glass/0.25``: a data set, and the variance of the added noise, if there is any.
    num_splits
        Number of splits.
    published
        The paper's results by cell and method: :class:`Published` or :class:`PublishedRate`.

    Some attributes are optional:

    - ``fast``: estimator settings that replace the paper's optimiser, or a function of cell and method that returns
      them.
    - ``largest_block``: number of splits that may be trained at once, if memory is short.
    - ``default_cells``: cells that are run if none are chosen.
    - ``run(cell, method, estimator, splits)``: makes the records of a block.
    - ``figure(estimators, records)``: draws the results.
    """

    name: str
    cells: Sequence[str]
    num_splits: int
    published: Mapping[tuple[str, str], Any]

    def problem(self, cell: str, split: int) -> Problem:
        """Return a split of a cell. Every call returns the same split.

        Raises
        ------
        BenchmarkError
            When the data cannot be read.
        """
        ...

    def settings(self, cell: str) -> Mapping[str, Any]:
        """Return the paper's settings of the estimator for this cell, without the method."""
        ...
