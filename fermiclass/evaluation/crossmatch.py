"""Which source of a later release is a source of an earlier one, and the class that it has got meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import Catalog, ClassGrouping

if TYPE_CHECKING:
    from fermiclass.features.transforms import FloatArray

#: Columns of a release that name the same source in an earlier one.
NAME_COLUMNS = ("ASSOC_4FGL", "ASSOC_FGL")

#: Index that stands for "no counterpart".
UNMATCHED = -1

_SAME_POSITION_DEG = 1e-4  # a third of an arcsecond: below the precision of the catalogue's positions


@dataclass(frozen=True, eq=False)
class Matches:
    """The sources without a class that a later release gives one: n of them are scored.

    Attributes
    ----------
    rows
        (n,) their indices in the earlier catalogue, rising.
    y
        (n,) the group of classes that the later release gives them.
    status
        (n,) what the earlier release said: '' (no association), 'bcu' or 'unk'.
    later_rows
        (n,) their indices in the later catalogue.
    targets
        (T,) indices in the earlier catalogue of all sources without a class, rising.
    counts
        ``targets`` (T), ``by_position``, ``by_name``, ``unmatched``, which sum to T, and ``scored`` (n).
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
        """Return a sentence for the user."""
        groups, numbers = np.unique(self.y, return_counts=True)
        classes = ", ".join(f"{number} {group}" for group, number in zip(groups, numbers, strict=True))
        return (
            f"Of {self.counts['targets']} sources without a class in {self.earlier}, {self.counts['by_position']} are "
            f"found in {self.later} by position and {self.counts['by_name']} by name, {self.counts['unmatched']} are "
            f"not; {len(self)} have a class there ({classes or 'none'}), of which {np.sum(self.status == '')} had no "
            "association at all."
        )


def later_classes(
    earlier: Catalog, later: Catalog, grouping: str | ClassGrouping = "bll,fsrq,psr", *, radius_deg: float = 0.15
) -> Matches:
    """Return the sources that an earlier release leaves without a class and a later one does not.

    Parameters
    ----------
    earlier, later
        Two releases.
    grouping
        Of the catalogue's classes; it decides which sources lack a class, and which classes count in the later release.
    radius_deg
        Farthest that a position may have moved, in degrees.

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
    scored = y != ""
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
    """Find the later release's counterpart of every earlier source, one to one.

    A source's counterpart is its nearest neighbour within the radius; of neighbours at the same position, the one that
    has its name. Where several sources have the same nearest neighbour, the nearest of them gets it. What is left is
    matched by name: the same Source_Name, or a later source that names the earlier one in `NAME_COLUMNS`; of several
    that do, the nearest, and none if that cannot be told. All sources compete, not only those without a class: the
    neighbour of a target may be the counterpart of a known source.

    Returns
    -------
    counterpart
        (N,) indices in the later catalogue, `UNMATCHED` where there is none.
    by_name
        (N,) whether it was found by name alone.
    """
    if not radius_deg > 0:
        raise ValueError(f"radius_deg={radius_deg} is no radius: give the largest separation in degrees, such as 0.15")
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
    """Earlier sources that have neighbours within the radius, the nearest of these, and its distance in degrees."""
    from astropy import units as u

    positions, later_positions = _positions(earlier), _positions(later)
    rows, later_rows = _with_position(positions), _with_position(later_positions)
    if not len(rows) or not len(later_rows):
        return rows[:0], later_rows[:0], np.empty(0)
    first, second, separation, _ = later_positions[later_rows].search_around_sky(positions[rows], radius_deg * u.deg)
    i, j, distance = rows[first], later_rows[second], separation.deg
    named = np.array([b in names.get(earlier.names[a], ()) for a, b in zip(i, j, strict=True)], dtype=bool)
    # Distances below the catalogue's precision are ties, which the name decides.
    order = np.lexsort((j, distance, ~named, np.floor(distance / _SAME_POSITION_DEG), i))
    i, j, distance = i[order], j[order], distance[order]
    best = np.unique(i, return_index=True)[1]
    return i[best], j[best], distance[best]


def _named(
    earlier: Catalog, later: Catalog, names: Mapping[str, set[int]], rows: NDArray[np.intp], taken: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
    """Of these earlier sources, those that the later release names; which source does, and its distance."""
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
    """For every name that the later release knows a source by, the indices of the sources."""
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
