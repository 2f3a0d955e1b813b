"""Cross-matching of two releases: the same source in both."""

from __future__ import annotations

from typing import Any

import numpy as np
from astropy import units as u
from astropy.coordinates import SkyCoord
from numpy.typing import NDArray

from fermiclass.catalog import Catalog
from fermiclass.io import FloatArray

NAME_COLUMNS = ("ASSOC_4FGL", "ASSOC_FGL")  #: Columns that give the name of the same source in an earlier release.

UNMATCHED = -1  #: Index that stands for "no counterpart".

_SAME_POSITION_DEG = 1e-4  # a third of an arcsecond, finer than the precision of the catalogue's positions


def match_sources(
    earlier: Catalog, later: Catalog, *, radius_deg: float = 0.15
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Find the counterpart of every earlier source in the later release, one to one; all sources compete.

    It is the nearest neighbour within the radius, at one place that with the same name; of several sources, the nearest
    gets it. The others are matched by name, in Source_Name or `NAME_COLUMNS`: the nearest, or none of several without a
    position.

    Returns their indices in the later catalogue ``(N,)``, `UNMATCHED` where there is none, and whether they were found
    by name alone ``(N,)``. Raises ValueError unless the radius is positive.
    """
    if not radius_deg > 0:
        raise ValueError(
            f"radius_deg={radius_deg} is not a valid radius: give the largest separation in degrees, such as 0.15"
        )
    counterpart, taken = np.full(len(earlier), UNMATCHED, dtype=np.intp), np.zeros(len(later), dtype=bool)

    def claim(i: NDArray[np.intp], j: NDArray[np.intp], distance: FloatArray) -> None:
        for k in np.argsort(distance, kind="stable"):
            if not taken[j[k]]:
                counterpart[i[k]], taken[j[k]] = j[k], True

    pairs = _pairs_by_name(earlier, later)
    claim(*_nearest(earlier, later, pairs, radius_deg))
    by_position = counterpart != UNMATCHED
    claim(*_named(earlier, later, pairs[:, ~by_position[pairs[0]] & ~taken[pairs[1]]]))
    return counterpart, (counterpart != UNMATCHED) & ~by_position


def _nearest(
    earlier: Catalog, later: Catalog, pairs: NDArray[np.intp], radius_deg: float
) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
    """Return the earlier sources with neighbours within the radius, their nearest neighbour, and its distance, deg."""
    here, there = _positions(earlier), _positions(later)
    rows, later_rows = (np.flatnonzero(np.isfinite(each.ra.deg + each.dec.deg)) for each in (here, there))
    if not len(rows) or not len(later_rows):
        return rows[:0], later_rows[:0], np.empty(0)
    first, second, separation, _ = there[later_rows].search_around_sky(here[rows], radius_deg * u.deg)
    i, j, distance = rows[first], later_rows[second], separation.deg
    named = np.isin(i * len(later) + j, pairs[0] * len(later) + pairs[1])
    # Distances below the precision of the positions are ties. The name decides them.
    order = np.lexsort((j, distance, ~named, np.floor(distance / _SAME_POSITION_DEG), i))
    best = order[np.unique(i[order], return_index=True)[1]]
    return i[best], j[best], distance[best]


def _named(
    earlier: Catalog, later: Catalog, pairs: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
    """Return the earlier sources of some pairs, the nearest later source that names each, and its distance in deg."""
    i, j = pairs
    distance = np.nan_to_num(_positions(earlier)[i].separation(_positions(later)[j]).deg, nan=np.inf)
    order = np.lexsort((j, distance, i))
    _, first, count = np.unique(i[order], return_index=True, return_counts=True)
    best = order[first]
    best = best[(count == 1) | np.isfinite(distance[best])]
    return i[best], j[best], distance[best]


def _pairs_by_name(earlier: Catalog, later: Catalog) -> NDArray[np.intp]:
    """Return the pairs of an earlier source and a later one that has its name, ``(2, n)``."""
    rows: dict[str, list[int]] = {}
    for i, name in enumerate(earlier.names.tolist()):
        rows.setdefault(name, []).append(i)
    columns = [later.names, *(np.asarray(later.table[c], dtype=str) for c in NAME_COLUMNS if c in later.table.colnames)]
    named = ((j, name) for column in columns for j, name in enumerate(np.char.strip(column).tolist()))
    return np.array(sorted({(i, j) for j, name in named for i in rows.get(name, ())}), np.intp).reshape(-1, 2).T


def _positions(catalog: Catalog) -> Any:
    return SkyCoord(catalog.column("RAJ2000"), catalog.column("DEJ2000"), unit="deg")
