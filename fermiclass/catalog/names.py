"""Finding a source by any of its names."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import SourceError

if TYPE_CHECKING:
    from fermiclass.catalog.catalog import Catalog

#: Columns of other names, those that say most plainly what the source is first; names found in an earlier group count.
_OTHER_NAMES = (
    ("ASSOC_4FGL", "ASSOC1", "Extended_Source_Name"),
    ("ASSOC_FGL", "ASSOC_FHL", "ASSOC_TEV", "ASSOC_GAM1", "ASSOC2"),
)

#: Columns whose names are a catalogue's and a position's, such as ``3FGL J0007.0+7302``.
_GAMMA_RAY_NAMES = ("ASSOC_4FGL", "ASSOC_FGL", "ASSOC_FHL", "ASSOC_GAM1")

_PREFIXES = ("4fgl", "fl8y")
_MOST_SHOWN = 8


def find_source(catalog: Catalog, name: str) -> int:
    """Return the row of the source with a name, in whatever case and spacing.

    In this order, the first that fits: Source_Name, with or without ``4FGL``; the name of the association (ASSOC1), of
    an earlier 4FGL release or of an extended source; names in other gamma-ray catalogues and of a second association
    (ASSOC_FGL, ASSOC_FHL, ASSOC_TEV, ASSOC_GAM1, ASSOC2); and the former ones without their catalogue.

    Parameters
    ----------
    catalog
        Where to look.
    name
        Such as ``4FGL J0534.5+2200``, ``j0534.5+2200``, ``Mkn 421`` or ``3FGL J0007.0+7302``.

    Raises
    ------
    SourceError
        When no source is called so, with the nearest names, or several are, with all of them.
    """
    wanted = _plain(name)
    if not wanted:
        raise SourceError("the name of the source is empty. Give one such as 'Mkn 421' or '4FGL J0534.5+2200'.")
    found = np.flatnonzero(_without_prefix(catalog.names) == _strip(wanted))
    columns = [[column for column in group if catalog.has_column(column)] for group in _OTHER_NAMES]
    for group in columns:
        if not len(found):
            found = _rows([_plain_column(catalog, column) for column in group], wanted)
    if not len(found) and wanted.startswith("j"):
        gamma = [column for column in _GAMMA_RAY_NAMES if catalog.has_column(column)]
        bare = [np.array([text.rpartition("j")[2] for text in _plain_column(catalog, column)]) for column in gamma]
        found = _rows(bare, wanted[1:])
    if len(found) == 1:
        return int(found[0])
    if not len(found):
        raise SourceError(_unknown(catalog, name, wanted, [column for group in columns for column in group]))
    candidates = [describe_source(catalog, int(row)) for row in found[:_MOST_SHOWN]]
    more = f", and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
    raise SourceError(
        f"'{name}' is the name of {len(found)} sources: {'; '.join(candidates)}{more}. Give one of these."
    )


def describe_source(catalog: Catalog, row: int) -> str:
    """Return a source's name with its class and association, such as ``4FGL J1104.4+3812 (bll, Mkn 421)``."""
    association = str(catalog.table["ASSOC1"][row]) if catalog.has_column("ASSOC1") else ""
    about = [text for text in (str(catalog.classes[row]), association) if text]
    return f"{catalog.names[row]} ({', '.join(about) or 'unassociated'})"


def _plain(name: str) -> str:
    return "".join(name.split()).replace("−", "-").casefold()


def _plain_column(catalog: Catalog, column: str) -> NDArray[np.str_]:
    return np.array([_plain(str(text)) for text in catalog.table[column]])


def _strip(name: str) -> str:
    return next((name[len(prefix) :] for prefix in _PREFIXES if name.startswith(prefix)), name)


def _without_prefix(names: NDArray[np.str_]) -> NDArray[np.str_]:
    return np.array([_strip(_plain(str(name))) for name in names])


def _rows(columns: Sequence[NDArray[np.str_]], wanted: str) -> NDArray[np.intp]:
    return np.flatnonzero(np.any([column == wanted for column in columns], axis=0)) if columns else np.empty(0, np.intp)


def _unknown(catalog: Catalog, name: str, wanted: str, columns: Sequence[str]) -> str:
    """Say what the nearest names are, each with the source it belongs to."""
    owner: dict[str, tuple[str, int]] = {}
    for column in (*columns, "Source_Name"):
        for row, text in enumerate(catalog.table[column]):
            if text:
                owner[_plain(str(text))] = (str(text), row)
    for row, text in enumerate(catalog.names):  # as users shorten them
        owner.setdefault(_strip(_plain(str(text))), (str(text), row))
    nearest: dict[int, str] = {}
    for close in difflib.get_close_matches(wanted, owner, n=_MOST_SHOWN):
        text, row = owner[close]
        nearest.setdefault(row, text if text == catalog.names[row] else f"{text} ({catalog.names[row]})")
    hint = f" Nearest names: {'; '.join(list(nearest.values())[:5])}." if nearest else " Check its spelling."
    return f"no source of {catalog.source} is called '{name}'.{hint}"
