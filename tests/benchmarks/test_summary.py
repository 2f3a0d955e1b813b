"""Means, standard errors, and the layout that other programs rely on."""

import json
import re

import numpy as np
import pytest
from rich.console import Console

from fermiclass.benchmarks.problem import PublishedRate
from fermiclass.benchmarks.summary import summarise
from fermiclass.benchmarks.tables import print_benchmark

from .fake import CELLS, FakeBenchmark

RATES = tuple(enumerate([(0.7, 6, 3), (0.8, 0, 0), (0.9, 4, 4)]))
NLL = {"mgp": (0.2, 0.4, 0.6), "default:nimgp-nn": (0.1, 0.4, 0.4)}


def record(cell, method, split, nll, **more):
    return {
        "cell": cell,
        "method": method,
        "split": split,
        "nll": nll,
        "error": nll / 2,
        "n_test": 4,
        "classes": ["a", "b"],
        "confusion": [[2 + split, 0], [1, 1]],
        "seconds": 3.0,
        "fit_seconds": 2.0,
        "predict_seconds": 1.0,
        "settings": {"method": method},
    } | more


def records(*cells, **more):
    return [
        record(cell, name, k, nll, **more) for cell in cells for name, row in NLL.items() for k, nll in enumerate(row)
    ]


def shown(results, width):
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        print_benchmark(results, console)
    return capture.get()


def test_one_cell():
    results = summarise(FakeBenchmark(), records("easy/0"), 3)
    assert (results["benchmark"], results["splits"]) == ("fake", 3)
    mgp, other = results["methods"].values()
    assert mgp["nll"] == pytest.approx(0.4)
    assert mgp["nll_se"] == pytest.approx(np.std([0.2, 0.4, 0.6]) / np.sqrt(2))
    assert mgp["error"] == pytest.approx(0.2)
    assert mgp["seconds"] == 3.0
    assert mgp["settings"] == {"method": "mgp"}
    assert mgp["confusion"] == {"classes": ["a", "b"], "predicted_by_true": [[3.0, 0.0], [1.0, 1.0]]}
    assert mgp["published"] == {"nll": 0.3, "error": 0.1}
    assert not {"nll_above_first", "excess", "noise", "elbo"} & set(mgp)
    assert other["nll_above_first"] == pytest.approx(-0.1)
    assert other["nll_above_first_se"] == pytest.approx(np.std([-0.1, 0.0, -0.2]) / np.sqrt(2))
    assert "published" not in other
    json.dumps(results, allow_nan=False)


def test_several_cells():
    results = summarise(FakeBenchmark(), records("easy/0", "hard/0"), 3)
    assert set(results) == {"benchmark", "splits", "datasets", "mean_rank"}
    assert list(results["datasets"]) == ["easy/0", "hard/0"]
    assert set(results["datasets"]["hard/0"]["methods"]) == set(NLL)
    assert results["mean_rank"]["mgp"]["nll"] == pytest.approx((2 + 1.5 + 2) / 3)
    assert results["mean_rank"]["default:nimgp-nn"]["nll"] == pytest.approx((1 + 1.5 + 1) / 3)


def test_figures_that_only_some_have():
    more = {"bayes_nll": 0.1, "excess": 0.3, "noise": [0.5, 1.5], "elbo": -2.0}
    figures = summarise(FakeBenchmark(), records("hard/0", **more), 3)["methods"]["mgp"]
    assert figures["excess"] == pytest.approx(0.3)
    assert figures["excess_se"] == pytest.approx(0.0, abs=1e-12)
    assert figures["noise"] == [0.5, 1.5]
    assert figures["elbo"] == -2.0


def test_wrong_labels():
    """Found are a share of all wrong labels; a split may have none."""
    records = [record("easy/0", "mgp", k, 0.1, bcr=b, wrong=w, found=f, converged=True) for k, (b, w, f) in RATES]
    figures = summarise(FakeBenchmark(), records, 3)["methods"]["mgp"]
    assert figures["bcr"] == pytest.approx(0.8)
    assert figures["bcr_se"] == pytest.approx(np.std([0.7, 0.8, 0.9]) / np.sqrt(2))
    assert figures["found"] == pytest.approx(0.7)
    assert figures["converged"] == 1.0
    none = [{**one, "wrong": 0, "found": 0} for one in records]
    assert "found" not in summarise(FakeBenchmark(), none, 3)["methods"]["mgp"]


