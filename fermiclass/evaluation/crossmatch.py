"""Cross-matching of two releases: the same source in both, and its class in the later one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from astropy import units as u
from astropy.coordinates import SkyCoord
from numpy.typing import NDArray

from fermiclass.catalog import Catalog, ClassGrouping
from fermiclass.io.arrays import FloatArray

NAME_COLUMNS = ("ASSOC_4FGL", "ASSOC_FGL")  #: Columns that give the name of the same source in an earlier release.

UNMATCHED = -1  #: Index that stands for "no counterpart".

_SAME_POSITION_DEG = 1e-4  # a third of an arcsecond, finer than the precision of the catalogue's positions


def later_classes(
    earlier: Catalog, later: Catalog, grouping: ClassGrouping, *, radius_deg: float = 0.15
) -> tuple[NDArray[np.intp], NDArray[np.str_], dict[str, int]]:
    """Return the sources that have no class in an earlier release, and their group of classes in a later one.

    Returns their T indices, rising; their groups ``(T,)``, '' for sources that are not found, have no class of the
    grouping, or a class that stands for several groups; and numbers of sources: ``targets`` is T, ``by_position``,
    ``by_name`` and ``unmatched`` sum to T, and ``scored`` are those with a group.
    """
    counterpart, by_name = match_sources(earlier, later, radius_deg=radius_deg)
    targets = np.flatnonzero(earlier.is_target(grouping))
    found, named = counterpart[targets], by_name[targets]
    group = np.where(found == UNMATCHED, "", grouping.assign(later.classes)[found])
    y = np.where(np.isin(group, grouping.names), group, "")
    counts = {
        "targets": len(targets),
        "by_position": int(np.sum((found != UNMATCHED) & ~named)),
        "by_name": int(np.sum(named)),
        "unmatched": int(np.sum(found == UNMATCHED)),
        "scored": int(np.sum(y != "")),
    }
    return targets, y, counts


def match_sources(
    earlier: Catalog, later: Catalog, *, radius_deg: float = 0.15
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Find the counterpart of every earlier source in the later release, one to one.

    The counterpart of a source is its nearest neighbour within the radius. If several neighbours have the same
    position, it is the one with the same name. If several sources have the same nearest neighbour, the nearest of them
    gets it. The remaining sources are matched by name: the later source has the same Source_Name, or names the earlier
    source in `NAME_COLUMNS`. If several later sources do, the nearest is the counterpart, or none if a position is
    missing. All sources compete, not only those without a class, because the neighbour of a target may be the
    counterpart of a known source.

    Returns their indices in the later catalogue ``(N,)``, `UNMATCHED` where there is none, and whether they were found
    by name alone ``(N,)``.
    """
    if not radius_deg > 0:
        raise ValueError(
            f"radius_deg={radius_deg} is not a valid radius: give the largest separation in degrees, such as 0.15"
        )
    names = _names_of_earlier(earlier, later)
    counterpart = np.full(len(earlier), UNMATCHED, dtype=np.intp)
    by_name = np.zeros(len(earlier), dtype=bool)
    taken = np.zeros(len(later), dtype=bool)

    def claim(rows: NDArray[np.intp], neighbour: NDArray[np.intp], distance: FloatArray) -> Iterator[int]:
        for k in np.argsort(distance, kind="stable"):
            if not taken[neighbour[k]]:
                counterpart[rows[k]] = neighbour[k]
                taken[neighbour[k]] = True
                yield rows[k]

    list(claim(*_nearest(earlier, later, names, radius_deg)))
    rows, neighbour, distance = _named(earlier, later, names, np.flatnonzero(counterpart == UNMATCHED), taken)
    for row in claim(rows, neighbour, distance):
        by_name[row] = True
    return counterpart, by_name


def _nearest(
    earlier: Catalog, later: Catalog, names: Mapping[str, set[int]], radius_deg: float
) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
    """Return the earlier sources with neighbours within the radius, their nearest neighbour, and its distance, deg."""
    positions, later_positions = _positions(earlier), _positions(later)
    rows, later_rows = _with_position(positions), _with_position(later_positions)
    if not len(rows) or not len(later_rows):
        return rows[:0], later_rows[:0], np.empty(0)
    first, second, separation, _ = later_positions[later_rows].search_around_sky(positions[rows], radius_deg * u.deg)
    i, j, distance = rows[first], later_rows[second], separation.deg
    named = np.array([b in names.get(earlier.names[a], ()) for a, b in zip(i, j, strict=True)], dtype=bool)
    # Distances below the precision of the positions are ties. The name decides them.
    order = np.lexsort((j, distance, ~named, np.floor(distance / _SAME_POSITION_DEG), i))
    i, j, distance = i[order], j[order], distance[order]
    best = np.unique(i, return_index=True)[1]
    return i[best], j[best], distance[best]


def _named(
    earlier: Catalog, later: Catalog, names: Mapping[str, set[int]], rows: NDArray[np.intp], taken: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
    """Return those of the earlier sources that a later source names, that later source, and its distance in degrees."""
    positions, later_positions = _positions(earlier), _positions(later)
    found: list[tuple[int, int, float]] = []
    for row in rows:
        candidates = sorted(k for k in names.get(earlier.names[row], ()) if not taken[k])
        if not candidates:
            continue
        distance = np.nan_to_num(positions[row].separation(later_positions[candidates]).deg, nan=np.inf)
        k = int(np.argmin(distance))
        if len(candidates) == 1 or np.isfinite(distance[k]):
            found.append((row, candidates[k], distance[k]))
    i, j, d = zip(*found, strict=True) if found else ((), (), ())
    return np.array(i, dtype=np.intp), np.array(j, dtype=np.intp), np.array(d, dtype=np.float64)


def _names_of_earlier(earlier: Catalog, later: Catalog) -> dict[str, set[int]]:
    """Return the indices of the later sources by every name of an earlier source that they have."""
    names: dict[str, set[int]] = {}
    columns = [later.names, *(np.asarray(later.table[c], dtype=str) for c in NAME_COLUMNS if c in later.table.colnames)]
    known = set(earlier.names.tolist())
    for column in columns:
        for k, name in enumerate(np.char.strip(column).tolist()):
            if name in known:
                names.setdefault(name, set()).add(k)
    return names


def _positions(catalog: Catalog) -> Any:
    lon, lat = (np.asarray(catalog.table[name], dtype=np.float64) for name in ("RAJ2000", "DEJ2000"))
    return SkyCoord(lon * u.deg, lat * u.deg)


def _with_position(positions: Any) -> NDArray[np.intp]:
    return np.flatnonzero(np.isfinite(positions.ra.deg) & np.isfinite(positions.dec.deg))
