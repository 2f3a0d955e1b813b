"""Scores of single splits."""

import numpy as np
import pytest

from fermiclass.benchmarks.blocks import Block, run_block
from fermiclass.benchmarks.problem import Problem
from fermiclass.evaluation.baselines import BaselineClassifier
from fermiclass.nimgp.estimators.robust_classifier import RobustGPClassifier

from .fake import Constant, FakeBenchmark, Learner


def records_of(estimator, cell="easy/0", splits=(0, 3)):
    return run_block(Block(FakeBenchmark(), cell, "some", estimator, splits))


def test_scores_are_those_of_the_estimator_alone():
    for record in records_of(BaselineClassifier("logistic")):
        problem = FakeBenchmark().problem("easy/0", record["split"])
        fitted = BaselineClassifier("logistic").fit(problem.X, problem.y)
        p = fitted.predict_proba(problem.X_test)
        assert record["nll"] == pytest.approx(
            -np.mean([np.log(row[k]) for row, k in zip(p, problem.y_test, strict=True)])
        )
        assert record["error"] == np.mean(fitted.predict(problem.X_test) != problem.y_test)
        assert record["n_test"] == 20
        assert (record["cell"], record["method"]) == ("easy/0", "some")
        assert record["settings"] == {"baseline": "logistic", "uncertainties": False, "seed": 0}
        assert record["seconds"] == pytest.approx(record["fit_seconds"] + record["predict_seconds"])


def test_confusion_has_predicted_classes_by_true_ones():
    (record,) = records_of(Constant((0.1, 0.2, 0.7)), splits=(1,))
    counts = np.bincount(FakeBenchmark().problem("easy/0", 1).y_test, minlength=3)
    assert record["classes"] == ["0", "1", "2"]
    np.testing.assert_array_equal(record["confusion"], [[0, 0, 0], [0, 0, 0], counts])


def test_a_class_that_was_not_learned_has_no_probability():
    class Missing(FakeBenchmark):
        def problem(self, cell, split):
            zeros = np.zeros((4, 1))
            return Problem(zeros, zeros, np.array(list("acac")), zeros, zeros, np.array(list("abcc")))

    (record,) = run_block(Block(Missing(), "easy/0", "some", Constant((0.6, 0.4)), (0,)))
    assert record["classes"] == ["a", "b", "c"]
    assert record["nll"] == pytest.approx(-np.mean(np.log([0.6, 1e-5, 0.4, 0.4])))
    assert record["error"] == 0.75


def test_excess_over_what_is_best():
    (record,) = records_of(Constant((1 / 3, 1 / 3, 1 / 3)), "hard/0", (2,))
    assert record["bayes_nll"] == pytest.approx(-np.log(0.9 + 0.1 / 3))
    assert record["excess"] == pytest.approx(np.log(3) + np.log(0.9 + 0.1 / 3))
    assert "excess" not in records_of(Constant())[0]


class Ranked(Constant):
    """Ranks training rows by their first feature."""

    def fit(self, X, y, *, X_var=None):
        self.outlier_probability_, self.converged_ = X[:, 0], False
        return super().fit(X, y)


class WithWrongLabels(FakeBenchmark):
    """Rows 0 to 3 of eight are wrong, of which 0, 1 and 3 are ranked first to fifth."""

    def problem(self, cell, split):
        X = np.array([9.0, 8.0, 1.0, 5.0, 7.0, 6.0, 0.0, 0.0])[:, None]
        y, y_test = np.array(list("aabbccaa")), np.array(list("aaab"))
        return Problem(X, X, y, X[:4], X[:4], y_test, wrong=np.arange(8) < 4)


def test_wrong_labels():
    (record,) = run_block(Block(WithWrongLabels(), "easy/0", "some", Ranked(), (0,)))
    assert record["bcr"] == 0.5  # all of a, none of b, and no test row of c
    assert record["error"] == 0.25
    assert (record["wrong"], record["found"]) == (4, 3)
    assert record["converged"] is False
    (record,) = run_block(Block(WithWrongLabels(), "easy/0", "some", Constant(), (0,)))
    assert record["wrong"] == 4
    assert "found" not in record
    assert not {"wrong", "bcr", "found", "converged"} & set(records_of(Constant())[0])


def test_a_method_without_ranking_has_found_nothing():
    (record,) = run_block(Block(WithWrongLabels(), "easy/0", "some", RobustGPClassifier(robust=False), (0,)))
    assert "found" not in record
    assert record["converged"] in (True, False)


def test_what_was_learned_is_kept():
    (record,) = records_of(Learner(), splits=(4,))
    np.testing.assert_allclose(record["noise"], FakeBenchmark().problem("easy/0", 4).X.var(axis=0))
    assert record["elbo"] == -3.0
    assert record["settings"] == {"p": "(0.5, 0.3, 0.2)"}
    assert not {"noise", "elbo"} & set(records_of(Constant())[0])