class PublishedRates(FakeBenchmark):
    published = {(cell, "mgp"): PublishedRate(0.85) for cell in CELLS}  # noqa: RUF012


@pytest.mark.parametrize("cells", [CELLS[:1], (*CELLS, "hard/0.5")])
def test_tables_of_wrong_labels(cells):
    """The highest rate is the best one; what only one method has leaves the other's place empty."""
    with_rates = [one | {"bcr": 1 - one["nll"], "wrong": 4} for one in records(*cells)]
    with_rates = [one | ({"found": 3} if one["method"] == "mgp" else {}) for one in with_rates]
    results = summarise(PublishedRates(), with_rates, 3)
    console = Console(width=100, force_terminal=True, color_system="standard", highlight=False)
    with console.capture() as capture:
        print_benchmark(results, console)
    text = capture.get()
    assert "0.750" in text
    assert "0.850" in text
    assert re.search(r"\x1b\[1m *0\.700", text)
    assert not re.search(r"\x1b\[1m *0\.600", text)
    if len(cells) == 1:
        assert text.count("paper") == 1


def test_published_figures_are_those_of_the_same_question():
    """Where the paper learned the noise, its figures say nothing about a run that was given it; nor does NaN."""
    learned = summarise(FakeBenchmark(), records("easy/0.5", settings={"noise": "per-feature"}), 3)
    assert learned["methods"]["mgp"]["published"] == {"error": 0.2}
    given = summarise(FakeBenchmark(), records("easy/0.5", settings={"noise": "given"}), 3)
    assert "published" not in given["methods"]["mgp"]


def test_confusion_of_splits_with_other_classes():
    one = record("easy/0", "mgp", 0, 0.1)
    other = record("easy/0", "mgp", 1, 0.1, classes=["b", "c"], confusion=[[4, 0], [2, 6]])
    confusion = summarise(FakeBenchmark(), [one, other], 2)["methods"]["mgp"]["confusion"]
    assert confusion["classes"] == ["a", "b", "c"]
    assert confusion["predicted_by_true"] == [[1.0, 0.0, 0.0], [0.5, 2.5, 0.0], [0.0, 1.0, 3.0]]


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("cells", [CELLS[:1], CELLS, (*CELLS, "hard/0.5")])
def test_tables_fit_the_terminal(width, cells):
    text = shown(summarise(FakeBenchmark(), records(*cells, bayes_nll=0.1, excess=0.3), 3), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width


def test_table_of_methods():
    text = shown(summarise(FakeBenchmark(), records("easy/0"), 3), 100)
    (line,) = (line for line in text.splitlines() if line.startswith("mgp"))
    assert line.split() == ["mgp", "0.4000", "±", "0.1155", "0.300", "0.200", "±", "0.058", "0.100", "3.0"]
    (line,) = (line for line in text.splitlines() if line.startswith("default"))
    assert "-0.1000 ± 0.0577" in line
    assert "Means over 3 splits" in text


def test_table_of_cells():
    results = summarise(FakeBenchmark(), records(*CELLS, "hard/0.5"), 3)
    lines = shown(results, 100).splitlines()
    assert lines[0].split() == ["NLL", "mgp", "default:nimgp-nn"]
    assert [line.split() for line in lines if line.startswith("easy/0 ")] == [
        ["easy/0", "0.400", "(0.300)", "0.300"],
        ["easy/0", "0.200", "(0.100)", "0.150"],
    ]
    assert sum(line.startswith("mean rank") for line in lines) == 1
    assert "in brackets" in lines[-1]


def test_the_best_is_bold():
    console = Console(width=100, force_terminal=True, color_system="standard", highlight=False)
    with console.capture() as capture:
        print_benchmark(summarise(FakeBenchmark(), records("easy/0"), 3), console)
    assert "\x1b[1m0.3000 ± 0.1000" in capture.get()
    assert "\x1b[1m0.4000" not in capture.get()


def test_one_split_has_no_standard_error():
    results = summarise(FakeBenchmark(), [record(CELLS[0], "mgp", 0, 0.3)], 1)
    assert results["methods"]["mgp"]["nll"] == 0.3
    assert results["methods"]["mgp"]["nll_se"] is None
    assert json.loads(json.dumps(results)) == results
    printed = shown(results, 80)
    assert "0.3000" in printed
    assert "±" not in printed
