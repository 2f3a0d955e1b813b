"""Reading and checking a catalogue from a file or a table."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Collection, Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from astropy.table import Column, Table
from numpy.typing import NDArray

from fermiclass.catalog.catalog import Catalog
from fermiclass.catalog.origin import digest
from fermiclass.catalog.plausibility import check_texts, check_values, convert_units, take_marks_as_missing
from fermiclass.catalog.releases import (
    BAND_EDGES,
    Release,
    UnknownReleaseWarning,
    lacks_second_associations,
    recognise,
    warn,
    warn_of_unknown_facts,
)
from fermiclass.catalog.source_names import position_in_name
from fermiclass.errors import CatalogError, in_one_line
from fermiclass.io.files import read_bytes
from fermiclass.io.plain import numbers, plain_column, plain_table
from fermiclass.io.tables import parse_table

_LOG = logging.getLogger(__name__)

#: Of the tables in a catalogue's file, only that of the sources has both columns.
KEY_COLUMNS = ("Source_Name", "Signif_Avg")

#: Unit and UCD of the columns that identify a source, in case a format or a tool has lost them.
USUAL = {
    "Source_Name": (None, "meta.id;meta.main"),
    "RAJ2000": ("deg", "pos.eq.ra;meta.main"),
    "DEJ2000": ("deg", "pos.eq.dec;meta.main"),
    "GLON": ("deg", "pos.galactic.lon"),
    "GLAT": ("deg", "pos.galactic.lat"),
}
_TEXT_COLUMNS = ("Source_Name", "CLASS1")
_FEW = 5  # fewer places may be anywhere on the sky
_SECOND = ("ASSOC2", "CLASS2")
_HARD = re.compile(r"([123]FHL|[1-9]?e?HWC|[1-9]?LHAASO|HESS|VER|MAGIC|TeV)\s*J\d", re.IGNORECASE)
_NUMBERED = re.compile(r"(.*_Band(?:_UL)?)_(\d+)")
_OWN = "To label sources of your own, name a catalogue to learn from (--train-on)."
_REMEDY = f"Use a 4FGL release from the Fermi Science Support Center, such as 4FGL-DR4 (gll_psc_v35.fit). {_OWN}"


def read_catalog(source: str | os.PathLike[str] | Table) -> Catalog:
    """Read a LAT catalogue of the 4FGL kind: every source, in the order of the file.

    Parameters
    ----------
    source
        A FITS file, as released or with fewer columns, or the same table as VOTable or Parquet with the catalogue's
        column names. The file may be compressed. Or an `astropy.table.Table`.

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
        return as_catalog(parse_table(content, path, KEY_COLUMNS), path, hashlib.sha256(content).hexdigest())
    if not isinstance(source, Table):
        raise CatalogError(
            f"the catalogue is a {type(source).__name__}, expected a path or an astropy table. Turn an open FITS file "
            "into one with astropy.table.Table.read, and a data frame with Table.from_pandas."
        )
    try:
        return as_catalog(plain_table(source), "<Table>", digest(source))
    except TypeError as error:
        raise CatalogError(f"<Table>: {in_one_line(error)}. Remove the column.") from error


def as_catalog(table: Table, source: Path | str, sha256: str) -> Catalog:
    """Return a plain table of a file, or a kind of object, as a catalogue with standard column names, checked.

    The metadata have the keywords of the release. Raises CatalogError when columns or rows are missing, or have other
    types.
    """
    name, shown = (source.name, f"'{source.name}'") if isinstance(source, Path) else (source, source)
    refuse_hard(table.colnames, (), shown)
    header = {key.upper(): value for key, value in table.meta.items()}
    release, doubt = recognise(header, table.colnames, len(table))
    clean = Table(meta={key: header[key] for key in ("CDS-NAME", "VERSION", "DATE") if key in header})
    for column in table.itercols():
        standard = release.renamed.get(column.name, column.name)
        standard = column.name if standard in table.colnames else standard  # a user's CLASS beside CLASS1 is no class
        usual_unit, usual_ucd = USUAL.get(standard, (None, None))
        data = np.char.strip(column) if column.dtype.kind == "U" else np.asarray(column)
        unit = column.unit or release.units.get(standard) or usual_unit
        data = _as_flags(data, shown) if standard == "Flags" else data
        clean[standard] = plain_column(data, unit, column.description, column.meta.get("ucd") or usual_ucd)
    join_bands(clean)
    _check_required(clean, release, shown)
    if doubt:
        warn(f"{shown} {doubt}", UnknownReleaseWarning)
    warn_of_unknown_facts(release)
    for old, new in release.of_power_laws.items():
        if new not in clean.colnames and {old, "SpectrumType"} <= set(clean.colnames):
            data = np.where(clean["SpectrumType"] == "PowerLaw", np.asarray(clean[old], np.float64), np.nan)
            clean[new] = Column(data, unit=clean[old].unit, meta=clean[old].meta)
    take_marks_as_missing(clean, shown, zeros=False)  # 3FGL has some
    convert_units(clean, shown)
    check_values(clean, shown)
    check_texts(clean, shown)
    put_back_second_associations(clean, release, shown)
    fill_places(clean, shown)
    _LOG.info("read '%s': %s, %d sources", source, release.name, len(clean))
    return Catalog(clean, release, name, sha256)


