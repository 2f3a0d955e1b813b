"""Lists of targets for observers: regions of ds9, and names with sexagesimal coordinates."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from astropy.table import Table

from fermiclass.errors import SelectionError
from fermiclass.io import FloatArray
from fermiclass.io.files import check_place, read_bytes, write_bytes
from fermiclass.io.tables import read_table, table_endings, write_table
from fermiclass.io.text_tables import decoded

PLACE = ("RAJ2000", "DEJ2000")
ELLIPSE = ("Conf_95_SemiMajor", "Conf_95_SemiMinor", "Conf_95_PosAng")

_HEADER = "# name"
_BRACES = re.compile(r"[{}\s]+")
_NO_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def sexagesimal(table: Table, *, short: bool = False) -> tuple[list[str], list[str]]:
    """Return RAJ2000 as 21:12:32.1 and DEJ2000 as -30:43:38, or shorter by the last digits; empty where unknown."""
    from astropy import units as u
    from astropy.coordinates import SkyCoord  # a tenth of a second, which most commands do not need

    ra, dec = (angles(table, name, most) for name, most in zip(PLACE, (360.0, 90.0), strict=True))
    at = SkyCoord(ra * u.deg, dec * u.deg)
    right_ascension = at.ra.to_string(u.hour, sep=":", precision=0 if short else 1, pad=True)
    declination = at.dec.to_string(
        u.deg, sep=":", pad=True, alwayssign=True, fields=2 if short else 3, precision=None if short else 0
    )
    known = np.isfinite(ra + dec)
    return tuple(np.where(known, texts, "").tolist() for texts in (right_ascension, declination))


def angles(table: Table, name: str, most: float = 360.0) -> FloatArray:
    """Return a column of angles in degrees, NaN for what is unknown or beyond `most`, or if there is no such column."""
    values = table[name] if name in table.colnames else np.full(len(table), np.nan)
    numbers: FloatArray = np.ma.filled(np.ma.asarray(values, float), np.nan)
    return np.where(np.abs(numbers) <= most, numbers, np.nan)


def to_regions(table: Table) -> bytes:
    """Return the 95 % error ellipses of sources as a region file of ds9; a source without an ellipse is a point."""
    lines = ["# Region file format: DS9 version 4.1", "global color=green", "icrs"]
    columns = zip(*(angles(table, name) for name in (*PLACE, *ELLIPSE)), strict=True)
    for name, (ra, dec, major, minor, angle) in zip(table["Source_Name"], columns, strict=True):
        shape = f"point({ra:.5f},{dec:.5f}) # point=cross"
        if major > 0 and minor > 0:  # angles count from the west to the north
            shape = f"ellipse({ra:.5f},{dec:.5f},{major:.5f}d,{minor:.5f}d,{(np.nan_to_num(angle) + 90) % 360:.2f}) #"
        lines.append(f"{shape} text={{{_BRACES.sub(' ', _NO_TEXT.sub(' ', str(name)))}}}")
    return ("\n".join(lines) + "\n").encode()


def to_list(table: Table) -> bytes:
    """Return a line for each source: name with underscores for blanks, RA and declination, J2000; all are known."""
    names = ["_".join(_NO_TEXT.sub(" ", str(name)).split()) or "?" for name in table["Source_Name"]]
    width = max(map(len, (*names, _HEADER)))
    rows = [(_HEADER, "ra", "dec"), *zip(names, *sexagesimal(table), strict=True)]
    return "".join(f"{name:{width}}  {ra:10}  {dec}\n" for name, ra, dec in rows).encode()


_WRITERS = {".reg": to_regions, ".txt": to_list}
check_targets = partial(check_place, kind="a list of targets", endings=(*table_endings, *_WRITERS))


def write_targets(table: Table, path: str | os.PathLike[str], columns: Sequence[str] = ()) -> None:
    """Write sources as a table, as regions of ds9 (.reg) or as a list of names and coordinates (.txt).

    A table has all columns, or those that are given; raises SelectionError where there is no such column. A .csv file
    is to be read by people: angles have four decimals, other numbers four digits, and no probability is 1. Warns where
    regions or a list lack sources that have no position.
    """
    target = check_targets(path)
    writer = _WRITERS.get(target.suffix.lower())
    if missing := [name for name in columns if name not in table.colnames]:
        known = ", ".join(table.colnames)
        raise SelectionError(f"the list has no column {missing[0]}: choose among {known} (--columns)")
    if writer is None:
        table = table[list(columns)] if columns else table
        write_table(_in_few_digits(table) if target.suffix.lower() == ".csv" else table, path)
    else:
        placed = np.isfinite(angles(table, PLACE[0]) + angles(table, PLACE[1], 90.0))
        if not placed.all():
            warnings.warn(f"'{path}' lacks {np.sum(~placed)} of {len(table)} sources: no position", stacklevel=2)
        write_bytes(target, writer(table[placed]))


def _in_few_digits(table: Table) -> Table:
    shown = table.copy()
    for name in table.colnames:
        column = table[name]
        if column.dtype.kind == "f" and column.ndim == 1:
            numbers = np.ma.filled(np.ma.asarray(column, np.float64), np.nan)
            is_angle = column.unit == "deg" or name in PLACE
            few = np.round(numbers, 4) if is_angle else [float(f"{x:.4g}") for x in numbers.tolist()]
            shown[name] = np.minimum(few, 0.9999) if name.startswith(("P_", "Sum_P_")) else few
    return shown


def read_list(path: str | os.PathLike[str]) -> Table:
    """Read a table, or a plain list in a .txt file: names, one a line, or what :func:`write_targets` wrote."""
    text = "," if Path(path).suffix.lower() != ".txt" else decoded(read_bytes(Path(path)))
    if re.search(r"[,;\t|]", text.strip().partition("\n")[0]):
        return read_table(path)
    if text.partition("\n")[0].split() == [*_HEADER.split(), "ra", "dec"]:
        rows = [(*line.split(), "", "")[:3] for line in text.splitlines()[1:]]
        return Table(rows=[row for row in rows if row[0]], names=["name", "ra", "dec"], dtype=[str, str, str])
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return Table({"name": np.array([line for line in lines if line], str)})
