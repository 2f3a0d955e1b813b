"""Files: their bytes. The place of an output is checked before any work, and it appears complete, or not at all."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fermiclass.errors import CatalogError, OutputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOG = logging.getLogger(__name__)


def exists(path: str | os.PathLike[str]) -> bool:
    """Return whether a file or folder exists; False, and no OSError, for impossible names such as too long ones."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, or of standard input, which is '-'.

    Raises CatalogError when the file is missing, empty, or cannot be read.
    """
    try:
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except FileNotFoundError as error:
        remedy = "Check the name and the folder."
        if re.match(r"\w+:/", str(path)):
            remedy = "Addresses are not read: download it, and give the file."
        raise CatalogError(f"there is no file '{path}'. {remedy}") from error
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise CatalogError(f"'{path}' cannot be read: {reason}. Check its name and permissions.") from error
    if not content:
        again = "Check what writes it" if str(path) == "-" else "Download it, or write it, again"
        raise CatalogError(f"'{path}' is empty. {again}.")
    return content


def check_place(
    path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None, kind: str = "", endings: tuple[str, ...] = ()
) -> Path:
    """Check before any work that a file can be written at ``path``; return the path with links resolved.

    Raises OutputError if it has none of the ``endings`` of this ``kind``; if the folder is missing or not writable; if
    ``path`` is a folder, a device or read-only; if it is one of ``inputs``, which writing would destroy.
    """
    if endings and not os.fspath(path).lower().endswith(endings):
        raise OutputError(f"'{path}' does not have the ending of {kind}; expected {', '.join(endings)}. Rename it.")
    try:
        target = Path(path).resolve()
        there = target.exists()
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
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield an empty temporary file in the folder of ``target``, to write to. It replaces ``target`` after the body.

    If the body raises, ``target`` does not change and no temporary file is left. A file that is replaced keeps its
    permissions. Raises OutputError if a file cannot be made or replaced. An error of the body stays as it is.
    """
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with os_errors_as_output_errors(target):
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600))
            if mode is not None:
                temporary.chmod(mode)
        yield temporary
        with os_errors_as_output_errors(target):
            move_into_place(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    _LOG.info("wrote '%s'", target)


def move_into_place(temporary: Path, target: Path) -> None:
    """Rename a file or a folder that is complete. Its content is on the disk before its new name is."""
    for path in (*temporary.iterdir(), temporary) if temporary.is_dir() else (temporary,):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    temporary.replace(target)


@contextmanager
def os_errors_as_output_errors(target: Path) -> Iterator[None]:
    """Turn an OSError while ``target`` is written into an OutputError."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write '{target}': {reason}. Free some space, or choose another folder.") from error


def write_bytes(target: Path, content: bytes) -> None:
    """Write a file that appears when it is complete, or not at all."""
    with os_errors_as_output_errors(target), atomic_file(target) as temporary:
        temporary.write_bytes(content)


def write_json(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write ``content`` as JSON, whole or not at all."""
    write_bytes(check_place(path), (json.dumps(content, indent=1) + "\n").encode())


check_figure_place = partial(check_place, kind="a figure", endings=(".png", ".pdf", ".svg"))


def write_figure(path: str | os.PathLike[str], *pages: Figure) -> None:
    """Write a figure in the format of the ending of ``path``, whole or not at all; several are pages of a .pdf file."""
    target = check_figure_place(path)
    stream, ending = io.BytesIO(), target.suffix.lower()[1:]
    if ending == "pdf" and len(pages) > 1:
        from matplotlib.backends.backend_pdf import PdfPages

        with PdfPages(stream) as file:
            for page in pages:
                file.savefig(page)
    elif len(pages) > 1:
        raise OutputError(f"'{path}' has room for one page, and there are more. Write a .pdf file.")
    else:
        pages[0].savefig(stream, format=ending, dpi=150)
    write_bytes(target, stream.getvalue())
