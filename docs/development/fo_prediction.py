"""NIMGP_FO on the UCI data with a V in prediction only (the main paper's table 5).

    python docs/development/fo_prediction.py --data DATA --datasets glass,new-thyroid,svmguide2,wine --splits 6

The published errors of NIMGP_FO are those of MGP, but its NLLs are lower. So a model that is trained without noise,
with the paper's optimiser, predicts with several V, the same for all features. Printed are NLL and error for each V,
and where the NLL is as much lower than without V as the paper's NIMGP_FO is than its MGP.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from fermiclass.benchmarks import make_benchmark
from fermiclass.benchmarks.benchmark import score_labels
from fermiclass.benchmarks.methods import MethodOptions, make_estimator

V = np.array([0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0])


def scores(benchmark, cell: str, splits: int) -> np.ndarray:
    """Return mean NLL and error for each V, ``(len(V), 2)``."""
    found = []
    for split in range(splits):
        problem = benchmark.problem(cell, split)
        settings = {**benchmark.settings(cell), "noise": "given"}
        estimator = make_estimator("nimgp-fo", settings, MethodOptions(paper=True))
        estimator.fit(problem.X, problem.y, X_var=np.full_like(problem.X, 1e-6))
        for v in V:
            p = estimator.predict_proba(problem.X_test, X_var=np.full_like(problem.X_test, v))
            found.append(score_labels(problem.y_test, p, estimator.classes_))
    return np.array([[of["nll"], of["error"]] for of in found]).reshape(splits, len(V), 2).mean(axis=0)


def main() -> None:
    """Print a line for each cell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--datasets", default="glass,new-thyroid,svmguide2,wine")
    parser.add_argument("--splits", type=int, default=6)
    options = parser.parse_args()
    benchmark = make_benchmark("uci", data=options.data)
    for cell in benchmark.choose_cells(options.datasets):
        found = scores(benchmark, cell, options.splits)
        published = [benchmark.published[cell, method]["nll"] for method in ("nimgp-fo", "mgp")]
        wanted, ratio = published[0] / published[1], found[:, 0] / found[0, 0]
        k = np.flatnonzero(np.diff(np.sign(ratio - wanted)))
        crossed = V[k] + (wanted - ratio[k]) / np.diff(ratio)[k] * np.diff(V)[k]
        of_v = ", ".join(f"V {v:g}: {nll:.3f} {error:.3f}" for v, (nll, error) in zip(V, found, strict=True))
        at = ", ".join(f"{v:.2f}" for v in crossed) or "none"
        print(f"{cell}: {of_v}; {published[0]:g} / {published[1]:g} at V = {at}", flush=True)


if __name__ == "__main__":
    main()
