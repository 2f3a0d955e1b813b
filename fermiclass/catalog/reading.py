"""Reading and checking a catalogue from a file, a table or an open FITS file."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.catalog.catalog import Catalog
from fermiclass.catalog.formats import from_parquet, from_votable, is_parquet, is_votable
from fermiclass.catalog.plausibility import (
    convert_units,
    warn_of_repeated_names,
    warn_of_unknown_classes,
    warn_of_values,
)
from fermiclass.catalog.releases import RELEASES, REQUIRED_COLUMNS, Release, recognise
from fermiclass.catalog.structure import FITS_MAGIC, check_lengths, check_sum, check_table
from fermiclass.errors import CatalogError, in_one_line
from fermiclass.io.fits_tables import fits_column, until_nul
from fermiclass.io.inputs import read_bytes, unpack

if TYPE_CHECKING:
    from mmap import mmap

    from astropy.io import fits
    from astropy.table import Column, Table

_LOG = logging.getLogger(__name__)

HDU_NAME = "LAT_Point_Source_Catalog"

_OTHER_FORMATS = ((is_votable, from_votable, "VOTable"), (is_parquet, from_parquet, "Parquet"))
# Unit and UCD of the columns that identify a source, in case a format or a tool has lost them.
_USUAL = {
    "Source_Name": (None, "meta.id;meta.main"),
    "RAJ2000": ("deg", "pos.eq.ra;meta.main"),
    "DEJ2000": ("deg", "pos.eq.dec;meta.main"),
    "GLON": ("deg", "pos.galactic.lon"),
    "GLAT": ("deg", "pos.galactic.lat"),
}
_TEXT_COLUMNS = ("Source_Name", "CLASS1")
_REMEDY = "Use a 4FGL release from the Fermi Science Support Center, such as 4FGL-DR4 (gll_psc_v35.fit)."


def read_catalog(source: str | os.PathLike[str] | Table | fits.HDUList | fits.BinTableHDU) -> Catalog:
    """Read a LAT catalogue of the 4FGL kind.

    Parameters
    ----------
    source
        A FITS file, as released or with fewer columns, or the same table as VOTable or Parquet with the catalogue's
        column names. The file may be compressed. Or an `astropy.table.Table`, an open `HDUList`, or the table's HDU.

    Returns
    -------
    Catalog
        Every source, in the order of the file.

    Raises
    ------
    CatalogError
        When the file is missing, damaged or of another format, or the table lacks columns or rows.

    Warns
    -----
    UnknownReleaseWarning
        When the release is unknown. The catalogue is read as far as its columns allow.
    CatalogWarning
        When names of sources repeat, or values are implausible; see :mod:`fermiclass.catalog.plausibility`.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        content = read_bytes(path)
        table, header = _open(content, f"'{path}'")
        catalog = as_catalog(table, header, path.name, hashlib.sha256(content).hexdigest(), f"'{path.name}'")
        _LOG.info("read '%s': %s, %d sources", path, catalog.release.name, len(catalog))
        return catalog
    if hasattr(source, "colnames"):
        return as_catalog(source.copy(), source.meta, "<Table>", _digest(source), "<Table>")
    from astropy.io import fits

    if not isinstance(source, fits.HDUList | fits.BinTableHDU):
        raise CatalogError(
            f"the catalogue is a {type(source).__name__}, expected a path, an astropy table or an open FITS file. Turn "
            "a data frame into a table with astropy.table.Table.from_pandas."
        )
    hdus = source if isinstance(source, fits.HDUList) else [source]
    hdu = table_hdu(hdus, "the HDU list")
    table = to_table(hdu, "the HDU list")
    return as_catalog(table, dict(hdu.header), "<HDUList>", _digest(table), "<HDUList>")


def _open(content: bytes, source: str) -> tuple[Table, dict[str, Any]]:
    from astropy.io import fits

    content = unpack(content, source)
    for is_it, parse, name in _OTHER_FORMATS:
        if is_it(content):
            try:
                return parse(content)
            except MemoryError:
                raise
            except Exception as error:  # every parser has its own exceptions
                raise CatalogError(
                    f"{source} is a damaged {name} file ({in_one_line(error)}). Write it again."
                ) from error
    if not content.startswith(FITS_MAGIC):
        raise CatalogError(
            f"{source} is not a FITS file, a VOTable or a Parquet file: it does not begin like one. {_REMEDY}"
        )
    if not content[9:30].strip().startswith(b"T"):
        raise CatalogError(f"{source} is not a standard FITS file: its keyword SIMPLE is not T (true). {_REMEDY}")
    with damage_reported(source), fits.open(io.BytesIO(content), memmap=False, lazy_load_hdus=False) as hdus:
        hdu = whole_table_hdu(hdus, content, source)
        about = hdu.fileinfo()
        check_sum(hdu.header, [content[about["datLoc"] : about["datLoc"] + about["datSpan"]]], source)
        return to_table(hdu, source), dict(hdu.header)


