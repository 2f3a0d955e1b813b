"""What a benchmark is: its cells, the scores of a split, and what all benchmarks keep to."""

import pickle

import numpy as np
import pytest

from fake import CELLS, Constant, FakeBenchmark, Learner
from fermiclass.errors import BenchmarkError
from fermiclass.evaluation.baselines import BaselineClassifier
from fermiclass.nimgp.estimators.of_papers import join_settings
from fermiclass_benchmarks import BENCHMARKS, make_benchmark
from fermiclass_benchmarks.benchmark import Problem
from fermiclass_benchmarks.harness import Work, run_split
from fermiclass_benchmarks.methods import MethodOptions


def record_of(estimator, cell="easy/0", split=0):
    return run_split(Work(FakeBenchmark(), cell, "some", estimator, split))


def test_scores_are_those_of_the_estimator_alone():
    for record in (record_of(BaselineClassifier("logistic"), split=split) for split in (0, 3)):
        problem = FakeBenchmark().problem("easy/0", record["split"])
        fitted = BaselineClassifier("logistic").fit(problem.X, problem.y)
        p = fitted.predict_proba(problem.X_test)
        assert record["nll"] == pytest.approx(
            -np.mean([np.log(row[k]) for row, k in zip(p, problem.y_test, strict=True)])
        )
        assert record["error"] == np.mean(fitted.predict(problem.X_test) != problem.y_test)
        assert (record["cell"], record["method"]) == ("easy/0", "some")
        assert record["settings"] == {"baseline": "logistic", "uncertainties": False, "seed": 0}


def test_confusion_has_predicted_classes_by_true_ones():
    record = record_of(Constant((0.1, 0.2, 0.7)), split=1)
    counts = np.bincount(FakeBenchmark().problem("easy/0", 1).y_test, minlength=3)
    assert record["classes"] == ["0", "1", "2"]
    np.testing.assert_array_equal(record["confusion"], [[0, 0, 0], [0, 0, 0], counts])


def test_a_class_that_was_not_learned_has_no_probability():
    class Missing(FakeBenchmark):
        def problem(self, cell, split):
            zeros = np.zeros((4, 1))
            return Problem(zeros, zeros, np.array(list("acac")), zeros, zeros, np.array(list("abcc")))

    record = run_split(Work(Missing(), "easy/0", "some", Constant((0.6, 0.4)), 0))
    assert record["classes"] == ["a", "b", "c"]
    assert record["nll"] == pytest.approx(-np.mean(np.log([0.6, 1e-5, 0.4, 0.4])))
    assert record["error"] == 0.75


def test_excess_over_what_is_best():
    record = record_of(Constant((1 / 3, 1 / 3, 1 / 3)), "hard/0", 2)
    assert record["bayes_nll"] == pytest.approx(-np.log(0.9 + 0.1 / 3))
    assert record["excess"] == pytest.approx(np.log(3) + np.log(0.9 + 0.1 / 3))
    assert "excess" not in record_of(Constant())


class Ranked(Constant):
    """Ranks training rows by their first feature."""

    def fit(self, X, y, *, X_var=None):
        self.outlier_probability_ = X[:, 0]
        return super().fit(X, y)


class WithWrongLabels(FakeBenchmark):
    """Rows 0 to 3 of eight are wrong, of which 0, 1 and 3 are ranked first to fifth."""

    def problem(self, cell, split):
        X = np.array([9.0, 8.0, 1.0, 5.0, 7.0, 6.0, 0.0, 0.0])[:, None]
        y, y_test = np.array(list("aabbccaa")), np.array(list("aaab"))
        return Problem(X, X, y, X[:4], X[:4], y_test, wrong=np.arange(8) < 4)


def test_wrong_labels():
    record = run_split(Work(WithWrongLabels(), "easy/0", "some", Ranked(), 0))
    assert record["bcr"] == 0.5  # all of a, none of b, and no test row of c
    assert record["error"] == 0.25
    assert (record["wrong"], record["found"]) == (4, 3)
    record = run_split(Work(WithWrongLabels(), "easy/0", "some", Constant(), 0))
    assert record["wrong"] == 4
    assert "found" not in record
    assert not {"wrong", "bcr", "found"} & set(record_of(Constant()))


def test_what_was_learned_is_kept():
    record = record_of(Learner(), split=4)
    np.testing.assert_allclose(record["noise"], FakeBenchmark().problem("easy/0", 4).X.var(axis=0))
    assert record["elbo"] == -3.0
    assert record["settings"] == {"p": "(0.5, 0.3, 0.2)"}
    assert not {"noise", "elbo"} & set(record_of(Constant()))