def refuse_hard(columns: Collection[str], names: Iterable[str], source: str) -> None:
    """Raise CatalogError for 1FHL to 3FHL and TeV lists, by columns that they alone have, or names without Flux1000."""
    small = {name.lower(): name for name in columns}
    hard = {small[name] for name in ("hep_energy", "flux10_30gev") if name in small}
    known = "" if hard else " If it has LAT fluxes from 1 GeV, name them: --columns Flux1000=flux."
    hard |= {found[1] for name in names if "flux1000" not in small and (found := _HARD.match(name))}
    if hard:
        raise CatalogError(
            f"{source} has {' and '.join(sorted(hard))}, as lists above 10 GeV do: fluxes and indices are not those of "
            "4FGL, from which models learn. Label 4FGL-DR4 in its place: it has most sources of 3FHL, with their names "
            f"in ASSOC_FHL, and many of TeV lists.{known}"
        )


def join_bands(table: Table, known: Collection[int] = tuple(BAND_EDGES)) -> None:
    """Turn columns X_Band_1 ... X_Band_n, as of a data frame, into one column X_Band.

    It has n values, if that is a known number, else the 8 of 4FGL-DR4, NaN without a column, or two for each of these.
    """
    bands: dict[str, dict[int, str]] = {}
    for name in table.colnames:
        if found := _NUMBERED.fullmatch(name):
            bands.setdefault(found[1], {})[int(found[2])] = name
    for name, members in bands.items():
        last, first = max(members), table[members[min(members)]]
        whole = len(members) == last and last in known
        size = last if whole else next(n for n in (8, 16, last) if n >= last)
        if name in table.colnames or min(members) == 0:
            continue
        parts = [table[members[k]] if k in members else np.full(first.shape, np.nan) for k in range(1, size + 1)]
        try:
            data = np.stack([numbers(np.asarray(part)) for part in parts], axis=1)
        except ValueError as error:
            raise CatalogError(f"columns {first.name} ... do not hold numbers ({in_one_line(error)}).") from error
        table[name] = Column(data, unit=first.unit, meta=first.meta)
        table.remove_columns(list(members.values()))


def _check_required(table: Table, release: Release, source: str) -> None:
    """Raise CatalogError when a column of the release is missing or of another type, or there are no rows."""
    missing = [name for name in release.required if name not in table.colnames]
    by_small = {name.lower(): name for name in table.colnames}
    spelt = [f"{by_small[name.lower()]} for {name}" for name in missing if name.lower() in by_small]
    if spelt:
        raise CatalogError(f"{source} has needed columns in another case: {', '.join(spelt)}. Rename them. {_OWN}")
    if missing:
        name = str(table.meta.get("CDS-NAME", "")).strip()
        what = f" (CDS-NAME is {name})" if name else ""
        raise CatalogError(f"{source} lacks columns: {', '.join(missing)}{what}. {_REMEDY}")
    if not len(table):
        raise CatalogError(f"{source} has no rows. {_REMEDY}")
    for name in release.required:
        kind, wanted = table[name].dtype.kind, "text" if name in _TEXT_COLUMNS else "numbers"
        if (kind == "U") != (wanted == "text") or kind not in "Ufiu" or table[name].ndim != 1:
            raise CatalogError(
                f"{source}: column {name} holds {table[name].dtype} of shape {table[name].shape}, expected {wanted}, "
                f"one for each source. {_REMEDY}"
            )


def _as_flags(data: NDArray[Any], source: str) -> NDArray[Any]:
    """Return Flags as whole numbers, also from text. Missing ones become NaN."""
    try:
        values = numbers(data) if data.dtype.kind == "U" else data
    except ValueError:
        values = np.full(len(data), 0.5)
    if data.dtype.kind == "b" or data.ndim != 1 or np.any((values != np.rint(values)) & ~np.isnan(values)):
        raise CatalogError(
            f"{source}: column Flags holds {data.dtype} of shape {data.shape}, expected a whole number for each "
            "source. Write its bits as one number, or remove it."
        )
    return values


