"""Structure of a FITS file: its headers compared with its content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.errors import CatalogError

if TYPE_CHECKING:
    from mmap import mmap

    from astropy.io import fits

#: First bytes of a FITS file.
FITS_MAGIC = b"SIMPLE  ="

_AGAIN = "Download it again."
_BLOCK = 2880
_WORD = 0xFFFFFFFF

# The only released table whose sum is wrong: 4FGL DR1, gll_psc_v20.fit.
_WRONG_SUMS = ("2552667479",)


def check_lengths(hdus: fits.HDUList, content: bytes | mmap, source: str) -> None:
    """Refuse a file that ends too early or too late, because its table would be read with too few rows.

    Raises
    ------
    CatalogError
        When the file ends before its data, or anything but zeros follows the data.
    """
    stop = 0
    for hdu in hdus:
        info = hdu.fileinfo()
        end = info["datLoc"] + hdu.size
        if hdu.size < 0 or len(content) < end:
            raise CatalogError(
                f"{source} is truncated: it ends at byte {len(content)}, but the data of HDU '{hdu.name}' end at "
                f"byte {end}. {_AGAIN}"
            )
        stop = info["datLoc"] + info["datSpan"]
        fill = b" " if hdu.header.get("XTENSION") == "TABLE" else b"\0"
        _check_fill(content, end, min(stop, len(content)), f"HDU '{hdu.name}'", source, fill)
    _check_fill(content, stop, len(content), "its last HDU", source)
    if len(content) % _BLOCK:
        raise CatalogError(f"{source} is damaged: its {len(content)} bytes are not a multiple of {_BLOCK}. {_AGAIN}")


def _check_fill(content: bytes | mmap, start: int, stop: int, what: str, source: str, fill: bytes = b"\0") -> None:
    """Refuse anything but filling after the data. If the header gives too few rows, the other rows are there."""
    behind = content[start:stop]
    if behind.count(fill) != len(behind):
        raise CatalogError(
            f"{source} is damaged: {len(behind)} bytes after the end of {what} are not in its header. {_AGAIN}"
        )


def check_table(hdu: Any, source: str) -> None:
    """Refuse a table whose header contradicts itself.

    Raises
    ------
    CatalogError
        When the widths of the columns do not sum to the width of a row, or a name repeats.
    """
    repeated = [name for name, count in Counter(hdu.columns.names).items() if count > 1]
    if repeated:
        raise CatalogError(
            f"{source} has more than one column of the name {', '.join(repeated)}. Rename all but one of them."
        )
    width, expected = hdu.columns.dtype.itemsize, hdu.header["NAXIS1"]
    if width != expected:
        raise CatalogError(
            f"{source} is damaged: the columns of a row have {width} bytes, but NAXIS1 is {expected}. {_AGAIN}"
        )
    if len(hdu.columns) != hdu.header["TFIELDS"]:
        raise CatalogError(
            f"{source} is damaged: TFIELDS is {hdu.header['TFIELDS']}, but it has {len(hdu.columns)} columns. {_AGAIN}"
        )


def check_sum(header: Mapping[str, Any], pieces: Iterable[bytes], source: str) -> None:
    """Refuse a table whose data do not have the header's DATASUM, if there is one.

    Parameters
    ----------
    header
        Header of the table.
    pieces
        Bytes of the data, with the filling of the last block. The length of each piece but the last is a multiple of 4.
    source
        Name of the file.

    Raises
    ------
    CatalogError
        When the sums differ.
    """
    wanted = str(header.get("DATASUM", "")).strip()
    if not wanted or wanted in _WRONG_SUMS:
        return
    if wanted.lstrip("0") != str(data_sum(pieces)).lstrip("0"):
        raise CatalogError(
            f"{source} is damaged: the sum of its data is not the header's DATASUM. {_AGAIN} If the table was changed "
            "on purpose, write the sum again, or remove DATASUM."
        )


def data_sum(pieces: Iterable[bytes]) -> int:
    """Return the sum of 32-bit words with end-around carry of the FITS standard (4.0, appendix J)."""
    total = 0
    for piece in pieces:
        total += int(np.frombuffer(piece, ">u4").sum(dtype=np.uint64))
    while total > _WORD:
        total = (total & _WORD) + (total >> 32)
    return total
