"""Reading and writing of tables.

Besides names and data, the formats keep:

========== ============ ======================= ======================= =============================================
ending     unit         description             UCD                     ``table.meta``
========== ============ ======================= ======================= =============================================
.fits[.gz] TUNITn       TCOMMn                  TUCDn                   header cards, HIERARCH if longer than 8 letters
.ecsv      yes          yes                     column meta             as it is
.vot       unit         DESCRIPTION             ucd                     PARAM of the table; see `fermiclass.io.votables`
.parquet   yes          yes                     column meta             as it is, in astropy's entry of the schema
.csv       no           no                      no                      no
========== ============ ======================= ======================= =============================================

In the metadata of FITS and VOTable, a list becomes its items separated by commas, and a dictionary becomes its JSON.
Short keywords of FITS are read in lower case. Missing numbers are NaN and missing strings are empty. The same table
gives the same bytes.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from astropy.table import Table

from fermiclass.errors import CatalogError, OutputError, in_one_line
from fermiclass.io.files import check_place, read_bytes, write_bytes
from fermiclass.io.fits_tables import from_fits, to_fits
from fermiclass.io.parquet_tables import from_parquet, to_parquet
from fermiclass.io.plain import check_dimensions, plain_table
from fermiclass.io.text_tables import from_text, to_text
from fermiclass.io.votables import from_votable, to_votable

_DECOMPRESS = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ": lzma.decompress}

_FORMATS = (
    "Tables are FITS, VOTable, Parquet, ECSV, or text with the names of the columns in the first line: separated by "
    "commas, semicolons, tabs, bars or blanks, or IPAC"
)
_OTHERS = {  #: What to do with formats that are not read.
    b"\x93NUMPY": '. In Python: fermiclass.read_sources(numpy.load("fit.npy", allow_pickle=True).item()), '
    "of a file that you trust: a pickle runs code",
    b"PK\x03\x04": ". Save a table of Excel as CSV",
    **dict.fromkeys((b"{", b"[{"), ". In Python: fermiclass.read_sources(json.load(...))"),
}

_WRITERS: dict[str, Callable[[Table], bytes]] = {
    ".fits": to_fits,
    ".fits.gz": lambda table: gzip.compress(to_fits(table), compresslevel=6, mtime=0),
    ".ecsv": lambda table: to_text(table, "ascii.ecsv"),
    ".vot": to_votable,
    ".csv": lambda table: to_text(check_dimensions(table, 1), "ascii.csv"),
    ".parquet": to_parquet,
}

table_endings: tuple[str, ...] = tuple(_WRITERS)  #: The endings of files that `write_table` accepts.
check_writable = partial(check_place, kind="a table", endings=table_endings)


def write_table(table: Table, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write an astropy table to `path`. The file appears when it is complete, or not at all.

    Parameters
    ----------
    table
        Columns of bool, int, float or text, with units, descriptions, ``column.meta["ucd"]`` and ``table.meta``. FITS
        and ECSV also hold arrays in each row, VOTable arrays of one dimension.
    path
        A file name with one of `table_endings`.
    overwrite
        If False, an existing file is an error.

    Raises
    ------
    OutputError
        If the place cannot be written to, the ending is unknown, or the format cannot hold the table.
    """
    target = check_writable(path)
    if not overwrite and target.exists():
        raise OutputError(f"'{path}' exists already. Choose another name, or allow overwriting it.")
    ending = next(ending for ending in _WRITERS if target.name.lower().endswith(ending))
    try:
        plain = plain_table(table)
        content = _WRITERS[ending](plain)
    except (TypeError, ValueError) as error:
        raise OutputError(
            f"the table cannot be written as {ending} ({error}). Choose another ending: {', '.join(table_endings)}."
        ) from error
    write_bytes(target, content)


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a table with units, descriptions, UCDs and metadata if its format, known by the content, has them.

    '-' is standard input. Raises CatalogError if the file is missing, damaged, or does not hold a table.
    """
    source = Path(path)
    return parse_table(read_bytes(source), source)


def parse_table(content: bytes, path: Path, columns: Collection[str] = (), usual: Collection[str] = ()) -> Table:
    """Return the table in the content of a file, which may be compressed. Raises CatalogError.

    If the file holds several tables, `columns` are those of the one that is wanted, or else `usual` ones in FITS.
    """
    again = "Download it, or write it, again"
    try:
        for magic, decompress in _DECOMPRESS.items():
            if content.startswith(magic):
                content = decompress(content)
                break
        start = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
        if content.startswith(b"SIMPLE  ="):
            table = from_fits(content, columns, usual)
        elif start.startswith(b"<") and re.search(rb"<(\w+:)?VOTABLE\b", start):
            table = from_votable(content, columns)
        elif content.startswith(b"PAR1"):
            table = from_parquet(content)
        elif start.startswith(b"# %ECSV"):
            table = plain_table(Table.read(content.decode("utf-8-sig"), format="ascii.ecsv"))
        elif re.search(r"\.(fits?|vot(able)?|xml|parquet)(\.|$)", path.name.lower()):
            raise ValueError("it is not a FITS, VOTable or Parquet file: it does not begin like one")
        else:
            bare = b"".join(start.split())
            remedy = next((remedy for magic, remedy in _OTHERS.items() if bare.startswith(magic)), "")
            again = _FORMATS + remedy
            if remedy or (b"\0" in content[:4096] and content[:2] not in (b"\xff\xfe", b"\xfe\xff")):
                raise ValueError("it has no known format")
            table = from_text(content, is_csv=".csv" in path.name.lower())
        if not table.colnames:
            raise ValueError("it has no columns")
        return table
    except MemoryError:
        raise
    except Exception as error:  # every parser has its own exceptions, and every compression
        lost = "Unable to guess" in str(error) or isinstance(error, LookupError)
        reason = "no separator fits all lines" if lost else in_one_line(error)
        raise CatalogError(f"'{path}' cannot be read ({reason}). {again}.") from error
