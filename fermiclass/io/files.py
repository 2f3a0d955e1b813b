"""Writing of files. The place is checked before any work, and a file appears when it is complete, or not at all."""

from __future__ import annotations

import ctypes
import errno
import glob
import hashlib
import io
import json
import logging
import os
import platform
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fermiclass.errors import OutputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOG = logging.getLogger(__name__)


def exists(path: str | os.PathLike[str]) -> bool:
    """Return whether a file or folder exists; False, and no OSError, for impossible names such as too long ones."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def check_place(path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> Path:
    """Check before any work that a file can be written at ``path``; return the path with links resolved.

    Raises
    ------
    OutputError
        If the folder is missing or not writable; if ``path`` is a folder, a device or read-only; if it is one of
        ``inputs``, which writing would destroy.
    """
    try:
        target = Path(path).resolve()
        there = target.exists()
        _temporary(target).exists()  # its name is longer, and may be too long
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
        raise OutputError(f"'{path}' is an input: writing would destroy it. Give the output another name.")
    return target


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Yield a temporary file beside ``target``, with its permissions, to write to; then :func:`settle` it.

    Raises
    ------
    OutputError
        If that fails. Then, and if the body raises, ``target`` does not change and no temporary file is left.
    """
    _remove_leftovers(target)
    temporary = _temporary(target)
    try:
        with reported(target):
            _create(temporary, like=target)
        yield temporary
        with reported(target):
            settle(temporary, target)
    finally:
        with reported(target):
            temporary.unlink(missing_ok=True)


def settle(temporary: Path, target: Path) -> None:
    """Rename a file or a folder that is complete, so that after a power cut ``target`` is the old one or the new one.

    The content is on the disk before the name is, and the name when this returns.
    """
    for path in (*temporary.iterdir(), temporary) if temporary.is_dir() else (temporary,):
        sync(path)
    if not (target.is_dir() and _exchange(temporary, target)):
        temporary.replace(target)
    sync(target.parent)
    _LOG.info("wrote '%s'", target)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step, as a full folder cannot be replaced; False if that failed."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):  # no Linux
        return False
    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def sync(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that cannot sync folders
            raise
    finally:
        os.close(descriptor)


def _temporary(target: Path) -> Path:
    return target.with_name(f".{target.name}.{_processes()}-{os.getpid()}-{secrets.token_hex(4)}.tmp")


def _processes() -> str:
    """Return a mark of the processes that this one can see: of this machine, since it was started, in this container.

    A process of another mark may run though no process here has its number.
    """
    try:
        mark = Path("/proc/sys/kernel/random/boot_id").read_text() + str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # no Linux
        mark = platform.node()
    return hashlib.blake2b(mark.encode(), digest_size=4).hexdigest()


def _create(temporary: Path, *, like: Path) -> None:
    """Create an empty file; if another one will be replaced by it, nobody else can read it meanwhile or afterwards."""
    mode = stat.S_IMODE(like.stat().st_mode) if like.exists() else None
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600))
    if mode is not None:
        temporary.chmod(mode)


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of processes that were killed here while they wrote ``target``."""
    begin = f".{target.name}.{_processes()}-"
    for leftover in target.parent.glob(f"{glob.escape(begin)}*-*.tmp"):
        pid = leftover.name.removeprefix(begin).partition("-")[0]
        if pid.isdigit() and not _is_running(int(pid)):
            with suppress(OSError):
                leftover.unlink()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # signal 0 only checks the process
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # the process of another user
    return True


@contextmanager
def reported(target: Path) -> Iterator[None]:
    """Turn an OSError while ``target`` is written into an OutputError."""
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
        If that fails. Then ``target`` does not change and no temporary file is left.
    """
    with whole_file(target) as temporary, reported(target), temporary.open("wb") as stream:
        stream.write(content)


def write_json(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write ``content`` as JSON; the file appears when it is complete, or not at all."""
    write_whole(check_place(path), (json.dumps(content, indent=1) + "\n").encode())


_FIGURE_ENDINGS = (".png", ".pdf", ".svg")


def check_figure_place(path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> Path:
    """Check the ending of ``path``, and that a figure can be written there: :func:`check_place`."""
    if Path(path).suffix.lower() not in _FIGURE_ENDINGS:
        raise OutputError(
            f"'{path}' does not have the ending of a figure format; expected one of {', '.join(_FIGURE_ENDINGS)}. "
            "Rename it."
        )
    return check_place(path, *inputs)


def write_figure(path: str | os.PathLike[str], figure: Figure) -> None:
    """Write a figure in the format of the ending of ``path``; the file appears when it is complete, or not at all."""
    target = check_figure_place(path)
    stream = io.BytesIO()
    figure.savefig(stream, format=target.suffix.lower()[1:], dpi=150)
    write_whole(target, stream.getvalue())
