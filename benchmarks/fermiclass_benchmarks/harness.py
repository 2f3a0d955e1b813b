"""Runs a benchmark split by split, in this process or in several; and goes on where it stopped.

The unit of work is one method on one split of a cell. Its record is the same but for rounding wherever it was made.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

import pandas as pd
from joblib import Parallel, delayed

from fermiclass.errors import BenchmarkError, OutputError
from fermiclass.io.files import check_place
from fermiclass.show.terminal import load_tensorflow
from fermiclass_benchmarks.benchmark import Benchmark, Record

#: Packages that affect the results of a benchmark.
PACKAGES = ("python", "fermiclass", "tensorflow", "gpflow", "numpy", "scipy", "scikit-learn", "xgboost-cpu", "xgboost")


@dataclass(frozen=True, eq=False)
class Work:
    """One method on one split, with everything that another process needs for it."""

    benchmark: Benchmark
    cell: str
    method: str
    estimator: Any
    split: int


def run(
    benchmark: Benchmark,
    estimators: Mapping[tuple[str, str], Any],
    num_splits: int,
    *,
    workers: int = 1,
    file: RecordFile | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Train and test every estimator, by cell and method, on the first splits of its cell.

    The processes share the cores equally. Records that the file already has are not made again. `progress` is called
    with the numbers of splits done and in total, over all cells and methods.

    Returns a row for each split, by cell, method and split: ``"cell"``, ``"method"``, ``"split"``, the record of
    :meth:`Benchmark.run`, and ``"settings"``. Raises BenchmarkError when data cannot be read, or the file has records
    of other settings.
    """
    done = {(r["cell"], r["method"], r["split"]): r for r in ([] if file is None else file.load())}
    _check_settings(done.values(), estimators)
    wanted = [(cell, method, split) for cell, method in estimators for split in range(num_splits)]
    works = [Work(benchmark, *key[:2], estimators[key[:2]], key[2]) for key in wanted if key not in done]
    report = progress or (lambda finished, total: None)
    before = len(wanted) - len(works)
    report(before, len(wanted))
    for finished, record in enumerate(_results(works, workers), before + 1):
        if file is not None:
            file.append(record)
        done[record["cell"], record["method"], record["split"]] = record
        report(finished, len(wanted))
    return pd.DataFrame([done[key] for key in wanted])


def run_split(work: Work) -> Record:
    """Return the record of a split, with the seconds that it took."""
    if type(work.estimator).__module__.startswith("fermiclass.nimgp") and "tensorflow" not in sys.modules:
        load_tensorflow(quiet=True)
    started = time.perf_counter()
    record = work.benchmark.run(work.cell, work.estimator, work.split)
    head = {"cell": work.cell, "method": work.method, "split": work.split}
    return head | record | {"seconds": time.perf_counter() - started, "settings": settings_of(work.estimator)}


def settings_of(estimator: Any) -> dict[str, Any]:
    """Return the parameters of the estimator as values that JSON can hold."""
    plain = (str, int, float, bool, type(None))
    return {key: value if isinstance(value, plain) else str(value) for key, value in estimator.get_params().items()}


def _check_settings(earlier: Any, estimators: Mapping[tuple[str, str], Any]) -> None:
    settings = {key: settings_of(estimator) for key, estimator in estimators.items()}
    for record in earlier:
        cell, method, then = record["cell"], record["method"], record["settings"]
        now = settings.get((cell, method), then)
        if now != then:
            odd = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
            changes = ", ".join(f"{name} was {then.get(name)!r}, is {now.get(name)!r}" for name in odd)
            raise BenchmarkError(
                f"the results of '{method}' on '{cell}' were made with other settings ({changes}). Choose another file "
                "(--results), or give the earlier settings."
            )


def _results(works: Sequence[Work], workers: int) -> Iterator[Record]:
    """Yield the records of finished splits, in any order. joblib gives each process its share of the cores."""
    try:
        yield from Parallel(workers, return_as="generator_unordered")(delayed(run_split)(work) for work in works)
    except BrokenProcessPool as error:
        raise BenchmarkError(
            f"one of {workers} worker processes was ended from outside, most often because memory ran out. Give fewer "
            "--workers."
        ) from error


class RecordFile:
    """A file of JSON lines: a header for every run that added to it, and a record for every finished split.

    The file need not exist. The header of this run has the name of the ``"benchmark"``.
    """

    def __init__(self, path: str | os.PathLike[str], header: Mapping[str, Any]) -> None:
        self._path = check_place(path)
        self._header: list[Mapping[str, Any]] = [header]
        self._benchmark = header["benchmark"]

    def load(self) -> list[Record]:
        """Read the records of earlier runs. A last line that an interruption cut off is removed from the file.

        Raises BenchmarkError when the file is damaged, not a file of records, or belongs to another benchmark.
        """
        content = self._path.read_bytes() if self._path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            others = {line["benchmark"] for line in lines if "split" not in line} - {self._benchmark}
            if content and (not lines or "split" in lines[0] or others):
                raise ValueError(f"a file of {', '.join(others) or 'something else'}")
        except (ValueError, TypeError, LookupError) as error:
            raise BenchmarkError(
                f"'{self._path}' is damaged, or no file of results of the benchmark '{self._benchmark}' ({error}). "
                "Choose another file (--results)."
            ) from error
        if len(whole) < len(content):  # safe: the first line shows that this is a file of records
            os.truncate(self._path, len(whole))
        return [line for line in lines if "split" in line]

    def append(self, record: Record) -> None:
        """Append a record after the header of this run. Raises OutputError when the file cannot be written."""
        try:
            with self._path.open("a") as stream:
                stream.writelines(json.dumps(line) + "\n" for line in (*self._header, record))
        except OSError as error:
            raise OutputError(f"cannot write '{self._path}': {error.strerror}. Free some space.") from error
        self._header = []
