"""Runs a benchmark: plans the blocks, runs them, and resumes where an earlier run stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from fermiclass.benchmarks.blocks import Block, Record, settings_of
from fermiclass.benchmarks.executors import Executor, here
from fermiclass.benchmarks.problem import Benchmark
from fermiclass.benchmarks.records import RecordFile
from fermiclass.errors import BenchmarkError

Key = tuple[str, str]  # cell and method


def run(
    benchmark: Benchmark,
    estimators: Mapping[Key, Any],
    *,
    num_splits: int,
    block_size: int = 25,
    execute: Executor = here,
    file: RecordFile | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Record]:
    """Train and test every estimator on the first splits of its cell.

    Parameters
    ----------
    benchmark
        Source of the problems.
    estimators
        Unfitted estimators, by cell and method.
    num_splits
        Number of splits to run.
    block_size
        Number of splits that are trained together.
    execute
        Executor of the blocks.
    file
        File that keeps the records. Records that it already has are not made again.
    progress
        Called with the numbers of splits done and in total, over all cells and methods.

    Returns
    -------
    list of dict
        A record for each split (:func:`fermiclass.benchmarks.blocks.run_block`), by cell, method and split.

    Raises
    ------
    BenchmarkError
        When data cannot be read, or ``file`` has records of other settings.
    """
    earlier = [] if file is None else file.load()
    _check_settings(earlier, estimators)
    done = {
        (r["cell"], r["method"], r["split"]): r
        for r in earlier
        if (r["cell"], r["method"]) in estimators and r["split"] < num_splits
    }
    total = num_splits * len(estimators)
    if progress is not None:
        progress(len(done), total)
    blocks = list(_plan(benchmark, estimators, num_splits, block_size, done))
    if blocks:
        with closing(execute(blocks)) as results:
            for records in results:
                if file is not None:
                    file.append(records)
                done |= {(r["cell"], r["method"], r["split"]): r for r in records}
                if progress is not None:
                    progress(len(done), total)
    return [done[cell, method, split] for cell, method in estimators for split in range(num_splits)]


def _plan(
    benchmark: Benchmark, estimators: Mapping[Key, Any], num_splits: int, size: int, done: Mapping[Any, Record]
) -> Iterator[Block]:
    """Yield the remaining blocks. Blocks begin at multiples of their size, also in a resumed run."""
    for (cell, method), estimator in estimators.items():
        for start in range(0, num_splits, size):
            splits = range(start, min(start + size, num_splits))
            left = tuple(k for k in splits if (cell, method, k) not in done)
            if left:
                yield Block(benchmark, cell, method, estimator, left)


def _check_settings(earlier: Sequence[Record], estimators: Mapping[Key, Any]) -> None:
    settings = {key: settings_of(estimator) for key, estimator in estimators.items()}
    for record in earlier:
        cell, method, then = record["cell"], record["method"], record["settings"]
        now = settings.get((cell, method))
        if now is not None and now != then:
            odd = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
            changes = ", ".join(f"{name} was {then.get(name)!r}, is {now.get(name)!r}" for name in odd)
            raise BenchmarkError(
                f"the results of '{method}' on '{cell}' were made with other settings ({changes}). Choose another file "
                "(--results), or give the earlier settings."
            )
