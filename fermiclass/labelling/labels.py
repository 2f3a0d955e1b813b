"""The label table: one row for each labelled source. Its classes, and counts of its sources."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from astropy.table import Column, Row, Table
from numpy.typing import NDArray

from fermiclass.catalog import CLASS_TREE, SOURCE_STATUSES, ClassGrouping
from fermiclass.catalog.origin import Origin
from fermiclass.errors import CatalogError, ClassError, SelectionError, require
from fermiclass.io.tables import read_table
from fermiclass.labelling.class_priors import NUMBERS_KEY, WAY_KEY
from fermiclass.labelling.lasting import lasting
from fermiclass.labelling.prediction_columns import ROW_FLAGS, add_column, add_domain, add_prediction
from fermiclass.labelling.recipe import EVIDENCE_KEY, OPTIONS_KEY, Recipe, refuse_lacking
from fermiclass.nimgp.settings import FIELDS

if TYPE_CHECKING:
    from fermiclass.catalog import Catalog
    from fermiclass.nimgp.prediction.prediction import Prediction

#: Version of the label table, in its metadata.
FORMAT_KEY, FORMAT_VERSION = "labelfmt", 6

#: Metadata of the catalogue that was labelled, and of the training catalogue: name, checksum, release, what was brought
#: in. Keys whose values may be long have 8 letters at most: FITS continues the cards of no others.
LABELLED, TRAINED_ON = ("catalog", "sha256", "release", "brought"), ("train_on", "trainsha", "", "trainbro")

#: The first metadata of a label table, in their order.
META_KEYS = (
    "creator", "catalog", "sha256", "release", "targets", "train_on", "trainsha", "classes", "counts", WAY_KEY,
    NUMBERS_KEY, EVIDENCE_KEY, "class2", "claims", "min_significance", "features", *sorted(FIELDS), OPTIONS_KEY,
    "versions", "leftout", "brought", "trainbro",
)  # fmt: skip

CONFIDENT = 0.9  #: A label is confident if its probability is at least this.

#: Bits of LABEL_FLAGS; the first two are those of `FeatureTable.flags`.
FLAG_UNCERTAINTY_IMPUTED, FLAG_FEATURE_IMPUTED, FLAG_CATALOGUE, FLAG_IN_DOUBT = 1, 2, 8, 16

#: Meaning of each bit of LABEL_FLAGS, in a few words.
LABEL_FLAGS = {
    FLAG_UNCERTAINTY_IMPUTED: "an uncertainty was imputed",
    FLAG_FEATURE_IMPUTED: "a feature was imputed",
    **ROW_FLAGS,
    FLAG_CATALOGUE: "the catalogue flags the source",
    FLAG_IN_DOUBT: "a value is implausible",
}

#: Prefix of a column with the summed probability of several classes, such as Sum_P_agn. The name does not begin with
#: ``P_``, so that the ``P_`` columns still sum to 1.
SUM_PREFIX = "Sum_P_"

#: The column with `SOURCE_STATUSES`. Unlike CLASS1 it is never empty: some readers take empty text for missing.
STATUS = "STATUS"

LASTS = "LASTS"  #: The column with the probability that a later list has the source.

BF_CLAIM = "BF_CLAIM"  #: The column with the factor of the odds of an AGN by claimed blazars.

#: The column with the fewest classes of which the source is one with this probability or more.
CLASS_SET, SET_PROBABILITY = "CLASS_SET", 0.95

#: Columns that are copied from the catalogue if it has them, and their meaning.
CATALOGUE_COLUMNS = {
    "Source_Name": "Name in the catalogue",
    "RAJ2000": "Right ascension, J2000",
    "DEJ2000": "Declination, J2000",
    "GLON": "Galactic longitude",
    "GLAT": "Galactic latitude",
    "Conf_95_SemiMajor": "Semi-major axis of the position's 95 % error ellipse",
    "Conf_95_SemiMinor": "Semi-minor axis of the position's 95 % error ellipse",
    "Conf_95_PosAng": "Position angle of the 95 % error ellipse, from north to east",
    "Signif_Avg": "Significance in sigma, 50 MeV to 1 TeV",
    "Flux1000": "Photon flux, 1 to 100 GeV",
    "Unc_Flux1000": "1 sigma error of Flux1000",
    "CLASS1": "Class of the counterpart, upper case if identified, empty if there is none",
    "ASSOC1": "Name of the counterpart, empty if there is none",
    "CLASS2": "Class of the second association",
    "ASSOC2": "Name of the second association, of an unassociated source one that is too improbable; empty if none",
    "DataRelease": "Release of 4FGL that had the source first",
    "ASSOC_4FGL": "Name in an earlier release of 4FGL",
    "ASSOC_FGL": "Name in an earlier catalogue, 0FGL to 3FGL",
    "ASSOC_PROB_BAY": "Probability of the association, Bayesian method",
    "ASSOC_PROB_LR": "Probability of the association, likelihood ratio method",
    "RA_Counterpart": "Right ascension of the counterpart, J2000",
    "DEC_Counterpart": "Declination of the counterpart, J2000",
    "Unc_Counterpart": "95 % error of the counterpart's position",
    "Flags": "The catalogue's own flags, as bits; 0 is none",
}

_TEXT_COLUMNS = ("CLASS1", "ASSOC1")

ASSOCIATION_COLUMNS = ("ASSOC_PROB_BAY", "ASSOC_PROB_LR")  #: The catalogue's own probabilities of an association.

#: UCDs in place of the releases' own that break the standard, or are missing.
_UCDS = {
    "DataRelease": "meta.version",
    "ASSOC_4FGL": "meta.id.cross",
    "Conf_95_SemiMajor": "stat.error;pos",
    "Conf_95_SemiMinor": "stat.error;pos",
    "Conf_95_PosAng": "pos.posAng",
    "Unc_Flux1000": "stat.error;phot.count;em.gamma",
    "Unc_Counterpart": "stat.error;pos",
}


def label_table(
    catalog: Catalog,
    classes: Sequence[str],
    prediction: Prediction,
    *,
    feature_flags: NDArray[np.int32],
    ood_score: NDArray[np.float64],
    meta: Mapping[str, Any],
    tops: Mapping[str, tuple[str, ...]] | None = None,
) -> Table:
    """Build the label table of the n sources of a catalogue, with units, descriptions and UCDs.

    `feature_flags` are bits of LABEL_FLAGS, and `ood_score` is OOD_SCORE, ``(n,)``. `tops` are the top classes, such as
    agn, with the classes that each contains.
    """
    table = Table(meta={FORMAT_KEY: FORMAT_VERSION, **meta})
    for name, description in CATALOGUE_COLUMNS.items():
        if name in catalog.table.colnames:
            table[name] = catalog.table[name]
            table[name].description = table[name].description or description
            table[name].meta |= {"ucd": _UCDS[name]} if name in _UCDS else {}
        elif name in _TEXT_COLUMNS:
            table[name] = Column(np.full(len(catalog), ""), description=f"{name}: not in the catalogue")
    add_column(table, STATUS, catalog.status, f"One of {', '.join(SOURCE_STATUSES)}", "meta.code.status")
    add_prediction(table, classes, prediction)
    for top, inside in (tops or {}).items():
        total = sum(np.asarray(table[f"P_{name}"]) for name in inside)
        add_column(table, f"{SUM_PREFIX}{top}", total, f"Probability of {' or '.join(inside)}", "stat.probability")
    sets = class_sets(prediction.probabilities, classes)
    about = f"Fewest classes whose probabilities sum to {SET_PROBABILITY:g} or more"
    add_column(table, CLASS_SET, sets, about, "src.class")
    bits = feature_flags
    if "Flags" in catalog.table.colnames:  # an unknown value is no warning
        bits = bits | FLAG_CATALOGUE * (np.nan_to_num(np.asarray(catalog.table["Flags"])) != 0)
    add_domain(table, ood_score, bits, LABEL_FLAGS)
    about = "Probability that a list made anew, such as FL16Y, has the source"
    add_column(table, LASTS, lasting(catalog), about, "stat.probability")
    return table


def second_association(row: Row) -> str:
    """Return ASSOC2 of a row of the label table, such as ``PKS 0056-572 (agn, probability 0.31)``; '' without one."""
    names = ("ASSOC2", "CLASS2", *ASSOCIATION_COLUMNS)
    there = {name: row[name] for name in names if name in row.colnames and row[name] is not np.ma.masked}
    name, code = (str(there.get(key, "")).strip() for key in names[:2])
    p = max(float(np.nan_to_num(there.get(key, 0.0))) for key in ASSOCIATION_COLUMNS)  # of others, that of ASSOC1
    about = [code] * bool(code) + [f"probability {p:.2f}"] * (p > 0 and str(row[STATUS]) == "unassociated")
    return name and name + f" ({', '.join(about)})" * bool(about)


def counterpart(row: Row) -> str:
    """Return the candidate of a row of labels, or of all candidates, such as ``X1 of x.csv at …``; '' without one."""
    if "CPT_NAME" not in row.colnames or not float(row["P_CPT"]) >= 0.01:
        return ""
    error = 3600.0 * float(row["CPT_R95"])
    place = f"RA {row['CPT_RA']:.4f}°, Dec {row['CPT_DEC']:+.4f}°" + f" ± {error:.2g}″" * (error > 0)
    return f"{str(row['CPT_NAME']).strip() or 'an object'} of {row['CPT_TABLE']} at {place}, P_CPT {row['P_CPT']:.2f}"


def counterparts_of(row: Row, candidates: Table | None, most: int | None = None) -> list[str]:
    """Return the candidates of a row of labels, of a table or the best alone, beyond the first `most` their number."""
    if candidates is None or not counterpart(row):
        return [found for found in [counterpart(row)] if found]
    chosen = candidates[np.asarray(candidates["Source_Name"]) == row["Source_Name"]]
    more = len(chosen) - (most or len(chosen))
    return [*map(counterpart, chosen[:most]), *[f"and {more} less probable ones"] * (more > 0)]


def class_sets(P: NDArray[np.float64], classes: Sequence[str], least: float = SET_PROBABILITY) -> NDArray[np.str_]:
    """Return the fewest of C classes whose probabilities ``(n, C)`` sum to `least`, such as ``psr|msp``, ``(n,)``."""
    order = np.argsort(-P, axis=1, kind="stable")
    falling = np.take_along_axis(P, order, axis=1)
    inside = np.zeros(P.shape, dtype=bool)
    np.put_along_axis(inside, order, np.cumsum(falling, axis=1) - falling < least, axis=1)
    return np.array(["|".join(np.array(classes)[row]) for row in inside], dtype=str)


@dataclass(frozen=True)
class Count:
    """Numbers of labelled sources of a class, or of a group of classes."""

    name: str  #: Name of the class or group.
    classes: tuple[str, ...]  #: The classes of the group; of a class only itself.
    best: int  #: Number of sources whose most probable class it is, or is in the group.
    confident: int  #: Number of sources with a probability of at least `CONFIDENT`, for a group with a summed one.
    expected: float  #: Sum of the probabilities: the expected number of sources.
    lasting: float  #: Sum of the probabilities times LASTS: the expected number of sources that a later list has.

    @property
    def words(self) -> str:
        """The name, of a group with its classes: ``agn (bll + fsrq)``."""
        return self.name if self.classes == (self.name,) else f"{self.name} ({' + '.join(self.classes)})"


def shown(p: float) -> str:
    """Return a probability in three decimals; none is 1."""
    text = f"{p:.3f}"
    return "> 0.999" if text == "1.000" else text


def labels_of(given: Table | str | os.PathLike[str]) -> Table:
    """Return a label table as it is, and that in a file as :meth:`Labels.read` reads it."""
    if isinstance(given, str | os.PathLike):
        return Labels.read(given).table
    require(Table, labels=given)
    return given


@dataclass(frozen=True, eq=False)
class Labels:
    """A label table that knows its classes, and how it was made.

    Raises CatalogError when the table is none, and when a property needs metadata that it lacks, as a .csv file does.
    """

    table: Table  #: One row for each labelled source.
    source: str = "the label table"  #: Its name in messages.

    def __post_init__(self) -> None:
        require(Table, labels=self.table)
        if not self._columns:
            what = "it is not a label table. Give one that 'fermiclass classify' wrote."
            if {"Source_Name", "Signif_Avg"} <= {*self.table.colnames}:
                what = "it is a catalogue. Label it first: fermiclass classify."
            raise CatalogError(f"{self.source} has no columns P_<class> and Unc_P_<class>: {what}")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Labels:
        """Read a label table. Raises CatalogError when the file is none, or its version is another one."""
        table = read_table(path)
        version = str(table.meta.get(FORMAT_KEY, FORMAT_VERSION))
        if version != str(FORMAT_VERSION):
            raise CatalogError(
                f"'{path}' is a label table of format version {version}; this fermiclass reads version "
                f"{FORMAT_VERSION}. Label the sources again, or use the fermiclass that wrote it."
            )
        return cls(table, str(path))

    def __len__(self) -> int:
        return len(self.table)

    @property
    def meta(self) -> Mapping[str, Any]:
        """The metadata of the table."""
        return self.table.meta

    @property
    def _columns(self) -> list[str]:
        names = self.table.colnames
        return [name for name in names if name.startswith("P_") and f"Unc_{name}" in names]

    @cached_property
    def classes(self) -> list[str]:
        """The classes, in the order in which they were given (``--classes``), as far as the metadata say so."""
        given = [re.split("[=:]", item)[0].strip() for item in str(self.meta.get("classes", "")).split(",")]
        classes = [name.removeprefix("P_") for name in self._columns]
        return sorted(classes, key=lambda name: given.index(name) if name in given else len(given))

    @cached_property
    def grouping(self) -> ClassGrouping | None:
        """The classes with their codes, by their names where the metadata do not say; None if these are no codes."""
        try:
            return ClassGrouping.parse(str(self.meta.get("classes") or ",".join(self.classes)))
        except ClassError:
            return None

    @cached_property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Groups of classes with a column ``Sum_P_<group>``, such as agn, and the classes of each."""
        if self.grouping is not None:
            tops = self.grouping.tops
        else:
            tops = {top: tuple(name for name in self.classes if name in codes) for top, codes in CLASS_TREE.items()}
        return {top: inside for top, inside in tops.items() if SUM_PREFIX + top in self.table.colnames}

    def wanted(self, want: str) -> tuple[tuple[str, ...], str]:
        """Return the classes that a word stands for, or a group such as 'pulsar', and the column of their probability.

        Raises SelectionError when the table has neither.
        """
        by_letters = {column.lower(): column for column in self._members}
        for word in (SUM_PREFIX + want, f"P_{want}", want):
            if column := by_letters.get(word.lower()):
                return self._members[column], column
        if want in CLASS_TREE and self.grouping is not None:
            inside = tuple(np.array(self.classes)[self.grouping.within(want, self.classes)].tolist())
            if len(inside) == 1:
                return inside, f"P_{inside[0]}"
        known = ", ".join(dict.fromkeys([*self.classes, *self.groups]))
        raise SelectionError(f"'{want}' is not a class of the labels: choose one of {known}")

    def counts(self) -> list[Count]:
        """Count the sources for each class, then for each group of classes. What is no number adds 0."""
        best, lasts = np.asarray(self.table["PRED_CLASS"], str), self._numbers(LASTS)
        counts = []
        for column, inside in self._members.items():
            p, name = self._numbers(column), column.removeprefix("Sum_").removeprefix("P_")
            numbers = int(np.isin(best, inside).sum()), int(np.sum(p >= CONFIDENT))
            counts.append(Count(name, inside, *numbers, float(p.sum()), float(p @ lasts)))
        return counts

    @cached_property
    def _members(self) -> dict[str, tuple[str, ...]]:
        """The classes of each column of probabilities: of a class, then of a group."""
        return {f"P_{name}": (name,) for name in self.classes} | {SUM_PREFIX + k: v for k, v in self.groups.items()}

    def _numbers(self, column: str) -> NDArray[np.float64]:
        values = np.ma.filled(np.ma.asarray(self.table[column], np.float64), 0.0)
        return np.where(np.isfinite(values), values, 0.0)

    # --- how it was made ---------------------------------------------------------------------------------------------

    @cached_property
    def recipe(self) -> Recipe:
        """What the labels were made from, and how."""
        return Recipe.from_meta(self.meta, self.source)

    @property
    def of(self) -> Origin:
        """The catalogue that was labelled."""
        return self._origin(LABELLED)

    @property
    def trained_on(self) -> Origin:
        """The training catalogue."""
        return self._origin(TRAINED_ON)

    def _origin(self, keys: tuple[str, str, str, str]) -> Origin:
        refuse_lacking(self.meta, keys[:2], self.source)
        return Origin.from_meta(self.meta, *keys)

    @property
    def training_counts(self) -> dict[str, int]:
        """Number of training sources of each label, with a weight behind ``@``."""
        pairs = (item.rpartition("=") for item in str(self.meta.get("counts", "")).split(","))
        return {label: int(count) for label, _, count in pairs if count.isdigit()}
