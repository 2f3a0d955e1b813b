"""Files that appear when they are complete, or not at all; and archives of arrays."""

from __future__ import annotations

import io
import os
import secrets
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

#: What NumPy and zipfile raise for damaged archives, besides OSError and ValueError.
_DAMAGED = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RuntimeError, TypeError,
    struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_arrays(content: bytes, name: str) -> dict[str, np.ndarray]:
    """Return the arrays of a file ``.npz`` with this name. Nothing is unpickled. Raises ValueError if it is damaged."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return dict(stored)
    except _DAMAGED as error:
        raise ValueError(f"{name} is no archive of arrays, or damaged ({error})") from error


@contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield an empty temporary file in the folder of ``target``, to write to. It replaces ``target`` after the body.

    If the body raises, ``target`` does not change and no temporary file is left. A file that is replaced keeps its
    permissions, and the temporary file has them, too.
    """
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600))
        if mode is not None:
            temporary.chmod(mode)
        yield temporary
        move_into_place(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def move_into_place(temporary: Path, target: Path) -> None:
    """Rename a file or a folder that is complete. Its content is on the disk before its new name is."""
    for path in (*temporary.iterdir(), temporary) if temporary.is_dir() else (temporary,):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    temporary.replace(target)
