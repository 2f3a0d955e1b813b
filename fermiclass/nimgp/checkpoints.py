"""Training that survives an interruption: all its variables in one file, replaced as a whole."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf


class CheckpointError(ValueError):
    """A file that is no checkpoint of this training."""


class Checkpoint:
    """A file ``.npz`` that holds variables, the step, and what the training was.

    Parameters
    ----------
    path
        The file; where there is one, training goes on from it.
    about
        What must be the same for training to go on: settings, sizes of the data. Values that JSON knows.
    seconds
        Least time between two writings; the last step is always written.
    """

    def __init__(self, path: Path, about: Mapping[str, Any], *, seconds: float = 60.0) -> None:
        self._path = path
        self._about = {key: repr(value) for key, value in about.items()}
        self._seconds = seconds
        self._written = time.monotonic()

    def restore(self, variables: Sequence[tf.Variable]) -> int:
        """Set variables to what was saved and return the step; 0, and nothing is set, where there is no file.

        Raises
        ------
        CheckpointError
            When the file is of another training, or damaged.
        """
        if not self._path.exists():
            return 0
        try:
            with self._path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                saved = dict(arrays)
            step, about = int(saved["step"]), dict(zip(saved["names"].tolist(), saved["values"].tolist(), strict=True))
            values = [saved[f"variable{k}"] for k in range(len(saved) - 3)]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise CheckpointError(f"'{self._path}' is no checkpoint, or a damaged one ({error}): remove it") from error
        odd = sorted(key for key in self._about.keys() | about.keys() if self._about.get(key) != about.get(key))
        if odd:
            was = ", ".join(f"{key}={about.get(key)} (now {self._about.get(key)})" for key in odd)
            raise CheckpointError(f"'{self._path}' is a checkpoint of another training, with {was}: name another file")
        if [v.shape for v in values] != [tuple(v.shape) for v in variables]:
            raise CheckpointError(f"'{self._path}' is a checkpoint of a model of another size: name another file")
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
        return step

    def save(self, variables: Sequence[tf.Variable], step: int, *, last: bool = False) -> None:
        """Write the file, if it is time to."""
        if not last and time.monotonic() - self._written < self._seconds:
            return
        arrays: dict[str, Any] = {f"variable{k}": variable.numpy() for k, variable in enumerate(variables)}
        arrays |= {"step": step, "names": list(self._about), "values": list(self._about.values())}
        partial = self._path.with_name(f"{self._path.name}.partial")
        with partial.open("wb") as file:
            np.savez(file, **arrays)
        partial.replace(self._path)
        self._written = time.monotonic()
