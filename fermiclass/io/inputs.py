"""Reading of files that others wrote: their bytes, unpacked."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

from fermiclass.errors import CatalogError

_DECOMPRESS = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ": lzma.decompress}


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    Raises CatalogError when the file is missing, empty, or cannot be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise CatalogError(f"there is no file '{path}'. Check the name and the folder.") from error
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise CatalogError(f"'{path}' cannot be read: {reason}. Check its name and permissions.") from error
    if not content:
        raise CatalogError(f"'{path}' is empty. Download it again.")
    return content


def unpack(content: bytes) -> bytes:
    """Return `content`, unpacked if it begins like gzip, bzip2 or xz, whose errors have no common class."""
    for magic, decompress in _DECOMPRESS.items():
        if content.startswith(magic):
            return decompress(content)
    return content
