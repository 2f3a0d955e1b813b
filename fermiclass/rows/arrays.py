"""Rows from arrays in memory, or from .npy files that stay on disk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from fermiclass.errors import RowsError, in_one_line
from fermiclass.io.inputs import check_regular
from fermiclass.nimgp.frames import check_index, line_up, refuse_masked
from fermiclass.rows.checks import check_chunk, check_dtype, check_span, held, plain_labels
from fermiclass.rows.chunk import Chunk
from fermiclass.rows.rows import Rows


class ArrayRows(Rows):
    """Rows of arrays.

    Parameters
    ----------
    X
        Features ``(N, D)``: an array, a frame, or the path of a .npy file. Only rows that are read come into memory.
    y
        Labels ``(N,)``, text or whole numbers, '' for none; an array or a path. None if there are no labels.
    X_var
        Variances ``(N, D)`` of the errors of `X`, an array or a path; None for zeros.
    feature_names
        D names; by default x0, x1, ...
    dtype
        Type of the chunks: float64, or float32 with seven digits.

    Raises
    ------
    RowsError
        If a file is missing or damaged, or shapes, types or names do not fit.
    """

    def __init__(
        self,
        X: ArrayLike | os.PathLike[str],
        y: ArrayLike | os.PathLike[str] | None = None,
        *,
        X_var: ArrayLike | os.PathLike[str] | None = None,
        feature_names: Sequence[str] | None = None,
        dtype: DTypeLike = np.float64,
    ):
        self._opened = partial(
            ArrayRows, _place(X), _place(y), X_var=_place(X_var), feature_names=feature_names, dtype=dtype
        )
        self._dtype = check_dtype(dtype)
        self._source = f"'{X}'" if isinstance(X, str | os.PathLike) else "X"
        try:
            X_var = line_up(X, X_var)
            check_index(X, y, "y")
            refuse_masked(y, "y")
        except ValueError as error:
            raise RowsError(str(error)) from error
        self._X = _array(X)
        if self._X.ndim != 2 or self._X.shape[1] == 0 or self._X.dtype.kind not in "biuf":
            raise RowsError(
                f"{self._source} holds {self._X.dtype} of shape {self._X.shape}; expected numbers (N, D), a row for "
                "each source and a column for each feature"
            )
        self.num_rows, num_features = self._X.shape
        self.feature_names = tuple(feature_names or (f"x{j}" for j in range(num_features)))
        if len(self.feature_names) != num_features:
            raise RowsError(
                f"there are {len(self.feature_names)} names for the {num_features} columns of {self._source}; expected "
                "one name for each column"
            )
        self._X_var = None if X_var is None else _array(X_var)
        if self._X_var is not None and (self._X_var.shape != self._X.shape or self._X_var.dtype.kind not in "biuf"):
            raise RowsError(
                f"X_var holds {self._X_var.dtype} of shape {self._X_var.shape}; expected numbers of the shape of X, "
                f"{self._X.shape}"
            )
        self._y = None if y is None else _array(y)
        if self._y is not None:
            if self._y.shape != (self.num_rows,):
                raise RowsError(f"y has the shape {self._y.shape}; expected a label for each row, ({self.num_rows},)")
            plain_labels(self._y[:0] if self._y.dtype.kind != "O" else self._y, "y", self._source)

    def read(self, start: int, stop: int) -> Chunk:
        """Return rows `start` to `stop` − 1; see :meth:`fermiclass.rows.Rows.read`."""
        check_span(start, stop, self.num_rows, self._source)
        noise_names = [f"X_var of {name}" for name in self.feature_names]
        X = held(self._X[start:stop], self._dtype, start, self.feature_names, self._source)
        X_var = np.zeros_like(X)
        if self._X_var is not None:
            X_var = held(self._X_var[start:stop], self._dtype, start, noise_names, self._source)
        y = None if self._y is None else plain_labels(np.array(self._y[start:stop]), "y", self._source)
        return check_chunk(Chunk(X, X_var, y), start, self.feature_names, noise_names, self._source)


def _place(given: Any) -> Any:
    """Return the full path, because another process may open it; arrays are returned unchanged."""
    return Path(given).resolve() if isinstance(given, str | os.PathLike) else given


def _array(given: ArrayLike | os.PathLike[str]) -> NDArray[Any]:
    if not isinstance(given, str | os.PathLike):
        return np.asarray(given)
    path = Path(given)
    try:
        check_regular(path)
        with path.open("rb") as stream:
            np.lib.format.read_magic(stream)  # otherwise numpy's message calls the file a pickle
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise RowsError(f"there is no file '{path}'. Check the name and the folder.") from error
    except (OSError, ValueError, EOFError) as error:
        raise RowsError(
            f"'{path}' cannot be read as a .npy file ({in_one_line(error)}). Write it with numpy.save."
        ) from error