@pytest.mark.parametrize(
    ("data_sets", "noise", "cells"),
    [
        (None, (), CELLS),
        ("easy", (), ("easy/0", "easy/0.5")),
        ("hard, easy", (), CELLS),
        ("easy/0.5", (), ("easy/0.5",)),
        (None, ("0.0",), ("easy/0", "hard/0")),
        (None, ("0.5,0",), CELLS),
        ("easy", ("0.5", "0"), ("easy/0", "easy/0.5")),
    ],
)
def test_cells(data_sets, noise, cells):
    assert FakeBenchmark().choose_cells(data_sets, noise) == cells


@pytest.mark.parametrize(
    ("data_sets", "noise", "message"),
    [
        ("glass", (), r"'fake' has no data set 'glass': choose among easy, hard \(--datasets\)"),
        (None, ("0.1",), r"'fake' has no noise '0.1': choose among 0, 0.5 \(--noise\)"),
        (None, ("some",), r"has no noise 'some'"),
        ("hard", ("0.5",), r"has no cell of hard with noise 0.5: its cells are easy/0, easy/0.5, hard/0"),
    ],
)
def test_cells_that_are_not_there(data_sets, noise, message):
    with pytest.raises(BenchmarkError, match=message):
        FakeBenchmark().choose_cells(data_sets, noise)


REGRESSIONS = ("sincsig", "cartpole")
OF_CLASSES = pytest.mark.parametrize(
    "benchmark", [name for name in BENCHMARKS if name not in REGRESSIONS], indirect=True
)


@pytest.fixture(params=BENCHMARKS)
def benchmark(request, shared_data):
    return make_benchmark(request.param, data=shared_data / "data")


def test_cells_methods_and_published_figures(benchmark):
    assert len(set(benchmark.cells)) == len(benchmark.cells) > 0
    assert set(benchmark.default_cells) <= set(benchmark.cells)
    assert benchmark.published or benchmark.name in ("active", *REGRESSIONS)  # which have figures only
    cell = benchmark.cells[0]
    for method in {*benchmark.methods, *(method for _, method in benchmark.published)}:
        benchmark.estimator(cell, method, MethodOptions())
    for figures in benchmark.published.values():
        assert set(figures) <= set(benchmark.scores)
        assert all(0 <= figures.get(rate, 0) <= 1 for rate in ("error", "bcr"))


@OF_CLASSES
def test_problems_are_the_same_in_every_process(benchmark):
    cell = (benchmark.default_cells or benchmark.cells)[-1]
    first = benchmark.problem(cell, 1 % benchmark.num_splits)
    second = pickle.loads(pickle.dumps(benchmark)).problem(cell, 1 % benchmark.num_splits)
    assert first.X.shape == first.X_var.shape == (len(first.y), first.X.shape[1])
    assert first.X_test.shape == first.X_var_test.shape == (len(first.y_test), first.X.shape[1])
    assert np.all(first.X_var >= 0)
    for name in ("X", "X_var", "y", "X_test", "X_var_test", "y_test", "wrong"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    if first.bayes is not None:
        assert first.y_test.dtype.kind == "i"  # how the columns of bayes are numbered
        np.testing.assert_allclose(first.bayes.sum(axis=1), 1.0)
        assert first.bayes.shape == (len(first.y_test), first.y.max() + 1)


@OF_CLASSES
def test_settings_are_those_of_an_estimator(benchmark):
    for cell in benchmark.cells:
        settings = join_settings(benchmark.settings(cell), {"hyper": benchmark.authors(cell, "nimgp")})
        parameters = benchmark.estimator(cell, "nimgp", MethodOptions(paper=True)).get_params()
        assert join_settings(parameters, settings) == parameters
        assert not {"method", "random_state"} & set(settings)


@pytest.mark.parametrize(("name", "starts"), [("mnist", [0.01, 0.01, 0.025, 0.05]), ("active", [0.1, 0.1, 0.25, 0.5])])
def test_a_learned_noise_starts_as_in_the_authors_code(name, starts):
    benchmark = make_benchmark(name)
    for cell, start in zip(benchmark.cells[:4], starts, strict=True):
        hyper = benchmark.estimator(cell, "nimgp-nn", MethodOptions(paper=True)).hyper
        assert hyper["noise"] == pytest.approx(start)


def test_default_cells():
    class Some(FakeBenchmark):
        default_cells = CELLS[2:]

    assert Some().choose_cells() == ("hard/0",)
    assert Some().choose_cells("easy") == ("easy/0", "easy/0.5")
