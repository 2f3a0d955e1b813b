"""Writing files: checked before any work is done, and whole or not at all."""

from __future__ import annotations

import glob
import io
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fermiclass.errors import OutputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is something of that name; False, no OSError, for names that nothing can have, as too long ones."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def check_place(path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> Path:
    """Check, before any work is done, that a file can be written at ``path``; return the path with links resolved.

    Raises
    ------
    OutputError
        If the folder is missing or not writable, or ``path`` is a folder, a device or read-only, or one of ``inputs``,
        which writing would destroy.
    """
    try:
        target = Path(path).resolve()
        there = target.exists()
        _temporary(target).exists()  # a longer name, which may be too long where the other is not
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links is a RuntimeError
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"cannot write '{path}': {reason}. Choose another name or folder.") from error
    folder = target.parent
    problems = (
        (not folder.is_dir(), f"there is no folder '{folder}'. Create it first."),
        (target.is_dir(), "it is a folder. Give the name of a file."),
        (there and not target.is_file(), "it is not a regular file. Give the name of a file."),
        (not os.access(folder, os.W_OK | os.X_OK), f"no permission to write in '{folder}'. Choose another folder."),
        (there and not os.access(target, os.W_OK), "the file is read-only. Choose another name, or allow writing it."),
    )
    for is_so, what in problems:
        if is_so:
            raise OutputError(f"cannot write '{path}': {what}")
    if there and any(given is not None and exists(given) and target.samefile(given) for given in inputs):
        raise OutputError(f"'{path}' is what is read: writing would destroy it. Give the output another name.")
    return target


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Give a temporary name beside ``target`` to write to; then sync that file and rename it.

    Raises
    ------
    OutputError
        If that fails. Then, and when the body raises, ``target`` is as it was before, and nothing is left behind.
    """
    _remove_leftovers(target)
    temporary = _temporary(target)
    try:
        yield temporary
        with reported(target):
            with temporary.open("rb+") as stream:
                os.fsync(stream.fileno())
            temporary.replace(target)
    finally:
        with reported(target):
            temporary.unlink(missing_ok=True)


def _temporary(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")


def _remove_leftovers(target: Path) -> None:
    """Remove what processes that were killed while they wrote ``target`` left beside it."""
    for leftover in target.parent.glob(f".{glob.escape(target.name)}.*-*.tmp"):
        pid = leftover.name.removeprefix(f".{target.name}.").partition("-")[0]
        if pid.isdigit() and not _is_running(int(pid)):
            with suppress(OSError):
                leftover.unlink()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # it is another user's
    return True


@contextmanager
def reported(target: Path) -> Iterator[None]:
    """Turn what the system has against writing ``target`` into an OutputError."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write '{target}': {reason}. Free some space, or choose another folder.") from error


def write_whole(target: Path, content: bytes) -> None:
    """Write ``content`` under a temporary name beside ``target``, sync it, and rename it.

    Raises
    ------
    OutputError
        If that fails; ``target`` is as it was before, and nothing is left behind.
    """
    with whole_file(target) as temporary, reported(target), temporary.open("xb") as stream:
        stream.write(content)


def write_json(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write ``content`` as JSON, whole or not at all."""
    write_whole(check_place(path), (json.dumps(content, indent=1) + "\n").encode())


_FIGURE_ENDINGS = (".png", ".pdf", ".svg")


def check_figure_place(path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> Path:
    """Check, as :func:`check_place`, that a figure can be written at ``path``, and that its ending names a format."""
    if Path(path).suffix.lower() not in _FIGURE_ENDINGS:
        raise OutputError(
            f"'{path}' has no ending that names a figure format; expected one of {', '.join(_FIGURE_ENDINGS)}. "
            "Rename it."
        )
    return check_place(path, *inputs)


def write_figure(path: str | os.PathLike[str], figure: Figure) -> None:
    """Write a figure in the format that the ending of ``path`` names, whole or not at all."""
    target = check_figure_place(path)
    stream = io.BytesIO()
    figure.savefig(stream, format=target.suffix.lower()[1:], dpi=150)
    write_whole(target, stream.getvalue())
