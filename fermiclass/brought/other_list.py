"""The list of somebody else: names or positions, with classes or probabilities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from astropy import units as u
from astropy.coordinates import Angle, SkyCoord
from astropy.table import Table
from numpy.typing import NDArray

from fermiclass.catalog.plausibility import EXPECTED, PLACES
from fermiclass.catalog.reading import fill_places, refuse_other_angles
from fermiclass.catalog.releases import warn
from fermiclass.catalog.source_names import with_hyphens
from fermiclass.errors import CatalogError, in_one_line
from fermiclass.io import FloatArray
from fermiclass.io.plain import EMPTY, numbers, texts
from fermiclass.io.target_lists import angles

#: Usual names of columns, in lower case; the first that a list has is taken.
_NAMES = (
    "source_name", "4fgl", "source_name_4fgl", "4fgl_name", "name_4fgl", "4fgl-dr4", "4fgl-dr3", "4fgl-dr2", "fgl",
    "name", "source", "assoc_4fgl", "psrj", "jname", "psr", "psrb", "bname",
)  # fmt: skip
#: Usual names of places on the sky.
PLACE_NAMES: dict[str, tuple[str, ...]] = {
    "RAJ2000": ("raj2000", "_raj2000", "ra", "ra_deg", "radeg", "ra_j2000", "ra_icrs", "_ra", "rajd", "raj"),
    "DEJ2000": ("dej2000", "_dej2000", "dec", "de", "dec_deg", "de_deg", "dedeg", "decj2000", "dec_j2000", "de_icrs",
                "dec_icrs", "_dec", "_de", "decjd", "decj"),
    "GLON": ("glon", "lii"),
    "GLAT": ("glat", "bii"),
}  # fmt: skip
_CLASSES = ("pred_class", "class", "class1", "type", "classification", "cl")  #: Labels have CLASS1, too.

EARLIER = ("ASSOC_4FGL", "ASSOC_FGL")  #: Columns with names in earlier lists.

#: The part of a gamma-ray name that says where the source is, such as J0007.0+7303.
_PLACE = re.compile(r"J\d{4}\.\d[+-]\d{4}[a-z]?", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d{1,2}")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
RADIUS = 0.1  #: Radius in degrees for sources without an error ellipse.


#: A recarray of pairs of a source and a row of another list: rows ``mine`` and ``theirs``, ``separation`` in degrees,
#: NaN if unknown, and whether they are one ``by_name``.
Pairs = Any
_PAIR = [("mine", np.intp), ("theirs", np.intp), ("separation", np.float64), ("by_name", np.bool_)]


@dataclass(frozen=True, eq=False)
class OtherList:
    """N sources of another list."""

    source: str  #: Name of the file, without its folder.
    names: NDArray[np.str_]  #: ``(N,)``, '' where unknown.
    ra: FloatArray  #: ``(N,)`` deg, NaN where unknown.
    dec: FloatArray  #: As `ra`.
    classes: NDArray[np.str_] | None = None  #: ``(N,)`` words; None without.
    probability: FloatArray | None = None  #: ``(N,)``; None without.
    radius: float = RADIUS  #: Largest separation of two positions of one source, deg.
    table: Table | None = None  #: The rows as they were given.
    columns: Mapping[str, str] = field(default_factory=dict)  #: The columns that were taken, by what they are.

    def __len__(self) -> int:
        return len(self.names)

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
        radius: float = RADIUS,
    ) -> OtherList:
        """Take the columns of a table; those that are not given are found by their usual names.

        Raises CatalogError when a column is missing or holds something else, a position is not on the sky or not at
        GLON and GLAT, there is neither a name nor a position, or the radius is not positive.
        """
        if not 0 < radius <= 10:
            raise CatalogError(f"radius={radius:g} is not valid: give degrees above 0, at most 10")
        usual = {"name": _NAMES, **PLACE_NAMES, "classes": _CLASSES, "probability": ()}
        given = {"name": name, "RAJ2000": ra, "DEJ2000": dec, "classes": class_column, "probability": probability}
        found = {x: each for x in usual if (each := _column(table, source, given.get(x), usual[x])) is not None}
        words = {x: texts(table[found[x]]) for x in ("name", "classes") if x in found}
        places = Table({"Source_Name": words.get("name", np.full(len(table), ""))})
        for each in {*PLACES} & {*found}:
            places[each] = numbers_of(table[found[each]], each, f"'{source}'", in_degrees=True)
        if {"GLON", "GLAT"} <= found.keys():
            fill_places(places, f"'{source}'")
        elif {*PLACES[:2]} <= found.keys():
            refuse_other_angles(np.array([places[x] for x in PLACES[:2]]), table[found["RAJ2000"]], f"'{source}'")
        q = numbers_of(table[found["probability"]], "", f"'{source}'") if "probability" in found else None
        if q is not None and np.any(odd := (q < 0.0) | (q > 1.0)):
            what = f"'{source}': column {found['probability']} has {q[odd][0]:g}, which is no probability"
            raise CatalogError(f"{what}. Give it from 0 to 1, and empty where it is not known.")
        if "name" not in found and not {*PLACES[:2]} <= {*places.colnames}:
            raise CatalogError(
                f"'{source}' has neither a column of names nor of positions that is known by its name; it has "
                f"{', '.join(table.colnames[:8])}. Name it {_NAMES[0]}, or ra and dec (compare: --name, --ra-column)."
            )
        at = (angles(places, "RAJ2000"), angles(places, "DEJ2000"))
        return cls(source, np.asarray(places["Source_Name"]), *at, words.get("classes"), q, radius, table, found)

    def pairs(self, names: NDArray[np.str_], *place: FloatArray, earlier: Iterable[NDArray[np.str_]] = ()) -> Pairs:
        """Return all pairs of a source and a row of this list that may be one: by name first, the nearest first.

        A row matches by its name, unless several have it; else by an `earlier` name (:func:`names_of`) that one source
        has; or else all sources in whose error ellipse it is. The `place` of N sources has right ascension and
        declination, and semi-axes and position angle, in degrees; a source without an ellipse has a circle of `radius`.
        """
        ra, dec, *ellipse = place
        row, seen = dict[str, int](), {""}
        for each in (names, *earlier):
            places = [place_of(name) for name in each.tolist()]
            repeats = Counter(places)
            row |= {place: k for k, place in enumerate(places) if repeats[place] == 1 and place not in seen}
            seen |= {*places}
        named = np.array([row.get(place_of(name), -1) if name else -1 for name in self.names.tolist()], np.intp)
        here, there = SkyCoord(ra, dec, unit="deg"), SkyCoord(self.ra, self.dec, unit="deg")
        placed = np.flatnonzero(np.isfinite(ra) & np.isfinite(dec))
        rest = np.flatnonzero((named < 0) & np.isfinite(self.ra) & np.isfinite(self.dec))
        theirs = np.flatnonzero(named >= 0)
        mine, number = named[theirs], len(theirs)
        if len(rest) and len(placed):
            major, minor, angle = (x[placed] for x in ellipse or [np.full(len(ra), np.nan)] * 3)
            a = np.where(major > 0, major, self.radius)
            b = np.where(minor > 0, minor, a)
            j, i, distance, _ = here[placed].search_around_sky(there[rest], np.max(a) * u.deg)
            turn = here[placed[i]].position_angle(there[rest[j]]).rad - np.radians(np.nan_to_num(angle[i]))
            inside = np.hypot(np.cos(turn) / a[i], np.sin(turn) / b[i]) * distance.deg <= 1.0
            mine, theirs = np.append(mine, placed[i[inside]]), np.append(theirs, rest[j[inside]])
        separation, by_name = here[mine].separation(there[theirs]).deg, np.arange(len(mine)) < number
        far = np.sum(by_name & (separation > 1.0))
        if far > max(1, 0.1 * len(mine)):
            text = f"{far} rows of '{self.source}' that match by name are more than a degree from these sources"
            warn(f"{text}. Check whether its columns belong together")
        found = np.rec.fromarrays([mine, theirs, separation, by_name], _PAIR)
        return found[np.lexsort((np.nan_to_num(separation), ~by_name))]


def names_of(table: Table, columns: Iterable[str] = EARLIER) -> list[NDArray[np.str_]]:
    """Return the columns of a catalogue, or of labels, with names of its sources in earlier lists, ``(N,)`` each."""
    return [np.asarray(table[name]).astype(str) for name in columns if name in table.colnames]


def place_of(name: str) -> str:
    """Return the part of a name that says where the source is, or else the name, in small letters."""
    found = _PLACE.search(with_hyphens("".join(name.split())))
    return (found[0] if found else name.strip()).casefold()


def _column(table: Table, source: str, given: str | None, usual: tuple[str, ...]) -> str | None:
    columns = [name for name in table.colnames if table[name].ndim == 1]
    if given is not None:
        if given not in columns:
            raise CatalogError(f"'{source}' has no column {given}; it has {', '.join(columns[:12])}. Name another.")
        return given
    by_name = {name.lower().replace(".", "").strip(): name for name in reversed(columns)}  # R.A.
    found = next((by_name[name] for name in usual if name in by_name), None)
    if found is None and usual is _NAMES:  # such as 3HSP Source name
        texts_of_names = (name for name in columns if "name" in name.lower() and table[name].dtype.kind == "U")
        return next(texts_of_names, by_name.get("id"))
    return found


def numbers_of(column: Any, name: str, shown: str, *, in_degrees: bool = False) -> FloatArray:
    """Return a column as numbers, NaN where it is empty; texts of places, and with `in_degrees` numbers, as degrees.

    Raises CatalogError when it holds others.
    """
    data, is_place = np.asarray(column), name in PLACES
    try:
        if data.dtype.kind == "b":
            raise ValueError("truth values")
        if is_place and data.dtype.kind == "U":
            found = _degrees(data, column.unit, u.hourangle if name == "RAJ2000" else u.deg)
        else:
            found = numbers(data) * ((column.unit or u.deg).to("deg") if in_degrees else 1.0)
        if in_degrees and np.any(odd := np.abs(found) > EXPECTED[name].most):
            raise ValueError(f"{found[odd][0]:g} is beyond {EXPECTED[name].most:g} degrees")
    except (ValueError, u.UnitTypeError) as error:
        what = f"column {column.name} does not hold {'angles' if is_place else 'numbers'} ({in_one_line(error)})"
        raise CatalogError(f"{shown}: {what}. Correct it, or name another.") from error
    return np.where(np.isinf(found), np.nan, found)


def _degrees(values: NDArray[np.str_], unit: u.UnitBase | None, sexagesimal: u.UnitBase) -> FloatArray:
    """Return texts of angles in degrees, ``(N,)``, NaN for an empty one; ValueError for other texts, or mixed ones.

    Decimal numbers are degrees and others sexagesimal, unless the column has a unit, or the text, such as 5h34m32s.
    """
    words = np.char.replace(np.char.strip(values), "−", "-")
    unit = None if isinstance(unit, u.UnrecognizedUnit) else unit  # VizieR has "h:m:s"
    known = ~np.isin(np.char.lower(words), EMPTY)
    decimal = [bool(_DECIMAL.fullmatch(text)) for text in words[known].tolist()]
    if not all(decimal) and all(_WHOLE.fullmatch(text) for text in words[known][decimal].tolist()):
        decimal = [False] * len(decimal)  # hours or degrees alone, beside texts with minutes
    if any(decimal) and not all(decimal):
        odd = words[known][decimal.index(False)]
        raise ValueError(f"some are decimal numbers, others sexagesimal or none, such as '{odd}': use one form")
    degrees = np.full(len(words), np.nan)
    if any(decimal):
        degrees[known] = words[known].astype(np.float64) * (unit or u.deg).to("deg")
    else:
        degrees[known] = Angle(words[known].tolist(), unit=unit or sexagesimal).deg
    return degrees
