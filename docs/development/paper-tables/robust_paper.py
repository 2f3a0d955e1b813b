"""Table 3 and figure 1 of "Robust Multi-Class Gaussian Process Classification".

    python docs/development/paper-tables/robust_paper.py --data DATA --splits 20

Trains on all of glass for P(z = 1 | X, y) of each row (figure 1), and then counts how often the rows above one half are
misclassified as test rows of the benchmark's splits (table 3).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fermiclass import RobustGPClassifier
from fermiclass.plots.style import PALETTE
from fermiclass_benchmarks.methods import MethodOptions
from fermiclass_benchmarks.uci import load_rows
from fermiclass_benchmarks.wrong_labels import _SEED, _TRAIN, WrongLabels

FIGURE = Path(__file__).parents[2] / "figures" / "rmgpc-1.png"
METHODS = ("rmgpc", "smgpc", "logistic", "svm", "forest")
PAPER = {3: 0.69, 36: 0.96, 127: 0.82, 137: 0.51, 152: 0.86, 158: 0.83, 188: 1.00}  # table 3


def suspects(data: Path, num_splits: int) -> None:
    """Draw figure 1 and print table 3."""
    X, y = load_rows(data, "glass", openml=False, benchmark="rmgpc")
    P = RobustGPClassifier().fit(X, y).outlier_probability_
    figure = Figure(figsize=(6.4, 2.6), layout="constrained")
    axes = figure.subplots()
    axes.vlines(np.arange(1, len(P) + 1), 0.0, P, color=PALETTE[0], lw=1.2)
    for row in np.flatnonzero(P > 0.5) + 1:
        near = P[row : row + 8].max(initial=0.0) > 0.5  # another name stands to the right
        place: dict[str, Any] = {"xytext": (3 if near else 0, 2), "ha": "right" if near else "center"}
        axes.annotate(str(row), (row, P[row - 1]), fontsize=8, textcoords="offset points", **place)
    axes.set(xlabel="row of glass", ylabel="P(z = 1 | X, y)", ylim=(0.0, 1.12), xlim=(0, len(P) + 1))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FIGURE, dpi=130)
    rows = sorted({*PAPER, *(np.flatnonzero(P > 0.5) + 1)})
    benchmark = WrongLabels(data)
    wrong: dict[str, np.ndarray] = {method: np.zeros(len(y)) for method in METHODS}
    tested = np.zeros(len(y))
    for split in range(num_splits):
        problem = benchmark.problem("glass/0", split)
        order = np.random.default_rng((_SEED, split)).permutation(len(X))
        test = order[round(_TRAIN * len(X)) :]
        assert np.array_equal(y[test], problem.y_test)
        tested[test] += 1
        for method in METHODS:
            fitted = benchmark.estimator("glass/0", method, MethodOptions()).fit(problem.X, problem.y)
            best = fitted.classes_[fitted.predict_proba(problem.X_test).argmax(axis=1)]
            wrong[method][test] += best != problem.y_test
    print(f"{num_splits} splits; % of the tests in which the row is misclassified")
    print("| row | P(z = 1) | the paper's | times tested | " + " | ".join(METHODS) + " |")
    print("| --- " * (4 + len(METHODS)) + "|")
    for row in rows:
        k = row - 1
        shares = " | ".join(f"{100 * wrong[m][k] / tested[k]:.0f}" if tested[k] else "" for m in METHODS)
        print(f"| {row} | {P[k]:.2f} | {PAPER.get(row, '')} | {tested[k]:.0f} | {shares} |")
    others = np.setdiff1d(np.arange(len(y)), np.array(rows) - 1)
    shares = " | ".join(f"{100 * wrong[m][others].sum() / tested[others].sum():.0f}" for m in METHODS)
    print(f"| all others | {P[others].mean():.2f} | | {tested[others].sum():.0f} | {shares} |")


parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--data", type=Path, default=Path())
parser.add_argument("--splits", type=int, default=20)
options = parser.parse_args()
suspects(options.data, options.splits)
