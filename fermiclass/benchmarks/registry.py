"""The list of all benchmarks. To add a benchmark, add it here.

The module of a benchmark is imported when the benchmark runs, so that the command line can list the names quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fermiclass.benchmarks.problem import Benchmark


@dataclass(frozen=True)
class Source:
    """Source of the data, and the number of rows that active learning labels per round.

    `folder` has the layout that each benchmark describes. With `openml`, OpenML supplies data sets that are missing.
    """

    folder: Path
    openml: bool = False
    per_round: int = 1


def _astro454(source: Source) -> Benchmark:
    from fermiclass.benchmarks.astro454 import Astro454

    return Astro454(source.folder)


def _uci(source: Source) -> Benchmark:
    from fermiclass.benchmarks.uci import UCI

    return UCI(source.folder, source.openml)


def _wrong_labels(source: Source) -> Benchmark:
    from fermiclass.benchmarks.wrong_labels import WrongLabels

    return WrongLabels(source.folder, source.openml)


def _synthetic(source: Source) -> Benchmark:
    from fermiclass.benchmarks.synthetic import Synthetic

    return Synthetic()


def _toy(source: Source) -> Benchmark:
    from fermiclass.benchmarks.toy import Toy

    return Toy()


def _mnist(source: Source) -> Benchmark:
    from fermiclass.benchmarks.mnist import MNIST

    return MNIST(source.folder)


def _active(source: Source) -> Benchmark:
    from fermiclass.benchmarks.active import Active

    return Active(source.folder, per_round=source.per_round)


def _gpc(source: Source) -> Benchmark:
    from fermiclass.benchmarks.gpc import GPC

    return GPC()


def _flights(source: Source) -> Benchmark:
    from fermiclass.benchmarks.flights import Flights

    return Flights()


#: Benchmarks that are tables of methods by cells. The runner makes the tables.
TABLES: Mapping[str, Callable[[Source], Benchmark]] = MappingProxyType(
    {
        "astro454": _astro454,
        "uci": _uci,
        "toy": _toy,
        "synthetic": _synthetic,
        "mnist": _mnist,
        "active": _active,
        "gpc": _gpc,
        "flights": _flights,
        "rmgpc": _wrong_labels,
    }
)

#: Benchmarks that run themselves, each with the options that it accepts.
STUDIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "timing": (),
        "scale": (),
        "sincsig": (),
        "noisy-regression": ("--splits", "--datasets", "--results"),
        "lp-index": ("--data", "--datasets", "--results"),
        "outliers": ("--splits", "--data"),
        "cartpole": ("--splits", "--datasets", "--results", "--plot"),
    }
)
