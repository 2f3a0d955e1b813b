"""FITS: tables as binary tables, with units, descriptions, UCDs and metadata in the header."""

from __future__ import annotations

import gzip
import io
import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.io.plain import flat_value, plain_column

if TYPE_CHECKING:
    from astropy.io import fits
    from astropy.table import Table

#: Keywords that describe a FITS table itself; all others are metadata.
_STRUCTURAL = re.compile(
    r"(XTENSION|SIMPLE|BITPIX|NAXIS\d*|PCOUNT|GCOUNT|TFIELDS|EXT(NAME|VER|LEVEL|END)|COMMENT|HISTORY|CONTINUE|LONGSTRN|END|THEAP"
    r"|CHECKSUM|DATASUM|T(TYPE|FORM|UNIT|DIM|NULL|SCAL|ZERO|DISP|UCD|COMM)\d+|)"
)


def to_fits(table: Table) -> bytes:
    """Return a plain table as a FITS file."""
    from astropy.io import fits

    stream = io.BytesIO()
    hdu = fits_hdu(table)
    hdu.add_checksum(when="")  # without the time: the same table gives the same bytes
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(stream)
    return stream.getvalue()


def to_fits_gz(table: Table) -> bytes:
    """Return a plain table as a compressed FITS file; the same table gives the same bytes."""
    stream = io.BytesIO()
    # The gzip header holds no name and no time.
    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, compresslevel=6, mtime=0) as compressed:
        compressed.write(to_fits(table))
    return stream.getvalue()


def from_fits(content: bytes) -> Table:
    """Return the first binary table of a FITS file, its keywords as metadata."""
    from astropy.io import fits
    from astropy.table import Table

    with fits.open(io.BytesIO(content), memmap=False) as hdus:
        found = [hdu for hdu in hdus if isinstance(hdu, fits.BinTableHDU)]
        if not found:
            raise ValueError("the file holds no binary table")
        header, data = found[0].header, found[0].data
        table = Table()
        for number, column in enumerate(found[0].columns, start=1):
            array = fits_column(data, number - 1)
            if array.dtype.kind in "SU":
                array = np.char.rstrip(array.astype(str))
            array = array.astype(array.dtype.newbyteorder("="))
            description, ucd = header.get(f"TCOMM{number}"), header.get(f"TUCD{number}")
            table[column.name] = plain_column(array, column.unit, description, ucd)
        for card in header.cards:
            if not _STRUCTURAL.fullmatch(card.keyword.upper()):
                table.meta[_meta_key(card.keyword)] = card.value
    return table


def fits_column(data: fits.FITS_rec, number: int) -> NDArray[Any]:
    """Return a column with TSCAL and TZERO, and with NaN where a whole number is the null value (TNULL).

    astropy takes null values as numbers, and fails at TZERO of 64 bits and at TSCAL of unsigned numbers.

    Parameters
    ----------
    data
        The table, or a slice of it: a slice converts its own rows only. Slice once, since it takes astropy long.
    number
        Number of the column, from 0 on.
    """
    column = data.columns[number]
    stored = data.view(np.ndarray)[column.name]
    scale, zero = (
        default if given in (None, "") else given for given, default in ((column.bscale, 1), (column.bzero, 0))
    )
    unsigned = zero in (2**15, 2**31, 2**63)
    if (scale != 1 and unsigned) or (column.format.endswith("K") and zero and not unsigned):
        values = stored.astype(np.float64) * scale + zero
    else:
        values = np.asarray(data.field(number))
    if column.null in (None, "") or stored.dtype.kind not in "iu" or values.dtype.kind not in "iuf":
        return values
    missing = (stored == column.null).reshape(values.shape)  # TNULL is a number before TSCAL and TZERO
    return np.where(missing, np.nan, values.astype(np.float64)) if np.any(missing) else values


def until_nul(text: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return texts up to their first NUL: what follows is no part of a FITS text."""
    ended = [value.partition("\0")[0] for value in text.ravel().tolist()]
    return np.array(ended, dtype=text.dtype).reshape(text.shape)


def bare_hdu(table: Table) -> fits.BinTableHDU:
    """Return the rows of a plain table as an HDU, without descriptions and metadata."""
    from astropy.io import fits
    from astropy.table import Table
    from astropy.utils.exceptions import AstropyWarning

    bare = Table()
    for name in table.colnames:
        data = np.asarray(table[name])
        data = np.char.encode(data, "ascii", "replace") if data.dtype.kind == "U" else data
        bare[name] = plain_column(data, table[name].unit, None, None)
    with warnings.catch_warnings():
        # Units that the FITS standard does not know are written as they are.
        warnings.simplefilter("ignore", AstropyWarning)
        return fits.table_to_hdu(bare)


def fits_hdu(table: Table) -> fits.BinTableHDU:
    """Return a plain table as the HDU that `fermiclass.io.tables.write_table` writes, without its checksums."""
    from astropy.io import fits

    hdu = bare_hdu(table)
    hdu.name = "FERMICLASS"
    for number, name in enumerate(table.colnames, start=1):
        for keyword, text in (("TUCD", table[name].meta.get("ucd")), ("TCOMM", table[name].description)):
            if text:
                hdu.header[f"{keyword}{number}"] = _fits_text(str(text))
    for key, item in table.meta.items():
        keyword, value = _fits_keyword(key), flat_value(item)
        if keyword.removeprefix("HIERARCH ") in hdu.header:
            raise ValueError(f"the metadata key '{key}' differs from another only in case")
        hdu.header.append(fits.Card(keyword, _fits_text(value) if isinstance(value, str) else value), end=True)
    hdu.header.append(("LONGSTRN", "OGIP 1.0", "Long texts go on in CONTINUE cards"), end=True)
    for line in _astropy_comments(table):
        hdu.header.append(("COMMENT", line), end=True)
    return hdu


def _astropy_comments(table: Table) -> list[str]:
    """Return the comments from which astropy's ``Table.read`` takes descriptions and UCDs."""
    from astropy.io import fits
    from astropy.table import Table
    from astropy.utils.exceptions import AstropyWarning

    described = Table()
    for name in table.colnames:
        data, about = np.asarray(table[name])[:0], table[name].description
        data = data.astype("S1") if data.dtype.kind == "U" else data
        ucd = table[name].meta.get("ucd")
        described[name] = plain_column(data, table[name].unit, about and _fits_text(about), ucd and _fits_text(ucd))
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AstropyWarning)
        described.write(stream, format="fits")
    stream.seek(0)
    with fits.open(stream) as hdus:
        return [str(line) for line in hdus[1].header.get("COMMENT", [])]


def _fits_text(text: str) -> str:
    """Return text that a card can hold: ASCII, without control characters."""
    printable = "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
    return printable.encode("ascii", "replace").decode("ascii")


def _fits_keyword(key: str) -> str:
    name = _fits_text(key).replace(" ", "_").replace("=", "_")
    if _STRUCTURAL.fullmatch(name.upper()):
        name = f"META_{name}"
    return name.upper() if re.fullmatch(r"[A-Za-z0-9_-]{1,8}", name) else f"HIERARCH {name}"


def _meta_key(keyword: str) -> str:
    """Invert `_fits_keyword`, except for the case of short keys."""
    name = keyword.lower() if len(keyword) <= 8 and keyword.isupper() else keyword
    bare = name[len("META_") :] if name.upper().startswith("META_") else name
    return bare if _STRUCTURAL.fullmatch(bare.upper()) else name
