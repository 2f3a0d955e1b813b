"""The main paper's tables are those of the stored figures."""

import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from tests.conftest import REPOSITORY


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(REPOSITORY / "docs"), *sys.path])
    return import_module("make_paper_tables")


def test_no_figure_of_the_page_is_typed(tables):
    figures = tables.read()
    for page in (path.read_text() for path in tables.PAGES):
        assert tables.fill(page, figures) == page
        assert page.count("<!-- table: ") == page.count("<!-- end -->") >= 1
    key = ("astro454", "project", "six", "mgp", "nll")
    figures[key] = figures[key] | {"mean": 0.4242}
    assert "0.4242" in tables.fill(tables.PAGES[1].read_text(), figures)


def test_published_figures_are_those_of_the_benchmarks(tables):
    from fermiclass_benchmarks import BENCHMARKS, make_benchmark

    benchmarks = {name: make_benchmark(name) for name in BENCHMARKS}
    for (benchmark, _, cell, method, figure), row in tables.read().items():
        published = benchmarks[benchmark].published.get((cell, method), {}).get(figure)
        assert row["published"] == published or (published is None and pd.isna(row["published"]))


@pytest.mark.parametrize(
    ("mean", "error", "published", "splits", "expected"),
    [
        (0.3768, 0.02, 0.377, 20, "reached"),
        (0.3774, 0.02, 0.377, 20, "reached"),  # as exactly as it is printed
        (0.3776, 0.02, 0.377, 20, "within one error"),
        (0.39, 0.02, 0.377, 20, "within one error"),
        (0.40, 0.02, 0.377, 20, "not"),
        (0.39, float("nan"), 0.377, 20, "not"),
        (0.39, 0.02, float("nan"), 20, ""),
        (0.34, 0.02, 0.377, 20, "reached"),  # below by less than two errors
        (0.362, 0.001, 0.377, 20, "reached"),  # below by less than 5 %
        (0.34, 0.01, 0.377, 20, "better"),
        (0.36, float("nan"), 0.377, 1, "few splits"),
        (0.34, 0.01, 0.377, 4, "few splits"),
        (0.34, 0.01, 0.377, 5, "better"),
    ],
)
def test_verdicts(tables, mean, error, published, splits, expected):
    row = {"mean": mean, "error": error, "published": published, "splits": splits, "rounding": 0.0005}
    row |= {"benchmark": "synthetic", "cell": "n100-d2-c3/0.1", "figure": "nll"}
    assert tables.verdict(row) == expected
    assert tables.verdict(row | {"cell": "n100-d10-c3/0.1"}) == ("not comparable" if expected else "")
    turned = row | {"figure": "bcr", "mean": 2 * published - mean}
    assert tables.verdict(turned) == expected


def test_errors_are_those_of_the_difference_from_the_paper(tables):
    """Paired on the paper's own splits, with the scatter of the path; with the paper's own error on other draws."""
    figures = tables.read()
    paired, path = figures["astro454", "paper", "six", "mgp", "nll less project"], tables.PATH["mgp"] / 10
    for cell in ("six", "four"):
        row = figures["astro454", "project", cell, "mgp", "nll"]
        assert row["error"] ** 2 == pytest.approx(paired["se"] ** 2 * paired["splits"] / 100 + path**2)
        assert row["error"] < row["se"]
    for key, row in figures.items():
        if key[0] != "astro454" and not pd.isna(row["se"]):
            others = row["splits"] / 100 if key[0] in ("synthetic", "rmgpc") else 0.0
            assert row["error"] == pytest.approx(row["se"] * np.sqrt(1 + others))


def test_the_paper_drops_zeros_at_the_end(tables):
    half = tables.rounding(pd.Series([0.28, 0.4, 0.53, float("nan"), 1.1]))
    np.testing.assert_allclose(half, [0.005, 0.005, 0.005, float("nan"), 0.05])


def test_figures_that_are_measured_again_replace_the_old(tables):
    """Unless they are means over fewer splits."""

    def row(cell, mean, splits=20):
        return dict.fromkeys(tables.KEY, "a") | {"cell": cell, "figure": "nll", "mean": mean, "splits": splits}

    earlier = pd.DataFrame([row("x", 1.0), row("y", 2.0), row("z", 2.5)])
    merged = tables.merge(earlier, pd.DataFrame([row("y", 3.0), row("z", 5.0, splits=1), row("new", 4.0)]))
    assert merged.set_index("cell")["mean"].to_dict() == {"x": 1.0, "y": 3.0, "z": 2.5, "new": 4.0}
