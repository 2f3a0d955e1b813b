"""Tables in and out: FITS, ECSV, VOTable, CSV and Parquet, by the file's ending.

What each format keeps, beside names and data:

========== ============ ======================= ======================= =============================================
ending     unit         description             UCD                     ``table.meta``
========== ============ ======================= ======================= =============================================
.fits[.gz] TUNITn       TCOMMn                  TUCDn                   header cards, HIERARCH if longer than 8 letters
.ecsv      yes          yes                     column meta             as it is
.vot       unit         DESCRIPTION             ucd                     PARAM of the table; see `fermiclass.votables`
.parquet   field meta   field meta              field meta              JSON under the key ``fermiclass``
.csv       no           no                      no                      no
========== ============ ======================= ======================= =============================================

In FITS and VOTable a list becomes its items separated by commas, a dictionary its JSON, and in FITS a short keyword is
upper case: `read_table` gives FITS keys back in lower case, but those longer than 8 letters as they were. Missing
numbers are NaN and missing strings are empty in all of them. The same table gives the same bytes.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.errors import CatalogError, OutputError
from fermiclass.files import check_place, write_whole

if TYPE_CHECKING:
    import pyarrow as pa
    from astropy.io import fits
    from astropy.table import Column, Table

#: Keywords that describe a FITS table itself; all others are metadata.
_STRUCTURAL = re.compile(
    r"(XTENSION|SIMPLE|BITPIX|NAXIS\d*|PCOUNT|GCOUNT|TFIELDS|EXT(NAME|VER|LEVEL|END)|COMMENT|HISTORY|CONTINUE|END|THEAP"
    r"|CHECKSUM|DATASUM|T(TYPE|FORM|UNIT|DIM|NULL|SCAL|ZERO|DISP|UCD|COMM)\d+|)"
)

_META_KEY = b"fermiclass"


def write_table(table: Table, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write an astropy table to `path`, whole or not at all.

    Parameters
    ----------
    table
        Columns of bool, int, float or text, with units, descriptions, ``column.meta["ucd"]`` and ``table.meta``. An
        array in each row is for FITS and ECSV, one dimension of it for VOTable.
    path
        A file name with one of `table_endings`. The file is written beside it under a temporary name, synced, and
        renamed, so that `path` never holds half a table.
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
        content = _FORMATS[ending][0](_plain(table))
    except (TypeError, ValueError) as error:
        raise OutputError(
            f"the table cannot be written as {ending} ({error}). Choose another ending: {', '.join(table_endings)}."
        ) from error
    write_whole(target, content)


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a table that `write_table` wrote, with units, descriptions, UCDs and metadata where the format has them.

    Raises
    ------
    CatalogError
        If the file is missing, has an unknown ending, or does not hold a table of that format.
    """
    source = Path(path)
    ending = _ending(source)
    if not ending:
        raise CatalogError(f"'{path}' has no known ending; expected one of {', '.join(table_endings)}. Rename it.")
    try:
        table = _FORMATS[ending][1](source.read_bytes())
        if not table.colnames:
            raise ValueError("it has no columns")
        return table
    except FileNotFoundError as error:
        raise CatalogError(f"there is no file '{path}'. Check the name and the folder.") from error
    except Exception as error:  # every parser has exceptions of its own
        reason = " ".join(str(error).split())
        raise CatalogError(
            f"'{path}' cannot be read as a {ending} table ({type(error).__name__}: {reason}). Write the table again."
        ) from error


