"""Bytes of a catalogue file, unpacked: whole or not at all, and never more than memory may be asked for."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from fermiclass.errors import CatalogError

#: A catalogue is never larger than this, packed or not: ten million sources.
MOST_BYTES = 16 << 30
#: What packs better than this, and is larger than `_SMALL`, was made to fill memory: catalogues pack to a third.
MOST_RATIO = 100
_SMALL = 256 << 20
_PIECE = 1 << 24


def _only_member(stream: IO[bytes]) -> IO[bytes]:
    archive = zipfile.ZipFile(stream)
    names = archive.namelist()
    if len(names) != 1:
        raise ValueError(f"it holds {len(names)} files, not one: unpack it and give the catalogue")
    return archive.open(names[0])


# First bytes, name, and how it is opened.
_PACKINGS: tuple[tuple[bytes, str, Callable[[IO[bytes]], Any]], ...] = (
    (b"\x1f\x8b", "gzip", lambda stream: gzip.GzipFile(fileobj=stream)),
    (b"BZh", "bzip2", bz2.BZ2File),
    (b"\xfd7zXZ", "xz", lzma.LZMAFile),
    (b"PK\x03\x04", "zip", _only_member),
)


def read_bytes(path: Path) -> bytes:
    """Return what a file holds, as it is.

    Raises
    ------
    CatalogError
        When there is no such regular file, or it is empty, larger than `MOST_BYTES` or cannot be read.
    """
    try:
        if path.is_dir():
            raise CatalogError(f"'{path}' is a folder, not a catalogue. Give the FITS file itself.")
        if path.exists() and not path.is_file():
            raise CatalogError(f"'{path}' is not a regular file. Give a FITS file.")
        if path.stat().st_size > MOST_BYTES:
            raise CatalogError(f"'{path}' is larger than {MOST_BYTES >> 30} GiB: it is no catalogue. Check the name.")
        content = path.read_bytes()
    except CatalogError:
        raise
    except FileNotFoundError as error:
        raise CatalogError(f"there is no file '{path}'. Check the name and the folder.") from error
    except (OSError, ValueError) as error:  # a name that holds a zero is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise CatalogError(f"'{path}' cannot be read: {reason}. Check its name and permissions.") from error
    if not content:
        raise CatalogError(f"'{path}' is empty. Download it again.")
    return content


def unpack(content: bytes, source: str) -> bytes:
    """Return `content` unpacked, if its first bytes are those of gzip, bzip2, xz or zip.

    Raises
    ------
    CatalogError
        When it is damaged or truncated, packed twice, several files, or suspiciously large.
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
                reason = " ".join(str(error).split())
                raise CatalogError(
                    f"{source} is a damaged or truncated {name} file ({reason}). Download it again."
                ) from error
            if unpacked is None:
                raise CatalogError(
                    f"{source} unpacks to more than {MOST_RATIO} times its size: it is no catalogue. Download it again."
                )
            if any(unpacked.startswith(magic) for magic, *_ in _PACKINGS):
                raise CatalogError(f"{source} is packed more than once. Unpack it, and give what was in it.")
            return unpacked
    return content


def _read_at_most(stream: IO[bytes], most: int) -> bytes | None:
    """Return all of a stream, or None if that is more than `most` bytes."""
    pieces, size = [], 0
    with stream:
        while piece := stream.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                return None
    return b"".join(pieces)
