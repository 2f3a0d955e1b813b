"""The one-dimensional problem, and the figure of what methods make of it."""

import numpy as np
import pytest

from fermiclass_benchmarks.figures import toy_figure
from fermiclass_benchmarks.toy import CELL, Toy


class Constant:
    """Predicts the same everywhere, and notes what it is asked."""

    def __init__(self, *p):
        self.p = np.array(p)

    def predict_proba(self, X, *, X_var):
        self.asked = X, X_var
        return np.tile(self.p, (len(X), 1))


@pytest.fixture(scope="module")
def toy():
    return Toy()


@pytest.fixture(scope="module")
def problem(toy):
    return toy.problem(CELL, 0)


def test_it_is_the_problem_that_the_paper_describes(toy, problem):
    assert toy.cells == (CELL,)
    assert problem.X.shape == problem.X_test.shape == (1000, 1)
    assert np.all(problem.X_var == 0.1)  # a variance
    assert np.bincount(problem.y).min() > 100
    assert np.quantile(np.abs(problem.X), 0.5) == pytest.approx(1.5, abs=0.15)


def test_the_bayes_classifier_is_as_good_as_the_papers_methods(toy):
    problems = [toy.problem(CELL, split) for split in range(4)]
    p, y = np.concatenate([q.bayes for q in problems]), np.concatenate([q.y_test for q in problems])
    assert np.mean(p.argmax(axis=1) != y) == pytest.approx(0.125, abs=4 * np.sqrt(0.125 * 0.875 / 4000))
    nll = -np.log(p[np.arange(len(y)), y]).mean()
    assert nll == pytest.approx(0.28, abs=0.03)
    assert nll < toy.published[CELL, "nimgp"]["nll"] + 0.03


def test_splits_are_new_rows_of_the_same_functions(toy, problem):
    other, same = toy.problem(CELL, 1), toy.problem(CELL, 0)
    assert np.array_equal(problem.X, same.X)
    assert not np.array_equal(problem.X, other.X)
    at = np.array([[0.0]])
    assert np.array_equal(toy._bayes(at), Toy()._bayes(at))


def test_the_figure_shows_every_method_beside_the_best(toy, problem):
    fitted = {name: Constant(0.2, 0.3, 0.5) for name in ("mgp", "nimgp", "nimgp-fo")}
    curves = toy.curves(fitted)
    X, X_var = fitted["mgp"].asked
    assert np.array_equal(X[:, 0], curves.x)
    assert np.all(X_var == 0.1)
    assert np.allclose(curves.bayes.sum(axis=1), 1.0)
    figure = toy_figure(curves, problem.X, problem.y, {"nimgp": 0.2861})
    assert [axes.get_title("left") for axes in figure.axes] == ["MGP", "NIMGP", r"NIMGP$_\mathregular{FO}$"]
    assert [axes.get_title("right") for axes in figure.axes] == ["", "NLL 0.286", ""]
    for axes in figure.axes:
        shown = [line.get_ydata() for line in axes.get_lines() if len(line.get_ydata())]
        assert np.array_equal(np.stack(shown[::2], axis=1), curves.predictions["mgp"])
        assert np.array_equal(np.stack(shown[1::2], axis=1), curves.bayes)