def check_writable(path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> Path:
    """Check, before any work is done, that a table can be written to `path`; return the path with links resolved.

    Raises
    ------
    OutputError
        If the ending is unknown, or as by :func:`fermiclass.files.check_place`.
    """
    target = Path(path)
    if not _ending(target):
        raise OutputError(
            f"'{path}' has no ending that names a table format; expected one of {', '.join(table_endings)}. "
            f"Rename the output."
        )
    return check_place(target, *inputs)


def _ending(path: Path) -> str:
    return next((ending for ending in _FORMATS if path.name.lower().endswith(ending)), "")


def _plain(table: Table) -> Table:
    """Copy `table` to columns of bool, int, float and str without masks, and metadata of plain Python types."""
    from astropy.table import Table

    plain = Table(meta={str(key): plain_value(value) for key, value in table.meta.items()})
    for name in table.colnames:
        column = table[name]
        data, mask = np.asarray(np.ma.getdata(column)), np.ma.getmaskarray(column)
        if data.dtype.kind == "S":
            data = np.char.decode(data, "utf-8")
        elif data.dtype.kind == "O":
            data = np.array(["" if item is None else str(item) for item in data.ravel()], dtype=str).reshape(data.shape)
        if mask.any():
            data = np.where(mask, "", data) if data.dtype.kind == "U" else np.where(mask, np.nan, data)
        if data.dtype.kind not in "biufU":
            raise TypeError(f"column '{name}' is of type {data.dtype}, not bool, int, float or text")
        data = data.astype(data.dtype.newbyteorder("="))
        ucd = column.info.meta.get("ucd") if column.info.meta else None
        plain[name] = _column(data, column.info.unit, column.info.description, ucd)
    return plain


def _column(data: Any, unit: Any, description: str | None, ucd: str | None) -> Column:
    from astropy.table import Column
    from astropy.units import Unit

    parsed = Unit(unit, parse_strict="silent") if unit else None
    return Column(data, unit=parsed, description=description, meta={"ucd": str(ucd)} if ucd else {})


def plain_value(value: Any) -> Any:
    """Turn numpy scalars, arrays, tuples and mappings into what JSON, YAML and FITS know."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_value(item) for item in (sorted(value) if isinstance(value, set | frozenset) else value)]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def flat_value(value: Any) -> bool | int | float | str:
    """Turn a metadata value into one scalar; NaN and infinity, which FITS has not, into text."""
    if isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
        return ",".join(str(item) for item in value)
    if isinstance(value, list | dict):
        return json.dumps(value)
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _fits_text(text: str) -> str:
    return " ".join(text.encode("ascii", "replace").decode("ascii").split())


def fits_hdu(table: Table) -> fits.BinTableHDU:
    """Return a table of bool, int, float and text as the HDU that `write_table` writes."""
    from astropy.io import fits
    from astropy.table import Table
    from astropy.utils.exceptions import AstropyWarning

    bare = Table()
    for name in table.colnames:
        data = np.asarray(table[name])
        data = np.char.encode(data, "ascii", "replace") if data.dtype.kind == "U" else data
        bare[name] = _column(data, table[name].unit, None, None)
    with warnings.catch_warnings():
        # Units that the FITS standard does not know are written as they are.
        warnings.simplefilter("ignore", AstropyWarning)
        hdu = fits.table_to_hdu(bare)
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
    return hdu


def _to_fits(table: Table) -> bytes:
    from astropy.io import fits

    stream = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), fits_hdu(table)]).writeto(stream)
    return stream.getvalue()


def _fits_keyword(key: str) -> str:
    name = _fits_text(key).replace(" ", "_").replace("=", "_")
    if _STRUCTURAL.fullmatch(name.upper()):
        name = f"META_{name}"
    return name.upper() if re.fullmatch(r"[A-Za-z0-9_-]{1,8}", name) else f"HIERARCH {name}"


def _meta_key(keyword: str) -> str:
    """Invert `_fits_keyword`, but for the case of short keys."""
    name = keyword.lower() if len(keyword) <= 8 and keyword.isupper() else keyword
    bare = name[len("META_") :] if name.upper().startswith("META_") else name
    return bare if _STRUCTURAL.fullmatch(bare.upper()) else name


def _from_fits(content: bytes) -> Table:
    from astropy.io import fits
    from astropy.table import Table

    with fits.open(io.BytesIO(content), memmap=False) as hdus:
        found = [hdu for hdu in hdus if isinstance(hdu, fits.BinTableHDU)]
        if not found:
            raise ValueError("the file holds no binary table")
        header, data = found[0].header, found[0].data
        table = Table()
        for number, column in enumerate(found[0].columns, start=1):
            array = np.asarray(data[column.name])
            if array.dtype.kind in "SU":
                array = np.char.rstrip(array.astype(str))
            array = array.astype(array.dtype.newbyteorder("="))
            table[column.name] = _column(array, column.unit, header.get(f"TCOMM{number}"), header.get(f"TUCD{number}"))
        for card in header.cards:
            if not _STRUCTURAL.fullmatch(card.keyword.upper()):
                table.meta[_meta_key(card.keyword)] = card.value
    return table


def _to_fits_gz(table: Table) -> bytes:
    stream = io.BytesIO()
    # No name and no time in the gzip header: the same table gives the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, compresslevel=6, mtime=0) as compressed:
        compressed.write(_to_fits(table))
    return stream.getvalue()


def _to_text(table: Table, format_name: str) -> bytes:
    stream = io.StringIO(newline="")
    table.write(stream, format=format_name)
    return stream.getvalue().encode("utf-8")


def _from_ecsv(content: bytes) -> Table:
    from astropy.table import Table

    return _plain(Table.read(io.BytesIO(content), format="ascii.ecsv"))


def _to_votable(table: Table) -> bytes:
    from fermiclass.votables import to_votable

    return to_votable(_at_most(2, table))


def _from_votable(content: bytes) -> Table:
    from fermiclass.votables import from_votable

    return _plain(from_votable(content))


def _from_csv(content: bytes) -> Table:
    from astropy.table import Table

    table = Table.read(io.BytesIO(content), format="ascii.csv")
    for name in table.colnames:
        # Numbers are never written as blanks (NaN is), so a column of blanks is one of empty strings.
        if len(table) and np.ma.getmaskarray(table[name]).all():
            table[name] = np.full(len(table), "")
        elif len(table) and set(table[name].tolist()) <= {"True", "False"}:
            table[name] = np.asarray(table[name]) == "True"
    return _plain(table)


def _at_most(ndim: int, table: Table) -> Table:
    for name in table.colnames:
        if table[name].ndim > ndim:
            raise ValueError(f"column '{name}' has {table[name].shape[1:]} numbers a row")
    return table


def arrow_table(table: Table) -> pa.Table:
    """Return a table of bool, int, float and text as the Arrow table that `write_table` writes to Parquet."""
    import pyarrow as pa

    arrays, schema = [], []
    for name in _at_most(1, table).colnames:
        column = table[name]
        data = np.asarray(column)
        array = pa.array(data.tolist(), pa.string()) if data.dtype.kind == "U" else pa.array(data)
        about = {"unit": column.unit, "description": column.description, "ucd": column.meta.get("ucd")}
        arrays.append(array)
        schema.append(pa.field(name, array.type, metadata={key: str(text) for key, text in about.items() if text}))
    metadata = {_META_KEY: json.dumps(table.meta).encode()}
    return pa.Table.from_arrays(arrays, schema=pa.schema(schema, metadata=metadata))


def _to_parquet(table: Table) -> bytes:
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    pq.write_table(arrow_table(table), stream)
    return stream.getvalue()


def _from_parquet(content: bytes) -> Table:
    import pyarrow.parquet as pq
    from astropy.table import Table

    stored = pq.read_table(io.BytesIO(content))
    table = Table(meta=json.loads((stored.schema.metadata or {}).get(_META_KEY, b"{}")))
    for field, array in zip(stored.schema, stored.columns, strict=True):
        about = {key.decode(): text.decode() for key, text in (field.metadata or {}).items()}
        data = array.to_numpy()
        data = data.astype(str) if data.dtype.kind == "O" else data
        table[field.name] = _column(data, about.get("unit"), about.get("description"), about.get("ucd"))
    return table


#: Writer to bytes and reader from bytes of each format; no ending is the end of another.
_FORMATS: dict[str, tuple[Callable[[Table], bytes], Callable[[bytes], Table]]] = {
    ".fits": (_to_fits, _from_fits),
    ".fits.gz": (_to_fits_gz, lambda content: _from_fits(gzip.decompress(content))),
    ".ecsv": (lambda table: _to_text(table, "ascii.ecsv"), _from_ecsv),
    ".vot": (_to_votable, _from_votable),
    ".csv": (lambda table: _to_text(_at_most(1, table), "ascii.csv"), _from_csv),
    ".parquet": (_to_parquet, _from_parquet),
}

#: The endings that `write_table` and `read_table` know.
table_endings: tuple[str, ...] = tuple(_FORMATS)
