"""MGP (sampling) of the main paper's tables 11 and 12: what if its predictions, too, use draws of the inputs.

    python docs/development/sampled_predictions.py --splits 2

Trained with fresh draws of N(x̃, V) in every step, it predicts at x̃, or a mean over a few draws of N(x̃, V). The script
prints means of NLL and error over the problems.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np

from fermiclass.benchmarks import make_benchmark
from fermiclass.benchmarks.benchmark import score_labels
from fermiclass.benchmarks.methods import MethodOptions


def main() -> None:
    """Print a line for each noise and number of draws."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--splits", type=int, default=2)
    benchmark, rng = make_benchmark("synthetic"), np.random.default_rng(0)
    found = defaultdict(list)
    for split in range(parser.parse_args().splits):
        for cell in ("n1000-d2-c3/0.1", "n1000-d2-c3/0.5"):
            problem = benchmark.problem(cell, split)
            X, V, y = problem.X_test, problem.X_var_test, problem.y_test
            model = benchmark.estimator(cell, "mgp-sampling", MethodOptions())
            model.fit(problem.X, problem.y, X_var=problem.X_var)
            found[cell, "at x̃"].append(score_labels(y, model.predict_proba(X, X_var=V), model.classes_))
            draws = [model.predict_proba(X + rng.standard_normal(X.shape) * np.sqrt(V), X_var=V) for _ in range(32)]
            for num in (1, 2, 3, 4, 8, 32):
                scores = score_labels(y, np.mean(draws[:num], axis=0), model.classes_)
                found[cell, f"mean of {num} draws"].append(scores)
    for (cell, name), each in found.items():
        nll, error = (np.mean([score[key] for score in each]) for key in ("nll", "error"))
        print(f"{cell} {name:16s} NLL {nll:.3f}, error {error:.3f}")


if __name__ == "__main__":
    main()
