"""Rows on disk with the roles of their columns, and chunks of them in memory, whose values are checked."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import RowsError
from fermiclass.io import FloatArray
from fermiclass.io.plain import texts

_CHANGED = "it has changed since it was opened: start again when it is complete"


@dataclass(frozen=True)
class Columns:
    """Columns of D features, of their standard deviations (None for no error), of the label, and others to keep."""

    features: tuple[str, ...]
    uncertainties: tuple[str | None, ...]
    label: str | None
    keep: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, features: Sequence[str], uncertainties: Sequence[str | None] | None, label: str | None, keep: Sequence[str]
    ) -> Columns:
        """Return the roles from the names that a user gives. Raises RowsError if they do not fit each other."""
        if any(isinstance(names, str) for names in (features, uncertainties, keep)):
            raise RowsError("the columns were given as one text; expected a list of names")
        noise = [None] * len(features) if uncertainties is None else uncertainties
        if not features:
            raise RowsError("no features are named. Name at least one.")
        if len(set(features)) < len(features):
            raise RowsError(f"a feature is named twice in {', '.join(features)}. Name each once.")
        if len(noise) != len(features):
            raise RowsError(
                f"{len(noise)} columns of uncertainties were named for {len(features)} features; expected one for "
                "each, None for a feature without"
            )
        return cls(tuple(features), tuple(noise), label, tuple(dict.fromkeys(keep)))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read, each once."""
        every = (*self.features, *self.uncertainties, self.label, *self.keep)
        return tuple(dict.fromkeys(name for name in every if name is not None))

    def check(self, found: Collection[str], is_number: Callable[[str], bool], source: str) -> None:
        """Raise RowsError if a column is missing, or the column of a feature or its error does not hold numbers."""
        for name in self.names:
            if name not in found:
                folded = {other.lower(): other for other in sorted(found)}
                close = [folded[match] for match in difflib.get_close_matches(name.lower(), list(folded), n=3)]
                hint = f"Did you mean {' or '.join(close)}?" if close else f"Its columns: {', '.join(found)}."
                raise RowsError(f"'{source}' has no column '{name}'. {hint}")
            if name in (*self.features, *self.uncertainties) and not is_number(name):
                raise RowsError(f"the column '{name}' of '{source}' does not hold one number a row. Choose another.")


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
        """Return rows `start` to `stop` − 1, counted from 0. Raises RowsError, with the place of what is wrong."""
        try:
            if not 0 <= start <= stop <= self.num_rows:
                raise RowsError(f"rows {start} to {stop} do not exist; expected rows from 0 to {self.num_rows}")
            self._refuse_changes()
            chunk = self._read(start, stop)
            self._refuse_changes()
            for values, names in ((chunk.X, self.columns.features), (chunk.X_var, self.columns.uncertainties)):
                for column, name in zip(values.T, names, strict=True):
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
    """Rows of a table with named columns."""

    def __init__(self, path: Path, columns: Columns, hdu: int | str) -> None:
        self._opened = partial(type(self), path.resolve(), columns, hdu)
        self.source, self.columns = str(path), columns
        self._open(path, hdu)
        self.read(0, 0)  # checks the types of label and kept columns

    @staticmethod
    @abstractmethod
    def names_in(path: Path, hdu: int | str) -> Collection[str]:
        """Return the names of the columns of a file."""

    @abstractmethod
    def _open(self, path: Path, hdu: int | str) -> None:
        """Open the file, check its columns, and set the other attributes."""

    def _open_one_block(self, path: Path, num_rows: int) -> None:
        self._stamps, self.num_rows, self.block_edges = {path: stamp_of(path)}, num_rows, np.array([0, num_rows])

    def _chunk(self, column: Callable[[str], NDArray[Any]], start: int) -> Chunk:
        """Build a chunk, whose first row is `start`, from a function that returns a column ``(n,)``."""
        roles = self.columns
        X = np.column_stack([column(name).astype(np.float64) for name in roles.features])
        X_var = np.zeros_like(X)
        for j, name in enumerate(roles.uncertainties):
            if name is not None:
                sigma = column(name).astype(np.float64)
                refuse(sigma < 0, sigma, "expected uncertainties of 0 or more", start, name)
                with np.errstate(over="ignore"):  # infinite ones are refused
                    X_var[:, j] = sigma**2
        y = None if roles.label is None else plain_values(column(roles.label), roles.label, as_label=True)
        return Chunk(X, X_var, y, {name: plain_values(column(name), name) for name in roles.keep})


def refuse(wrong: NDArray[np.bool_], values: NDArray[Any], why: str, start: int, name: str) -> None:
    """Raise RowsError with the place of the first value that is wrong; `start` is the number of the first row."""
    if wrong.any():
        row = np.argmax(wrong)
        raise RowsError(f"there is {values[row]} in row {start + row} (counted from 0) of column '{name}', {why}")


def plain_values(values: NDArray[Any], name: str, *, as_label: bool = False) -> NDArray[Any]:
    """Return text without trailing blanks, or numbers in native byte order; a label is text or a whole number.

    A label such as nan or null is none. Raises RowsError if the values are something else.
    """
    if values.dtype.kind in "OT" and all(isinstance(value, str) for value in values.tolist()):
        values = values.astype(str)
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind == "U":
        return texts(values) if as_label else np.char.rstrip(np.asarray(values))
    if values.ndim == 1 and values.dtype.kind in ("biu" if as_label else "biuf"):
        return values.astype(values.dtype.newbyteorder("="))
    expected = "text, or whole numbers without missing ones" if as_label else "numbers or text"
    raise RowsError(f"the column '{name}' holds {values.dtype}; expected {expected}")


def stamp_of(path: Path) -> tuple[int, int]:
    """Return size and time of a file, which change when it is written."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def join(chunks: Sequence[Chunk]) -> Chunk:
    """Return the rows of one or more chunks as one chunk."""
    X, X_var, y, kept = zip(*chunks, strict=True)
    both = {name: np.concatenate([part[name] for part in kept]) for name in kept[0]}
    return Chunk(np.concatenate(X), np.concatenate(X_var), None if y[0] is None else np.concatenate(y), both)
