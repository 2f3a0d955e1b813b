"""Finding a source by any of its names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog.releases import RELEASES, warn
from fermiclass.errors import SourceError

#: Columns with other names of a source. A name that the first group has is not looked for in the second.
_OTHER_NAMES = (
    ("ASSOC_4FGL", "ASSOC1", "Extended_Source_Name"),
    ("ASSOC_FGL", "ASSOC_FHL", "ASSOC_TEV", "ASSOC_GAM1", "ASSOC2"),
)

#: Columns with names made of a catalogue and a position, such as ``3FGL J0007.0+7302``.
_GAMMA_RAY_NAMES = ("ASSOC_4FGL", "ASSOC_FGL", "ASSOC_FHL", "ASSOC_GAM1")

#: What may be left out of a name: lists before 4FGL have names of their own for a source.
_PREFIXES = tuple({release.catalogue.lower() for release in RELEASES} - {"3fgl"})
_MOST_SHOWN = 8

_SPELLINGS = (("markarian", "mkn"), ("mrk", "mkn"))  #: The catalogues write Markarian's galaxies in several ways.

#: Dashes and minus signs, which papers have in place of the hyphen of a name.
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"), "-")

#: Names of earlier lists of the LAT and of AGILE, such as ``2FGL J0534.5+2201``.
_EARLIER_NAME = re.compile(r"(?:[0-3]fgl|[1-3]fhl|[12]agl)j.*")
#: A position at the end of a name: hours and minutes, degrees and arcminutes. Pulsars in one cluster have more letters.
_POSITION = re.compile(r"j(\d{2})(\d{2})(\.\d)?([+-])(\d{2})(\d{2})[a-z]{0,2}")
_RADIUS = 0.3  # degrees: positions of 1FGL and 4FGL seldom differ by more


def find_source(catalog: Any, name: str) -> int:
    """Return the row of the source of a catalogue with a name. Case and spaces do not matter, nor Mkn or Mrk.

    The names are compared in this order: Source_Name, with or without ``4FGL``; ASSOC1, and the names of an earlier
    4FGL release and of an extended source; the names in other gamma-ray catalogues and of a second association; the
    gamma-ray names without their catalogue; the first word of all these names. Last, a name of an earlier list, such as
    ``1FGL J1104.4+3812``, stands for the only source within 0.3 degrees of its position, with a `CatalogWarning`; and
    ``row 3`` for the third row.

    Raises SourceError, with the nearest names, or all such sources, when no source or more than one has the name.
    """
    wanted = _plain(name)
    if not wanted:
        raise SourceError("the name of the source is empty. Give one such as 'Mkn 421' or '4FGL J0534.5+2200'.")
    columns = [column for group in _OTHER_NAMES for column in group if column in catalog.table.colnames]
    found = _rows_of_name(catalog, wanted)
    if len(found) != 1:
        found = np.union1d(found, _rows([_first_words(catalog, column) for column in columns], wanted))
    if not len(found):
        found = _rows_at(catalog, wanted)
        if len(found) == 1:
            warn(
                f"no source is called '{name}'; this is the only one within {_RADIUS} degrees of the position in the "
                f"name: {describe_source(catalog, int(found[0]))}"
            )
    if not len(found) and (numbered := re.fullmatch(r"row([1-9]\d*)", wanted)):
        found = np.arange(len(catalog))[int(numbered[1]) - 1 :][:1]
    if len(found) == 1:
        return int(found[0])
    if not len(found):
        raise SourceError(_unknown(catalog, name, wanted, columns))
    candidates = [describe_source(catalog, int(row)) for row in found[:_MOST_SHOWN]]
    if len({*catalog.names[found]}) < len(found):  # rows tell them apart
        places = np.column_stack([catalog.column(name)[found] for name in ("RAJ2000", "DEJ2000")]).tolist()
        at = [f" at {ra:.3f}, {dec:+.3f} deg" if np.isfinite(ra + dec) else "" for ra, dec in places]
        candidates = [f"row {row + 1}{place}" for row, place in zip(found[:_MOST_SHOWN], at, strict=False)]
    more = f", and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
    raise SourceError(f"'{name}' can be {len(found)} sources: {'; '.join(candidates)}{more}. Give one of these.")


def gamma_ray_names(catalog: Any) -> list[str]:
    """Return the names of each source in other gamma-ray catalogues, separated by commas; those of FGL come first."""
    columns = [catalog.table[column] for column in _GAMMA_RAY_NAMES if column in catalog.table.colnames]
    found = []
    for row, own in enumerate(catalog.names):
        names = dict.fromkeys(str(column[row]).strip() for column in columns)
        found.append(", ".join(name for name in names if name not in ("", str(own))))
    return found


def describe_source(catalog: Any, row: int) -> str:
    """Return a source's name with its class and association, such as ``4FGL J1104.4+3812 (bll, Mkn 421)``."""
    association = str(catalog.table["ASSOC1"][row]) if "ASSOC1" in catalog.table.colnames else ""
    about = [text for text in (str(catalog.classes[row]), association) if text]
    return f"{catalog.names[row]} ({', '.join(about) or 'unassociated'})"


