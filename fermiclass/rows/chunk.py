"""Chunks of rows in memory, and the interface of readers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

#: Number of rows that a pass in order reads at a time.
CHUNK_ROWS = 65536


class Chunk(NamedTuple):
    """Some rows, in arrays in memory.

    Attributes
    ----------
    X
        (n, D) float32 or float64 features, all finite.
    X_var
        (n, D) variances of the errors of `X`, all finite and not negative.
    y
        (n,) labels of the file, text or whole numbers; '' means no label. None if the file has no labels.
    kept
        Further columns (n,) by name, to copy into the results.
    """

    X: NDArray[Any]
    X_var: NDArray[Any]
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


class RowReader(ABC):
    """Reads any number of rows in a fixed order. Reading some of them needs memory for these only.

    Attributes
    ----------
    num_rows
        Number of rows, N.
    feature_names
        Names of the D features.
    """

    num_rows: int
    feature_names: tuple[str, ...]
    _opened: Callable[[], RowReader]  # opens the same rows in another process

    def __reduce__(self) -> tuple[Any, ...]:
        """Rows that are sent to another process are opened again there."""
        return self._opened, ()

    @abstractmethod
    def read(self, start: int, stop: int) -> Chunk:
        """Return rows `start` to `stop` − 1, counted from 0.

        Raises
        ------
        RowsError
            If there are no such rows, they cannot be read, or they hold a value that is not finite or a negative
            uncertainty. The message gives the place.
        """


@runtime_checkable
class Blocked(Protocol):
    """Rows that are stored in blocks. A block is always read as a whole."""

    @property
    def block_edges(self) -> NDArray[np.int64]:
        """(B + 1,) the first row of each of the B blocks, then N."""


def join(chunks: Sequence[Chunk]) -> Chunk:
    """Return the rows of one or more chunks as one chunk."""
    X, X_var, y, kept = zip(*chunks, strict=True)
    return Chunk(
        np.concatenate(X),
        np.concatenate(X_var),
        None if y[0] is None else np.concatenate(y),
        {name: np.concatenate([part[name] for part in kept]) for name in kept[0]},
    )


def read_in_order(rows: RowReader, chunk_rows: int = CHUNK_ROWS) -> Iterator[Chunk]:
    """Read all rows once, up to `chunk_rows` at a time."""
    for start in range(0, rows.num_rows, chunk_rows):
        yield rows.read(start, min(start + chunk_rows, rows.num_rows))
