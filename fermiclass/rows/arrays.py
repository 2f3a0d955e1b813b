"""Rows from arrays in memory, or from .npy files that stay on disk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import RowsError, in_one_line
from fermiclass.nimgp.arrays import align_columns
from fermiclass.rows.chunk import Chunk, Rows, stamp_of
from fermiclass.rows.columns import DEFAULT_LABEL, UNCERTAINTY_PREFIX, Columns, as_floats, plain_values, refuse


class ArrayRows(Rows):
    """Rows of arrays.

    `X`: features ``(N, D)``: an array, a frame, or the path of a .npy file. Only rows that are read come into memory.
    `y`: labels ``(N,)``, text or whole numbers, '' for none; an array or a path. None if there are no labels.
    `X_var`: variances ``(N, D)`` of the errors of `X`, an array or a path; None for zeros.
    `feature_names`: D names; by default x0, x1, ...

    Raises RowsError if a file is missing or damaged, or shapes, types or names do not fit.
    """

    def __init__(self, X: Any, y: Any = None, *, X_var: Any = None, feature_names: Sequence[str] | None = None):
        self.source = str(X) if _is_path(X) else "X"
        # Full paths, because another process may open them.
        X, y, X_var = (Path(given).resolve() if _is_path(given) else given for given in (X, y, X_var))
        self._opened = partial(ArrayRows, X, y, X_var=X_var, feature_names=feature_names)
        try:
            X_var = align_columns(X, X_var, y=y)
        except ValueError as error:
            raise RowsError(str(error)) from error
        self._X = _array(X)
        self._X_var = None if X_var is None else _array(X_var)
        self._y = None if y is None else _array(y)
        self._stamps = {given: stamp_of(given) for given in (X, y, X_var) if _is_path(given)}
        if self._X.ndim != 2 or self._X.shape[1] == 0:
            raise RowsError(
                f"X has the shape {self._X.shape}; expected (N, D), a row for each source and a column for each feature"
            )
        self.num_rows, num_features = self._X.shape
        self.block_edges = np.array([0, self.num_rows])
        names = [f"x{j}" for j in range(num_features)] if feature_names is None else feature_names
        if len(names) != num_features:
            raise RowsError(f"there are {len(names)} names for the {num_features} columns of X")
        noise = [None if X_var is None else f"{UNCERTAINTY_PREFIX}{name}" for name in names]
        self.columns = Columns.of(names, noise, None if y is None else DEFAULT_LABEL)
        shapes = {"X": self._X.shape, "X_var": self._X.shape, "y": (self.num_rows,)}
        for name, values in (("X", self._X), ("X_var", self._X_var), ("y", self._y)):
            if values is not None and values.shape != shapes[name]:
                raise RowsError(f"{name} has the shape {values.shape}; expected {shapes[name]}")
            if values is not None and name != "y" and values.dtype.kind not in "biuf":
                raise RowsError(f"{name} holds {values.dtype}; expected numbers")
        self.read(0, 0)  # checks the type of the labels

    def _read(self, start: int, stop: int) -> Chunk:
        names = self.columns.features
        X = np.column_stack([as_floats(self._X[start:stop, j]) for j in range(len(names))])
        X_var = np.zeros_like(X)
        if self._X_var is not None:
            for j, name in enumerate(f"X_var of {name}" for name in names):
                X_var[:, j] = as_floats(self._X_var[start:stop, j])
                refuse(X_var[:, j] < 0, X_var[:, j], "expected variances of 0 or more", start, name)
        y = None if self._y is None else plain_values(np.array(self._y[start:stop]), "y", as_label=True)
        return Chunk(X, X_var, y)


def _is_path(given: Any) -> bool:
    return isinstance(given, str | os.PathLike)


def _array(given: Any) -> NDArray[Any]:
    if not _is_path(given):
        return np.asarray(given)
    try:
        return np.lib.format.open_memmap(given, mode="r")  # refuses pickles
    except FileNotFoundError as error:
        raise RowsError(f"there is no file '{given}'. Check the name and the folder.") from error
    except (OSError, ValueError, EOFError) as error:
        raise RowsError(f"'{given}' cannot be read as a .npy file: {in_one_line(error)}") from error