def fill_places(table: Table, source: str, right_ascension: Any = None) -> None:
    """Fill GLON and GLAT from RAJ2000 and DEJ2000 where they are not known, and these from those.

    Where both are known and more than a degree apart, the former are missing. Raises CatalogError if these are many, or
    the places in many names are more than a degree away; and as :func:`refuse_other_angles`.
    """
    from astropy.coordinates import SkyCoord

    columns = {"galactic": ("GLON", "GLAT"), "icrs": ("RAJ2000", "DEJ2000")}
    places = {x: [np.array(table.columns.get(y, [np.nan] * len(table)), float) for y in columns[x]] for x in columns}
    named = [(position_in_name(str(name)) or (np.nan, np.nan))[:2] for name in table["Source_Name"]]
    places["named"] = [*np.reshape(named, (-1, 2)).T]
    known = {x: np.isfinite(lon) & (np.abs(lat) <= 90.0) for x, (lon, lat) in places.items()}
    if not known["galactic"].any():
        refuse_other_angles(np.array(places["icrs"]), right_ascension, source)
    frames = {"galactic": "galactic", "icrs": "icrs", "named": "icrs"}
    at = {x: SkyCoord(*np.where(known[x], places[x], 0.0), unit="deg", frame=frame) for x, frame in frames.items()}
    for one, what, done, remedy in (
        ("galactic", "GLON and GLAT", "the former are taken as missing, and computed", "Remove the wrong columns"),
        ("named", "the places in the names", "check them", "Check the columns, and their units"),
    ):
        far = (at["icrs"].separation(at[one]).deg > 1.0) & known["icrs"] & known[one]
        if np.any(far):
            first = np.argmax(far)
            such = f"{far.sum()} of {len(table)} sources, such as {table['Source_Name'][first] or f'row {first + 1}'},"
            text = f"{source}: {what} of {such} are more than a degree from RAJ2000 and DEJ2000"
            if np.mean(far) > 0.1:  # no few values
                raise CatalogError(f"{text}. {remedy}.")
            warn(f"{text}: {done}")
            known[one] &= ~far
    for frame, other in (("galactic", "icrs"), ("icrs", "galactic")):
        empty = known[other] & ~known[frame]
        if not np.any(empty) and {*columns[frame]} <= {*table.colnames}:
            continue
        place, given = at[other][empty].transform_to(frame).spherical, " and ".join(columns[other])
        for name, values, angle in zip(columns[frame], places[frame], (place.lon, place.lat), strict=True):
            values[empty] = angle.deg
            table[name] = plain_column(values, USUAL[name][0], f"{name}, computed from {given}", USUAL[name][1])


def refuse_other_angles(places: NDArray[np.float64], given: Any, source: str) -> None:
    """Raise CatalogError if places ``(2, N)`` look like radians or hours, and the `given` column says no unit of RA."""
    ra, dec = np.abs(places)[:, np.isfinite(places).all(axis=0)]
    said = given is not None and (given.unit is not None or given.dtype.kind == "U" or "deg" in given.name.lower())
    if said or len(ra) < _FEW:
        return
    some, reach = len(ra) >= 4 * _FEW, dec.max()
    radians = reach < np.pi / 2 and (ra.max() < 2 * np.pi or (some and np.ptp(ra) > 180 and reach > 1.27))
    if radians or (some and ra.min() < 2.0 and 22.0 < ra.max() < 24.0 and reach > 30.0):
        looks = f"{'radians' if radians else 'hours'}. Give their unit, or name them ra_deg and dec_deg"
        raise CatalogError(f"{source}: RAJ2000 and DEJ2000 of all sources look like {looks}.")


@cache
def lost_second_associations() -> dict[str, tuple[str, str]]:
    """Return ASSOC2 and CLASS2 of DR3 by Source_Name; ``catalogs/make_second_associations.py`` makes the table.

    DR3 names a second counterpart of 309 unassociated sources. DR4 leaves it out for the 297 that are unassociated
    still, but keeps its probability, ASSOC_PROB_BAY: it was not withdrawn.
    """
    text = files("fermiclass.catalog").joinpath("second_associations.csv").read_text(encoding="utf-8")
    rows = (line.split(",") for line in text.splitlines()[1:])
    return {name: (assoc, code) for name, assoc, code in rows}


def put_back_second_associations(table: Table, release: Release, source: str) -> None:
    """Put back into a table of DR4, a later or no release what DR4 lost, where it has none, and a probability if any.

    Warns with CatalogWarning if no name of a release tells a place, by which sources are known.
    """
    if not lacks_second_associations(release) or not {*_SECOND} <= {*table.colnames}:
        return
    lost = {position_in_name(name): said for name, said in lost_second_associations().items()}
    places = [position_in_name(str(name)) for name in table["Source_Name"]]
    bare = (np.asarray(table["CLASS1"]).astype(str) == "") & (np.asarray(table["CLASS2"]).astype(str) == "")
    if "ASSOC_PROB_BAY" in table.colnames:
        bare &= np.nan_to_num(np.asarray(table["ASSOC_PROB_BAY"], float)) > 0
    rows = [row for row in np.flatnonzero(bare) if places[row] in lost]
    if release.sources and not any(places):
        text = "no name of a source has its place: second associations that 4FGL-DR4 lost are not put back"
        warn(f"{source}: {text}. Give the names of 4FGL")
    if not rows:
        return
    for k, name in enumerate(_SECOND):
        old = table[name]
        data = np.asarray(old).astype(object)
        data[rows] = [lost[places[row]][k] for row in rows]
        table[name] = Column(data.astype(str), description=old.description, meta=old.meta)
    _LOG.info("%s: %d second associations of 4FGL-DR3 put back, which 4FGL-DR4 lost", source, len(rows))
