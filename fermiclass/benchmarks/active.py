"""Active learning on waveform: which rows to label next (the main paper's section 5.5, figures 6 and 7).

A repetition divides the 1,000 rows into 100 training rows, 500 test rows and a pool of 400. In every round the
classifier is trained and tested, and then selects the row of the pool to label next. Each training starts where the
last one ended.

The data are ``X.txt`` and ``Y.txt`` in ``DATA/uci/waveform``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from fermiclass.benchmarks.benchmark import Benchmark, Problem, Record, score_labels
from fermiclass.benchmarks.figures import active_figure, learning_curve, title_of
from fermiclass.benchmarks.methods import METHOD_OPTIONS, MethodOptions, authors_start
from fermiclass.benchmarks.uci import load_rows
from fermiclass.errors import BenchmarkError
from fermiclass.io.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fermiclass.nimgp.prediction.predictor import Prediction

NOISES = ("0", "0.1", "0.25", "0.5")
NUM_ADDED = 100
NUM_TRAIN, NUM_TEST, NUM_POOL = 100, 500, 400
_REFIT = {"steps": 100}  #: Number of steps when training continues with the fast optimiser. Only a few rows are new.

#: Scores of the rows of the pool from their prediction. The row with the largest score is labelled next.
ACQUISITIONS: Mapping[str, Callable[[Prediction], FloatArray] | None] = MappingProxyType(
    {
        "entropy": lambda prediction: prediction.entropy,
        "bald": lambda prediction: prediction.information,
        "random": None,
    }
)

#: The paper's settings of the estimator, without the method.
SETTINGS: Mapping[str, Any] = MappingProxyType(
    {"num_inducing": 50, "epochs": 1000, "batch_size": 50, "learning_rate": 1e-3, "noise": "per-feature"}
)


class Rows(NamedTuple):
    """Inputs ``(n, D)`` and classes ``(n,)``."""

    X: FloatArray
    y: NDArray[np.int64]

    def take(self, indices: Any) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[indices], self.y[indices])


def load(folder: Path) -> Rows:
    """Read the 1,000 rows of ``folder/uci/waveform``.

    Raises BenchmarkError when a file is missing or damaged, or has too few rows.
    """
    return Rows(*load_rows(folder, "waveform", False, "active", NUM_TRAIN + NUM_TEST + NUM_POOL))


class _Repetition:
    """Rows of one learner. Its training rows grow by the rows that it takes from the pool."""

    def __init__(self, data: Rows, noise_variance: float, repetition: int) -> None:
        self._rng = np.random.default_rng((5, repetition))
        rows = data.take(self._rng.permutation(len(data.y)))
        # Standardise by the first training rows, then add noise. All noise variances use the same draws, scaled.
        start = rows.X[:NUM_TRAIN]
        X = (rows.X - start.mean(axis=0)) / start.std(axis=0)
        X += np.sqrt(noise_variance) * self._rng.standard_normal(X.shape)
        rows = rows._replace(X=X)
        self.train, self.test, self.pool = (
            rows.take(slice(first, first + num))
            for first, num in ((0, NUM_TRAIN), (NUM_TRAIN, NUM_TEST), (NUM_TRAIN + NUM_TEST, NUM_POOL))
        )
        self._noise_variance = noise_variance
        self.scores: list[Record] = []

    def variances(self, rows: Rows) -> FloatArray:
        """Return the true X_var. Methods that learn the noise ignore it."""
        return np.full_like(rows.X, self._noise_variance)

    def score(self, fitted: Any) -> None:
        """Record error and NLL of the test rows."""
        p = fitted.predict_proba(self.test.X, X_var=self.variances(self.test))
        self.scores.append(score_labels(self.test.y, p, fitted.classes_))

    def label_more(self, fitted: Any, acquisition: str, num: int) -> None:
        """Move the rows with the largest scores from the pool to the training rows."""
        score = ACQUISITIONS[acquisition]
        if score is None:
            values = self._rng.random(len(self.pool.y))
        else:
            values = score(fitted.predict_distribution(self.pool.X, X_var=self.variances(self.pool)))
        best = np.argsort(-values, kind="stable")[:num]
        new = self.pool.take(best)
        self.train = Rows(np.concatenate([self.train.X, new.X]), np.concatenate([self.train.y, new.y]))
        self.pool = self.pool.take(np.delete(np.arange(len(self.pool.y)), best))


def label_round_by_round(
    data: Rows,
    estimator: Any,
    acquisition: str,
    noise: float,
    repetition: int,
    *,
    rounds: int = NUM_ADDED,
    per_round: int = 1,
    refit: Mapping[str, Any] = MappingProxyType({}),
) -> Record:
    """Run active learning for one repetition.

    `data`: the rows; see :func:`load`.
    `estimator`: settings of the classifiers, whose ``fit`` must have ``start``.
    `acquisition`: one of :data:`ACQUISITIONS`: ``'entropy'`` of the predicted label, ``'bald'`` (the mutual information
    of the label and the latent functions), or ``'random'``.
    `noise`: variance of the noise that is added to all inputs.
    `repetition`: number of the repetition. It gives a division of the rows, the same for every method, acquisition and
    noise.
    `rounds`, `per_round`: number of rounds, and number of rows that are labelled in each.
    `refit`: settings that change when training continues, such as fewer epochs. The paper changes none.

    Returns ``"error"`` and ``"nll"`` on the test rows after the last round, ``"classes"`` and ``"confusion"``, and
    ``"curves"``: the numbers of rows labelled so far ``"added"``, ``"error"`` and ``"nll"``, lists of length ``rounds +
    1``.
    """
    state = _Repetition(data, noise, repetition)
    again = clone(estimator).set_params(**refit)
    fitted = None
    for k in range(rounds + 1):
        X_var = state.variances(state.train)
        fitted = clone(estimator if k == 0 else again).fit(state.train.X, state.train.y, X_var=X_var, start=fitted)
        state.score(fitted)
        if k < rounds:
            state.label_more(fitted, acquisition, per_round)
    curves = {name: [score[name] for score in state.scores] for name in ("error", "nll")}
    return state.scores[-1] | {"curves": {"added": [k * per_round for k in range(rounds + 1)]} | curves}


class Active(Benchmark):
    """The benchmark ``active``: its cells are ``entropy/0.25`` and so on, and its splits are repetitions.

    The paper has figures only, and labels one row per round. The folder of the data holds ``uci/waveform``.
    """

    name = "active"
    cells = tuple(f"{acquisition}/{noise}" for acquisition in ACQUISITIONS for noise in NOISES)
    default_cells = tuple(f"{acquisition}/0.25" for acquisition in ACQUISITIONS)
    num_splits = 100
    options = ("data", "per_round", "noise", "plot", *METHOD_OPTIONS)

    def __init__(self, data: Path, per_round: int = 1) -> None:
        self.folder, self.per_round = data, per_round

    def problem(self, cell: str, split: int) -> Problem:
        """Return the start of a repetition: its first training rows, and its test rows."""
        state = _Repetition(load(self.folder), float(cell.partition("/")[2]), split)
        train, test = state.train, state.test
        return Problem(train.X, state.variances(train), train.y, test.X, state.variances(test), test.y)

    def settings(self, cell: str) -> Mapping[str, Any]:
        """Return the settings of section 5.5, with initial values from the authors' code."""
        return {**SETTINGS, **authors_start(21)}

    def estimator(self, cell: str, method: str, options: MethodOptions) -> Any:
        """Return an unfitted estimator, which must be able to continue a training."""
        estimator = super().estimator(cell, method, options)
        if "start" not in signature(estimator.fit).parameters:
            raise BenchmarkError(
                f"the benchmark 'active' continues trainings, which '{method}' cannot: leave it out (--methods)"
            )
        return estimator

    def run(self, cell: str, estimator: Any, split: int) -> Record:
        """Return the record of a repetition. Its ``"error"`` and ``"nll"`` are those after the last round."""
        acquisition, _, noise = cell.partition("/")
        started = time.perf_counter()
        record = label_round_by_round(
            load(self.folder),
            estimator,
            acquisition,
            float(noise),
            split,
            rounds=NUM_ADDED // self.per_round,
            per_round=self.per_round,
            refit=_REFIT if estimator.epochs is None else {},
        )
        return record | {"seconds": time.perf_counter() - started}

    def figure(self, estimators: Mapping[tuple[str, str], Any], records: pd.DataFrame) -> Figure:
        """Draw test error against labels added: one panel per method and noise, one line per acquisition."""
        panels: dict[str, dict[str, Any]] = {}
        noise = records["cell"].str.partition("/")[2].astype(float)
        for (_, method, cell), group in records.assign(noise=noise).groupby(["noise", "method", "cell"]):
            acquisition, _, label = str(cell).partition("/")
            panel = panels.setdefault(f"{title_of(method)}, noise {label}", {})
            panel[acquisition] = learning_curve(group["curves"])
        return active_figure(panels)
