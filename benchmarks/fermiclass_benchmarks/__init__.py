"""Benchmarks: public data, methods and protocols of the papers, each run by ``fermiclass benchmark NAME``.

``benchmark`` says what a benchmark is, and ``methods`` makes the methods that are compared. ``harness`` runs a
benchmark and keeps its records, and ``tables`` averages and prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fermiclass_benchmarks.benchmark import Benchmark

#: Module and class of each benchmark. To add a benchmark, add it here.
BENCHMARKS: Mapping[str, str] = MappingProxyType(
    {
        "astro454": "astro454:Astro454",
        "uci": "uci:UCI",
        "toy": "toy:Toy",
        "synthetic": "synthetic:Synthetic",
        "mnist": "mnist:MNIST",
        "active": "active:Active",
        "gpc": "gpc:GPC",
        "rmgpc": "wrong_labels:WrongLabels",
        "sincsig": "regression:SincSig",
        "cartpole": "regression:CartPole",
    }
)

#: The papers, and the benchmarks with the tables of each.
PAPERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "main": ("astro454", "uci", "toy", "synthetic", "mnist", "active"),
        "likelihoods": ("gpc",),
        "wrong-labels": ("rmgpc",),
        "uncertain-inputs": ("sincsig", "cartpole"),
    }
)


def make_benchmark(name: str, *, data: Path = Path(), openml: bool = False, per_round: int = 1) -> Benchmark:
    """Make a benchmark. Only those of the options that it declares concern it.

    The module is imported here, so that the command line can list the names quickly. `data` is the folder of the data,
    with the layout that each benchmark describes; with `openml`, OpenML supplies data sets that are missing.
    """
    module, _, kind = BENCHMARKS[name].partition(":")
    made: type[Benchmark] = getattr(import_module(f"fermiclass_benchmarks.{module}"), kind)
    return made(data, openml=openml, per_round=per_round)
