"""Active learning: what is labelled next, with a classifier that takes no time."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
from fermiclass_benchmarks import active
from fermiclass_benchmarks.active import Active, label_round_by_round
from fermiclass_benchmarks.figures import learning_curve
from fermiclass_benchmarks.harness import run as run_benchmark
from fermiclass_benchmarks.tables import summarise


class Fake(BaseEstimator):
    """Logistic regression, with entropies; its information is what lies far from the mean of the training rows."""

    calls = []  # noqa: RUF012 (copies note their trainings in one place)

    def __init__(self, epochs=7):
        self.epochs = epochs

    def fit(self, X, y, *, X_var, start):
        self.X_, self.y_, self.X_var_, self.start_ = X, y, X_var, start
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        self.calls.append(self)
        return self

    def predict_proba(self, X, *, X_var):
        self.test_, self.test_var_ = X, X_var
        return self.model_.predict_proba(X)

    def predict_distribution(self, X, *, X_var):
        self.pool_ = X
        p = self.model_.predict_proba(X)
        entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
        return SimpleNamespace(entropy=entropy, information=((X - self.X_.mean(axis=0)) ** 2).sum(axis=1))


@pytest.fixture(scope="module")
def data():
    """Three classes that overlap; the first column numbers the rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1000)
    X = rng.normal(size=(1000, 3)) + 1.5 * np.eye(3)[y]
    return np.column_stack([np.arange(1000.0), X]), y


def run(data, acquisition="entropy", noise=0.0, repetition=0, **options):
    Fake.calls = []
    return label_round_by_round(data, Fake(), acquisition, noise, repetition, **options), Fake.calls


def added_rows(calls):
    """Those that each training after the first has more."""
    return [b.X_[len(a.X_) :] for a, b in pairwise(calls)]


def test_the_rows_are_divided_and_then_move(data):
    record, calls = run(data, rounds=3, per_round=4)
    first, last = calls[0], calls[-1]
    assert (len(first.X_), len(first.test_), len(first.pool_)) == (100, 500, 400)
    assert len(np.unique(np.concatenate([first.X_[:, 0], first.test_[:, 0], first.pool_[:, 0]]))) == 1000
    assert [len(call.X_) for call in calls] == [100, 104, 108, 112]
    assert np.array_equal(last.X_[:100], first.X_)
    assert np.isin(last.X_[100:, 0], first.pool_[:, 0]).all()
    assert len(np.unique(last.X_[:, 0])) == 112
    assert record["curves"]["added"] == [0, 4, 8, 12]
    assert len(record["curves"]["error"]) == len(record["curves"]["nll"]) == 4
    assert record["nll"] == record["curves"]["nll"][-1]


@pytest.mark.parametrize("acquisition", ["entropy", "bald"])
def test_the_row_with_the_largest_score_is_labelled_next(data, acquisition):
    name = {"entropy": "entropy", "bald": "information"}[acquisition]
    _, calls = run(data, acquisition, rounds=3)
    for fake, new in zip(calls, added_rows(calls), strict=False):
        pool = fake.pool_
        score = getattr(fake.predict_distribution(pool, X_var=None), name)
        assert np.array_equal(new, pool[[np.argmax(score)]])


def test_random_rows_are_others_and_the_same_every_time(data):
    (first, calls), (again, _) = run(data, "random", rounds=3), run(data, "random", rounds=3)
    assert first == again
    chosen = np.concatenate(added_rows(calls))
    best = np.concatenate(added_rows(run(data, "entropy", rounds=3)[1]))
    assert not np.array_equal(chosen, best)
    assert not hasattr(calls[0], "pool_")  # nothing is predicted for them


def test_training_goes_on_where_it_ended(data):
    _, calls = run(data, rounds=2, refit={"epochs": 2})
    assert calls[0].start_ is None
    assert calls[1].start_ is calls[0]
    assert calls[2].start_ is calls[1]
    assert [call.epochs for call in calls] == [7, 2, 2]


def test_inputs_are_standardised_by_the_first_rows_and_then_noisy(data):
    (_, clean), (_, noisy), (_, more) = (run(data, noise=v, rounds=0) for v in (0.0, 0.1, 0.5))
    a, b, c = (calls[0] for calls in (clean, noisy, more))
    assert np.allclose(a.X_.mean(axis=0), 0.0)
    assert np.allclose(a.X_.std(axis=0), 1.0)
    assert (b.test_ - a.test_).var() == pytest.approx(0.1, rel=0.15)
    assert np.allclose(c.X_ - a.X_, np.sqrt(5) * (b.X_ - a.X_))
    assert np.all(b.test_var_ == 0.1)
    assert np.all(noisy[0].X_var_ == 0.1)
    assert np.array_equal(a.y_, c.y_)


def test_a_learning_curve_is_a_mean_with_its_standard_error():
    records = [
        {"added": [0, 5], "error": [0.3, 0.2], "nll": [1, 1]},
        {"added": [0, 5], "error": [0.5, 0.3], "nll": [1, 1]},
    ]
    curve = learning_curve(records)
    assert curve.added.tolist() == [0, 5]
    assert np.allclose(curve.mean, [0.4, 0.25])
    assert np.allclose(curve.se, [0.1, 0.05])
    for bad in ([], [records[0], {**records[1], "added": [0, 1]}]):
        with pytest.raises(ValueError, match="records of different rounds, or none"):
            learning_curve(bad)


def test_the_real_data(shared_data):
    X, y = active.load(shared_data / "data")
    assert X.shape == (1000, 21)
    assert np.bincount(y).min() > 300


def test_a_table_of_repetitions(shared_data):
    """A record for each repetition with its curve, as the harness wants them, and a figure of them."""
    table = Active(shared_data / "data", per_round=50)
    estimators = {("entropy/0.25", "mgp"): NIMGPClassifier(method="mgp", num_inducing=5, steps=3)}
    records = run_benchmark(table, estimators, 2)
    for record in records.to_dict("records"):
        assert record["curves"]["added"] == [0, 50, 100]
        assert record["error"] == record["curves"]["error"][-1]
        assert np.sum(record["confusion"]) == 500
        assert 1 - np.trace(record["confusion"]) / 500 == pytest.approx(record["error"])
    summary = summarise(table, records, 2)["methods"]["mgp"]
    assert summary["curves"]["error"][0] == pytest.approx(np.mean([curve["error"][0] for curve in records["curves"]]))
    assert len(table.figure(estimators, records).axes) == 1
