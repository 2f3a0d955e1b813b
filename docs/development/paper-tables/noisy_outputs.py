"""Regression of counts, and of numbers with outliers, on inputs with known noise: what knowing the noise gains.

    python docs/development/paper-tables/noisy_outputs.py
    python docs/development/paper-tables/noisy_outputs.py --sets 1
    python docs/development/paper-tables/noisy_outputs.py --coverage

Inputs are uniform on [−3, 3]. Their noise has known standard deviations, uniform up to 1. The function is
``f(x) = 1 + 1.5 sin(1.5 x)``. Counts are Poisson with the rate exp f. Numbers are f plus 0.2 times Student's t noise
with three degrees of freedom, or of Gaussian noise with ``--coverage``. Each set has 200 training sources, and 500
others with input noise of the same kind. The score is their mean log density, or with ``--coverage`` the fraction
inside their 90 % intervals. ``mgp`` ignores the noise.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import fermiclass as fc

LIKELIHOODS, METHODS = ("poisson", "student-t", "gaussian"), ("mgp", "nimgp")
COVERAGE_METHODS = (*METHODS, "nimgp-nn", "nimgp-fo-marginal", "nimgp-fo")


def draw(likelihood: str, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs ``(n, 1)``, their variances, and outputs ``(n,)``."""
    x, std = rng.uniform(-3, 3, size), rng.uniform(0, 1.0, size)
    f = 1 + 1.5 * np.sin(1.5 * x)
    noise = {"student-t": lambda: rng.standard_t(3, size), "gaussian": lambda: rng.standard_normal(size)}
    y = rng.poisson(np.exp(f)) if likelihood == "poisson" else f + 0.2 * noise[likelihood]()
    X = x + std * rng.standard_normal(size)
    return X[:, None], std[:, None] ** 2, np.asarray(y, np.float64)


def score(likelihood: str, method: str, k: int, *, coverage: bool = False) -> float:
    """Return the mean log density of the sources that were held out of a set, or the coverage of their intervals."""
    rng = np.random.default_rng([k, LIKELIHOODS.index(likelihood)])
    X, X_var, y = draw(likelihood, 200, rng)
    X_test, X_var_test, y_test = draw(likelihood, 500, rng)
    model = fc.NIMGPRegressor(likelihood=likelihood, method=method, num_inducing=20, steps=500, num_draws=64)
    model.fit(X, y, X_var=X_var)
    if coverage:
        low, high = model.predict_quantiles(X_test, (0.05, 0.95), X_var=X_var_test).T
        return float(np.mean((low <= y_test) & (y_test <= high)))
    return float(model.log_density(X_test, y_test, X_var=X_var_test).mean())


def main() -> None:
    """Print a line for each likelihood."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--coverage", action="store_true")
    chosen = parser.parse_args()
    num_sets = chosen.sets
    if chosen.coverage:
        for method in COVERAGE_METHODS:
            found = pd.Series([score("gaussian", method, k, coverage=True) for k in range(num_sets)])
            print(f"{method}: {found.mean():.3f} ± {found.sem():.3f} inside 90 % intervals", flush=True)
        return
    for likelihood in LIKELIHOODS[:2]:
        scores = pd.DataFrame({method: [score(likelihood, method, k) for k in range(num_sets)] for method in METHODS})
        scores["difference"] = scores["nimgp"] - scores["mgp"]
        print(f"{likelihood}: nimgp better in {(scores['difference'] > 0).sum()} of {num_sets}")
        print(scores.agg(["mean", "sem"]).round(4).to_string(), flush=True)


if __name__ == "__main__":
    main()
