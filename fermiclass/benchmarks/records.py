"""Records on disk. They are written during a run, so that a stopped run can resume."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Set
from typing import Any

from fermiclass.benchmarks.blocks import Record
from fermiclass.errors import BenchmarkError, OutputError
from fermiclass.io.files import check_place

_NEEDED = {"cell", "method", "split", "nll", "error", "seconds", "confusion", "classes", "settings"}


class RecordFile:
    """A file of JSON lines: a header for every run that added to it, and a record for every finished split.

    Parameters
    ----------
    path
        The file, which need not exist.
    header
        Header of this run, with the name of the ``"benchmark"``.
    needed
        Keys that every record must have, by default those of classifiers.
    """

    def __init__(
        self, path: str | os.PathLike[str], header: Mapping[str, Any], *, needed: Set[str] = frozenset(_NEEDED)
    ) -> None:
        self._path = check_place(path)
        self._header: Mapping[str, Any] | None = header
        self._benchmark = header["benchmark"]
        self._needed = needed

    def load(self) -> list[Record]:
        """Read the records of earlier runs. An incomplete last line is removed from the file.

        Raises
        ------
        BenchmarkError
            When the file is not a file of records, is damaged, or belongs to another benchmark.
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
        if len(whole) < len(content):  # safe: the first line shows that this is a file of records
            os.truncate(self._path, len(whole))
        return [line for line in lines if "benchmark" not in line]

    def append(self, records: Iterable[Record]) -> None:
        """Append records after the header of this run, and wait until they are on the disk.

        Raises
        ------
        OutputError
            When the file cannot be written.
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
