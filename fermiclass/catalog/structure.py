"""Whether a FITS file is whole: what its headers say against what is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.errors import CatalogError

if TYPE_CHECKING:
    from mmap import mmap

    from astropy.io import fits

_AGAIN = "Download it again."
_BLOCK = 2880
_WORD = 0xFFFFFFFF

# The one sum of a released table that never was right: 4FGL DR1, gll_psc_v20.fit.
_WRONG_SUMS = ("2552667479",)


def check_lengths(hdus: fits.HDUList, content: bytes | mmap, source: str) -> None:
    """Refuse a file that ends too early or too late: its table must not be read as a shorter one.

    Raises
    ------
    CatalogError
        When data end after the file does, or anything but zeros lies behind them.
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
        raise CatalogError(
            f"{source} is damaged: its {len(content)} bytes are no multiple of {_BLOCK}, so that some are lost or too "
            f"many. {_AGAIN}"
        )


def _check_fill(content: bytes | mmap, start: int, stop: int, what: str, source: str, fill: bytes = b"\0") -> None:
    """Refuse anything but what fills up a block: a header that says too few rows leaves the others there."""
    behind = content[start:stop]
    if behind.count(fill) != len(behind):
        raise CatalogError(
            f"{source} is damaged: {len(behind)} bytes lie after the end of {what}, which its header does not tell "
            f"of. {_AGAIN}"
        )


def check_table(hdu: Any, source: str) -> None:
    """Refuse a table whose header does not fit itself.

    Raises
    ------
    CatalogError
        When the columns' widths do not sum up to that of a row, or a name repeats.
    """
    repeated = [name for name, count in Counter(hdu.columns.names).items() if count > 1]
    if repeated:
        raise CatalogError(
            f"{source} has columns of the name {', '.join(repeated)} more than once. Rename all of them but one."
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
    """Refuse a table whose data differ from the header's DATASUM, if it has one.

    Parameters
    ----------
    header
        Of the table.
    pieces
        The bytes of its data with what fills up the last block; all but the last a multiple of four long.
    source
        Name of the file.

    Raises
    ------
    CatalogError
        When they do.
    """
    wanted = str(header.get("DATASUM", "")).strip()
    if not wanted or wanted in _WRONG_SUMS:
        return
    if wanted.lstrip("0") != str(data_sum(pieces)).lstrip("0"):
        raise CatalogError(
            f"{source} is damaged: its data are not those that the header's DATASUM is of. {_AGAIN} If the table was "
            "changed on purpose, write the sum again, or remove DATASUM."
        )


def data_sum(pieces: Iterable[bytes]) -> int:
    """Return the sum of 32-bit words with end-around carry of the FITS standard (4.0, appendix J)."""
    total = 0
    for piece in pieces:
        total += int(np.frombuffer(piece, ">u4").sum(dtype=np.uint64))
    while total > _WORD:
        total = (total & _WORD) + (total >> 32)
    return total
