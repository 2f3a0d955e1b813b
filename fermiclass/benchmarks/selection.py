"""Selection of a part of a benchmark."""

from __future__ import annotations

from collections.abc import Sequence

from fermiclass.benchmarks.problem import Benchmark
from fermiclass.errors import BenchmarkError


def choose_cells(benchmark: Benchmark, data_sets: str | None = None, noise: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the cells of some data sets and noise levels, in the benchmark's order.

    Parameters
    ----------
    benchmark
        The benchmark. Without a selection its ``default_cells`` are returned if it has them.
    data_sets
        Data sets such as ``glass,wine`` (the part of a cell before the ``/``), or whole cells; None for all.
    noise
        Noise levels such as ``0.1`` or ``0,0.25`` (the part after the ``/``); empty for all.

    Raises
    ------
    BenchmarkError
        When there is no such data set, no such noise, or no cell with both.
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
    """Return the number of splits to run; None selects all.

    Raises
    ------
    BenchmarkError
        When the benchmark has fewer splits.
    """
    if splits is not None and splits > benchmark.num_splits:
        raise BenchmarkError(
            f"the benchmark '{benchmark.name}' has {benchmark.num_splits} splits, not {splits}: ask for fewer "
            "(--splits)"
        )
    return benchmark.num_splits if splits is None else splits


def _split(cell: str) -> tuple[str, str]:
    """Return the data set and the noise of a cell. The noise may be empty."""
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
    """Return the data sets that ``text`` names, such as ``poisson,student-t``, in the order of the benchmark.

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
