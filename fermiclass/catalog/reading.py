"""Reading a catalogue: from a file, a table or an open FITS file, whole and checked, or not at all."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import warnings
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.catalog.catalog import Catalog
from fermiclass.catalog.releases import RELEASES, REQUIRED_COLUMNS, CatalogWarning, recognise
from fermiclass.errors import CatalogError

if TYPE_CHECKING:
    from astropy.io import fits
    from astropy.table import Column, Table

HDU_NAME = "LAT_Point_Source_Catalog"

# First bytes, name and decompressor; astropy does not look into a stream for the last two.
_COMPRESSIONS = (
    (b"\x1f\x8b", "gzip", gzip.decompress),
    (b"BZh", "bzip2", bz2.decompress),
    (b"\xfd7zXZ", "xz", lzma.decompress),
)
_TEXT_COLUMNS = ("Source_Name", "CLASS1")
_REMEDY = "Use a 4FGL release from the Fermi Science Support Center, such as 4FGL-DR4 (gll_psc_v35.fit)."


def read_catalog(source: str | os.PathLike[str] | Table | fits.HDUList | fits.BinTableHDU) -> Catalog:
    """Read a LAT catalogue of the 4FGL kind.

    Parameters
    ----------
    source
        A FITS file, compressed or not, as released or slim; an `astropy.table.Table`; or an open `HDUList`
        or the table's HDU.

    Returns
    -------
    Catalog
        Every source, in the order of the file.

    Raises
    ------
    CatalogError
        When there is no such file, it is damaged or no FITS file, or the table lacks columns or rows.

    Warns
    -----
    UnknownReleaseWarning
        When the release is none that is described; it is read as far as its columns allow.
    CatalogWarning
        When names of sources repeat.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        content = _read_bytes(path)
        table, header = _open(content, f"'{path}'")
        return _catalog(table, header, path.name, hashlib.sha256(content).hexdigest())
    if hasattr(source, "colnames"):
        return _catalog(source.copy(), source.meta, "<Table>", _digest(source))
    from astropy.io import fits

    if not isinstance(source, fits.HDUList | fits.BinTableHDU):
        raise CatalogError(
            f"a catalogue was {type(source).__name__}, expected a path, an astropy table or an open FITS "
            "file. Turn a data frame into a table with astropy.table.Table.from_pandas."
        )
    hdus = source if isinstance(source, fits.HDUList) else [source]
    table, header = _table_of(hdus, "the HDU list")
    return _catalog(table, header, "<HDUList>", _digest(table))


def _read_bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise CatalogError(f"'{path}' is a folder, not a catalogue. Give the FITS file itself.")
        if path.exists() and not path.is_file():
            raise CatalogError(f"'{path}' is not a regular file. Give a FITS file.")
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise CatalogError(f"there is no file '{path}'. Check the name and the folder.") from error
    except OSError as error:
        raise CatalogError(f"'{path}' cannot be read: {error.strerror}. Check its permissions.") from error
    if not content:
        raise CatalogError(f"'{path}' is empty. Download it again.")
    return content


def _open(content: bytes, source: str) -> tuple[Table, dict[str, Any]]:
    from astropy.io import fits
    from astropy.utils.exceptions import AstropyWarning

    for magic, name, decompress in _COMPRESSIONS:
        if content.startswith(magic):
            try:
                content = decompress(content)
            except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error) as error:
                reason = f"{source} is a damaged or truncated {name} file ({error}). Download it again."
                raise CatalogError(reason) from error
            break
    compressed = (b"PK\x03\x04", b"\x1f\x9d")
    if not content.startswith((b"SIMPLE  =", *compressed)):
        raise CatalogError(f"{source} is not a FITS file: it does not begin with 'SIMPLE  ='. {_REMEDY}")
    try:
        with warnings.catch_warnings():
            # astropy only warns of a file that ends too early; the lengths are checked below.
            warnings.simplefilter("ignore", AstropyWarning)
            with fits.open(io.BytesIO(content), memmap=False, lazy_load_hdus=False) as hdus:
                _check_length(hdus, source)
                return _table_of(hdus, source)
    except CatalogError:
        raise
    except Exception as error:  # astropy has no common exception for damaged files
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CatalogError(f"{source} is a damaged FITS file ({reason}). Download it again.") from error


def _check_length(hdus: fits.HDUList, source: str) -> None:
    """Refuse a truncated file: its table must not be read as a shorter one."""
    for hdu in hdus:
        info = hdu.fileinfo()
        stream = info["file"]
        end = info["datLoc"] + hdu.size
        stream.seek(0, os.SEEK_END)
        if stream.tell() < end:
            raise CatalogError(
                f"{source} is truncated: it ends at byte {stream.tell()}, but the data of HDU '{hdu.name}' end at "
                f"byte {end}. Download it again."
            )


