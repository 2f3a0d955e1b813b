"""A benchmark and estimators that cost nothing, in a module of their own so that other processes find them."""

from types import MappingProxyType

import numpy as np
from sklearn.base import BaseEstimator

from fermiclass.errors import BenchmarkError
from fermiclass_benchmarks.benchmark import Benchmark, Problem

CELLS = ("easy/0", "easy/0.5", "hard/0")


class FakeBenchmark(Benchmark):
    """Three classes in two dimensions; the last cell knows what is best."""

    name = "fake"
    cells = CELLS
    num_splits = 6
    published = MappingProxyType({("easy/0", "mgp"): {"nll": 0.3, "error": 0.1}})

    def problem(self, cell, split):
        rng = np.random.default_rng([CELLS.index(cell), split])
        y = rng.permutation(np.repeat([0, 1, 2], 20))
        X = rng.normal(size=(60, 2)) + 1.5 * np.eye(3, 2)[y]
        bayes = None
        if cell == "hard/0":
            bayes = 0.9 * np.eye(3)[y[40:]] + 0.1 / 3
        zeros = np.zeros_like(X)
        return Problem(X[:40], zeros[:40], y[:40], X[40:], zeros[40:], y[40:], bayes)


class WithoutData(FakeBenchmark):
    """Cannot read its data."""

    def problem(self, cell, split):
        raise BenchmarkError(f"no data for {cell}")


class Constant(BaseEstimator):
    """Always the same probabilities, whatever it is trained on."""

    def __init__(self, p=(0.5, 0.3, 0.2)):
        self.p = p

    def fit(self, X, y, *, X_var=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X, *, X_var=None):
        p = np.asarray(self.p)[: len(self.classes_)]
        return np.tile(p / p.sum(), (len(X), 1))


class Learner(Constant):
    """One that learns the noise, and has a bound."""

    def fit(self, X, y, *, X_var=None):
        self.noise_variance_, self.objective_ = X.var(axis=0), np.array([-9.0, -3.0])
        return super().fit(X, y)
