"""Tables of objects that may be the counterparts of gamma-ray sources, and where they lie in the error ellipses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from astropy.table import Table
from numpy.typing import NDArray

from fermiclass.brought.object_columns import CHI2_95, ellipse, object_columns
from fermiclass.brought.other_list import place_of
from fermiclass.brought.published import stranger
from fermiclass.catalog.classes import CLASS_TREE, UNCERTAIN_CLASSES
from fermiclass.catalog.origin import digest
from fermiclass.catalog.releases import warn
from fermiclass.errors import CatalogError
from fermiclass.io import FloatArray
from fermiclass.io.tables import read_table
from fermiclass.io.target_lists import ELLIPSE, PLACE, angles

#: What a table covers: all of a part of the sky, only error ellipses, or claimed counterparts in the ellipses.
COVERS = ("all", "ellipses", "claims")
KINDS = tuple(CLASS_TREE)  #: The kinds of sources that may have counterparts in a table.
STATUSES = ("unassociated", *UNCERTAIN_CLASSES)  #: Sources for which counterparts can be sought.

_CHI2_REACH = -2.0 * np.log(0.001)  # of two coordinates, that 99.9 % of the true positions have at most
_NEIGHBOURS = 50  # objects from which the density around a source is counted, at least
_EDGE = 4.0 / (3.0 * np.pi)  # mean offset of neighbours at a straight edge of the table, where the farthest has 1
#: Objects of one table, and those of two with exact positions, are one if they are closer than this, in degrees.
_SAME, _SAME_IN_TWO = 0.1 / 3600.0, 5.0 / 3600.0
_FEW_INSIDE = 3.0  # objects in an ellipse; with fewer many ellipses have none
_INSIDE = 0.98  # share of objects within the 95 % ellipses, from which on a table has no others
_EDGE_95 = -np.log(0.05)  # −ln(1 − probability) of a real counterpart is exponential up to this
#: u below which one of 3000 real counterparts is; more objects there, and than a part of all near, are none.
_AT_THE_CENTRE, _FEW_CENTRED, _PART_CENTRED = 1e-4, 4, 1e-3
_MEAN_REAL = 0.5 - (1.0 / _EDGE_95 - 0.05 / 0.95)  # ½ less the mean u of real counterparts
_TO_TELL_CHANCE = 300  # objects in ellipses
_LARGEST = 3.0  # degrees: a larger error says nothing
_TINY, _SKY = 1e-300, 129600.0 / np.pi  # deg² of the sky
_STEPS_OF_DENSITY = 50
_OF_LATITUDE, _STEPS_OF_LATITUDE = 25, 400  # objects that tell the density at one, and steps of an integral


class Surroundings(NamedTuple):
    """P pairs of a source and a candidate near it, and how the candidates lie around N sources."""

    source: NDArray[np.intp]  #: (P,) rows of the sources.
    candidate: NDArray[np.intp]  #: (P,) rows of the candidates.
    u: FloatArray  #: (P,) squared separation, in units of the 95 % error ellipse: 1 on its edge.
    #: (P, K) density of the counterpart's position over that of candidates of the category by chance.
    excess: FloatArray
    covered: NDArray[np.bool_]  #: (N,) whether the table covers the source.
    chance: FloatArray  #: (N,) candidates that the 95 % ellipse has by chance.
    #: (N,) probability that the source would not be covered if it had no counterpart, as no object is there by chance.
    unseen: FloatArray
    centred: int  #: Candidates at the very place of a source, which are in no pair: they are LAT sources.


@dataclass(frozen=True, eq=False)
class Candidates:
    """M objects of another catalogue, in K categories."""

    source: str  #: Name of the file, without its folder.
    sha256: str  #: Checksum of the content.
    names: NDArray[np.str_]  #: (M,), '' where unknown.
    ra: FloatArray  #: (M,) deg.
    dec: FloatArray  #: (M,) deg.
    covariance: FloatArray  #: (M, 3) deg², of the position: east-east, north-north, east-north.
    categories: tuple[str, ...]  #: Names of the K categories.
    membership: FloatArray  #: (M, K) probability of each category; rows sum to 1.
    covers: str = "all"  #: One of :data:`COVERS`.
    kinds: tuple[str, ...] = ("agn",)  #: Kinds of sources that may have them as counterparts, of :data:`KINDS`.
    notes: tuple[str, ...] = ()  #: Sentences on what was taken.
    statuses: tuple[str, ...] = STATUSES[:1]  #: The sources for which counterparts are sought, of :data:`STATUSES`.
    #: (M,) flux, NaN where unknown, by which :meth:`parted` makes categories, and its error; None without.
    flux: FloatArray | None = None
    flux_error: FloatArray | None = None
    #: Names of the LAT sources that were searched, with or without success; none where the table does not say.
    searched: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Candidates {self.source}: {len(self)} objects, covers {self.covers}, for {', '.join(self.kinds)}>"

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        covers: str | None = None,
        kinds: Sequence[str] = ("agn",),
        statuses: Sequence[str] = STATUSES[:1],
    ) -> Candidates:
        """Read a table in any format; see :meth:`of`."""
        return cls.of(read_table(path), Path(path).name, covers, kinds, statuses)

    @classmethod
    def of(
        cls,
        table: Table,
        source: str = "<Table>",
        covers: str | None = None,
        kinds: Sequence[str] = ("agn",),
        statuses: Sequence[str] = STATUSES[:1],
    ) -> Candidates:
        """Take the objects of a table that have a position, of J2000.

        Parameters
        ----------
        table
            Names and positions in columns with usual names. If it has them: the error of the position (``pos_err`` is
            1 σ along each axis, with a unit, or ``pos_err_arcsec``; :mod:`fermiclass.brought.object_columns` has more
            names); a text ``category``; or a ``flux``, maybe with its error, of which
            :func:`fermiclass.labelling.counterparts.weigh` makes categories. A row with the name of a LAT source and no
            position says that its ellipse was searched in vain.
        source
            Name of the table, for messages.
        covers
            One of :data:`COVERS`. By default ``'ellipses'`` for a table whose rows all name a LAT source, ``'claims'``
            if some do, and ``'all'`` otherwise.
        kinds
            Kinds of sources that may have them as counterparts: some of :data:`KINDS`. By default AGN alone.
        statuses
            The sources for which counterparts are sought: some of :data:`STATUSES`.

        Raises
        ------
        CatalogError
            When there are no positions, they are not of J2000, or an error of a position has no unit.
        """
        choices = {"covers": ([covers], (None, *COVERS)), "kinds": (kinds, KINDS), "statuses": (statuses, STATUSES)}
        for what, (said, known) in choices.items():
            if not said or not {*said} <= {*known}:
                choice = ", ".join(filter(None, known))
                raise CatalogError(f"{what} of '{source}': '{','.join(map(str, said))}' is unknown: choose {choice}")
        plain, done = stranger(table, f"'{source}'")
        equinox = str(table.meta.get("EQUINOX", table.meta.get("equinox", "2000"))).strip("J ")
        if not equinox.startswith("2000"):
            raise CatalogError(f"'{source}' has positions of equinox {equinox}. Give those of J2000.")
        own = object_columns(plain, source)
        ra, dec, covariance = own["ra"], own["dec"], own["covariance"]
        placed = np.flatnonzero(np.isfinite(ra + dec))
        if not len(placed):
            raise CatalogError(f"'{source}' has no positions: name its columns ra and dec, in degrees or sexagesimal.")
        with np.errstate(over="ignore"):
            lost = covariance[placed, :2].max(axis=1) > _LARGEST**2
        if lost.any():
            what = f"the positions of {lost.sum()} objects have errors above {_LARGEST:g} degrees"
            warn(f"'{source}': {what}: these objects are not used")
            placed = placed[~lost]
        cells = np.round(ra[placed] / _SAME) + 1j * np.round(dec[placed] / _SAME)
        rows = placed[np.sort(np.unique(cells, return_index=True)[1])]
        notes = [f"'{source}': {len(rows)} objects", *own["notes"], *done]
        if repeated := len(placed) - len(rows):
            notes.append(f"{repeated} rows have the position of an earlier row, and are not used")
        own |= {"kinds": (*kinds,), "statuses": (*statuses,), "notes": (*notes,)} | (
            {"covers": covers} if covers else {}
        )
        if own["covers"] == "all" and len(rows) < _NEIGHBOURS:
            what = f"'{source}' has {len(rows)} objects: too few to tell how many are there by chance"
            remedy = "Give the whole table, or say what it covers: ellipses or claims (--counterparts FILE:claims)"
            raise CatalogError(f"{what}. {remedy}.")
        return cls(source, digest(plain), **own)._of(rows)

    def _of(self, rows: NDArray[Any]) -> Candidates:
        by_row = ("names", "ra", "dec", "covariance", "membership", "flux", "flux_error")
        return replace(self, **{name: x[rows] for name in by_row if (x := getattr(self, name)) is not None})

    def parted(self, cuts: Sequence[float]) -> Candidates:
        """Return them in categories by flux, between the cuts: several if it has an error, all if it is not known."""
        if self.flux is None or not len(cuts):
            return self
        from scipy.special import ndtr

        known = np.isfinite(self.flux)
        with np.errstate(over="ignore"):
            above = ndtr((self.flux[:, None] - np.asarray(cuts)) / np.asarray(self.flux_error)[:, None])
        edges = np.hstack([np.ones((len(self), 1)), above, np.zeros((len(self), 1))])
        membership = edges[:, :-1] - edges[:, 1:]
        membership[~known] = membership[known].mean(axis=0)
        between = [f"flux {one:.3g}–{other:.3g}" for one, other in pairwise(cuts)]
        names = (f"flux <{cuts[0]:.3g}", *between, f"flux >{cuts[-1]:.3g}")
        return replace(self, categories=names, membership=membership)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import KDTree  # no other command needs it

        return KDTree(unit_vectors(self.ra, self.dec))

    def around(self, sources: Table) -> Surroundings:
        """Return the candidates near sources with positions and 95 % error ellipses.

        With offset x and the covariance Σ of both positions, ``f = exp(−xᵀ Σ⁻¹ x / 2) / (2π |Σ|^½)``, per deg². The
        density of candidates by chance, ρ, is that of the nearest 50 or more outside the ellipse, times the table's
        density at the source's Galactic latitude over the mean one of their circle. Where a table covers ellipses only,
        it is that of searched ellipses of like latitude, without the share of real ones (:func:`share_of_real`), and of
        claims that of the whole sky. A category has its share of ρ. The excess is f/ρ; where nothing is known outside
        the 95 % ellipses, it is 1/0.95 of that, and a completeness is that of counterparts inside. More objects at the
        very centres of ellipses than chance has there are LAT sources, and in no pair.
        """
        place, axes = [angles(sources, name) for name in PLACE], [angles(sources, name) for name in ELLIPSE]
        known = np.isfinite(place).all(axis=0) & (np.abs(place[1]) <= 90.0) & (axes[0] > 0) & (axes[1] > 0)
        ra, dec, major, minor, angle = (np.where(known, np.nan_to_num(x), 0.0) for x in (*place, *axes))
        here, errors = unit_vectors(ra, dec), ellipse(major, minor, angle)
        i, j = self._within_reach(here, np.where(known, major, np.nan))
        chi2, root = _chi_squared(here[i], self._tree.data[j], errors[i] + self.covariance[j])
        centred = np.unique(j[known[i] & (chi2 < _AT_THE_CENTRE * CHI2_95)])
        if len(centred) <= max(_FEW_CENTRED, _PART_CENTRED * len(j)):  # as many are there by chance
            centred = centred[:0]
        near = known[i] & (chi2 <= _CHI2_REACH) & ~np.isin(j, centred)
        i, j, chi2, root = (x[near] for x in (i, j, chi2, root))
        within = chi2 <= CHI2_95
        inside = np.bincount(i[within], minlength=len(sources))
        areas, parts = self._areas(errors)
        area = areas @ parts
        if self.covers == "ellipses":
            covered = known & self._were_searched(sources, inside)
            rows = within & covered[i]
            by_chance = np.bincount(i[rows], _by_chance(chi2[rows] / CHI2_95), len(sources))
            some = not self.searched  # an ellipse is known because something is in it
            density = _of_like_latitude(np.abs(here @ _GALACTIC_POLE), by_chance, area, covered, rows.sum(), some)
        elif self.covers == "claims":
            covered, density = known, np.full(len(sources), max(len(self) - len(centred), 1) / _SKY)
        else:
            size = np.hypot(major, np.sqrt(CHI2_95 * np.median(self._variances)))
            covered, density = self._density(here, size, areas, parts, i[within], j[within])
            covered &= known
        share = self.membership.mean(axis=0)
        f = np.exp(-chi2 / 2.0) / (2.0 * np.pi * root)
        if self.covers == "ellipses" and np.mean(within) > _INSIDE:  # nothing is known outside
            f /= 0.95
        i, j, chi2, f = (x[covered[i]] for x in (i, j, chi2, f))
        excess = (f / density[i])[:, None] * self.membership[j] / np.where(share > 0, share, 1.0)
        chance = np.where(covered, density * area, 0.0)
        unseen = np.exp(-chance) * (covered & (self.covers == "ellipses") & (not self.searched))
        return Surroundings(i, j, chi2 / CHI2_95, excess, covered, chance, unseen, len(centred))

    def _were_searched(self, sources: Table, inside: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which sources were searched, ``(N,)``: those that the table says, or else those with an object inside.

        Raises CatalogError if the latter have so few objects that others must have been searched in vain.
        """
        if self.searched and "Source_Name" in sources.colnames:
            return np.isin([place_of(str(name)) for name in sources["Source_Name"]], [*self.searched])
        found = inside > 0
        if found.any() and (mean := inside[found].mean()) < _FEW_INSIDE:
            raise CatalogError(
                f"'{self.source}' has {mean:.1f} objects in an error ellipse on average, so that others have none. Say "
                "which LAT sources were searched, with a row for each without an object: Source_Name, and no position. "
                "Or give the whole table (FILE:all); or claimed counterparts as such (FILE:claims)."
            )
        return found

    @property
    def r95(self) -> FloatArray:
        """(M,) semi-major axes of the 95 % error ellipses, deg."""
        return np.asarray(np.sqrt(CHI2_95 * self._variances))

    @cached_property
    def _variances(self) -> FloatArray:
        """(M,) variances of the positions along their major axes, deg²."""
        ee, nn, en = self.covariance.T
        return np.asarray((ee + nn) / 2.0 + np.hypot((ee - nn) / 2.0, en))

    def _within_reach(self, here: FloatArray, major: FloatArray) -> NDArray[np.intp]:
        """Return rows of sources and candidates that may be near each other; objects of like errors are one search."""
        from scipy.spatial import KDTree

        found = []
        for each in range(self._sizes.max() + 1):
            rows = np.flatnonzero(self._sizes == each)
            tree = self._tree if len(rows) == len(self) else KDTree(self._tree.data[rows])
            sigma = np.sqrt(major**2 / CHI2_95 + self._variances[rows].max())
            reach = np.nan_to_num(np.minimum(np.sqrt(_CHI2_REACH) * sigma, 90.0))
            near = tree.query_ball_point(here, chord(reach))
            j = rows[np.concatenate([[], *near]).astype(np.intp)]
            found.append(np.stack([np.repeat(np.arange(len(here)), [*map(len, near)]), j]))
        pairs = np.hstack(found)
        return pairs[:, np.argsort(pairs[0], kind="stable")]

    @cached_property
    def _sizes(self) -> NDArray[np.intp]:
        """(M,) the class of size of each error: the power of 2 of its variance."""
        return np.unique(np.frexp(self._variances)[1], return_inverse=True)[1]

    def _areas(self, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return areas of ellipses of both positions, ``(N, G)`` deg², by class of error, and the parts ``(G,)``."""
        count = np.bincount(self._sizes)
        usual = np.stack([np.bincount(self._sizes, each) for each in self.covariance.T], axis=1) / count[:, None]
        ee, nn, en = (errors[:, None, :] + usual).transpose(2, 0, 1)
        return np.pi * CHI2_95 * np.sqrt(np.maximum(ee * nn - en**2, 0.0)), count / len(self)

    def _density(self, here: FloatArray, size: FloatArray, areas: Any, parts: Any, i: Any, j: Any) -> tuple[Any, Any]:
        """Return whether there are candidates on all sides of each source, and their density outside the ellipses.

        `size` are semi-major axes of ellipses of both positions, ``(N,)``, areas and parts as :meth:`_areas` has them,
        and i, j the pairs inside.
        """
        tree = self._tree
        distance, nearest = tree.query(here, k=range(1, min(_NEIGHBOURS, tree.n) + 1))
        offset = np.linalg.norm(tree.data[nearest].mean(axis=1) - here, axis=1)
        radius = np.maximum(distance[:, -1], chord(np.minimum(3.0 * size, 90.0))) * (1.0 + 1e-9)
        here_too = np.linalg.norm(here[i] - tree.data[j], axis=1) <= radius[i]  # one with a large error may be far
        count = tree.query_ball_point(here, radius, return_length=True) - np.bincount(i[here_too], minlength=len(here))
        cap = np.pi * np.degrees(radius) ** 2  # that of a flat circle with the chord as radius
        outside = cap * self._of_the_middle(here, radius) - np.minimum(areas, cap[:, None]) @ parts
        covered = (offset < _EDGE * distance[:, -1]) & (count > 0) & (outside > 0)
        return covered, np.where(covered, count / np.maximum(outside, _TINY), 1.0)

    def _of_the_middle(self, here: FloatArray, radius: FloatArray) -> FloatArray:
        """Return the mean density in circles over that in their middle, ``(N,)``, as it changes with Galactic latitude.

        A circle with `radius`, a chord, has the longitudes l₀ ± Δl at latitude b, ``cos Δl = (cos r − sin b sin b₀) /
        (cos b cos b₀)``. It is 0 at latitudes without candidates.
        """
        x = np.sort(np.abs(self._tree.data @ _GALACTIC_POLE))
        k = min(max(_OF_LATITUDE, len(x) // 20), len(x) // 4)
        low, high = x[:-k], x[k:]
        density = k / np.maximum(high - low, _SAME)  # of neighbours in latitude
        ends = max(x[0] - 2.0 / density[0], 0.0), min(x[-1] + 2.0 / density[-1], 1.0)
        places = np.concatenate([ends[:1], (low + high) / 2.0, ends[1:]])
        density = np.concatenate([density[:1], density, density[-1:]])
        middle = here @ _GALACTIC_POLE
        r = 2.0 * np.arcsin(np.minimum(radius / 2.0, 1.0))
        steps = np.linspace(-1.0, 1.0, _STEPS_OF_LATITUDE)
        b = np.clip(np.arcsin(middle)[:, None] + r[:, None] * steps, -np.pi / 2.0, np.pi / 2.0)
        cosines = np.maximum(np.cos(b) * np.sqrt(1.0 - middle**2)[:, None], _TINY)
        cosine = (np.cos(r)[:, None] - np.sin(b) * middle[:, None]) / cosines
        area = np.cos(b) * np.arccos(np.clip(cosine, -1.0, 1.0))
        there, at = (np.interp(np.abs(y), places, density, left=0.0, right=0.0) for y in (np.sin(b), middle))
        return np.where(at > 0, np.sum(area * there, axis=1) / np.sum(area, axis=1) / np.maximum(at, _TINY), 0.0)


def share_of_real(u: FloatArray) -> tuple[float, float]:
    """Return the share of real ones among objects in 95 % ellipses, ``(½ − ū) / (½ − 0.281)``, and its error.

    u, ``(n,)``, is uniform by chance. No density is needed.
    """
    share = np.mean(1.0 - _by_chance(u)) if len(u) else 0.0
    return float(share), float(1.0 / np.sqrt(12.0 * max(len(u), 1)) / _MEAN_REAL)


def _by_chance(u: FloatArray) -> FloatArray:
    """Return numbers of mean 1 for objects by chance, and 0 for counterparts: :func:`share_of_real` of single ones."""
    return 1.0 - (0.5 - u) / _MEAN_REAL


def _of_like_latitude(
    x: FloatArray, number: NDArray[Any], area: FloatArray, covered: NDArray[np.bool_], objects: int, some: bool
) -> FloatArray:
    """Return the density of chance objects, ``(N,)``: their `number` over the area, of the ellipses of nearest |sin b|.

    Both are summed over as many as have about :data:`_TO_TELL_CHANCE` of all `objects`. If `some` are known because
    they have one, the mean of such numbers is ``μ / (1 − exp −μ)``.
    """
    order = np.flatnonzero(covered)[np.argsort(x[covered])]
    k = int(np.ceil(len(order) * min(1.0, _TO_TELL_CHANCE / max(objects, 1))))
    first = np.clip(np.arange(len(order)) - k // 2, 0, len(order) - k)
    total = np.append(0.0, np.cumsum(number[order]))
    total = np.maximum(total[first + k] - total[first], 1.0)
    found, searched = np.ones(len(x)), area[order]
    for _ in range(_STEPS_OF_DENSITY if some else 1):
        sums = np.append(0.0, np.cumsum(searched))
        found[order] = total / (sums[first + k] - sums[first])
        searched = area[order] / -np.expm1(-area[order] * found[order])
    return found


def apart(tables: Sequence[Candidates]) -> list[Candidates]:
    """Return tables of which each object is in one only: the first that has its place, within 95 % of both errors.

    There its category is another one, with its own density and completeness.
    """
    parted = list(tables)
    for k, first in enumerate(parted):
        for later, other in enumerate(parted[k + 1 :], start=k + 1):
            distance, nearest = first._tree.query(other._tree.data)
            variance = first.covariance[nearest, :2].max(axis=1) + other.covariance[:, :2].max(axis=1)
            same = distance <= chord(np.maximum(np.sqrt(CHI2_95 * variance), _SAME_IN_TWO))
            if np.any(same):
                parted[later] = other._of(~same)
                both = np.isin(np.arange(len(first)), nearest[same])[:, None]
                names = (*first.categories, *(f"{name}, {other.source}".strip(", ") for name in first.categories))
                membership = np.hstack([first.membership * ~both, first.membership * both])
                first = parted[k] = replace(first, categories=names, membership=membership)
    return parted


def unit_vectors(ra: FloatArray, dec: FloatArray) -> FloatArray:
    """Return directions as unit vectors, ``(n, 3)``; angles in degrees."""
    ra, dec = np.radians(ra), np.radians(dec)
    return np.stack([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)], axis=1)


_GALACTIC_POLE = unit_vectors(np.array([192.85948]), np.array([27.12825]))[0]


def chord(degrees: FloatArray) -> FloatArray:
    """Return the distance of two unit vectors at an angle."""
    return np.asarray(2.0 * np.sin(np.radians(degrees) / 2.0))


def _chi_squared(here: FloatArray, there: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return χ² of the offsets of pairs of unit vectors, and the square root of the determinant, deg²."""
    x, y, _ = here.T
    east = np.stack([-y, x, np.zeros(len(x))], axis=1) / np.maximum(np.hypot(x, y), _TINY)[:, None]
    projected = np.stack([np.sum(there * axis, axis=1) for axis in (east, np.cross(here, east))])
    sine = np.hypot(*projected)
    e, n = projected * np.degrees(np.arctan2(sine, np.sum(here * there, axis=1))) / np.maximum(sine, _TINY)
    ee, nn, en = covariance.T
    determinant = np.maximum(ee * nn - en**2, _TINY)
    return (nn * e**2 + ee * n**2 - 2.0 * en * e * n) / determinant, np.sqrt(determinant)