def _rows_of_name(catalog: Any, wanted: str) -> NDArray[np.intp]:
    """Return the rows of the first group of names that has the name."""
    found = _rows([np.array([_strip(_plain(str(name))) for name in catalog.names])], _strip(wanted))
    for group in _OTHER_NAMES:
        if not len(found):
            found = _rows(
                [_plain_column(catalog, column) for column in group if column in catalog.table.colnames], wanted
            )
    if not len(found) and wanted.startswith("j"):
        gamma = [column for column in _GAMMA_RAY_NAMES if column in catalog.table.colnames]
        bare = [np.array([text.rpartition("j")[2] for text in _plain_column(catalog, column)]) for column in gamma]
        found = _rows(bare, wanted[1:])
    return found


def _rows_at(catalog: Any, wanted: str) -> NDArray[np.intp]:
    """Return the rows near the position in a name of an earlier list."""
    place = position_in_name(wanted) if _EARLIER_NAME.fullmatch(wanted) else None
    if place is None:
        return np.empty(0, np.intp)
    alpha, delta = np.radians(place[:2])
    ra, dec = (np.radians(np.asarray(catalog.table[column], float)) for column in ("RAJ2000", "DEJ2000"))
    half = np.sin((dec - delta) / 2) ** 2 + np.cos(dec) * np.cos(delta) * np.sin((ra - alpha) / 2) ** 2
    return np.flatnonzero(half < np.sin(np.radians(_RADIUS) / 2) ** 2)


def position_in_name(name: str) -> tuple[float, float, float] | None:
    """Return the position in a name such as ``PSR J1539-3323``, and how far off it can be, deg; None without one.

    Names have the first digits of a position, without rounding.
    """
    match = _POSITION.search(_plain(name))
    if match is None:
        return None
    hours, minutes, tenth, sign, degrees, arcminutes = match.groups()
    step = 1.0 if tenth is None else 0.1  # of the minutes
    ra = 15.0 * (int(hours) + (float(minutes + (tenth or "")) + 0.5 * step) / 60.0)
    dec = int(degrees) + (int(arcminutes) + 0.5) / 60.0
    reach = float(np.hypot(7.5 * step * np.cos(np.radians(dec)), 0.5)) / 60.0
    return ra, -dec if sign == "-" else dec, reach


def _first_words(catalog: Any, column: str) -> NDArray[np.str_]:
    """Return the first words of names of several words, such as ``vela`` of ``Vela Pulsar``."""
    split = [str(text).split() for text in catalog.table[column]]
    return np.array([_plain(words[0]) if len(words) > 1 and words[0].isalpha() else "" for words in split])


def with_hyphens(name: str) -> str:
    """Return a name with hyphens in place of dashes and minus signs."""
    return name.translate(_DASHES)


def _plain(name: str) -> str:
    plain = with_hyphens("".join(name.split())).casefold()
    for spelling, usual in _SPELLINGS:
        if plain.startswith(spelling):
            return usual + plain.removeprefix(spelling)
    return plain


def _plain_column(catalog: Any, column: str) -> NDArray[np.str_]:
    return np.array([_plain(str(text)) for text in catalog.table[column]])


def _strip(name: str) -> str:
    return next((name[len(prefix) :] for prefix in _PREFIXES if name.startswith(prefix)), name)


def _rows(columns: Sequence[NDArray[np.str_]], wanted: str) -> NDArray[np.intp]:
    return np.flatnonzero(np.any([column == wanted for column in columns], axis=0)) if columns else np.empty(0, np.intp)


def _unknown(catalog: Any, name: str, wanted: str, columns: Sequence[str]) -> str:
    """Return the message with the nearest names, each with its source."""
    owner: dict[str, tuple[str, int]] = {}
    for column in (*columns, "Source_Name"):
        for row, text in enumerate(catalog.table[column]):
            if text:
                owner.setdefault(_plain(str(text)), (str(text), row))
    for row, text in enumerate(catalog.names):  # users leave out the prefix
        owner.setdefault(_strip(_plain(str(text))), (str(text), row))
    nearest: dict[int, str] = {}
    for close in difflib.get_close_matches(wanted, owner, n=_MOST_SHOWN):
        text, row = owner[close]
        nearest.setdefault(row, text if text == catalog.names[row] else f"{text} ({catalog.names[row]})")
    hint = f" Nearest names: {'; '.join(list(nearest.values())[:5])}." if nearest else " Check its spelling."
    tried = ", ".join(("Source_Name", *columns))
    return f"no source of {catalog.source} is called '{name}' (in {tried}).{hint}"
