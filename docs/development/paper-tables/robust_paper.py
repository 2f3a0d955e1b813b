"""Tables 2 and 3 and figure 1 of "Robust Multi-Class Gaussian Process Classification".

    python docs/development/paper-tables/robust_paper.py tests rmgpc.jsonl [MORE.jsonl]
    python docs/development/paper-tables/robust_paper.py suspects --data DATA --splits 20

``tests`` reads the records of ``fermiclass benchmark rmgpc --results rmgpc.jsonl``, and compares the BCR of RMGPC and
SMGPC split by split with the Wilcoxon signed-rank test, as in table 2. ``suspects`` trains on all of glass for
P(z = 1 | X, y) of each row (figure 1), and then counts how often the rows above one half are misclassified as test rows
of the benchmark's splits (table 3).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import wilcoxon

from fermiclass import RobustGPClassifier
from fermiclass.plots.style import PALETTE
from fermiclass_benchmarks import wrong_labels
from fermiclass_benchmarks.methods import MethodOptions
from fermiclass_benchmarks.uci import load_rows

FIGURE = Path(__file__).parents[2] / "figures" / "rmgpc-1.png"
METHODS = ("rmgpc", "smgpc", "logistic", "svm", "forest")
PAPER = {3: 0.69, 36: 0.96, 127: 0.82, 137: 0.51, 152: 0.86, 158: 0.83, 188: 1.00}  # table 3
LEVEL = 0.01


def tests(records: list[Path]) -> None:
    """Print a row for each cell: BCR of both methods in percent, their paired difference, and p."""
    lines = [json.loads(line) for path in records for line in path.read_text().splitlines()]
    frame = pd.DataFrame([line for line in lines if "split" in line])
    frame = frame.drop_duplicates(["cell", "method", "split"])
    published = wrong_labels.WrongLabels(Path()).published
    print("| cell | splits | RMGPC (the paper's) | SMGPC (the paper's) | difference | better, worse | p | verdict |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for cell in wrong_labels.WrongLabels.cells:
        pairs = (
            frame[frame["cell"] == cell]
            .pivot(index="split", columns="method", values="bcr")
            .reindex(columns=["rmgpc", "smgpc"])
        )
        pairs = 100 * pairs.dropna()
        if len(pairs) < 2:
            continue
        less = pairs["rmgpc"] - pairs["smgpc"]
        p = wilcoxon(less).pvalue if less.any() else 1.0
        means = [
            f"{pairs[m].mean():.1f} ± {pairs[m].sem():.1f} ({100 * published[cell, m]['bcr']:.1f})"
            for m in pairs.columns
        ]
        gap = (pairs["rmgpc"].mean() - 100 * published[cell, "rmgpc"]["bcr"]) / pairs["rmgpc"].sem()
        verdict = "reached" if gap >= 0 else "within one standard error" if gap >= -1 else "not"
        print(
            f"| {cell} | {len(pairs)} | {' | '.join(means)} | {less.mean():+.1f} ± {less.sem():.1f} | "
            f"{(less > 0).sum()}, {(less < 0).sum()} | {p:.2g}{' *' if p < LEVEL else ''} | {verdict} |"
        )


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
    benchmark = wrong_labels.WrongLabels(data)
    wrong: dict[str, np.ndarray] = {method: np.zeros(len(y)) for method in METHODS}
    tested = np.zeros(len(y))
    for split in range(num_splits):
        problem = benchmark.problem("glass/0", split)
        order = np.random.default_rng((wrong_labels._SEED, split)).permutation(len(X))
        test = order[round(wrong_labels._TRAIN * len(X)) :]
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


def main() -> None:
    """Run a part."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parts = parser.add_subparsers(dest="part", required=True)
    parts.add_parser("tests").add_argument("records", type=Path, nargs="+")
    part = parts.add_parser("suspects")
    part.add_argument("--data", type=Path, default=Path())
    part.add_argument("--splits", type=int, default=20)
    options = parser.parse_args()
    if options.part == "tests":
        tests(options.records)
    else:
        suspects(options.data, options.splits)


if __name__ == "__main__":
    main()
