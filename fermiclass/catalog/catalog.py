"""A catalogue in memory."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from astropy.table import Table
from numpy.typing import NDArray

from fermiclass.catalog.classes import (
    DEFAULT_ITEM,
    SOURCE_STATUSES,
    TARGETS,
    UNCERTAIN_CLASSES,
    ClassGrouping,
    with_default,
)
from fermiclass.catalog.origin import Brought, Origin
from fermiclass.catalog.releases import Release
from fermiclass.catalog.source_names import find_source
from fermiclass.errors import ClassError, FeatureError

if TYPE_CHECKING:
    import pandas as pd
    from astropy.coordinates import SkyCoord

LATITUDE_EDGE = 10.0  #: |GLAT| in degrees from which a source is far from the plane.
DISC = 3.0  #: Scale height of the Galactic disc on the sky, in degrees: latitude matters below it, hardly far above.
LARGEST = 1e100  #: Larger numbers count as missing: their squares would overflow, and no catalogue has any.
#: Attributes of a catalogue that have a value for each source, or are None.
BY_ROW = ("in_doubt", "own_labels", "own_weights", "further")


@dataclass(frozen=True, eq=False)
class Catalog:
    """A LAT catalogue: a table with standard column names, and the class of each source."""

    table: Table  #: All columns, with units, descriptions and ``column.meta["ucd"]``, under their names in 4FGL-DR4.
    release: Release  #: The release.
    source: str  #: Name of the file, or the kind of object that the catalogue was read from.
    sha256: str  #: Checksum of the file on disk, or of the content of a table.
    notes: tuple[str, ...] = ()  #: What was taken from where, for sources that are in no catalogue.
    brought: tuple[Brought, ...] = ()  #: Columns, labels and choices of rows that were brought in.
    #: (N,) whether an implausible value of the source was taken as missing; None if none can be.
    in_doubt: NDArray[np.bool_] | None = None
    #: (N,) labels to learn from in place of the class, words of :meth:`ClassGrouping.label_of`, '' where there is none;
    #: and their weights, ``(N,)``, 1 for all other sources. None without labels.
    own_labels: NDArray[np.str_] | None = None
    own_weights: NDArray[np.float64] | None = None
    #: (N,) further sources, to learn from and not to label: :func:`fermiclass.learn_also`. None without any.
    further: NDArray[np.bool_] | None = None
    own_classes: tuple[str, ...] = ()  #: Their classes that no catalogue has.
    names: NDArray[np.str_] = field(init=False)  #: (N,) Source_Name.
    #: (N,) class codes in lower case without padding, '' for unassociated sources.
    classes: NDArray[np.str_] = field(init=False)
    #: (N,) whether the class is an identification (it has upper case) and not only an association.
    identified: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        codes = np.asarray(self.table["CLASS1"], dtype=str)
        set_once = object.__setattr__  # the instance is frozen from here on
        set_once(self, "names", np.asarray(self.table["Source_Name"], dtype=str))
        set_once(self, "classes", np.char.lower(codes))
        set_once(self, "identified", codes != self.classes)

    @property
    def soft_galactic(self) -> NDArray[np.bool_]:
        """Whether the release flags a source as soft Galactic emission, ``(N,)``; False where it has no flag."""
        flags = np.nan_to_num(self.column("Flags")).astype(np.int64)
        return np.asarray(flags & self.release.soft_galactic_bit > 0)

    @property
    def status(self) -> NDArray[np.str_]:
        """(N,) which of `SOURCE_STATUSES` each source has."""
        with_class = np.where(self.identified, "identified", "associated")
        told = np.where(np.isin(self.classes, UNCERTAIN_CLASSES), self.classes, with_class)
        return np.where(self.classes == "", SOURCE_STATUSES[0], told)

    @property
    def positions(self) -> SkyCoord:
        """(N,) positions, ICRS."""
        from astropy.coordinates import SkyCoord

        return SkyCoord(self.column("RAJ2000"), self.column("DEJ2000"), unit="deg")

    @property
    def origin(self) -> Origin:
        """Where the catalogue comes from: enough to know it again."""
        return Origin(self.source, self.sha256, self.release.name, self.brought)

    def column(self, name: str) -> NDArray[np.float64]:
        """Return a column as float64, NaN where it is masked, beyond `LARGEST` or lacking; FeatureError for a text."""
        if name not in self.table.colnames:
            return np.full(len(self), np.nan)
        column = self.table[name]
        if np.asarray(column).dtype.kind not in "fiub":
            raise FeatureError(f"column '{name}' of {self} holds text, expected numbers. Choose a numeric column.")
        values = np.ma.filled(np.ma.asarray(column).astype(np.float64), np.nan)
        return np.ascontiguousarray(np.where(np.abs(values) <= LARGEST, values, np.nan))

    def grouping(self, classes: str | ClassGrouping | None) -> ClassGrouping:
        """Return the parsed classes, with `own_classes`. None, or the item ``default``, is for the default ones."""
        if isinstance(classes, ClassGrouping):
            return classes
        given = ClassGrouping.parse(with_default(DEFAULT_ITEM if classes is None else classes, self.classes))
        added = [f"{name}=also" for name in self.own_classes if name not in map(str.lower, given.own)]
        return ClassGrouping.parse(",".join([given.spec, *added])) if added else given

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, rows: Any) -> Catalog:
        """Return the catalogue of some rows: a mask, indices or a slice, or a row by number or :func:`find_source`."""
        rows = find_source(self, rows) if isinstance(rows, str) else rows
        index = np.atleast_1d(np.arange(len(self))[rows])
        of_rows = {name: each[index] for name in BY_ROW if (each := getattr(self, name)) is not None}
        brought = self.brought
        if not np.array_equal(index, np.arange(len(self))):
            chosen = hashlib.sha256(np.ascontiguousarray(index, np.int64).tobytes()).hexdigest()
            brought = (*brought, Brought("rows", f"{len(index)} of {len(self)}", chosen))
        return replace(self, table=self.table[index], brought=brought, **of_rows)

    def is_target(self, grouping: ClassGrouping, targets: str = "uncertain") -> NDArray[np.bool_]:
        """Return which sources to label, ``(N,)``; never one of the sources `further`.

        ``'unassociated'``: sources without a class. ``'bcu'``: blazars of uncertain type. ``'uncertain'``: both, and
        unk. A source that the grouping learns from, or with a label of one's own, is none. ``'all'``: every source.
        Raises ClassError when `targets` is none of these.
        """
        own = np.ones(len(self), bool) if self.further is None else ~self.further
        if targets == "all":
            return own
        chosen = {"unassociated": ("",), "bcu": ("bcu",), "uncertain": ("", *UNCERTAIN_CLASSES)}
        if targets not in chosen:
            raise ClassError(f"targets='{targets}' is unknown: choose one of {', '.join(TARGETS)}")
        return own & np.isin(self.classes, chosen[targets]) & (self.labels(grouping) == "")

    def labels(self, grouping: ClassGrouping) -> NDArray[np.str_]:
        """Return the label of each source in a grouping, ``(N,)``, as :meth:`ClassGrouping.assign` or its own."""
        assigned = grouping.assign(self.classes)
        if self.own_labels is None:
            return assigned
        resolved = {word: grouping.label_of(word) for word in np.unique(self.own_labels).tolist() if word}
        return np.array([resolved.get(own, label) for own, label in zip(self.own_labels, assigned, strict=True)], str)

    def __str__(self) -> str:
        return f"{self.release.name} ({self.source})"

    def __repr__(self) -> str:
        classless = int(np.sum(self.classes == ""))
        return f"<Catalog {self.release.name}: {len(self)} sources, {classless} unassociated, from {self.source}>"

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame. A column with several values a row becomes ``name_1``, ``name_2`` and so on."""
        import pandas as pd

        data: dict[str, Any] = {}
        for name, column in self.table.columns.items():
            flat = np.asarray(column).reshape(len(self), math.prod(column.shape[1:]))
            names = [name] if column.ndim == 1 else [f"{name}_{k + 1}" for k in range(flat.shape[1])]
            data |= dict(zip(names, flat.T, strict=True))
        return pd.DataFrame(data)
