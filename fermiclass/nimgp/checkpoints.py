"""Training that survives an interruption: all its variables in one file, replaced as a whole."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.archives import read_arrays
from fermiclass.nimgp.errors import CheckpointError

_PROGRESS = "progress_"


class Checkpoint:
    """A file ``.npz`` that holds variables, how far training is, and what the training was.

    As a context manager it writes what was last to be saved when training is broken off, by Ctrl-C or an error.

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
        self.path = path
        self._about = {key: repr(value) for key, value in about.items()}
        self._seconds = seconds
        self._written = time.monotonic()
        self._unwritten: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if raised[0] is not None and self._unwritten:
            self._write()

    def restore(self, variables: Sequence[tf.Variable]) -> dict[str, np.ndarray]:
        """Set variables to what was saved and return the progress; nothing is set or returned where there is no file.

        Raises
        ------
        CheckpointError
            When the file is of another training, or damaged.
        """
        if not self.path.exists():
            return {}
        try:
            saved = read_arrays(self.path.read_bytes())
            about = dict(zip(saved["names"].tolist(), saved["values"].tolist(), strict=True))
            progress = {name[len(_PROGRESS) :]: saved[name] for name in saved if name.startswith(_PROGRESS)}
            values = [saved[f"variable{k}"] for k in range(len(saved) - len(progress) - 2)]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"'{self.path}' is no checkpoint, or a damaged one ({error}): remove it") from error
        odd = sorted(key for key in self._about.keys() | about.keys() if self._about.get(key) != about.get(key))
        if odd:
            was = ", ".join(f"{key}={about.get(key)} (now {self._about.get(key)})" for key in odd)
            raise CheckpointError(f"'{self.path}' is a checkpoint of another training, with {was}: name another file")
        if [v.shape for v in values] != [tuple(v.shape) for v in variables]:
            raise CheckpointError(f"'{self.path}' is a checkpoint of a model of another size: name another file")
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
        return progress

    def save(
        self, variables: Sequence[tf.Variable], progress: Mapping[str, np.ndarray | int], *, last: bool = False
    ) -> None:
        """Write the file, if it is time to; else keep what would be written until it is, or training is broken off."""
        # Copies: the variables are moved on before these are written.
        arrays: dict[str, Any] = {f"variable{k}": np.array(variable.numpy()) for k, variable in enumerate(variables)}
        arrays |= {f"{_PROGRESS}{name}": value for name, value in progress.items()}
        self._unwritten = arrays | {"names": list(self._about), "values": list(self._about.values())}
        if last or time.monotonic() - self._written >= self._seconds:
            self._write()

    def _write(self) -> None:
        partial = self.path.with_name(f"{self.path.name}.partial")
        try:
            with partial.open("wb") as file:
                np.savez(file, **self._unwritten)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self.path)
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint '{self.path}' cannot be written: {error.strerror or error}. Free some space, or name "
                "another file"
            ) from error
        finally:
            partial.unlink(missing_ok=True)
        self._unwritten = {}
        self._written = time.monotonic()
