"""What the user sees of an evaluation."""

import io

import numpy as np
import pytest
from rich.console import Console

from fermiclass.evaluation import Evaluation, MethodResult, Scores, print_evaluation, reliability_figure

CLASSES = ("bll", "fsrq", "psr")


@pytest.fixture(params=[True, False], ids=["future", "folds"])
def evaluation(request):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 200)
    y = np.array([rng.choice(CLASSES, p=row) for row in p])
    status = np.where(rng.random(200) < 0.3, "" if request.param else "bcu", "bcu")
    bare = status == ""

    def result(q):
        alone = Scores.of(q[bare], y[bare], CLASSES) if bare.any() else None
        return MethodResult(Scores.of(q, y, CLASSES), alone, 1.25, 0.5, q)

    methods = {"worse-and-with-a-long-name": result(0.1 * p + 0.3), "better": result(p)}
    names = np.array([f"s{k}" for k in range(200)])
    return Evaluation("4FGL.fits", "made up", CLASSES, ("a", "b"), names, y, status, methods)


def test_table_is_sorted_and_fits_a_terminal(evaluation):
    stream = io.StringIO()
    print_evaluation(evaluation, Console(file=stream, width=80, highlight=False))
    text = stream.getvalue()
    assert text.index("better") < text.index("worse-and")
    assert "…" not in text
    best = evaluation.methods["better"].scores
    assert f"{best.nll:.3f}±{best.nll_se:.3f}" in text
    assert "1.2" in text
    bare = np.sum(evaluation.status == "")
    assert (f"the {bare} sources that had no association" in text) is bool(bare)
    assert ("NLL*" in text) is bool(bare)


def test_figure(evaluation, tmp_path):
    figure = reliability_figure(evaluation)
    assert [axes.get_title() for axes in figure.axes[::2]] == ["better", "worse-and-with-a-long-name"]
    line = figure.axes[0].lines[1]
    table = evaluation.methods["better"].scores.reliability
    np.testing.assert_allclose(line.get_ydata(), [row.accuracy for row in table])
    np.testing.assert_allclose(line.get_xdata(), [row.confidence for row in table])
    figure.savefig(tmp_path / "figure.pdf")
    assert (tmp_path / "figure.pdf").stat().st_size > 1000


def test_figure_of_an_unknown_method(evaluation):
    with pytest.raises(ValueError, match=r"methods \['oracle'\] were not evaluated: choose among worse"):
        reliability_figure(evaluation, ["oracle"])
