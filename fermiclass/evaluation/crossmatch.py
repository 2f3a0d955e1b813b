"""Cross-matching of two releases: the same source in both, and its class in the later one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import DEFAULT_CLASSES, Catalog, ClassGrouping

if TYPE_CHECKING:
    from fermiclass.io.arrays import FloatArray

#: Columns that give the name of the same source in an earlier release.
NAME_COLUMNS = ("ASSOC_4FGL", "ASSOC_FGL")

#: Index that stands for "no counterpart".
UNMATCHED = -1

_SAME_POSITION_DEG = 1e-4  # a third of an arcsecond, finer than the precision of the catalogue's positions


@dataclass(frozen=True, eq=False)
class Matches:
    """The n sources that have no class in an earlier release and a class in a later one.

    Attributes
    ----------
    rows
        (n,) indices of the sources in the earlier catalogue, rising.
    y
        (n,) group of classes in the later release.
    status
        (n,) status in the earlier release: '' (no association), 'bcu' or 'unk'.
    later_rows
        (n,) indices of the sources in the later catalogue.
    targets
        (T,) indices of all sources without a class in the earlier catalogue, rising.
    counts
        ``targets`` is T. ``by_position``, ``by_name`` and ``unmatched`` sum to T. ``scored`` is n.
    earlier, later
        Names of the releases.
    """

    rows: NDArray[np.intp]
    y: NDArray[np.str_]
    status: NDArray[np.str_]
    later_rows: NDArray[np.intp]
    targets: NDArray[np.intp]
    counts: Mapping[str, int]
    earlier: str
    later: str

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        """Return a summary for the user."""
        groups, numbers = np.unique(self.y, return_counts=True)
        classes = ", ".join(f"{number} {group}" for group, number in zip(groups, numbers, strict=True))
        return (
            f"{self.earlier} has {self.counts['targets']} sources without a class: {self.counts['by_position']} are "
            f"found in {self.later} by position, {self.counts['by_name']} by name, {self.counts['unmatched']} are not "
            f"found. {len(self)} of them have a class in {self.later} ({classes or 'none'}); "
            f"{np.sum(self.status == '')} of these had no association."
        )


def later_classes(
    earlier: Catalog, later: Catalog, grouping: str | ClassGrouping = DEFAULT_CLASSES, *, radius_deg: float = 0.15
) -> Matches:
    """Return the sources that have no class in an earlier release and a class in a later one.

    Sources whose later class stands for several groups are left out.

    Parameters
    ----------
    earlier, later
        The two releases.
    grouping
        Grouping of the catalogue's classes. It decides which sources have no class, and which classes are scored.
    radius_deg
        Largest separation of the two positions, in degrees.

    Raises
    ------
    ValueError
        When the radius is not positive.
    """
    grouping = ClassGrouping.parse(grouping)
    counterpart, by_name = match_sources(earlier, later, radius_deg=radius_deg)
    targets = np.flatnonzero(grouping.is_target(earlier.classes, "uncertain"))
    found, named = counterpart[targets], by_name[targets]
    y = np.where(found == UNMATCHED, "", grouping.assign(later.classes)[found])
    scored = np.isin(y, grouping.names)
    counts = {
        "targets": len(targets),
        "by_position": int(np.sum((found != UNMATCHED) & ~named)),
        "by_name": int(np.sum(named)),
        "unmatched": int(np.sum(found == UNMATCHED)),
        "scored": int(np.sum(scored)),
    }
    return Matches(
        rows=targets[scored],
        y=y[scored],
        status=earlier.classes[targets[scored]],
        later_rows=found[scored],
        targets=targets,
        counts=counts,
        earlier=earlier.release.name,
        later=later.release.name,
    )


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

    Returns
    -------
    counterpart
        (N,) indices in the later catalogue, `UNMATCHED` where there is none.
    by_name
        (N,) whether the counterpart was found by name alone.
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
    from astropy import units as u

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
    columns = [later.names, *(np.asarray(later.table[c], dtype=str) for c in NAME_COLUMNS if later.has_column(c))]
    known = set(earlier.names.tolist())
    for column in columns:
        for k, name in enumerate(np.char.strip(column).tolist()):
            if name in known:
                names.setdefault(name, set()).add(k)
    return names


def _positions(catalog: Catalog) -> Any:
    from astropy import units as u
    from astropy.coordinates import SkyCoord

    lon, lat = (np.asarray(catalog.table[name], dtype=np.float64) for name in ("RAJ2000", "DEJ2000"))
    return SkyCoord(lon * u.deg, lat * u.deg)


def _with_position(positions: Any) -> NDArray[np.intp]:
    return np.flatnonzero(np.isfinite(positions.ra.deg) & np.isfinite(positions.dec.deg))
