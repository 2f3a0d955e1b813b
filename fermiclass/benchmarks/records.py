"""Records on disk, written as the work is done, so that a run that was stopped can go on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Set
from typing import Any

from fermiclass.benchmarks.blocks import Record
from fermiclass.errors import BenchmarkError, OutputError
from fermiclass.files import check_place

_NEEDED = {"cell", "method", "split", "nll", "error", "seconds", "confusion", "classes", "settings"}


class RecordFile:
    """A file of JSON lines: a header for every run that added to it, and a record for every split that was done.

    Parameters
    ----------
    path
        The file; it need not exist.
    header
        Of this run, with the name of the ``"benchmark"``.
    needed
        What every record has; by default that of classifiers.
    """

    def __init__(
        self, path: str | os.PathLike[str], header: Mapping[str, Any], *, needed: Set[str] = frozenset(_NEEDED)
    ) -> None:
        self._path = check_place(path)
        self._header: Mapping[str, Any] | None = header
        self._benchmark = header["benchmark"]
        self._needed = needed

    def load(self) -> list[Record]:
        """Read the records of earlier runs; a last line that was cut off is removed from the file.

        Raises
        ------
        BenchmarkError
            When the file is no such file, is damaged, or is of another benchmark.
        """
        if not self._path.exists() or self._path.stat().st_size == 0:
            return []
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        lines = [self._parse(line, number) for number, line in enumerate(whole.splitlines(), 1)]
        if not lines or "benchmark" not in lines[0]:
            raise BenchmarkError(
                f"'{self._path}' is not a file of a benchmark's results. Give the name of a new file (--results)."
            )
        for header in lines:
            if header.get("benchmark", self._benchmark) != self._benchmark:
                raise BenchmarkError(
                    f"'{self._path}' holds results of the benchmark '{header['benchmark']}', not of "
                    f"'{self._benchmark}'. Choose another file (--results)."
                )
        if len(whole) < len(content):  # the first line is a header of ours: this is a file to write to
            os.truncate(self._path, len(whole))
        return [line for line in lines if "benchmark" not in line]

    def append(self, records: Iterable[Record]) -> None:
        """Add records, after this run's header, and see to it that they are on the disk.

        Raises
        ------
        OutputError
            When that fails.
        """
        lines = [*([] if self._header is None else [self._header]), *records]
        try:
            with self._path.open("ab") as stream:
                stream.write("".join(json.dumps(line) + "\n" for line in lines).encode())
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise OutputError(f"cannot write '{self._path}': {error.strerror}. Free some space.") from error
        self._header = None

    def _parse(self, line: bytes, number: int) -> Record:
        try:
            record = json.loads(line)
            missing = set() if "benchmark" in record else self._needed - record.keys()
            if missing:
                raise ValueError(f"no {', '.join(sorted(missing))}")
        except (ValueError, TypeError, AttributeError) as error:
            raise BenchmarkError(
                f"'{self._path}' is damaged, or not a file of a benchmark's results (line {number}: {error}). Choose "
                "another file (--results)."
            ) from error
        return record
