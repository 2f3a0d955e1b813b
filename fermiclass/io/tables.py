"""Reading and writing of tables: FITS, ECSV, VOTable, CSV and Parquet, by the ending of the file.

Besides names and data, the formats keep:

========== ============ ======================= ======================= =============================================
ending     unit         description             UCD                     ``table.meta``
========== ============ ======================= ======================= =============================================
.fits[.gz] TUNITn       TCOMMn                  TUCDn                   header cards, HIERARCH if longer than 8 letters
.ecsv      yes          yes                     column meta             as it is
.vot       unit         DESCRIPTION             ucd                     PARAM of the table; see `fermiclass.io.votables`
.parquet   field meta   field meta              field meta              JSON under the key ``fermiclass``
.csv       beside       beside                  beside                  beside; `read_table` does not read it
========== ============ ======================= ======================= =============================================

In the metadata of FITS and VOTable, a list becomes its items separated by commas, and a dictionary becomes its JSON.
Short keywords of FITS are in upper case; `read_table` returns them in lower case, and keywords longer than 8 letters
unchanged. In all formats, missing numbers are NaN and missing strings are empty. The same table gives the same bytes.
Beside FILE.csv stands FILE.csv-metadata.json, in the words of CSV on the Web. FITS and Parquet hold descriptions twice:
once for all programs, once in the way of astropy's ``Table.read``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fermiclass.errors import CatalogError, OutputError, in_one_line
from fermiclass.io.files import check_place, write_bytes, write_json
from fermiclass.io.fits_tables import from_fits, to_fits, to_fits_gz
from fermiclass.io.inputs import read_bytes, unpack
from fermiclass.io.parquet_tables import from_parquet, to_parquet
from fermiclass.io.plain import check_dimensions, plain_table
from fermiclass.io.text_tables import description_of, description_path, from_csv, from_ecsv, to_csv, to_ecsv
from fermiclass.io.votables import from_votable, to_votable

if TYPE_CHECKING:
    from astropy.table import Table


def write_table(table: Table, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write an astropy table to `path`. The file appears when it is complete, or not at all.

    Parameters
    ----------
    table
        Columns of bool, int, float or text, with units, descriptions, ``column.meta["ucd"]`` and ``table.meta``. FITS
        and ECSV also hold arrays in each row, VOTable arrays of one dimension.
    path
        A file name with one of `table_endings`. The file is written under a temporary name beside it, synced, and
        renamed, so `path` never holds half a table.
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
    ending = _ending(target)
    try:
        plain = plain_table(table)
        content = _FORMATS[ending][0](plain)
    except (TypeError, ValueError) as error:
        raise OutputError(
            f"the table cannot be written as {ending} ({error}). Choose another ending: {', '.join(table_endings)}."
        ) from error
    write_bytes(target, content)
    if ending == ".csv":
        write_json(description_path(target), description_of(plain, target))


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a table that `write_table` wrote, with units, descriptions, UCDs and metadata if the format has them.

    Raises
    ------
    CatalogError
        If the file is missing, has an unknown ending, or does not hold a table of that format.
    """
    source = Path(path)
    name = source.name.lower()
    ending = _ending(source) or next((known for other, known in _READ_AS.items() if name.endswith(other)), "")
    if not ending:
        raise CatalogError(f"'{path}' has no known ending; expected one of {', '.join(table_endings)}. Rename it.")
    try:
        table = _FORMATS[ending][1](unpack(read_bytes(source), f"'{path}'"))
        if not table.colnames:
            raise ValueError("it has no columns")
        return table
    except (CatalogError, MemoryError):
        raise
    except Exception as error:  # every parser has its own exceptions
        raise CatalogError(
            f"'{path}' cannot be read as a {ending} table ({type(error).__name__}: {in_one_line(error)}). Write the "
            "table again."
        ) from error


def check_writable(path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> Path:
    """Check before any work that a table can be written to `path`; return the path with links resolved.

    Raises
    ------
    OutputError
        If the ending is unknown, and as by :func:`fermiclass.io.files.check_place`.
    """
    target = Path(path)
    if not _ending(target):
        raise OutputError(
            f"'{path}' does not have the ending of a table format; expected one of {', '.join(table_endings)}. Rename "
            "the output."
        )
    place = check_place(target, *inputs)
    if _ending(target) == ".csv":
        check_place(description_path(place), *inputs)
    return place


def _ending(path: Path) -> str:
    return next((ending for ending in _FORMATS if path.name.lower().endswith(ending)), "")


#: Writer to bytes and reader from bytes of each format. No ending is the end of another.
_FORMATS: dict[str, tuple[Callable[[Table], bytes], Callable[[bytes], Table]]] = {
    ".fits": (to_fits, from_fits),
    ".fits.gz": (to_fits_gz, from_fits),
    ".ecsv": (to_ecsv, from_ecsv),
    ".vot": (lambda table: to_votable(check_dimensions(table, 2)), lambda content: plain_table(from_votable(content))),
    ".csv": (to_csv, from_csv),
    ".parquet": (to_parquet, from_parquet),
}

#: Endings that others use for the same formats, such as the LAT's own catalogues.
_READ_AS = {".fit": ".fits", ".fit.gz": ".fits.gz", ".xml": ".vot"}

#: The endings of files that `write_table` and `read_table` accept.
table_endings: tuple[str, ...] = tuple(_FORMATS)