@contextmanager
def damage_reported(source: str) -> Iterator[None]:
    """Turn every error of astropy on a FITS file into a CatalogError."""
    from astropy.utils.exceptions import AstropyWarning

    try:
        with warnings.catch_warnings():
            # astropy only warns of a file that ends too early. Our own check of the lengths is an error.
            warnings.simplefilter("ignore", AstropyWarning)
            yield
    except (CatalogError, MemoryError):
        raise
    except Exception as error:  # astropy has no common exception for damaged files
        raise CatalogError(f"{source} is a damaged FITS file ({in_one_line(error)}). Download it again.") from error


def whole_table_hdu(hdus: fits.HDUList, content: bytes | mmap, source: str) -> fits.BinTableHDU:
    """Return the HDU of the catalogue's table, after checks that file and table are whole.

    Raises
    ------
    CatalogError
        When the file is truncated or damaged, or has no such table.
    """
    check_lengths(hdus, content, source)
    hdu = table_hdu(hdus, source)
    check_table(hdu, source)
    return hdu


def table_hdu(hdus: Iterable[Any], source: str) -> fits.BinTableHDU:
    """Return the HDU of the catalogue's table.

    Raises
    ------
    CatalogError
        When there is none, or more than one.
    """
    from astropy.io import fits

    tables = [hdu for hdu in hdus if isinstance(hdu, fits.BinTableHDU)]
    named = [hdu for hdu in tables if hdu.name.lower() == HDU_NAME.lower()]
    likely = named or [hdu for hdu in tables if "Source_Name" in hdu.columns.names]
    if not likely:
        found = ", ".join(hdu.name or "(no name)" for hdu in hdus)
        raise CatalogError(f"{source} has no table '{HDU_NAME}' (its HDUs: {found or 'none'}). {_REMEDY}")
    complete = [hdu for hdu in likely if set(REQUIRED_COLUMNS) <= set(hdu.columns.names)]
    if len(complete) > 1:
        raise CatalogError(f"{source} has {len(complete)} tables that may be the catalogue. Keep only one of them.")
    return (complete or likely)[0]


def to_table(hdu: fits.BinTableHDU, source: str) -> Table:
    """Return all columns of a catalogue's table, under their names there.

    Raises
    ------
    CatalogError
        When a column holds arrays of different lengths.
    """
    from astropy.table import Table

    table = Table()
    check_formats(hdu, source)
    for number, column in enumerate(hdu.columns, start=1):
        data = fits_column(hdu.data, number - 1)
        description = hdu.header.comments[f"TTYPE{number}"].strip() or hdu.header.get(f"TCOMM{number}")
        ucd = hdu.header.get(f"TUCD{number}")
        table[column.name] = _column(data, column.unit, description, ucd)
    return table


def check_formats(hdu: fits.BinTableHDU, source: str) -> None:
    """Raise CatalogError when a column holds arrays of different lengths."""
    for column in hdu.columns:
        if column.format.startswith(("P", "Q")):
            raise CatalogError(
                f"{source}: column {column.name} holds arrays of different lengths, expected one number or text for "
                f"each source. {_REMEDY}"
            )


def _column(data: Any, unit: Any, description: Any, ucd: Any) -> Column:
    """Build a column in native byte order, text stripped, its unit parsed."""
    from astropy.table import Column
    from astropy.units import Unit

    data = np.asarray(data)
    if data.dtype.kind == "S":
        # The width is that of the column, not of its longest text, so that all parts of a catalogue are alike.
        data = np.char.decode(data, "ascii", "replace").astype(f"U{data.dtype.itemsize}")
    if data.dtype.kind in "UO":
        data = np.char.strip(until_nul(data.astype(str)))
    elif not data.dtype.isnative:
        data = data.astype(data.dtype.newbyteorder("="))
    if data.dtype.kind == "f":
        data = np.where(np.isnan(data), data.dtype.type(np.nan), data)  # damaged bytes may be signalling NaNs
    if isinstance(unit, str):
        unit = Unit(unit.replace("photon", "ph"), parse_strict="silent")
    return Column(data, unit=unit, description=description, meta={"ucd": ucd} if ucd else {})


