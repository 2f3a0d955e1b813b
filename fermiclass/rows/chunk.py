"""What rows are: a source of chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

#: Rows that one pass in order reads at a time.
CHUNK_ROWS = 65536


class Chunk(NamedTuple):
    """Some rows, in arrays of their own.

    Attributes
    ----------
    X
        (n, D) float32 or float64, all finite.
    X_var
        (n, D) variances of the errors of `X`, all finite and not negative.
    y
        (n,) labels as they are in the file, text or whole numbers; '' is no label. None where there are no labels.
    kept
        Further columns by name, each (n,): what is to stand beside the results.
    """

    X: NDArray[Any]
    X_var: NDArray[Any]
    y: NDArray[Any] | None
    kept: Mapping[str, NDArray[Any]] = MappingProxyType({})

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """(n,) whether a row is one to learn from: it has a label, or none has."""
        if self.y is None or self.y.dtype.kind != "U":
            return np.ones(len(self.X), bool)
        return np.asarray(self.y != "")

    def take(self, index: NDArray[Any] | slice) -> Chunk:
        """Return the rows of a mask or of indices, copied, or of a slice, not copied."""
        kept = {name: values[index] for name, values in self.kept.items()}
        return Chunk(self.X[index], self.X_var[index], None if self.y is None else self.y[index], kept)


class Rows(Protocol):
    """Rows of any number, in a fixed order; reading some of them takes memory for these alone."""

    @property
    def num_rows(self) -> int:
        """N."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the D features."""

    def read(self, start: int, stop: int) -> Chunk:
        """Return rows `start` to `stop` − 1, counted from 0.

        Raises
        ------
        RowsError
            If there are no such rows, they cannot be read, or hold a value that is not finite or a negative
            uncertainty; the message says where.
        """


@runtime_checkable
class Blocked(Protocol):
    """Rows that are stored in blocks, of which all is read if anything is."""

    @property
    def block_edges(self) -> NDArray[np.int64]:
        """(B + 1,) the first row of each of the B blocks, then N."""


def join(chunks: Sequence[Chunk]) -> Chunk:
    """Return the rows of several chunks, at least one, as one chunk."""
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
