"""Tables of objects that may be the counterparts of gamma-ray sources, and where they lie in the error ellipses."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from astropy import units as u
from astropy.table import Table
from numpy.typing import NDArray

from fermiclass.brought.column_names import own_names
from fermiclass.brought.other_list import OtherList, numbers_of, place_of
from fermiclass.brought.published import stranger
from fermiclass.catalog.classes import CLASS_TREE, UNCERTAIN_CLASSES
from fermiclass.catalog.origin import digest
from fermiclass.catalog.releases import CatalogWarning
from fermiclass.errors import CatalogError
from fermiclass.io import FloatArray
from fermiclass.io.plain import texts
from fermiclass.io.tables import read_table
from fermiclass.io.target_lists import ELLIPSE, PLACE, angles

if TYPE_CHECKING:
    from scipy.spatial import KDTree

#: What a table covers: all of a part of the sky, only the error ellipses of sources, or claimed counterparts, which
#: somebody found in the ellipses.
COVERS = ("all", "ellipses", "claims")

KINDS = tuple(CLASS_TREE)  #: The kinds of sources that may have counterparts in a table.

STATUSES = ("unassociated", *UNCERTAIN_CLASSES)  #: Sources for which counterparts can be sought.

#: χ² of two coordinates that 95 % and 99.9 % of the true positions have at most.
_CHI2_95, _CHI2_REACH = -2.0 * np.log(0.05), -2.0 * np.log(0.001)

_NEIGHBOURS = 50  #: Objects from which the density around a source is counted, at least.

#: The mean offset of the neighbours, in units of the distance of the farthest: 0 where they are on all sides, and
#: 4/(3π) at a straight edge of what the table covers.
_EDGE = 4.0 / (3.0 * np.pi)

#: Objects of one table, and those of two with exact positions, are one if they are closer than this, in degrees.
_SAME, _SAME_IN_TWO = 0.1 / 3600.0, 5.0 / 3600.0
_ERRORS = ("pos_err", "poserr", "pos_error", "radec_err", "e_pos", "unc_position", "position_error")
_OBJECT_NAMES = ("name", "iauname", "2sxps", "counterpart", "assoc", "object", "source", "id")
_IN_NAME = {"_arcsec": u.arcsec, "_arcmin": u.arcmin, "_deg": u.deg, "_mas": u.mas}
_LAT_NAME = "FGL J"
_FEW_INSIDE = 3.0  # objects in an ellipse; with fewer many ellipses have none
_INSIDE = 0.98  # share of objects within the 95 % ellipses, from which on a table has no others
_EDGE_95 = -np.log(0.05)  # −ln(1 − probability) of a real counterpart is exponential up to this
_WITH_FLUX = 30  # objects with a flux, at least, for categories by flux
_INFINITE = 1e6  # degrees, for an error without a limit
_LARGEST = 3.0  # degrees: a larger error says nothing
_TINY, _SKY = 1e-300, 129600.0 / np.pi  # deg² of the sky


class Surroundings(NamedTuple):
    """P pairs of a source and a candidate near it, and how the candidates lie around N sources."""

    source: NDArray[np.intp]  #: (P,) rows of the sources.
    candidate: NDArray[np.intp]  #: (P,) rows of the candidates.
    u: FloatArray  #: (P,) squared separation, in units of the 95 % error ellipse: 1 on its edge.
    #: (P, K) density of the counterpart's position over that of candidates of the category by chance.
    excess: FloatArray
    covered: NDArray[np.bool_]  #: (N,) whether the table covers the source.
    chance: FloatArray  #: (N,) candidates that the 95 % ellipse has by chance.


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
        """Take the objects of a table that have a position.

        Parameters
        ----------
        table
            Names and positions in columns with usual names, J2000. If it has them: the error of the position, either
            the ellipse ``Conf_95_SemiMajor``, ``Conf_95_SemiMinor``, ``Conf_95_PosAng``, or e_RAJ2000 and e_DEJ2000, or
            pos_err (1 σ along each axis, with a unit, or pos_err_arcsec); a text ``category``; or a ``flux``, maybe
            with its error, of which :func:`fermiclass.labelling.counterparts.weigh` makes categories.
        source
            Name of the table, for messages.
            A row with the name of a LAT source and no position says that its ellipse was searched in vain.
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
        if covers not in (None, *COVERS):
            raise CatalogError(f"covers='{covers}' is unknown: choose one of {', '.join(COVERS)}")
        if not kinds or not set(kinds) <= set(KINDS):
            raise CatalogError(f"'{','.join(kinds)}' are no kinds of sources: choose among {', '.join(KINDS)}")
        if not statuses or not set(statuses) <= set(STATUSES):
            raise CatalogError(f"counterparts are sought for {', '.join(STATUSES)}, and not for '{','.join(statuses)}'")
        plain, done = stranger(table, f"'{source}'")
        equinox = str(table.meta.get("EQUINOX", table.meta.get("equinox", "2000"))).strip("J ")
        if not equinox.startswith("2000"):
            raise CatalogError(f"'{source}' has positions of equinox {equinox}. Give those of J2000.")
        listed = OtherList.of(plain, source, name=_own_name(plain))
        placed = np.flatnonzero(np.isfinite(listed.ra) & np.isfinite(listed.dec))
        if not len(placed):
            raise CatalogError(f"'{source}' has no positions: name its columns ra and dec, in degrees or sexagesimal.")
        covariance, errors = _covariance(plain, source)
        with np.errstate(over="ignore"):
            lost = covariance[placed, :2].max(axis=1) > _LARGEST**2
        if lost.any():
            warnings.warn(
                f"'{source}': the positions of {lost.sum()} objects have errors above {_LARGEST:g} degrees: these "
                "objects are not used",
                CatalogWarning,
                stacklevel=2,
            )
            placed = placed[~lost]
        cells = np.round(listed.ra[placed] / _SAME) + 1j * np.round(listed.dec[placed] / _SAME)
        rows = placed[np.sort(np.unique(cells, return_index=True)[1])]
        notes = [f"'{source}': {len(rows)} objects"]
        searched = _searched(plain, placed)
        if searched:
            notes.append(f"{len(searched)} LAT sources were searched")
        if repeated := len(placed) - len(rows):
            notes.append(f"{repeated} rows have the position of an earlier row, and are not used")
        categories, membership, by = _categories(plain)
        flux, flux_error = _fluxes(plain) if len(categories) == 1 else (None, None)
        if covers is None:
            words = [np.asarray(plain[name]) for name in plain.colnames if plain[name].dtype.kind == "U"]
            named = max((float(np.mean(np.char.find(each, _LAT_NAME) >= 0)) for each in words), default=0.0)
            covers = "ellipses" if named > 0.99 else "claims" if named > 0.01 else "all"
        if covers == "all" and len(rows) < _NEIGHBOURS:
            raise CatalogError(
                f"'{source}' has {len(rows)} objects: too few to tell how many are there by chance. Give the whole "
                "table, or say what it covers: ellipses or claims (--counterparts FILE:claims)."
            )
        notes += [*done, *(note for note in (errors, by) if note)]
        by_row = (listed.names, listed.ra, listed.dec, covariance)
        rest = (covers, tuple(kinds), tuple(notes), tuple(statuses))
        return cls(source, digest(plain), *by_row, categories, membership, *rest, flux, flux_error, searched)._of(rows)

    def _of(self, rows: NDArray[Any]) -> Candidates:
        by_row = ("names", "ra", "dec", "covariance", "membership", "flux", "flux_error")
        return replace(self, **{name: x[rows] for name in by_row if (x := getattr(self, name)) is not None})

    def parted(self, cuts: Sequence[float]) -> Candidates:
        """Return them in categories by flux, between the cuts; one with an error of its flux belongs to several.

        A flux that is not known is of each category as often as the others are.
        """
        if self.flux is None or not len(cuts):
            return self
        from scipy.special import ndtr

        known = np.isfinite(self.flux)
        with np.errstate(over="ignore"):
            above = ndtr((self.flux[:, None] - np.asarray(cuts)) / np.asarray(self.flux_error)[:, None])
        edges = np.hstack([np.ones((len(self), 1)), above, np.zeros((len(self), 1))])
        membership = edges[:, :-1] - edges[:, 1:]
        membership[~known] = membership[known].mean(axis=0)
        shown = [f"{cut:.3g}" for cut in cuts]
        between = [f"flux {one} to {other}" for one, other in pairwise(shown)]
        names = (f"flux below {shown[0]}", *between, f"flux above {shown[-1]}")
        return replace(self, categories=names, membership=membership)

    @cached_property
    def _tree(self) -> KDTree:
        from scipy.spatial import KDTree  # no other command needs it

        return KDTree(unit_vectors(self.ra, self.dec))

    def around(self, sources: Table) -> Surroundings:
        """Return the candidates near sources with positions and 95 % error ellipses.

        With offset x and the covariance Σ of both positions, ``f = exp(−xᵀ Σ⁻¹ x / 2) / (2π |Σ|^½)``. The density of
        candidates by chance, ρ, is that of the nearest 50 or more outside the ellipse; where a table covers ellipses
        only, that of all searched ellipses without the share of real ones (:func:`share_of_real`), and of claims that
        of the whole sky. A category has its share of ρ. The excess is f/ρ; where nothing is known outside the 95 %
        ellipses, it is 1/0.95 of that, and a completeness is that of counterparts inside.
        """
        ra, dec = (angles(sources, name, most) for name, most in zip(PLACE, (360.0, 90.0), strict=True))
        major, minor, angle = (angles(sources, name) for name in ELLIPSE)
        known = np.isfinite(ra) & np.isfinite(dec) & (major > 0) & (minor > 0)
        ra, dec, major, minor, angle = (np.where(known, x, 0.0) for x in (ra, dec, major, minor, np.nan_to_num(angle)))
        here, tree = unit_vectors(ra, dec), self._tree
        i, j = self._within_reach(here, np.where(known, major, np.nan))
        chi2, root = _chi_squared(here[i], tree.data[j], (ellipse(major, minor, angle)[i] + self.covariance[j]))
        near = known[i] & (chi2 <= _CHI2_REACH)
        i, j, chi2, root = i[near], j[near], chi2[near], root[near]
        within = chi2 <= _CHI2_95
        inside = np.bincount(i[within], minlength=len(sources))
        areas, parts = self._areas(major, minor, angle)
        area = areas @ parts
        if self.covers == "ellipses":
            covered = known & self._were_searched(sources, inside)
            real = share_of_real(chi2[within & covered[i]] / _CHI2_95)[0]
            number = inside[covered].sum() * (1.0 - np.clip(real, 0.0, 1.0))
            density = np.full(len(sources), max(number, 1.0) / max(area[covered].sum(), _TINY))
        elif self.covers == "claims":
            covered, density = known, np.full(len(sources), len(self) / _SKY)
        else:
            size = np.hypot(major, np.sqrt(_CHI2_95 * np.median(self._variances)))
            covered, density = _density(tree, here, size, areas, parts, i[within], j[within])
            covered &= known
        share = self.membership.mean(axis=0)
        f = np.exp(-chi2 / 2.0) / (2.0 * np.pi * root)
        if self.covers == "ellipses" and np.mean(within) > _INSIDE:  # nothing is known outside
            f /= 0.95
        kept = covered[i]
        i, j, chi2, f = i[kept], j[kept], chi2[kept], f[kept]
        excess = (f / density[i])[:, None] * self.membership[j] / np.where(share > 0, share, 1.0)
        return Surroundings(i, j, chi2 / _CHI2_95, excess, covered, np.where(covered, density * area, 0.0))

    def _were_searched(self, sources: Table, inside: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which sources were searched, ``(N,)``: those that the table says, or else those with an object inside.

        Raises CatalogError if the latter have so few objects that others must have been searched in vain.
        """
        if self.searched and "Source_Name" in sources.colnames:
            return np.isin([place_of(str(name)) for name in sources["Source_Name"]], [*self.searched])
        found = inside > 0
        if found.any() and inside[found].mean() < _FEW_INSIDE:
            mean = inside[found].mean()
            raise CatalogError(
                f"'{self.source}' has {mean:.1f} objects in an error ellipse on average, so that others have none. Say "
                "which LAT sources were searched, with a row for each without an object: Source_Name, and no position. "
                "Or give the whole table (FILE:all); or claimed counterparts as such (FILE:claims)."
            )
        return found

    @cached_property
    def _variances(self) -> FloatArray:
        """(M,) variances of the positions along their major axes, deg²."""
        ee, nn, en = self.covariance.T
        return np.asarray((ee + nn) / 2.0 + np.hypot((ee - nn) / 2.0, en))

    def _within_reach(self, here: FloatArray, major: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return rows of sources and candidates that may be near each other; objects of like errors are one search."""
        from scipy.spatial import KDTree

        sources, objects = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        for each in range(self._sizes.max() + 1):
            rows = np.flatnonzero(self._sizes == each)
            tree = self._tree if len(rows) == len(self) else KDTree(self._tree.data[rows])
            sigma = np.sqrt(major**2 / _CHI2_95 + self._variances[rows].max())
            reach = np.nan_to_num(np.minimum(np.sqrt(_CHI2_REACH) * sigma, 90.0))
            found = tree.query_ball_point(here, chord(reach))
            sources.append(np.repeat(np.arange(len(here)), [len(near) for near in found]))
            objects.append(rows[np.array([row for near in found for row in near], np.intp)])
        i, j = np.concatenate(sources), np.concatenate(objects)
        order = np.argsort(i, kind="stable")
        return i[order], j[order]

    @cached_property
    def _sizes(self) -> NDArray[np.intp]:
        """(M,) the class of size of each error: the power of 2 of its variance."""
        return np.unique(np.frexp(self._variances)[1], return_inverse=True)[1]

    def _areas(self, major: FloatArray, minor: FloatArray, angle: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return areas of ellipses of both positions, ``(N, G)`` deg², by class of error, and the parts ``(G,)``."""
        count = np.bincount(self._sizes)
        usual = np.stack([np.bincount(self._sizes, each) for each in self.covariance.T], axis=1) / count[:, None]
        ee, nn, en = (ellipse(major, minor, angle)[:, None, :] + usual).transpose(2, 0, 1)
        areas = np.pi * _CHI2_95 * np.sqrt(np.maximum(ee * nn - en**2, 0.0))
        if not self._variances.any():
            areas = (np.pi * major * minor)[:, None]
        return areas, count / len(self)


def share_of_real(u: FloatArray) -> tuple[float, float]:
    """Return the share of real counterparts among objects within the 95 % ellipse, by u ``(n,)``, and its error.

    It is ``(½ − ū) / (½ − 0.281)``: u is uniform by chance. It needs no density.
    """
    scale = 0.5 - (1.0 / _EDGE_95 - 0.05 / 0.95)
    share = (0.5 - u.mean()) / scale if len(u) else 0.0
    return float(share), float(1.0 / np.sqrt(12.0 * max(len(u), 1)) / scale)


def apart(tables: Sequence[Candidates]) -> list[Candidates]:
    """Return tables of which each object is in one only: it is one candidate, and its place counts once.

    An object of a table that has the place of one in an earlier table, within 95 % of the errors of both, is left out.
    In the earlier table its category is another one, with its own density and completeness.
    """
    parted = list(tables)
    for k, first in enumerate(parted):
        for later, other in enumerate(parted[k + 1 :], start=k + 1):
            distance, nearest = first._tree.query(other._tree.data)
            variance = first.covariance[nearest, :2].max(axis=1) + other.covariance[:, :2].max(axis=1)
            same = distance <= chord(np.maximum(np.sqrt(_CHI2_95 * variance), _SAME_IN_TWO))
            if np.any(same):
                parted[later] = other._of(~same)
                both = np.isin(np.arange(len(first)), nearest[same])[:, None]
                names = (*first.categories, *(f"{name}, {other.source}".strip(", ") for name in first.categories))
                membership = np.hstack([first.membership * ~both, first.membership * both])
                first = parted[k] = replace(first, categories=names, membership=membership)
    return parted


def ellipse(major: FloatArray, minor: FloatArray, angle: FloatArray) -> FloatArray:
    """Return the covariance of a position from its 95 % error ellipse, ``(n, 3)``: east-east, north-north, east-north.

    The position angle is that of the major axis, in degrees from north to east.
    """
    a, b, theta = major**2 / _CHI2_95, minor**2 / _CHI2_95, np.radians(angle)
    sin2, cos2 = np.sin(theta) ** 2, np.cos(theta) ** 2
    return np.stack([a * sin2 + b * cos2, a * cos2 + b * sin2, (a - b) * np.sin(theta) * np.cos(theta)], axis=1)


def unit_vectors(ra: FloatArray, dec: FloatArray) -> FloatArray:
    """Return directions as unit vectors, ``(n, 3)``; angles in degrees."""
    ra, dec = np.radians(ra), np.radians(dec)
    return np.stack([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)], axis=1)


def chord(degrees: FloatArray) -> FloatArray:
    """Return the distance of two unit vectors at an angle."""
    return np.asarray(2.0 * np.sin(np.radians(degrees) / 2.0))


def _chi_squared(here: FloatArray, there: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return χ² of the offsets of pairs of unit vectors, and the square root of the determinant, deg²."""
    x, y, _ = here.T
    equator = np.maximum(np.hypot(x, y), _TINY)
    east = np.stack([-y / equator, x / equator, np.zeros(len(x))], axis=1)
    north = np.cross(here, east)
    projected = np.stack([np.sum(there * axis, axis=1) for axis in (east, north)])
    sine = np.hypot(*projected)
    angle = np.degrees(np.arctan2(sine, np.sum(here * there, axis=1)))
    e, n = projected * angle / np.maximum(sine, _TINY)
    ee, nn, en = covariance.T
    determinant = np.maximum(ee * nn - en**2, _TINY)
    return (nn * e**2 + ee * n**2 - 2.0 * en * e * n) / determinant, np.sqrt(determinant)


def _density(
    tree: Any,
    here: FloatArray,
    size: FloatArray,
    areas: FloatArray,
    parts: FloatArray,
    i: NDArray[np.intp],
    j: NDArray[np.intp],
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return whether there are candidates on all sides of each source, and their density outside the ellipses.

    `size` are semi-major axes of ellipses of both positions in degrees, ``(N,)``, `areas` the areas of such ellipses
    by class of error, ``(N, G)``, with the parts of all candidates, ``(G,)``, and i, j the pairs inside them.
    """
    distance, nearest = tree.query(here, k=list(range(1, min(_NEIGHBOURS, tree.n) + 1)))
    offset = np.linalg.norm(tree.data[nearest].mean(axis=1) - here, axis=1)
    radius = np.maximum(distance[:, -1], chord(np.minimum(3.0 * size, 90.0))) * (1.0 + 1e-9)
    here_too = np.linalg.norm(here[i] - tree.data[j], axis=1) <= radius[i]  # a candidate with a large error may be far
    count = tree.query_ball_point(here, radius, return_length=True) - np.bincount(i[here_too], minlength=len(here))
    cap = np.pi * np.degrees(radius) ** 2  # that of a flat circle with the chord as radius
    outside = cap - np.minimum(areas, cap[:, None]) @ parts
    covered = (offset < _EDGE * distance[:, -1]) & (count > 0) & (outside > 0)
    return covered, np.where(covered, count / np.maximum(outside, _TINY), 1.0)


def _own_name(table: Table) -> str | None:
    """Return the column with the names of objects, where that with usual names has those of LAT sources."""
    words = {name.lower(): texts(table[name]) for name in reversed(table.colnames) if table[name].dtype.kind == "U"}
    usual = next((words[name] for name in words if name in ("source_name", "source_name_4fgl")), None)
    if usual is None or np.mean(np.char.find(usual, _LAT_NAME) >= 0) < 0.5:
        return None
    of_lat = {name for name, each in words.items() if np.any(np.char.find(each, _LAT_NAME) >= 0)}
    found = next((name for name in _OBJECT_NAMES if name in words.keys() - of_lat), None)
    return next((name for name in table.colnames if name.lower() == found), None)


def _searched(table: Table, placed: NDArray[np.intp]) -> frozenset[str]:
    """Return the LAT sources that a table names, if it names some without an object; nothing otherwise."""
    empty = np.delete(np.arange(len(table)), placed)
    for name in (name for name in table.colnames if table[name].dtype.kind == "U" and len(empty)):
        words = texts(table[name])
        if np.any(np.char.find(words[empty], _LAT_NAME) >= 0):
            return frozenset(place_of(word) for word in words.tolist() if _LAT_NAME in word)
    return frozenset()


def _covariance(table: Table, source: str) -> tuple[FloatArray, str]:
    """Return the covariance of each position, ``(n, 3)`` deg², and a sentence on where it is from."""
    names = {name.lower(): name for name in reversed(table.colnames)}
    if {each.lower() for each in ELLIPSE} <= names.keys():
        axes = [_in_degrees(table, names[each.lower()], source, u.deg) for each in ELLIPSE]
        return ellipse(*axes), "errors of their positions: Conf_95_SemiMajor"
    pair = [names[each] for each in ("e_raj2000", "e_dej2000") if each in names]
    if len(pair) < 2:
        words = [each + ending for each in _ERRORS for ending in ("", *_IN_NAME)]
        pair = [names[each] for each in words if each in names][:1] * 2
    if not pair:
        return np.zeros((len(table), 3)), ""
    east, north = (_in_degrees(table, name, source) for name in pair)
    return np.stack([east**2, north**2, np.zeros(len(table))], axis=1), f"errors of their positions: {pair[0]}, 1 σ"


def _in_degrees(table: Table, name: str, source: str, unit: u.UnitBase | None = None) -> FloatArray:
    """Return a column of angles in degrees, 0 where there is none."""
    unit = table[name].unit or unit or _IN_NAME.get(f"_{name.lower().rpartition('_')[2]}")
    if unit is None:
        raise CatalogError(
            f"the column {name} of '{source}' has no unit. Name it {name}_arcsec or {name}_deg, or give it a unit."
        )
    try:
        values = np.abs(np.asarray(table[name], float) * u.Unit(unit).to("deg"))
        values = np.where(np.isnan(values), 0.0, np.minimum(values, _INFINITE))
        if "PosAng" not in name and np.median(values) > 1.0:
            raise ValueError(f"their median is {np.median(values):g} degrees")
        return values
    except (ValueError, TypeError) as error:
        raise CatalogError(
            f"the column {name} of '{source}' holds no angles of errors ({error}). Correct it, or name it otherwise."
        ) from error


def _categories(table: Table) -> tuple[tuple[str, ...], FloatArray, str]:
    """Return names of categories, membership ``(n, K)``, and a sentence on what they are."""
    names = {own.lower(): name for name, own in reversed(own_names(table.colnames).items())}
    if "category" in names:
        words = texts(table[names["category"]])
        found = np.unique(words)
        return tuple(found.tolist()), (words[:, None] == found).astype(float), f"{len(found)} categories"
    return ("",), np.ones((len(table), 1)), ""


def _fluxes(table: Table) -> tuple[FloatArray | None, FloatArray | None]:
    """Return fluxes and their errors, ``(n,)``; None with few fluxes."""
    names = {own.lower(): name for name, own in reversed(own_names(table.colnames).items())}
    flux = numbers_of(table[names["flux"]], "flux", "the counterparts") if "flux" in names else np.empty(0)
    if np.isfinite(flux).sum() < _WITH_FLUX:
        return None, None
    error = numbers_of(table[names["unc_flux"]], "", "the counterparts") if "unc_flux" in names else np.zeros(len(flux))
    return flux, np.maximum(np.nan_to_num(error), np.maximum(1e-9 * np.abs(np.nan_to_num(flux)), _TINY))
