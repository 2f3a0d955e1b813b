"""All tables of a paper in one run, and the file of their figures."""

import math
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

from fake import Constant, FakeBenchmark, Learner, WithoutData
from fermiclass.errors import BenchmarkError
from fermiclass_benchmarks import BENCHMARKS, PAPERS, harness, papers
from fermiclass_benchmarks.benchmark import PaperTable
from fermiclass_benchmarks.papers import figures_of, run_tables, splits_of


class Paper(FakeBenchmark):
    """Two tables, which share a cell."""

    num_splits = 20
    methods = ("mgp", "nimgp")
    tables = MappingProxyType(
        {"Table 1": PaperTable("easy"), "Table 2": PaperTable("easy/0,hard", ("mgp",), slow=True)}
    )

    def estimator(self, cell, method, options):
        p = (0.6, 0.3, 0.1) if options.paper else (0.5, 0.3, 0.2)
        return (Learner if method == "nimgp" else Constant)(p)


class Missing(WithoutData):
    tables = MappingProxyType({"Table 3": PaperTable()})


@pytest.fixture
def made(monkeypatch):
    """A paper of two benchmarks; returns the work done."""
    benchmarks = {"missing": Missing(), "fake": Paper(), "next": Paper()}
    benchmarks["next"].tables = {}
    monkeypatch.setattr(papers, "BENCHMARKS", benchmarks)
    monkeypatch.setattr(papers, "PAPERS", {"main": benchmarks, "none": ("missing", "next")})
    monkeypatch.setattr(papers, "make_benchmark", lambda name, **_: benchmarks[name])
    work, done = harness.run_split, []
    monkeypatch.setattr(harness, "run_split", lambda one: done.append(one) or work(one))
    return done


def go(folder, **options):
    left_out = []
    return [title for title, *_ in run_tables(folder, {}, leave_out=left_out.append, **options)], left_out


def test_each_cell_once_with_either_optimiser(made, tmp_path):
    titles, (error,) = go(tmp_path)
    assert [title.partition(",")[0] for title in titles] == ["Table 1", "Table 1", "Table 2"]
    assert isinstance(error, BenchmarkError)
    done = [(work.cell, work.method, work.estimator.p, work.split) for work in made]
    assert len(set(done)) == len(done) == 20 * (2 * 2 * 2 + 1)  # the slow table adds hard/0, once
    made.clear()
    assert go(tmp_path)[0] == titles
    assert made == []


def test_a_quick_run_says_what_it_leaves_out(made, tmp_path):
    titles, left_out = go(tmp_path, quick=True)
    assert titles == ["Table 1, the project's optimiser"]
    assert [str(error).partition(",")[0] for error in left_out] == ["no data for easy/0", "Table 2"]


def test_other_files_and_torn_lines_are_passed_over(made, tmp_path):
    """The torn one of a benchmark whose turn comes later: it is made again then."""
    go(tmp_path, quick=True)
    expected = figures_of(tmp_path)
    (tmp_path / "notes.jsonl").write_text("no JSON\n")
    (tmp_path / "next.jsonl").write_text('{"benchmark": "next"}\n{"cell": "easy/0", "me')
    go(tmp_path, quick=True)
    pd.testing.assert_frame_equal(figures_of(tmp_path), expected)


def test_figures_of_one_split_have_no_standard_error(made, tmp_path):
    go(tmp_path, quick=True)
    assert np.isnan(figures_of(tmp_path)["se"]).all()


def test_figures(made, tmp_path):
    go(tmp_path)
    figures = pd.read_csv(tmp_path / "results.csv")
    pd.testing.assert_frame_equal(figures, figures_of(tmp_path), check_dtype=False, rtol=1e-4)
    assert set(figures["splits"]) == {20}
    by_key = figures.set_index(["optimiser", "cell", "method", "figure"])
    nll = by_key.loc["project", "easy/0", "mgp", "nll"]
    assert 0.69 < nll["mean"] < 1.61
    assert nll["published"] == 0.3
    assert nll["mean"] != by_key.loc["paper", "easy/0", "mgp", "nll"]["mean"]
    assert by_key.loc["project", "easy/0", "nimgp", "noise"]["mean"] > 0
    counts = [by_key.loc["paper", "easy/0", "mgp", f"count {p} {t}"]["mean"] for p in range(3) for t in range(3)]
    assert sum(counts) == pytest.approx(20)
    assert counts[3:] == [0.0] * 6  # the first class is always predicted
    assert math.isnan(by_key.loc["project", "hard/0", "mgp", "nll"]["published"])


def test_differences_are_paired_by_split(made, tmp_path):
    """They are those of the file of splits; Wilcoxon's p of 20 differences of one sign is 2⁻¹⁹."""
    go(tmp_path)
    nll = splits_of(tmp_path).set_index(["optimiser", "cell", "method", "split"])["nll"]
    less = nll["paper", "easy/0", "mgp"] - nll["project", "easy/0", "mgp"]
    figures = figures_of(tmp_path).query("cell == 'easy/0'").set_index(["optimiser", "method", "figure"])
    found = figures.loc["paper", "mgp", "nll less project"]
    assert (found["mean"], found["se"], found["splits"]) == pytest.approx((less.mean(), less.sem(), 20))
    ours = figures.loc["project", "nimgp"]["mean"]
    assert (ours["nll less mgp"], ours["nll less mgp, p"]) == (0.0, 1.0)
    shrunk, grown = (pd.DataFrame({"split": range(20), "nll": c + b * np.arange(20.0)}) for c, b in ((0, 0.5), (1, 1)))
    (_, _, mean, _, _), (*_, p, _, _) = papers._paired("", grown, shrunk, ["nll"])
    assert mean == pytest.approx(1 + 9.5 / 2)
    assert p == pytest.approx(2.0**-19)


def test_a_paper_without_a_table_to_fill_is_an_error(made, tmp_path):
    with pytest.raises(BenchmarkError, match="no table of the paper 'none' was filled: give its data"):
        go(tmp_path, papers="none")
    assert not list(tmp_path.iterdir())


def test_each_paper_has_a_quick_table_and_each_of_its_benchmarks_a_table():
    titles = []
    for names in PAPERS.values():
        tables = [papers.make_benchmark(name).tables for name in names]
        assert all(tables)
        assert not all(table.slow for of_one in tables for table in of_one.values())
        titles += [title for of_one in tables for title in of_one]
    assert len(set(titles)) == len(titles)
    assert set().union(*PAPERS.values()) <= set(BENCHMARKS)


def test_the_main_papers_tables_have_published_figures(shared_data):
    """Each cell of each table, but for images that are not there, and for what the paper has in figures only."""
    for name in set(PAPERS["main"]) - {"mnist", "active"}:
        benchmark = papers.make_benchmark(name, data=shared_data / "data")
        for table in benchmark.tables.values():
            for cell in benchmark.choose_cells(table.datasets):
                assert all((cell, method) in benchmark.published for method in table.methods or benchmark.methods)
