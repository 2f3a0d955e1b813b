"""Which cells and how many splits."""

import pytest

from fermiclass.benchmarks.selection import choose_cells, choose_splits
from fermiclass.errors import BenchmarkError

from .fake import CELLS, FakeBenchmark


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
    assert choose_cells(FakeBenchmark(), data_sets, noise) == cells


def test_default_cells():
    class Some(FakeBenchmark):
        default_cells = ("hard/0",)

    assert choose_cells(Some()) == ("hard/0",)
    assert choose_cells(Some(), "easy") == ("easy/0", "easy/0.5")


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
        choose_cells(FakeBenchmark(), data_sets, noise)


def test_a_benchmark_without_noise():
    class Plain(FakeBenchmark):
        cells = ("six", "four")

    assert choose_cells(Plain(), "four") == ("four",)
    with pytest.raises(BenchmarkError, match=r"has no noise '0': leave out --noise"):
        choose_cells(Plain(), None, ("0",))


def test_splits():
    assert choose_splits(FakeBenchmark(), None) == 6
    assert choose_splits(FakeBenchmark(), 2) == 2
    with pytest.raises(BenchmarkError, match=r"'fake' has 6 splits, not 7: ask for fewer \(--splits\)"):
        choose_splits(FakeBenchmark(), 7)
