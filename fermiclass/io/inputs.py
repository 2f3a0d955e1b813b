"""Reading of files that others wrote: regular files only, of limited size, unpacked."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from fermiclass.errors import CatalogError, in_one_line

#: Largest size of a table, packed or not: a catalogue of ten million sources.
MOST_BYTES = 16 << 30
#: Largest ratio of sizes of a file larger than `_SMALL`. Catalogues pack to a third; other files may fill the memory.
MOST_RATIO = 100
_SMALL = 256 << 20
_PIECE = 1 << 24


def _only_member(stream: IO[bytes]) -> IO[bytes]:
    archive = zipfile.ZipFile(stream)
    names = archive.namelist()
    if len(names) != 1:
        raise ValueError(f"it holds {len(names)} files, expected one: unpack it and give the table")
    return archive.open(names[0])


# First bytes, name, and function that opens it.
_PACKINGS: tuple[tuple[bytes, str, Callable[[IO[bytes]], Any]], ...] = (
    (b"\x1f\x8b", "gzip", lambda stream: gzip.GzipFile(fileobj=stream)),
    (b"BZh", "bzip2", bz2.BZ2File),
    (b"\xfd7zXZ", "xz", lzma.LZMAFile),
    (b"PK\x03\x04", "zip", _only_member),
)


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise ValueError for a pipe, a device or a socket: reading it could wait for ever, or never end."""
    with suppress(OSError):  # whoever opens the file reports that
        mode = Path(path).stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            kind = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
            raise ValueError(f"it is a {kind}, not a regular file on a disk")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    Raises
    ------
    CatalogError
        When the file is missing, empty, larger than `MOST_BYTES`, not a regular file, or cannot be read.
    """
    try:
        if path.is_dir():
            raise CatalogError(f"'{path}' is a folder, not a table. Give the FITS file itself.")
        check_regular(path)
        if path.stat().st_size > MOST_BYTES:
            raise CatalogError(f"'{path}' has more than {MOST_BYTES >> 30} GiB, too large for a table. Check the name.")
        content = path.read_bytes()
    except CatalogError:
        raise
    except FileNotFoundError as error:
        raise CatalogError(f"there is no file '{path}'. Check the name and the folder.") from error
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise CatalogError(f"'{path}' cannot be read: {reason}. Check its name and permissions.") from error
    if not content:
        raise CatalogError(f"'{path}' is empty. Download it again.")
    return content


def unpack(content: bytes, source: str) -> bytes:
    """Return `content`, unpacked if its first bytes are those of gzip, bzip2, xz or zip.

    Raises
    ------
    CatalogError
        When the file is damaged, truncated or packed twice, holds several files, or is suspiciously large.
    """
    for magic, name, open_packed in _PACKINGS:
        if content.startswith(magic):
            most = min(MOST_BYTES, max(_SMALL, MOST_RATIO * len(content)))
            try:
                unpacked = _read_at_most(open_packed(io.BytesIO(content)), most)
            except (
                EOFError,
                OSError,
                ValueError,
                RuntimeError,  # an encrypted archive
                NotImplementedError,
                lzma.LZMAError,
                zlib.error,
                zipfile.BadZipFile,
            ) as error:
                raise CatalogError(
                    f"{source} is a damaged or truncated {name} file ({in_one_line(error)}). Download it again."
                ) from error
            if unpacked is None:
                raise CatalogError(
                    f"{source} unpacks to more than {MOST_RATIO} times its size, as no table does. Download it again."
                )
            if any(unpacked.startswith(magic) for magic, *_ in _PACKINGS):
                raise CatalogError(f"{source} is packed more than once. Unpack it, and give the file inside.")
            return unpacked
    return content


def _read_at_most(stream: IO[bytes], most: int) -> bytes | None:
    """Return the whole stream, or None if it has more than `most` bytes."""
    pieces, size = [], 0
    with stream:
        while piece := stream.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                return None
    return b"".join(pieces)
