"""Means, standard errors, and the layout that other programs rely on."""

import json

import numpy as np
import pandas as pd
import pytest

from fake import CELLS, FakeBenchmark
from fermiclass_benchmarks.tables import summarise

RATES = tuple(enumerate([(0.7, 6, 3), (0.8, 0, 0), (0.9, 4, 4)]))
NLL = {"mgp": (0.2, 0.4, 0.6), "default:nimgp-nn": (0.1, 0.4, 0.4)}


def record(cell, method, split, nll, **more):
    return {
        "cell": cell,
        "method": method,
        "split": split,
        "nll": nll,
        "error": nll / 2,
        "classes": ["a", "b"],
        "confusion": [[2 + split, 0], [1, 1]],
        "seconds": 3.0,
        "settings": {"method": method},
    } | more


def records(*cells, **more):
    rows = NLL.items()
    return [record(cell, name, k, nll, **more) for cell in cells for name, row in rows for k, nll in enumerate(row)]


def summary(rows, splits=3):
    return summarise(FakeBenchmark(), pd.DataFrame(rows), splits)


def test_one_cell():
    results = summary(records("easy/0"))
    assert (results["benchmark"], results["splits"]) == ("fake", 3)
    mgp, other = results["methods"].values()
    assert mgp["nll"] == pytest.approx(0.4)
    assert mgp["nll_se"] == pytest.approx(np.std([0.2, 0.4, 0.6]) / np.sqrt(2))
    assert mgp["error"] == pytest.approx(0.2)
    assert mgp["seconds"] == 3.0
    assert mgp["settings"] == {"method": "mgp"}
    assert mgp["confusion"] == {"classes": ["a", "b"], "predicted_by_true": [[3.0, 0.0], [1.0, 1.0]]}
    assert mgp["published"] == {"nll": 0.3, "error": 0.1}
    assert not {"nll_above_first", "excess", "noise", "elbo", "split"} & set(mgp)
    assert other["nll_above_first"] == pytest.approx(-0.1)
    assert other["nll_above_first_se"] == pytest.approx(np.std([-0.1, 0.0, -0.2]) / np.sqrt(2))
    assert "published" not in other
    json.dumps(results, allow_nan=False)


def test_several_cells():
    results = summary(records("easy/0", "hard/0"))
    assert set(results) == {"benchmark", "splits", "datasets", "mean_rank"}
    assert list(results["datasets"]) == ["easy/0", "hard/0"]
    assert set(results["datasets"]["hard/0"]["methods"]) == set(NLL)
    assert results["mean_rank"]["mgp"]["nll"] == pytest.approx((2 + 1.5 + 2) / 3)
    assert results["mean_rank"]["default:nimgp-nn"]["nll"] == pytest.approx((1 + 1.5 + 1) / 3)


def test_figures_that_only_some_have():
    more = {"bayes_nll": 0.1, "excess": 0.3, "noise": [0.5, 1.5], "elbo": -2.0}
    rows = [record("hard/0", "forest", k, 0.3) for k in range(3)] + records("hard/0", **more)
    of_forest, figures, _ = summary(rows)["methods"].values()
    assert figures["excess"] == pytest.approx(0.3)
    assert figures["excess_se"] == pytest.approx(0.0, abs=1e-12)
    assert figures["noise"] == [0.5, 1.5]
    assert figures["elbo"] == -2.0
    assert not set(more) & set(of_forest)


def test_wrong_labels():
    """Found are a share of all wrong labels; a split may have none."""
    rows = [record("easy/0", "mgp", k, 0.1, bcr=b, wrong=w, found=f) for k, (b, w, f) in RATES]
    figures = summary(rows)["methods"]["mgp"]
    assert figures["bcr"] == pytest.approx(0.8)
    assert figures["bcr_se"] == pytest.approx(np.std([0.7, 0.8, 0.9]) / np.sqrt(2))
    assert figures["found"] == pytest.approx(0.7)
    none = [{**row, "wrong": 0, "found": 0} for row in rows]
    assert "found" not in summary(none)["methods"]["mgp"]


def test_confusion_of_splits_with_other_classes():
    one = record("easy/0", "mgp", 0, 0.1)
    other = record("easy/0", "mgp", 1, 0.1, classes=["b", "c"], confusion=[[4, 0], [2, 6]])
    confusion = summary([one, other], 2)["methods"]["mgp"]["confusion"]
    assert confusion["classes"] == ["a", "b", "c"]
    assert confusion["predicted_by_true"] == [[1.0, 0.0, 0.0], [0.5, 2.5, 0.0], [0.0, 1.0, 3.0]]


def test_one_split_has_no_standard_error():
    results = summary([record(CELLS[0], "mgp", 0, 0.3)], 1)
    assert results["methods"]["mgp"]["nll"] == 0.3
    assert results["methods"]["mgp"]["nll_se"] is None
    assert json.loads(json.dumps(results)) == results
