"""Checkpoints: training survives an interruption."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import tensorflow as tf

from fermiclass.nimgp.errors import CheckpointError

_PROGRESS = "progress_"
_FORMAT = 3  # raised when the variables or the progress that training saves change


class Checkpoint:
    """A file ``.npz`` of the variables of training, its progress, and what must be the same for training to resume.

    It is replaced as a whole, every some `seconds`, after the last step, and when Ctrl-C or an error ends training.
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
        """Set the variables and return the progress, or nothing if there is no file; see `maximise` for errors."""
        if not self.path.exists():
            return {}
        if not self.path.is_file():  # reading a pipe or a device could wait for ever, or never end
            raise CheckpointError(f"'{self.path}' is not a regular file: name another file")
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                saved = dict(stored)
            about = dict(zip(saved["names"].tolist(), saved["values"].tolist(), strict=True))
            progress = {name[len(_PROGRESS) :]: saved[name] for name in saved if name.startswith(_PROGRESS)}
            values = [saved[f"variable{k}"] for k in range(sum(name.startswith("variable") for name in saved))]
            version = int(saved.get("format", 1))
        except Exception as error:  # of NumPy or zipfile
            raise CheckpointError(f"'{self.path}' is not a checkpoint, or is damaged ({error}): remove it") from error
        if version != _FORMAT:
            raise CheckpointError(f"'{self.path}' is a checkpoint of another version of fermiclass: name another file")
        odd = sorted(key for key in self._about.keys() | about.keys() if self._about.get(key) != about.get(key))
        if odd:
            was = ", ".join(f"{key}={about.get(key)} (now {self._about.get(key)})" for key in odd)
            raise CheckpointError(f"'{self.path}' is a checkpoint of another training, with {was}: name another file")
        if [v.shape for v in values] != [tuple(v.shape) for v in variables]:
            raise CheckpointError(f"'{self.path}' is a checkpoint of a model of another size: name another file")
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
        return progress

    def save(self, variables: Sequence[tf.Variable], progress: Mapping[str, Any], *, last: bool = False) -> None:
        """Write the file if it is due. Otherwise keep the state until the next write, or until training ends early."""
        # Copies: training changes the variables before they are written.
        arrays: dict[str, Any] = {f"variable{k}": np.array(variable.numpy()) for k, variable in enumerate(variables)}
        arrays |= {f"{_PROGRESS}{name}": value for name, value in progress.items()}
        self._unwritten = arrays | {"format": _FORMAT, "names": list(self._about), "values": list(self._about.values())}
        if last or time.monotonic() - self._written >= self._seconds:
            self._write()

    def _write(self) -> None:
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.tmp")
        try:
            with temporary.open("xb") as file:
                if self.path.exists():
                    shutil.copymode(self.path, temporary)
                np.savez(file, **self._unwritten)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint '{self.path}' cannot be written: {error.strerror or error}. Free some space, or name "
                "another file"
            ) from error
        finally:
            temporary.unlink(missing_ok=True)
        self._unwritten = {}
        self._written = time.monotonic()
