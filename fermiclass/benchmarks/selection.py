"""Which part of a benchmark is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from fermiclass.benchmarks.problem import Benchmark
from fermiclass.errors import BenchmarkError


def choose_cells(benchmark: Benchmark, data_sets: str | None = None, noise: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the cells of some data sets and noise levels, in the benchmark's order.

    Parameters
    ----------
    benchmark
        Whose cells; those in ``default_cells``, where it has that, are taken when nothing is asked for.
    data_sets
        Such as ``glass,wine``: what precedes the ``/`` of a cell, or whole cells; None for all.
    noise
        Such as ``0.1`` or ``0,0.25``: what follows the ``/``; empty for all.

    Raises
    ------
    BenchmarkError
        When there is no such data set or noise, or none of both.
    """
    if data_sets is None and not noise:
        return tuple(getattr(benchmark, "default_cells", benchmark.cells))
    names, levels = (list(dict.fromkeys(_split(cell)[k] for cell in benchmark.cells)) for k in (0, 1))
    wanted = names if data_sets is None else [name.strip() for name in data_sets.split(",")]
    for name in wanted:
        if name not in (*names, *benchmark.cells):
            raise BenchmarkError(
                f"the benchmark '{benchmark.name}' has no data set '{name}': choose among {', '.join(names)} "
                "(--datasets)"
            )
    kept = [_level(part, levels, benchmark.name) for text in noise for part in text.split(",")] or levels
    cells = tuple(
        cell for cell in benchmark.cells if (cell in wanted or _split(cell)[0] in wanted) and _split(cell)[1] in kept
    )
    if not cells:
        raise BenchmarkError(
            f"the benchmark '{benchmark.name}' has no cell of {data_sets} with noise {', '.join(kept)}: its cells are "
            f"{', '.join(benchmark.cells)} (--datasets, --noise)"
        )
    return cells


def choose_splits(benchmark: Benchmark, splits: int | None) -> int:
    """Return how many splits; None for all.

    Raises
    ------
    BenchmarkError
        When there are fewer.
    """
    if splits is not None and splits > benchmark.num_splits:
        raise BenchmarkError(
            f"the benchmark '{benchmark.name}' has {benchmark.num_splits} splits, not {splits}: ask for fewer "
            "(--splits)"
        )
    return benchmark.num_splits if splits is None else splits


def _split(cell: str) -> tuple[str, str]:
    """Return data set, and noise or nothing."""
    data_set, _, noise = cell.partition("/")
    return data_set, noise


def _level(text: str, levels: Sequence[str], benchmark: str) -> str:
    try:
        return next(level for level in levels if level and float(level) == float(text))
    except (ValueError, StopIteration):
        known = ", ".join(filter(None, levels))
        remedy = f"choose among {known} (--noise)" if known else "leave out --noise"
        raise BenchmarkError(f"the benchmark '{benchmark}' has no noise '{text.strip()}': {remedy}") from None


def choose_names(benchmark: str, text: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return which of a benchmark's data sets ``text`` names, such as ``poisson,student-t``, in their order.

    Raises
    ------
    BenchmarkError
        When there is no such data set.
    """
    wanted = [name.strip() for name in text.split(",")]
    for name in wanted:
        if name not in names:
            raise BenchmarkError(
                f"the benchmark '{benchmark}' has no data set '{name}': choose among {', '.join(names)} (--datasets)"
            )
    return tuple(name for name in names if name in wanted)
