"""What a benchmark is: the cells of a table, a problem for each split of a cell, settings, and published figures."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fermiclass.errors import BenchmarkError
from fermiclass.evaluation import metrics
from fermiclass.io import FloatArray
from fermiclass.nimgp.estimators.of_papers import epsilon_of_authors, join_settings
from fermiclass_benchmarks.methods import METHOD_OPTIONS, MethodOptions, make_estimator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Record = dict[str, Any]
#: Figures of a paper by cell and method, such as ``{("glass/0", "mgp"): {"nll": 1.63, "error": 0.346}}``.
PublishedFigures = Mapping[tuple[str, str], Mapping[str, float]]


_RANKED = 1.25  # number of rows that are inspected per wrong label


@dataclass(frozen=True, eq=False)
class Problem:
    """Training rows and test rows."""

    #: Observed inputs, their noise variances, and labels of the training rows: ``(N, D)``, ``(N, D)``, ``(N,)``.
    X: FloatArray
    X_var: FloatArray
    y: NDArray[Any]
    #: The same for the test rows: ``(n, D)``, ``(n, D)``, ``(n,)``.
    X_test: FloatArray
    X_var_test: FloatArray
    y_test: NDArray[Any]
    #: Probabilities ``(n, C)`` of the Bayes classifier, in the order of the sorted classes. None if they are unknown.
    bayes: FloatArray | None = None
    #: Whether the benchmark made a training label wrong, ``(N,)``. None if it made none wrong.
    wrong: NDArray[np.bool_] | None = None

    @classmethod
    def split(
        cls, X: FloatArray, X_var: FloatArray | float, y: NDArray[Any], train: NDArray[Any], test: NDArray[Any]
    ) -> Problem:
        """Return the problem of some training rows and test rows; `X_var` may be the variance of all inputs."""
        X_var = np.broadcast_to(X_var, X.shape)
        return cls(X[train], X_var[train], y[train], X[test], X_var[test], y[test])


class PaperTable(NamedTuple):
    """Cells and methods of tables in the paper."""

    datasets: str | None = None  #: Data sets; see :meth:`Benchmark.choose_cells`.
    methods: Sequence[str] = ()  #: Methods; empty for those of the benchmark.
    slow: bool = False  #: Whether a run takes hours for one split, or days for all.
    #: Whose optimiser: both, or one. A run leaves out the paper's if the table is slow.
    optimisers: Sequence[str] = ("project", "paper")


class Benchmark:
    """A table of a paper: methods by cells. Each entry is a mean over splits.

    A benchmark of classification needs ``name``, ``cells``, :meth:`problem` and :meth:`settings`.
    """

    name: str  #: Name on the command line.
    #: Names of the cells such as ``glass/0.25``: a data set, and the variance of the added noise, if there is any.
    cells: Sequence[str]
    default_cells: Sequence[str] = ()  #: Cells that are run if none are chosen; empty for all.
    num_splits: int = 10  #: Number of splits.
    #: Methods of the paper's table, which are run if none are chosen.
    methods: Sequence[str] = ("mgp", "nimgp", "nimgp-nn", "nimgp-fo")
    #: What a run of all tables of the paper takes of the benchmark, by title.
    tables: Mapping[str, PaperTable] = MappingProxyType({})
    #: Titles of the figures that are printed, and the formats of their numbers. The first is the lower the better.
    scores: Mapping[str, tuple[str, str]] = MappingProxyType({"nll": ("NLL", ".4f"), "error": ("error", ".3f")})
    #: Options of the command that the benchmark has, beside those of all benchmarks.
    options: Sequence[str] = ("noise", *METHOD_OPTIONS)
    #: Number of classes by data set, where the main paper's authors published their code.
    classes: Mapping[str, int] = MappingProxyType({})
    #: Whether the paper's optimiser is that of a plain command.
    paper_first = False
    #: Settings that replace the paper's optimiser; None for those of :mod:`fermiclass_benchmarks.methods`.
    fast: Mapping[str, Any] | None = None

    def __init__(self, data: Path = Path(), openml: bool = False, per_round: int = 1) -> None:
        #: Folder of the data; whether OpenML supplies data sets that are missing there; and the number of rows that
        #: active learning labels in a round.
        self.folder, self.openml, self.per_round = data, openml, per_round

    @cached_property
    def published(self) -> PublishedFigures:
        """Figures of the paper as printed, which are in ``published.csv``; also of the variants that follow it.

        Those of NIMGP are with the authors' start of q(x), and those of NIMGP_FO may be with a V that is kept.
        """
        rows = pd.read_csv(Path(__file__).with_name("published.csv")).query("benchmark == @self.name")
        as_published = ("nimgp@authors", "nimgp-fo@fixed", "nimgp-fo@fixed-0.25", "nimgp-fo@fixed-0.5")
        variants = [rows[rows["method"] == name.partition("@")[0]].assign(method=name) for name in as_published]
        rows = pd.concat([rows, *variants])
        figures = rows.set_index(["cell", "method"]).drop(columns="benchmark")
        return {(str(cell), str(method)): row.dropna().to_dict() for (cell, method), row in figures.iterrows()}

    def problem(self, cell: str, split: int) -> Problem:
        """Return a split of a cell. Every call returns the same split.

        Raises BenchmarkError when the data cannot be read.
        """
        raise NotImplementedError

    def check_data(self, cells: Sequence[str]) -> None:
        """Read the data of some cells, so that an error comes before any work."""
        for cell in cells:
            self.problem(cell, 0)

    def settings(self, cell: str) -> Mapping[str, Any]:
        """Return the paper's settings of the estimator for this cell, without the method."""
        return {}

    def estimator(self, cell: str, method: str, options: MethodOptions) -> Any:
        """Return an unfitted estimator. Raises BenchmarkError when the method is unknown, or cannot have an option."""
        settings = self.settings(cell)
        if options.paper:
            settings = join_settings(settings, {"hyper": self.authors(cell, method)})
        return make_estimator(method, settings, options, fast=self.fast_settings(cell, method))

    def authors(self, cell: str, method: str) -> Mapping[str, Any]:
        """Return hyper-parameters of the authors' code that only the paper's optimiser takes: ε of MGP, starts of V."""
        classes = self.classes.get(cell.partition("/")[0])
        return {"epsilon": epsilon_of_authors(classes)} if method == "mgp" and classes else {}

    def fast_settings(self, cell: str, method: str) -> Mapping[str, Any] | None:
        """Return what replaces the paper's optimiser for a cell and method, as :attr:`fast`."""
        return self.fast

    def run(self, cell: str, estimator: Any, split: int) -> Record:
        """Train and test on a split.

        Returns its record, with

        - ``"nll"``, ``"error"``, ``"classes"`` and ``"confusion"``; see :func:`score_labels`;
        - ``"bayes_nll"``, the NLL of the Bayes classifier, and ``"excess"``, the NLL above it, if it is known;
        - ``"noise"``, the noise variance of each feature, if the method learned it;
        - the last ``"elbo"``, if the estimator has one;
        - for wrong labels their number ``"wrong"`` and the balanced class rate ``"bcr"``. Also ``"found"``, the number
          of wrong labels among the first 1.25 × ``"wrong"`` training rows, if the method ranks them.
        """
        problem = self.problem(cell, split)
        V, V_test = problem.X_var, problem.X_var_test
        if (kept := _kept_noise(estimator)) is not None:
            V, V_test = np.full_like(V, kept), np.full_like(V_test, kept)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = clone(estimator).fit(problem.X, problem.y, X_var=V)
        p = fitted.predict_proba(problem.X_test, X_var=V_test)
        return _scores(problem, p, fitted.classes_) | _wrong_labels(problem, p, fitted) | _learned(fitted)

    def figure(self, estimators: Mapping[tuple[str, str], Any], records: pd.DataFrame) -> Figure:
        """Draw the results of a run, if the benchmark has the option ``plot``."""
        raise NotImplementedError

    def choose_cells(self, data_sets: str | None = None, noise: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the cells of some data sets and noise levels, in the benchmark's order.

        Data sets are such as ``glass,wine`` (the part of a cell before the ``/``), or whole cells; None for all. Noise
        levels are such as ``0.1`` or ``0,0.25`` (the part after the ``/``); empty for all. Raises BenchmarkError when
        there is no such data set, no such noise, or no cell with both.
        """
        if data_sets is None and not noise:
            return tuple(self.default_cells or self.cells)
        parts = {cell: cell.partition("/")[::2] for cell in self.cells}
        names, levels = (list(dict.fromkeys(part[k] for part in parts.values())) for k in (0, 1))
        wanted = names if data_sets is None else [name.strip() for name in data_sets.split(",")]
        for name in wanted:
            if name not in (*names, *self.cells):
                raise BenchmarkError(
                    f"the benchmark '{self.name}' has no data set '{name}': choose among {', '.join(names)} "
                    "(--datasets)"
                )
        kept = [self._level(text, levels) for group in noise for text in group.split(",")] or levels
        cells = tuple(
            cell for cell, (name, level) in parts.items() if (cell in wanted or name in wanted) and level in kept
        )
        if not cells:
            raise BenchmarkError(
                f"the benchmark '{self.name}' has no cell of {data_sets} with noise {', '.join(kept)}: its cells are "
                f"{', '.join(self.cells)} (--datasets, --noise)"
            )
        return cells

    def _level(self, text: str, levels: Sequence[str]) -> str:
        try:
            return next(level for level in levels if level and float(level) == float(text))
        except (ValueError, StopIteration):
            known = ", ".join(filter(None, levels))
            remedy = f"choose among {known} (--noise)" if known else "leave out --noise"
            raise BenchmarkError(f"the benchmark '{self.name}' has no noise '{text.strip()}': {remedy}") from None


def score_labels(y: NDArray[Any], of_known: FloatArray, known: NDArray[Any]) -> Record:
    """Score probabilities ``(n, C)`` of the known classes against labels ``(n,)``. Other classes have probability 0.

    Returns ``"nll"``, ``"error"``, ``"classes"``, and ``"confusion"``: numbers of test rows, predicted classes by true
    classes, as in the main paper's table 10.
    """
    classes = np.union1d(known, y)
    truth = y[:, None] == classes
    p = np.zeros(truth.shape)
    p[:, np.searchsorted(classes, known)] = of_known
    return {
        "nll": metrics.nll(p, truth),
        "error": metrics.error(p, truth),
        "classes": [str(name) for name in classes],
        "confusion": metrics.confusion(p, truth).T.tolist(),
    }


def _kept_noise(estimator: Any) -> float | None:
    """Return the V that a method ``@fixed`` keeps: a start of V where V is given."""
    hyper = getattr(estimator, "hyper", None)
    return hyper.get("noise") if isinstance(hyper, Mapping) and estimator.noise == "given" else None


def _scores(problem: Problem, p: FloatArray, known: NDArray[Any]) -> Record:
    scores = score_labels(problem.y_test, p, known)
    if problem.bayes is None:
        return scores
    # Generated data number the classes from 0, though a class may have no row.
    bayes_nll = metrics.nll(problem.bayes, problem.y_test[:, None] == np.arange(problem.bayes.shape[1]))
    return scores | {"bayes_nll": bayes_nll, "excess": scores["nll"] - bayes_nll}


def _wrong_labels(problem: Problem, p: FloatArray, estimator: Any) -> Record:
    if problem.wrong is None:
        return {}
    best = estimator.classes_[p.argmax(axis=1)]
    recall = [np.mean(best[problem.y_test == name] == name) for name in np.unique(problem.y_test)]
    wrong = int(problem.wrong.sum())
    scores: Record = {"bcr": float(np.mean(recall)), "wrong": wrong}
    ranking = getattr(estimator, "outlier_probability_", None)
    if ranking is not None:
        first = np.argsort(-ranking, kind="stable")[: math.ceil(_RANKED * wrong)]
        scores["found"] = int(problem.wrong[first].sum())
    return scores


def _learned(estimator: Any) -> Record:
    learned: Record = {}
    if getattr(estimator, "noise_variance_", None) is not None:
        learned["noise"] = [float(v) for v in estimator.noise_variance_]
    if hasattr(estimator, "objective_"):
        learned["elbo"] = float(estimator.objective_[-1])
    return learned
