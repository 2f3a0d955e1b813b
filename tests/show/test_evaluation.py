"""What the user sees of an evaluation."""

import dataclasses
import io
import re

import numpy as np
import pytest
from rich.console import Console

from fermiclass.evaluation import Evaluation
from fermiclass.plots import evaluation_figure
from fermiclass.show.evaluation import confusion_table, print_evaluation
from tests.evaluation.conftest import CLASSES, make_up_evaluation


def printed(evaluation, width=80):
    stream = io.StringIO()
    print_evaluation(evaluation, Console(file=stream, width=width, highlight=False))
    return stream.getvalue()


@pytest.fixture(scope="module")
def evaluation():
    return make_up_evaluation({"nimgp": 0.1, "mgp": 0.5, "base": 0.3, "base 2": 0.7})


@pytest.fixture(scope="module")
def text(evaluation):
    return printed(evaluation)


def test_populations_baselines_and_significance(evaluation, text):
    figures = evaluation.figures["nll"]
    for name in ("nimgp", "mgp"):
        for population, row in evaluation.versus_baselines(name).items():
            heading = evaluation.targets.populations[population].heading
            numbers = f"{row['n']} +{figures[population, name]:.3f} +{row['ratio']:.2f}"
            difference = re.escape(f"{row['mean']:+.3f} ± {row['se']:.3f}")
            assert re.search(rf"{name}, {heading} +{numbers} +{difference} +{row['baseline']}", text)
    bins = evaluation.by_significance("nimgp", "mgp")
    assert re.search(rf"nimgp − mgp +{' +'.join(re.escape(f'{mean:+.3f}') for mean in bins['mean'])}", text)


def test_the_best_baselines_are_printed():
    noise = {"nimgp": 0.1} | {f"base {k}" + "*" * k: k / 10 for k in range(1, 9)}
    evaluation = make_up_evaluation(noise)
    text = printed(evaluation)
    names = [name for name in evaluation.table.index if name != "nimgp"]
    assert all(name in text for name in names[:5])
    assert not any(re.search(rf"{re.escape(name)} ", text) for name in names[5:])
    assert "3 more baselines" in text


def test_true_and_most_probable_classes_are_counted(evaluation, text):
    said = evaluation.probabilities("nimgp").argmax(axis=1)
    for c, name in enumerate(CLASSES):
        counts = [np.sum((evaluation.y == name) & (said == k)) for k in range(3)]
        assert re.search(rf"{name} +{sum(counts)} +" + r" +\( *\d+ %\) +".join(map(str, counts)), text), c
    stream = io.StringIO()
    Console(file=stream, width=80).print(confusion_table([[3, 1], [0, 0]], ["agn", "psr"]))
    assert re.search(r"psr +0 +0 +\(–\) +0 +\(–\)", stream.getvalue())


def test_figure(evaluation, tmp_path):
    figure = evaluation_figure(evaluation)
    losses, calibration, numbers, _ = figure.axes
    assert [text.get_text() for text in losses.get_yticklabels()] == list(evaluation.table.index)[::-1]
    assert [text.get_text() for text in calibration.get_legend().get_texts()] == list(CLASSES)
    per_class = evaluation.per_class("nimgp")
    assert [bar.get_width() for bar in numbers.patches] == [per_class[name]["n"] for name in CLASSES]
    together = dataclasses.replace(evaluation.targets, together=("bll", "fsrq"))
    numbers = evaluation_figure(Evaluation(together, evaluation.results)).axes[2]
    assert numbers.get_yticklabels()[3].get_text() == "bll or fsrq"
    assert numbers.patches[3].get_width() == per_class["bll"]["n"] + per_class["fsrq"]["n"]
    figure.savefig(tmp_path / "figure.pdf")
    with pytest.raises(ValueError, match="oracle"):
        evaluation_figure(evaluation, "oracle")
