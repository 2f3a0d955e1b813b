"""Rows on disk, and chunks of them in memory."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import RowsError
from fermiclass.io import FloatArray
from fermiclass.rows.columns import Columns, as_floats, plain_values, refuse

CHUNK_ROWS = 65536  #: Number of rows that a pass in order reads at a time.


_CHANGED = "it has changed since it was opened: start again when it is complete"


class Chunk(NamedTuple):
    """Some rows, in arrays in memory.

    ``X`` (n, D) are features, and ``X_var`` (n, D) variances of their errors. ``y`` (n,) are the labels of the file,
    text or whole numbers, '' for none; None if the file has none. `kept` are further columns, to copy into the results.
    """

    X: FloatArray
    X_var: FloatArray
    y: NDArray[Any] | None
    kept: Mapping[str, NDArray[Any]] = MappingProxyType({})

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """(n,) mask of the rows to learn from: those with a label, or all rows if there are no labels."""
        if self.y is None or self.y.dtype.kind != "U":
            return np.ones(len(self.X), bool)
        return np.asarray(self.y != "")

    def take(self, index: NDArray[Any] | slice) -> Chunk:
        """Return some rows, given as a mask, indices or a slice. Only a slice does not copy them."""
        kept = {name: values[index] for name, values in self.kept.items()}
        return Chunk(self.X[index], self.X_var[index], None if self.y is None else self.y[index], kept)


class Rows(ABC):
    """Any number of rows in a fixed order. Reading some of them needs memory for these only.

    `source` is the name of the file, as it was given. `block_edges` (B + 1,) are the first row of each of B blocks,
    then N. A block is always read as a whole.
    """

    num_rows: int
    columns: Columns
    source: str
    block_edges: NDArray[np.int64]
    _opened: Callable[[], Rows]  # opens the same rows in another process
    _stamps: Mapping[Path, tuple[int, int]]  # size and time of the files when they were opened

    def __reduce__(self) -> tuple[Any, ...]:
        """Rows that are sent to another process are opened again there."""
        return _reopened, (self._opened, tuple(self._stamps.values()))

    def read(self, start: int, stop: int) -> Chunk:
        """Return rows `start` to `stop` − 1, counted from 0.

        Raises RowsError if there are no such rows, they cannot be read or have changed, or they hold a value that is
        not finite or a negative uncertainty. The message gives the place.
        """
        try:
            if not 0 <= start <= stop <= self.num_rows:
                raise RowsError(f"rows {start} to {stop} do not exist; expected rows from 0 to {self.num_rows}")
            self._refuse_changes()
            chunk = self._read(start, stop)
            self._refuse_changes()
            for values, names in ((chunk.X, self.columns.features), (chunk.X_var, self.columns.uncertainties)):
                for j, name in enumerate(names):
                    column = values[:, j]
                    refuse(~np.isfinite(column), column, "expected finite numbers: leave the row out", start, str(name))
        except RowsError as error:
            raise RowsError(f"'{self.source}' cannot be used: {error}") from error
        return chunk

    def _refuse_changes(self) -> None:
        if any(not path.exists() or stamp_of(path) != stamp for path, stamp in self._stamps.items()):
            raise RowsError(_CHANGED)

    @abstractmethod
    def _read(self, start: int, stop: int) -> Chunk:
        """Return rows that exist; numbers may be infinite or NaN."""


def _reopened(opened: Callable[[], Rows], stamps: tuple[tuple[int, int], ...]) -> Rows:
    rows = opened()
    if tuple(rows._stamps.values()) != stamps:
        raise RowsError(f"'{rows.source}' cannot be used: {_CHANGED}")
    return rows


class TableRows(Rows):
    """Rows of a table with named columns. The parameters are those of :func:`fermiclass.open_rows`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        features: Sequence[str],
        *,
        uncertainties: Sequence[str | None] | None = None,
        label: str | None = None,
        keep: Sequence[str] = (),
        hdu: int | str = 1,
    ):
        options: dict[str, Any] = {"uncertainties": uncertainties, "label": label, "keep": keep, "hdu": hdu}
        self._opened = partial(type(self), Path(path).resolve(), features, **options)
        self.source = str(path)
        self.columns = Columns.of(features, uncertainties, label, keep)
        self._open(Path(path), hdu)
        self.read(0, 0)  # checks the types of label and kept columns

    @abstractmethod
    def _open(self, path: Path, hdu: int | str) -> None:
        """Open the file, check its columns, and set the other attributes."""

    def _open_one_block(self, path: Path, num_rows: int) -> None:
        self._stamps, self.num_rows, self.block_edges = {path: stamp_of(path)}, num_rows, np.array([0, num_rows])

    def _chunk(self, column: Callable[[str], NDArray[Any]], start: int) -> Chunk:
        """Build a chunk, whose first row is `start`, from a function that returns a column ``(n,)``."""
        roles = self.columns
        X = np.column_stack([as_floats(column(name)) for name in roles.features])
        X_var = np.zeros_like(X)
        for j, name in enumerate(roles.uncertainties):
            if name is not None:
                sigma = as_floats(column(name))
                refuse(sigma < 0, sigma, "expected uncertainties of 0 or more", start, name)
                with np.errstate(over="ignore"):  # infinite ones are refused
                    X_var[:, j] = sigma**2
        y = None if roles.label is None else plain_values(column(roles.label), roles.label, as_label=True)
        return Chunk(X, X_var, y, {name: plain_values(column(name), name) for name in roles.keep})


def stamp_of(path: Path) -> tuple[int, int]:
    """Return size and time of a file, which change when it is written."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def join(chunks: Sequence[Chunk]) -> Chunk:
    """Return the rows of one or more chunks as one chunk."""
    X, X_var, y, kept = zip(*chunks, strict=True)
    return Chunk(
        np.concatenate(X),
        np.concatenate(X_var),
        None if y[0] is None else np.concatenate(y),
        {name: np.concatenate([part[name] for part in kept]) for name in kept[0]},
    )


def read_in_order(rows: Rows, chunk_rows: int = CHUNK_ROWS) -> Iterator[Chunk]:
    """Read all rows once, up to `chunk_rows` at a time."""
    for start in range(0, rows.num_rows, chunk_rows):
        yield rows.read(start, min(start + chunk_rows, rows.num_rows))
