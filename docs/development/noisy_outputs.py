"""Regression of counts, and of numbers with outliers, on inputs with known noise: what knowing the noise gains.

    python docs/development/noisy_outputs.py
    python docs/development/noisy_outputs.py --sets 1

Inputs are uniform on [−3, 3]. Their noise has known standard deviations, uniform up to 1. The function is
``f(x) = 1 + 1.5 sin(1.5 x)``. Counts are Poisson with the rate exp f. Numbers are f plus 0.2 times Student's t noise
with three degrees of freedom. Each set has 200 training sources, and 500 others with input noise of the same kind. The
score is their mean log density. ``mgp`` ignores the noise.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import fermiclass as fc

LIKELIHOODS, METHODS = ("poisson", "student-t"), ("mgp", "nimgp")


def draw(likelihood: str, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs ``(n, 1)``, their variances, and outputs ``(n,)``."""
    x, std = rng.uniform(-3, 3, size), rng.uniform(0, 1.0, size)
    f = 1 + 1.5 * np.sin(1.5 * x)
    y = rng.poisson(np.exp(f)) if likelihood == "poisson" else f + 0.2 * rng.standard_t(3, size)
    X = x + std * rng.standard_normal(size)
    return X[:, None], std[:, None] ** 2, np.asarray(y, np.float64)


def score(likelihood: str, method: str, k: int) -> float:
    """Return the mean log density of the sources that were held out of a set."""
    rng = np.random.default_rng([k, LIKELIHOODS.index(likelihood)])
    X, X_var, y = draw(likelihood, 200, rng)
    X_test, X_var_test, y_test = draw(likelihood, 500, rng)
    model = fc.NIMGPRegressor(likelihood, method=method, num_inducing=20, steps=500, num_draws=64)
    model.fit(X, y, X_var=X_var)
    return float(model.log_density(X_test, y_test, X_var=X_var_test).mean())


def main() -> None:
    """Print a line for each likelihood."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=20)
    num_sets = parser.parse_args().sets
    for likelihood in LIKELIHOODS:
        scores = pd.DataFrame({method: [score(likelihood, method, k) for k in range(num_sets)] for method in METHODS})
        scores["difference"] = scores["nimgp"] - scores["mgp"]
        print(f"{likelihood}: nimgp better in {(scores['difference'] > 0).sum()} of {num_sets}")
        print(scores.agg(["mean", "sem"]).round(4).to_string(), flush=True)


if __name__ == "__main__":
    main()
