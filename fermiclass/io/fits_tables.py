"""FITS: tables as binary tables, with units, descriptions, UCDs and metadata in the header."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from astropy.io import fits
from astropy.table import Table
from astropy.utils.exceptions import AstropyUserWarning, AstropyWarning

from fermiclass.io.plain import flat_value, plain_column, plain_table, the_table

#: Keywords of FITS itself, which are no metadata: they are neither read nor written.
_STRUCTURAL = re.compile(
    r"(XTENSION|SIMPLE|BITPIX|NAXIS\d*|PCOUNT|GCOUNT|TFIELDS|EXT(NAME|VER|LEVEL|END)|COMMENTS?|HISTORY|CONTINUE"
    r"|LONGSTRN|END|THEAP|CHECKSUM|DATASUM|T[A-Z]{3,4}\d+|)"
)


def to_fits(table: Table) -> bytes:
    """Return a plain table as a FITS file; the same table gives the same bytes."""
    bare = Table()
    for name in table.colnames:
        data = np.asarray(table[name])
        data = np.char.encode(data, "ascii", "replace") if data.dtype.kind == "U" else data
        bare[name] = plain_column(data, table[name].unit, None, None)
    with warnings.catch_warnings(action="ignore", category=AstropyWarning):
        # Units that the FITS standard does not know are written as they are.
        hdu = fits.table_to_hdu(bare)
    hdu.name = "FERMICLASS"
    for number, name in enumerate(table.colnames, start=1):
        for keyword, text in (("TUCD", table[name].meta.get("ucd")), ("TCOMM", table[name].description)):
            if text:
                hdu.header[f"{keyword}{number}"] = _fits_text(str(text))
    for key, item in table.meta.items():
        name, value = _fits_text(key).replace(" ", "_").replace("=", "_"), flat_value(item)
        keyword = name.upper() if re.fullmatch(r"[A-Za-z0-9_-]{1,8}", name) else f"HIERARCH {name}"
        if _STRUCTURAL.fullmatch(keyword.upper()):
            continue
        if keyword.removeprefix("HIERARCH ") in hdu.header:
            raise ValueError(f"the metadata key '{key}' differs from another only in case")
        hdu.header.append(fits.Card(keyword, _fits_text(value) if isinstance(value, str) else value), end=True)
    hdu.header.append(("LONGSTRN", "OGIP 1.0", "Long texts go on in CONTINUE cards"), end=True)
    hdu.add_checksum(when="")  # without the time
    stream = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(stream)
    return stream.getvalue()


def from_fits(content: bytes, columns: Collection[str] = (), usual: Collection[str] = ()) -> Table:
    """Return the table of a FITS file that :func:`hdu_table` chooses."""
    with warnings.catch_warnings(action="ignore", category=AstropyWarning):
        warnings.filterwarnings("error", ".*truncated", AstropyUserWarning)
        with fits.open(io.BytesIO(content), memmap=False, lazy_load_hdus=False, character_as_bytes=True) as hdus:
            return hdu_table(hdus, columns, usual)


def hdu_table(hdus: Iterable[Any], columns: Collection[str], usual: Collection[str] = ()) -> Table:
    """Return the plain table that has some columns, or else the first with most of the usual ones, in small letters.

    Raises ValueError when there is none, or several have the columns.
    """
    tables = [hdu for hdu in hdus if isinstance(hdu, fits.BinTableHDU | fits.TableHDU)]
    tables.sort(key=lambda hdu: -sum(name.lower() in usual for name in hdu.columns.names))
    hdu = the_table(tables, [hdu.columns.names for hdu in tables], columns)
    header = hdu.header
    table = Table.read(hdu, format="fits", unit_parse_strict="silent", mask_invalid=False)
    for number, column in enumerate(hdu.columns, start=1):
        found = table[column.name]
        if found.dtype.kind in "SU":  # a text ends at its first NUL; astropy decodes texts of an open file if it can
            size, nul = (1, b"\0") if found.dtype.kind == "S" else (4, "\0")
            letters = np.ascontiguousarray(found).view(f"u{size}").reshape(*found.shape, found.dtype.itemsize // size)
            if np.any((letters[..., :-1] == 0) & (letters[..., 1:] != 0)):
                texts = [text.partition(nul)[0] for text in np.asarray(found).ravel().tolist()]
                found[:] = np.array(texts, found.dtype).reshape(found.shape)
        if column.null is not None:  # a number before TSCAL and TZERO, which astropy compares after them
            found.mask = hdu.data.view(np.ndarray)[column.name] == column.null
        found.description = header.get(f"TCOMM{number}") or header.comments[f"TTYPE{number}"].strip() or None
        found.meta["ucd"] = header.get(f"TUCD{number}")
    table.meta = {
        key.lower() if len(key) <= 8 and key.isupper() else key: value
        for key, value in table.meta.items()
        if not _STRUCTURAL.fullmatch(key.upper())
    }
    return plain_table(table)


def _fits_text(text: str) -> str:
    """Return text that a card can hold: ASCII, without control characters."""
    printable = "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
    return printable.encode("ascii", "replace").decode("ascii")
