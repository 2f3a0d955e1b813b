"""The list of somebody else: names or positions, with classes or probabilities."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from astropy import units as u
from astropy.coordinates import Angle, SkyCoord
from astropy.table import Table
from numpy.typing import NDArray

from fermiclass.errors import CatalogError
from fermiclass.io.arrays import FloatArray
from fermiclass.io.tables import read_table

#: Usual names of columns, in lower case; the first that a list has is taken.
_NAMES = ("source_name", "4fgl", "4fgl_name", "fgl", "name", "source", "assoc_4fgl", "id")
_RA = ("raj2000", "_raj2000", "_ra", "ra_icrs", "ra", "ra_deg")
_DEC = ("dej2000", "_dej2000", "decj2000", "_dec", "_de", "de_icrs", "dec_icrs", "dec", "de", "dec_deg")
_CLASSES = ("class", "class1", "pred_class", "type", "classification", "cl")

#: The part of a gamma-ray name that says where the source is, such as J0007.0+7303.
_PLACE = re.compile(r"J\d{4}\.\d[+-]\d{4}[a-z]?")


@dataclass(frozen=True, eq=False)
class OtherList:
    """N sources of another list.

    Attributes
    ----------
    source
        Name of the file.
    names
        ``(N,)``, '' where unknown.
    ra, dec
        ``(N,)`` deg, NaN where unknown.
    classes
        ``(N,)`` words; None without.
    probability
        ``(N,)``; None without.
    radius
        Largest separation of two positions of one source, deg.
    """

    source: str
    names: NDArray[np.str_]
    ra: FloatArray
    dec: FloatArray
    classes: NDArray[np.str_] | None = None
    probability: FloatArray | None = None
    radius: float = 0.1

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def read(cls, path: str | os.PathLike[str], **columns: Any) -> OtherList:
        """Read a table of any format; see :meth:`of`.

        Raises
        ------
        CatalogError
            As by :func:`fermiclass.io.tables.read_table` and :meth:`of`.
        """
        return cls.of(read_table(path), os.fspath(path), **columns)

    @classmethod
    def of(
        cls,
        table: Table,
        source: str = "<Table>",
        *,
        name: str | None = None,
        ra: str | None = None,
        dec: str | None = None,
        class_column: str | None = None,
        probability: str | None = None,
        radius: float = 0.1,
    ) -> OtherList:
        """Take the columns of a table; those that are not given are found by their usual names.

        Raises
        ------
        CatalogError
            When a column is missing or holds no numbers, there is neither a name nor a position, or the radius is not
            positive.
        """
        if not 0 < radius <= 10:
            raise CatalogError(f"radius={radius:g} is not valid: give degrees above 0, at most 10")
        found = {
            "name": _column(table, source, name, _NAMES),
            "ra": _column(table, source, ra, _RA),
            "dec": _column(table, source, dec, _DEC),
            "classes": _column(table, source, class_column, _CLASSES),
            "probability": _column(table, source, probability, ()),
        }
        has_position = found["ra"] is not None and found["dec"] is not None
        if found["name"] is None and not has_position:
            raise CatalogError(
                f"'{source}' has neither a column of names nor of positions that is known by its name; it has "
                f"{', '.join(table.colnames[:8])}. Name them (--name, or --ra and --dec)."
            )
        nothing = np.full(len(table), np.nan)
        return cls(
            source,
            np.full(len(table), "") if found["name"] is None else _texts(table, found["name"]),
            _degrees(table, found["ra"], source, hours=True) if found["ra"] is not None else nothing,
            _degrees(table, found["dec"], source) if found["dec"] is not None else nothing,
            None if found["classes"] is None else _texts(table, found["classes"]),
            None if found["probability"] is None else _numbers(table, found["probability"], source),
            radius,
        )

    def match(self, labels: Table) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray, NDArray[np.bool_]]:
        """Return the rows of the labels and of this list that are one source, their separation, and if by name.

        By name first, then the nearest position within the radius; each label at most once.
        """
        row = {_place(str(name)): k for k, name in enumerate(labels["Source_Name"])}
        mine = np.array([row.get(_place(str(name)), -1) if name else -1 for name in self.names], np.intp)
        by_name = mine >= 0
        at = SkyCoord(*(np.asarray(labels[column], float) * u.deg for column in ("RAJ2000", "DEJ2000")))
        rest = np.flatnonzero(~by_name & np.isfinite(self.ra) & np.isfinite(self.dec))
        if len(rest) and len(labels):
            nearest, distance, _ = SkyCoord(self.ra[rest] * u.deg, self.dec[rest] * u.deg).match_to_catalog_sky(at)
            mine[rest] = np.where(distance.deg <= self.radius, nearest, -1)
        theirs = np.flatnonzero(mine >= 0)
        separation = np.full(len(theirs), np.nan)
        known = np.isfinite(self.ra[theirs]) & np.isfinite(self.dec[theirs])
        place = SkyCoord(self.ra[theirs[known]] * u.deg, self.dec[theirs[known]] * u.deg)
        separation[known] = at[mine[theirs[known]]].separation(place).deg
        order = np.lexsort((np.nan_to_num(separation), ~by_name[theirs]))
        first = order[np.sort(np.unique(mine[theirs][order], return_index=True)[1])]
        theirs, separation = theirs[first], separation[first]
        return mine[theirs], theirs, separation, by_name[theirs]


def _place(name: str) -> str:
    found = _PLACE.search(name.replace("−", "-").replace(" ", ""))
    return found[0] if found else name.strip().casefold()


def _column(table: Table, source: str, given: str | None, usual: tuple[str, ...]) -> str | None:
    if given is not None:
        if given not in table.colnames:
            raise CatalogError(
                f"'{source}' has no column {given}; it has {', '.join(table.colnames[:12])}. Name another."
            )
        return given
    by_name = {name.lower(): name for name in reversed(table.colnames)}
    return next((by_name[name] for name in usual if name in by_name), None)


def _texts(table: Table, name: str) -> NDArray[np.str_]:
    return np.char.strip(np.asarray(table[name]).astype(str))


def _numbers(table: Table, name: str, source: str) -> FloatArray:
    try:
        return np.asarray(table[name]).astype(np.float64)
    except ValueError as error:
        raise CatalogError(f"the column {name} of '{source}' does not hold numbers ({error}). Name another.") from error


def _degrees(table: Table, name: str, source: str, *, hours: bool = False) -> FloatArray:
    """Return a column as degrees; text is sexagesimal, of right ascension in hours."""
    values = np.asarray(table[name])
    if values.dtype.kind != "U":
        return _numbers(table, name, source)
    try:
        return np.asarray(Angle(values.tolist(), unit="hourangle" if hours else "deg").deg, np.float64)
    except ValueError as error:
        raise CatalogError(f"the column {name} of '{source}' does not hold angles ({error}). Name another.") from error