def _table_of(hdus: Iterable[Any], source: str) -> tuple[Table, dict[str, Any]]:
    from astropy.io import fits

    tables = [hdu for hdu in hdus if isinstance(hdu, fits.BinTableHDU)]
    named = [hdu for hdu in tables if hdu.name.lower() == HDU_NAME.lower()]
    likely = named or [hdu for hdu in tables if "Source_Name" in hdu.columns.names]
    if not likely:
        found = ", ".join(hdu.name or "(no name)" for hdu in hdus)
        raise CatalogError(f"{source} has no table '{HDU_NAME}' (its HDUs: {found or 'none'}). {_REMEDY}")
    return _to_table(likely[0]), dict(likely[0].header)


def _to_table(hdu: fits.BinTableHDU) -> Table:
    from astropy.table import Table

    table = Table()
    for number, column in enumerate(hdu.columns, start=1):
        data = np.asarray(hdu.data[column.name])
        description = hdu.header.comments[f"TTYPE{number}"].strip() or hdu.header.get(f"TCOMM{number}")
        ucd = hdu.header.get(f"TUCD{number}")
        table[column.name] = _column(data, column.unit, description, ucd)
    return table


def _column(data: Any, unit: Any, description: Any, ucd: Any) -> Column:
    """Build a column in native byte order, text stripped, its unit parsed."""
    from astropy.table import Column
    from astropy.units import Unit

    data = np.asarray(data)
    if data.dtype.kind == "S":
        data = np.char.decode(data, "ascii", "replace")
    if data.dtype.kind in "UO":
        data = np.char.strip(data.astype(str))
    elif not data.dtype.isnative:
        data = data.astype(data.dtype.newbyteorder("="))
    if isinstance(unit, str):
        unit = Unit(unit.replace("photon", "ph"), parse_strict="silent")
    return Column(data, unit=unit, description=description, meta={"ucd": ucd} if ucd else {})


def _catalog(table: Table, header: Any, source: str, sha256: str) -> Catalog:
    from astropy.table import Table

    shown = source if source.startswith("<") else f"'{source}'"
    _check_columns(table.colnames, header, shown)  # first: another catalogue is no unknown release of this one
    release = recognise(header, table.colnames, len(table), shown)
    clean = Table(meta={key: header[key] for key in ("CDS-NAME", "VERSION", "DATE") if key in header})
    for name in table.colnames:
        column = table[name]
        standard = release.renamed.get(name, name)
        data = np.ma.getdata(column)
        mask = np.ma.getmaskarray(column)
        if mask.any():
            kind = data.dtype.kind
            data = np.where(mask, "" if kind in "SUO" else np.nan, data.astype(str) if kind in "SUO" else data)
        ucd = (column.info.meta or {}).get("ucd")
        if standard not in clean.colnames:
            unit = column.info.unit or release.units.get(standard)
            clean[standard] = _column(data, unit, column.info.description, ucd)
    _check_values(clean, shown)
    _add_galactic(clean)
    names, counts = np.unique(np.asarray(clean["Source_Name"]), return_counts=True)
    if np.any(counts > 1):
        warnings.warn(
            f"{shown} has {np.sum(counts > 1)} names of sources more than once, such as {names[counts > 1][0]}: each "
            "row is treated as a source of its own",
            CatalogWarning,
            stacklevel=3,
        )
    return Catalog(clean, release, source, sha256)


def _check_columns(columns: Iterable[str], header: Any, source: str) -> None:
    standard = {new for release in RELEASES for old, new in release.renamed.items() if old in columns}
    missing = [name for name in REQUIRED_COLUMNS if name not in {*columns, *standard}]
    if missing:
        name = str(header.get("CDS-NAME", "")).strip()
        what = f" (it says it is {name})" if name else ""
        raise CatalogError(f"{source} lacks columns that are needed: {', '.join(missing)}{what}. {_REMEDY}")


def _check_values(table: Table, source: str) -> None:
    if not len(table):
        raise CatalogError(f"{source} has no rows. {_REMEDY}")
    for name in REQUIRED_COLUMNS:
        kind, wanted = table[name].dtype.kind, "text" if name in _TEXT_COLUMNS else "numbers"
        if (kind == "U") != (wanted == "text") or kind not in "Ufiu" or table[name].ndim != 1:
            raise CatalogError(
                f"{source}: column {name} holds {table[name].dtype} of shape {table[name].shape}, expected {wanted}, "
                f"one a source. {_REMEDY}"
            )


def _add_galactic(table: Table) -> None:
    if "GLON" in table.colnames and "GLAT" in table.colnames:
        return
    import astropy.units as u
    from astropy.coordinates import SkyCoord

    icrs = SkyCoord(np.asarray(table["RAJ2000"]) * u.deg, np.asarray(table["DEJ2000"]) * u.deg, frame="icrs")
    for name, angle in (("GLON", icrs.galactic.l), ("GLAT", icrs.galactic.b)):
        table[name] = _column(angle.deg, "deg", f"{name}, computed from RAJ2000 and DEJ2000", None)


def _digest(table: Table) -> str:
    digest = hashlib.sha256()
    for name in table.colnames:
        digest.update(name.encode())
        data = np.ma.getdata(table[name])
        digest.update(np.ascontiguousarray(data.astype(str) if data.dtype.kind == "O" else data).tobytes())
    return digest.hexdigest()