def as_catalog(
    table: Table, header: Any, source: str, sha256: str, shown: str, release: Release | None = None
) -> Catalog:
    """Return a table as a catalogue with standard column names, after checks of its values.

    Parameters
    ----------
    table
        The table. It may be changed.
    header
        Header of the table.
    source, sha256
        Name and checksum of the catalogue.
    shown
        Name of the catalogue in messages.
    release
        The release, if the table is a part of a catalogue. By default the release is found from the header.

    Raises
    ------
    CatalogError
        When columns or rows are missing, or have other types.
    """
    from astropy.table import Table

    check_columns(table.colnames, header, shown)  # first: another catalogue is not an unknown release of 4FGL
    whole = release is None
    release = release or recognise(header, table.colnames, len(table), shown)
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
            usual_unit, usual_ucd = _USUAL.get(standard, (None, None))
            unit, ucd = column.info.unit or release.units.get(standard) or usual_unit, ucd or usual_ucd
            clean[standard] = _column(data, unit, column.info.description, ucd)
    _check_values(clean, shown)
    convert_units(clean, shown)
    warn_of_values(clean, shown)
    if whole:
        warn_of_unknown_classes(np.char.lower(np.asarray(clean["CLASS1"])), shown)
        warn_of_repeated_names(np.asarray(clean["Source_Name"]), shown)
    _add_galactic(clean)
    return Catalog(clean, release, source, sha256)


def check_columns(columns: Iterable[str], header: Any, source: str) -> None:
    """Raise CatalogError when a column in `REQUIRED_COLUMNS` is missing."""
    standard = {new for release in RELEASES for old, new in release.renamed.items() if old in columns}
    missing = [name for name in REQUIRED_COLUMNS if name not in {*columns, *standard}]
    if missing:
        name = str(header.get("CDS-NAME", "")).strip()
        what = f" (CDS-NAME is {name})" if name else ""
        spelt = [f"{other} for {wanted}" for wanted in missing for other in columns if other.lower() == wanted.lower()]
        if spelt:
            raise CatalogError(f"{source} has needed columns in another case: {', '.join(spelt)}. Rename them.")
        raise CatalogError(f"{source} lacks columns: {', '.join(missing)}{what}. {_REMEDY}")


def check_rows(num_sources: int, source: str) -> None:
    """Raise CatalogError when a catalogue is empty."""
    if not num_sources:
        raise CatalogError(f"{source} has no rows. {_REMEDY}")


def _check_values(table: Table, source: str) -> None:
    check_rows(len(table), source)
    for name in REQUIRED_COLUMNS:
        kind, wanted = table[name].dtype.kind, "text" if name in _TEXT_COLUMNS else "numbers"
        if (kind == "U") != (wanted == "text") or kind not in "Ufiu" or table[name].ndim != 1:
            raise CatalogError(
                f"{source}: column {name} holds {table[name].dtype} of shape {table[name].shape}, expected {wanted}, "
                f"one for each source. {_REMEDY}"
            )


def _add_galactic(table: Table) -> None:
    if "GLON" in table.colnames and "GLAT" in table.colnames:
        return
    import astropy.units as u
    from astropy.coordinates import SkyCoord

    right_ascension, declination = (np.asarray(table[name], np.float64) for name in ("RAJ2000", "DEJ2000"))
    declination = np.where(np.abs(declination) <= 90.0, declination, np.nan)  # there are no positions beyond the poles
    right_ascension = np.where(np.isfinite(right_ascension), right_ascension, np.nan)
    icrs = SkyCoord(right_ascension * u.deg, declination * u.deg, frame="icrs")
    for name, angle in (("GLON", icrs.galactic.l), ("GLAT", icrs.galactic.b)):
        unit, ucd = _USUAL[name]
        table[name] = _column(angle.deg, unit, f"{name}, computed from RAJ2000 and DEJ2000", ucd)


def _digest(table: Table) -> str:
    digest = hashlib.sha256()
    for name in table.colnames:
        digest.update(name.encode())
        data = np.ma.getdata(table[name])
        digest.update(np.ascontiguousarray(data.astype(str) if data.dtype.kind == "O" else data).tobytes())
    return digest.hexdigest()
