"""Active learning on waveform: which rows to label next (the main paper's section 5.5, figures 6 and 7).

A repetition divides the 1,000 rows into 100 training rows, 500 test rows and a pool of 400. In every round the
classifier is trained and tested, and then selects the row of the pool to label next. Each training starts where the
last one ended.

The data are ``X.txt`` and ``Y.txt`` in ``DATA/uci/waveform``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from fermiclass.errors import BenchmarkError
from fermiclass.io import FloatArray
from fermiclass.nimgp.estimators.of_papers import authors_start
from fermiclass_benchmarks.benchmark import Benchmark, PaperTable, Problem, Record, score_labels
from fermiclass_benchmarks.figures import active_figure, learning_curve, title_of
from fermiclass_benchmarks.methods import METHOD_OPTIONS, MethodOptions
from fermiclass_benchmarks.uci import load_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fermiclass.nimgp.prediction.prediction import Prediction

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


def load(folder: Path) -> tuple[FloatArray, NDArray[np.int64]]:
    """Read inputs ``(1000, D)`` and classes ``(1000,)`` of ``folder/uci/waveform``.

    Raises BenchmarkError when a file is missing or damaged, or has too few rows.
    """
    return load_rows(folder, "waveform", False, "active", NUM_TRAIN + NUM_TEST + NUM_POOL)


def draw_repetition(
    X: FloatArray, y: NDArray[Any], noise: float, repetition: int
) -> tuple[FloatArray, NDArray[Any], np.random.Generator]:
    """Return the rows of a repetition in their order: 100 training rows, 500 test rows, and the pool; and a generator.

    Inputs are standardised by the training rows before the noise. All noise variances have the same draws, scaled.
    """
    rng = np.random.default_rng((5, repetition))
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    X = (X - X[:NUM_TRAIN].mean(axis=0)) / X[:NUM_TRAIN].std(axis=0)
    return X + np.sqrt(noise) * rng.standard_normal(X.shape), y, rng


def label_round_by_round(
    data: tuple[FloatArray, NDArray[Any]],
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
    `acquisition`: one of :data:`ACQUISITIONS`. BALD is the mutual information of the label and the latent functions.
    `noise`: variance of the noise that is added to all inputs. Methods that learn the noise ignore it as X_var.
    `repetition`: its division of the rows is the same for every method, acquisition and noise.
    `per_round`: number of rows that are labelled in each round.
    `refit`: settings that change when training continues, such as fewer epochs. The paper changes none.

    Returns ``"error"`` and ``"nll"`` on the test rows after the last round, ``"classes"`` and ``"confusion"``, and
    ``"curves"``: the numbers of rows labelled so far ``"added"``, ``"error"`` and ``"nll"``, lists of length ``rounds +
    1``.
    """
    X, y, rng = draw_repetition(*data, noise, repetition)
    X_var = np.full_like(X, noise)
    train, test, pool = np.split(np.arange(NUM_TRAIN + NUM_TEST + NUM_POOL), [NUM_TRAIN, NUM_TRAIN + NUM_TEST])
    score = ACQUISITIONS[acquisition]
    scores: list[Record] = []
    fitted = None
    for k in range(rounds + 1):
        unfitted = clone(estimator).set_params(**(refit if k else {}))
        fitted = unfitted.fit(X[train], y[train], X_var=X_var[train], start=fitted)
        scores.append(score_labels(y[test], fitted.predict_proba(X[test], X_var=X_var[test]), fitted.classes_))
        if k == rounds:
            break
        if score is None:
            values = rng.random(len(pool))
        else:
            values = score(fitted.predict_distribution(X[pool], X_var=X_var[pool]))
        best = np.argsort(-values, kind="stable")[:per_round]
        train, pool = np.append(train, pool[best]), np.delete(pool, best)
    curves = {name: [record[name] for record in scores] for name in ("error", "nll")}
    return scores[-1] | {"curves": {"added": [k * per_round for k in range(rounds + 1)]} | curves}


class Active(Benchmark):
    """The benchmark ``active``: its cells are ``entropy/0.25`` and so on, and its splits are repetitions.

    The paper has figures only, and labels one row per round. The folder of the data holds ``uci/waveform``.
    """

    name = "active"
    cells = tuple(f"{acquisition}/{noise}" for acquisition in ACQUISITIONS for noise in NOISES)
    default_cells = tuple(f"{acquisition}/0.25" for acquisition in ACQUISITIONS)
    num_splits = 100
    tables = MappingProxyType({"Figures 6 and 7": PaperTable("entropy,random", slow=True)})
    options = ("data", "per_round", "noise", "plot", *METHOD_OPTIONS)
    classes = MappingProxyType(dict.fromkeys(ACQUISITIONS, 3))

    def problem(self, cell: str, split: int) -> Problem:
        """Return the start of a repetition: its first training rows, and its test rows."""
        noise = float(cell.partition("/")[2])
        X, y, _ = draw_repetition(*load(self.folder), noise, split)
        train, test = np.split(np.arange(NUM_TRAIN + NUM_TEST), [NUM_TRAIN])
        return Problem.split(X, noise, y, train, test)

    def settings(self, cell: str) -> Mapping[str, Any]:
        """Return the settings of section 5.5, with initial values from the authors' code."""
        steps = {"epochs": 1000, "batch_size": 50, "learning_rate": 1e-3}
        return {"num_inducing": 50, "noise": "per-feature", **steps, **authors_start(21)}

    def authors(self, cell: str, method: str) -> Mapping[str, Any]:
        """Return the authors' start of a learned V: the noise itself, or 0.1 if it is smaller."""
        return {**super().authors(cell, method), "noise": max(0.1, float(cell.partition("/")[2]))}

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
        return label_round_by_round(
            load(self.folder),
            estimator,
            acquisition,
            float(noise),
            split,
            rounds=NUM_ADDED // self.per_round,
            per_round=self.per_round,
            refit=_REFIT if estimator.epochs is None else {},
        )

    def figure(self, estimators: Mapping[tuple[str, str], Any], records: pd.DataFrame) -> Figure:
        """Draw test error against labels added: one panel per method and noise, one line per acquisition."""
        panels: dict[str, dict[str, Any]] = {}
        noise = records["cell"].str.partition("/")[2].astype(float)
        for (_, method, cell), group in records.assign(noise=noise).groupby(["noise", "method", "cell"]):
            acquisition, _, label = str(cell).partition("/")
            panel = panels.setdefault(f"{title_of(method)}, noise {label}", {})
            panel[acquisition] = learning_curve(group["curves"])
        return active_figure(panels)
