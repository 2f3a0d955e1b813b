"""Ranking of sources for follow-up observations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from astropy.table import Table
from numpy.typing import NDArray

from fermiclass.analysis.facts import PAST_SCORE, first_list_of, known_as, known_pulsars, past_candidates
from fermiclass.brought.joining import list_of, same_sources
from fermiclass.brought.other_list import OtherList
from fermiclass.catalog import SOURCE_STATUSES
from fermiclass.errors import CatalogError, SelectionError
from fermiclass.io.target_lists import sexagesimal
from fermiclass.labelling.labels import LABEL_FLAGS, LASTS, STATUS, Labels, labels_of
from fermiclass.labelling.prediction_columns import add_column

#: Columns of the label table by criterion. Sources are ranked by the column, highest first.
CRITERIA = {
    "information": "INFORMATION",
    "entropy": "ENTROPY",
    "noise": "NOISE_ENTROPY",
    "ood": "OOD_SCORE",
    "significance": "Signif_Avg",
    "probability": "P_MAX",
}

#: Criteria that are multiplied by LASTS: of a source that is not there, nothing can be learned.
WEIGHTED = ("information", "probability")

LEAST_NOISE_ENTROPY = 1e-5  #: NOISE_ENTROPY below this is rounding.

_LABEL_COLUMNS = (
    *("Source_Name", "RAJ2000", "DEJ2000", "GLAT", "Signif_Avg"),
    *("PRED_CLASS", "P_MAX", "ENTROPY", "INFORMATION", "NOISE_ENTROPY", "OOD_SCORE", "LABEL_FLAGS", LASTS),
)

#: Bits of LABEL_FLAGS with which a source is no candidate: outside the training domain, flagged by the catalogue.
DOUBTFUL_FLAGS = (4, 8)

LEAST_PROBABILITY = 0.5  #: Least probability of a candidate: of two such sources one is of the class, or more.

#: Columns that a follow-up list has beyond RANK and those of the labels: description and UCD.
ADDED = {
    "RA_HMS": ("Right ascension, J2000, hours", "pos.eq.ra"),
    "DEC_DMS": ("Declination, J2000, degrees", "pos.eq.dec"),
    "FIRST_LIST": ("Oldest list of the LAT that has the source", "meta.dataset"),
    "KNOWN": ("What others say of the source, and who", "meta.note"),
}

_SAID = ("rankedby", "selected", "excluded", "past", "expected")  # metadata
_MOST_NAMED = 5
_ROW = "_row"  # a column of the rows in the labels, while they are chosen

Range = tuple[float, float]


class Constraint(NamedTuple):
    """A constraint on the sources: its text, its column, and what must be true of the column."""

    text: str
    column: str
    good: Callable[[NDArray[Any]], NDArray[np.bool_]]

    def met_by(self, table: Table) -> NDArray[np.bool_]:
        """Return a mask ``(n,)`` of the rows that fulfil it. Unknown values (NaN or masked) do not."""
        _require(table, self.column)
        values = table[self.column]
        known = ~np.ma.getmaskarray(values)
        return np.asarray(known & self.good(np.ma.getdata(values)))


def followup(
    labels: Table | str | PathLike[str],
    *,
    by: str | None = None,
    want: str | None = None,
    min_probability: float | None = None,
    contamination: float | None = None,
    ra: Range | None = None,
    dec: Range | None = None,
    abs_glat: Range | None = None,
    min_significance: float | None = None,
    min_flux: float | None = None,
    max_error: float | None = None,
    max_ood: float | None = None,
    min_lasts: float | None = None,
    status: str | Sequence[str] | None = None,
    flags: Sequence[int] | None = None,
    exclude: Any = (),
    only: Any = (),
    exclude_known: bool = False,
    top: int | None = None,
) -> Table:
    """Rank labelled sources for observers, the most valuable first.

    Parameters
    ----------
    labels
        A label table, such as :func:`fermiclass.classify` returns, or its file.
    by
        Criterion. ``'information'``: information that a label of the source would give the model, the mutual
        information of label and latent functions. ``'entropy'``: uncertainty of the class. ``'noise'``: information
        that better measurements could give; labels of first-order methods have it in 'information'. ``'ood'``:
        out-of-distribution score. ``'significance'``: Signif_Avg. ``'probability'``: probability of the wanted class,
        or of the most probable one. By default 'probability' with a wanted class, else 'information'; both are
        multiplied by LASTS, the probability that a later list has the source.
    want
        A wanted class, or a group of classes with a column ``Sum_P_<group>``, such as 'agn'; 'pulsar' is both kinds of
        pulsars, and 'psr' those that are not millisecond pulsars where the labels tell them apart. With another
        criterion than 'probability', only the sources whose most probable class it is.
    min_probability
        Least probability of the wanted class, or of the most probable one. By default :data:`LEAST_PROBABILITY` where
        candidates of a wanted class are ranked by their probability.
    contamination
        In place of a least probability: expected fraction of the candidates that are not of the wanted class, at most.
    ra, dec, abs_glat
        Ranges of right ascension, which may run through 0, declination, and absolute Galactic latitude, in degrees.
    min_significance, max_ood, min_lasts
        Least Signif_Avg, largest OOD_SCORE, and least LASTS.
    min_flux
        Least Flux1000 in ph cm-2 s-1, 1 to 100 GeV.
    max_error
        Largest Conf_95_SemiMajor in degrees; extended sources have none.
    status
        One or several of :data:`fermiclass.catalog.SOURCE_STATUSES`, such as 'unassociated'.
    flags
        Bits of LABEL_FLAGS; sources with any of them are left out. By default :data:`DOUBTFUL_FLAGS` with a wanted
        class, else none. Bit 1, an imputed uncertainty, is no reason for doubt: most pulsars have it.
    exclude
        Sources to leave out, such as targets observed: names, or a file, table or frame with names or positions, or
        several of these. A name is that in 4FGL, of the counterpart, or in an earlier catalogue. All other rows exclude
        the sources within :data:`fermiclass.brought.joining.REACH` error ellipses, by their position or that in a name.
    only
        Sources to choose among, given in the same way.
    exclude_known
        Whether to leave out the sources that others know as pulsars; candidates, and sources with a millisecond pulsar
        at their position, stay.
    top
        Number of sources to keep.

    Returns
    -------
    Table
        The selected rows of `labels` in the order of observation, with RANK from 1, and the columns of :data:`ADDED`.
        Sources of equal rank are in the order of their names. More metadata are ``rankedby``, the column of the
        ranking; ``selected``, the number of sources after each constraint; ``expected``, with a wanted class, its
        expected number Σ P in the rows, and that of sources that last, Σ P · LASTS; ``excluded``, what `exclude` did;
        and ``past``, what became of the pulsars that the same choice gave in earlier releases
        (:func:`fermiclass.analysis.facts.past_candidates`).

    Raises
    ------
    SelectionError
        When a constraint, the criterion or the class is unknown or not valid.
    CatalogError
        When a column is missing.
    """
    labels = labels_of(labels)
    table = _unranked(labels)
    ranking = _ranking(table, by, want)
    if top is not None and top < 1:
        raise SelectionError(f"top={top} is not valid: give 1 or more")
    if contamination is not None and (want is None or min_probability is not None):
        raise SelectionError("a contamination needs a wanted class, and no least probability (--want, --min-p)")
    if want is not None and flags is None:
        flags = DOUBTFUL_FLAGS
    if want is not None and ranking.by == "probability" and min_probability is contamination is None:
        min_probability = LEAST_PROBABILITY
    constraints = (
        *_by_class(ranking),
        *_limit("min_probability", min_probability, ranking.probability, ">=", 0.0, 1.0),
        *_by_place(ra, dec, abs_glat),
        *_limit("min_significance", min_significance, "Signif_Avg", ">="),
        *_limit("min_flux", min_flux, "Flux1000", ">=", unit=" ph cm-2 s-1"),
        *_limit("max_error", max_error, "Conf_95_SemiMajor", "<=", 0.0, unit=" deg"),
        *_by_flags(flags, status),
        *_limit("max_ood", max_ood, "OOD_SCORE", "<=", 0.0, 1.0),
        *_limit("min_lasts", min_lasts, LASTS, ">=", 0.0, 1.0),
    )
    table[_ROW] = np.arange(len(table))  # names may repeat, or be empty
    table, selected = _meeting(table, constraints)
    table, excluded = _excluding(table, exclude, labels, selected)
    if among := _lists_of(only):
        rows = np.concatenate([same_sources(labels, other)[0] for other in among])
        table = table[np.isin(table[_ROW], rows)]
        selected.append(f"in {', '.join(other.source for other in among)} {len(table)}")
    if exclude_known:
        table = table[~np.isin(table[_ROW], known_pulsars(labels))]
        selected.append(f"no known pulsar {len(table)}")
    table.remove_column(_ROW)
    if contamination is not None:
        table = _expecting(table, ranking.probability, contamination, selected)
    table = ranking.of(table)[:top]
    of_candidates = (min_probability or 0) >= LEAST_PROBABILITY and {*(flags or ())} >= {*DOUBTFUL_FLAGS}
    if ranking.score == PAST_SCORE and of_candidates and not among:
        release = str(labels.meta.get("release", ""))
        if past := past_candidates(lambda earlier: ranking.of(_meeting(earlier, constraints)[0])[:top], release):
            table.meta["past"] = past
    table.meta |= {"rankedby": ranking.text, "selected": "; ".join(selected)}
    if excluded:
        table.meta["excluded"] = " ".join(excluded)
    if want is not None:
        p, lasts = (np.asarray(table[name], np.float64) for name in (ranking.probability, LASTS))
        table.meta["expected"] = f"{np.sum(p):.1f} {want}, {np.sum(p * lasts):.1f} that last"
    return _with_facts(table, ranking)


class _Ranking(NamedTuple):
    """By what sources are ranked."""

    by: str  #: One of :data:`CRITERIA`.
    wanted: tuple[str, ...]  #: The wanted classes; none if any class will do.
    probability: str  #: The column of their probability, or of the most probable class.

    @property
    def score(self) -> str:
        """The column that ranks."""
        return self.probability if self.by == "probability" else CRITERIA[self.by]

    @property
    def text(self) -> str:
        """The score in words."""
        return f"{self.score} * {LASTS}" if self.by in WEIGHTED else self.score

    def of(self, table: Table) -> Table:
        """Return the rows with the highest score first; those of equal rank by name."""
        worth = np.asarray(table[self.score], np.float64)
        if self.by in WEIGHTED:
            worth = worth * np.asarray(table[LASTS], np.float64)
        return table[np.lexsort((np.asarray(table["Source_Name"]), -np.where(np.isnan(worth), -np.inf, worth)))]


def _unranked(labels: Table) -> Table:
    """Return a copy without what an earlier ranking has added, after a check of the columns."""
    table = labels.copy()
    for name in ("RANK", "WHY", *ADDED, *_SAID):
        table.meta.pop(name, None)
        if name in table.colnames:
            table.remove_column(name)
    for column in _LABEL_COLUMNS:
        _require(table, column)
    return table


def _ranking(table: Table, by: str | None, want: str | None) -> _Ranking:
    """Return the ranking by a criterion that is known and not 0 for all sources."""
    wanted, probability = ((), "P_MAX") if want is None else Labels(table).wanted(want)
    by = by or ("information" if want is None else "probability")
    if by not in CRITERIA:
        raise SelectionError(f"by='{by}' is unknown: choose one of {', '.join(CRITERIA)}")
    ranking = _Ranking(by, tuple(wanted), probability)
    if by == "noise" and len(table) and not np.any(np.asarray(table[ranking.score], np.float64) > LEAST_NOISE_ENTROPY):
        raise SelectionError(
            f"{ranking.score} is 0 for all sources: a first-order method counts what the error bars add in INFORMATION."
            " Rank by 'information', or label with --method nimgp"
        )
    return ranking


def _meeting(table: Table, constraints: Sequence[Constraint]) -> tuple[Table, list[str]]:
    """Return the rows that fulfil all constraints, and what is left after each."""
    selected = [f"all {len(table)}"]
    for constraint in constraints:
        table = table[constraint.met_by(table)]
        selected.append(f"{constraint.text} {len(table)}")
    return table, selected


def _excluding(table: Table, exclude: Any, labels: Table, selected: list[str]) -> tuple[Table, list[str]]:
    """Return the rows that are in no other list, and a sentence on each list; tell `selected` what is left."""
    notes = []
    for other in _lists_of(exclude):
        mine, theirs = same_sources(labels, other)
        gone = np.isin(table[_ROW], mine)
        row, times = np.unique(theirs, return_counts=True)
        more = {
            "rows that can be several sources and exclude all": other.names[row[times > 1]].tolist(),
            "rows that are no labelled source": np.delete(other.names, row).tolist(),
        }
        said = {f"{other.source} leaves out": table["Source_Name"][gone].tolist()}
        said |= {what: names for what, names in more.items() if names}
        notes.append("; ".join(f"{what}: {len(names)}{_named(names)}" for what, names in said.items()) + ".")
        table = table[~gone]
        selected.append(f"not in {other.source} {len(table)}")
    return table, notes


def _expecting(table: Table, probability: str, contamination: float, selected: list[str]) -> Table:
    """Return the most rows of which no larger part is expected to be of another class; tell `selected` what is left."""
    p = np.ma.filled(np.ma.asarray(table[probability], np.float64), np.nan)
    falling = np.sort(p[np.isfinite(p)])[::-1]
    most = _number("contamination", contamination, 0.0, 1.0) * np.arange(1, len(falling) + 1)
    limit = falling[np.cumsum(1.0 - falling) <= most].min(initial=np.inf)
    table = table[p >= limit]
    selected.append(f"{probability} >= {limit:.3f}, for a contamination of {contamination:g}, {len(table)}")
    return table


def _with_facts(table: Table, ranking: _Ranking) -> Table:
    """Add RANK and the columns of :data:`ADDED`, and order the columns as observers and documents do."""
    about = f"Rank by {ranking.text}, highest first"
    add_column(table, "RANK", np.arange(1, len(table) + 1), about, "meta.number", 0)
    facts = zip(ADDED, (*sexagesimal(table), first_list_of(table), known_as(table)), strict=True)
    for name, texts in facts:
        add_column(table, name, np.array(texts, str), *ADDED[name])
    names = table.colnames
    for start in ("P_", "Unc_P_"):
        of_classes = [start + name for name in Labels(table).classes]
        in_order = iter(of_classes)
        names = [next(in_order) if name in of_classes else name for name in names]
    return table[list(dict.fromkeys(["RANK", "Source_Name", "RA_HMS", "DEC_DMS", *names]))]


def _lists_of(given: Any) -> list[OtherList]:
    """Return the lists of sources that users give: one or several of files, tables and frames, or names."""
    several = list(given) if isinstance(given, list | tuple | set | np.ndarray) else [given]
    names = [item for item in several if isinstance(item, str) and not Path(item).is_file()]
    lists = [list_of(item) for item in several if not (isinstance(item, str) and item in names)]
    if missing := [name for name in names if Path(name).suffix.lower() in (".txt", ".csv", ".fits", ".ecsv", ".vot")]:
        raise CatalogError(f"there is no file '{missing[0]}'. Check the name and the folder.")
    return [*lists, *([list_of(names)] if names else [])]


def _named(names: Sequence[str]) -> str:
    shown = [str(name) for name in names[:_MOST_NAMED] if name]
    return f" ({', '.join(shown)}{', ...' if len(names) > _MOST_NAMED else ''})" if shown else ""


def _limit(
    name: str, value: float | None, column: str, sign: str, low: float = -np.inf, high: float = np.inf, unit: str = ""
) -> Iterator[Constraint]:
    """Yield the constraint that a column is at least (">=") or at most ("<=") a number from `low` to `high`."""
    if value is not None:
        limit = _number(name, value, low, high)
        good = np.greater_equal if sign == ">=" else np.less_equal
        yield Constraint(f"{column} {sign} {limit:g}{unit}", column, lambda x: np.asarray(good(x, limit)))


def _by_class(ranking: _Ranking) -> Iterator[Constraint]:
    if ranking.wanted and ranking.by != "probability":
        likely = f"most probably {' or '.join(ranking.wanted)}"
        yield Constraint(likely, "PRED_CLASS", lambda names: np.isin(names, ranking.wanted))


def _by_place(ra: Range | None, dec: Range | None, abs_glat: Range | None) -> Iterator[Constraint]:
    if ra is not None:
        west, east = (_number("ra", value, -360.0, 360.0) for value in ra)
        around = west > east or west < 0.0 <= east  # 0 is inside
        both = np.logical_or if around else np.logical_and
        west, east = (value + 360.0 * (value < 0.0) for value in (west, east))
        yield Constraint(f"RA {west:g} to {east:g} deg", "RAJ2000", lambda x: np.asarray(both(x >= west, x <= east)))
    if dec is not None:
        south, north = _ordered("dec", dec, -90.0)
        yield Constraint(f"Dec {south:g} to {north:g} deg", "DEJ2000", lambda x: (x >= south) & (x <= north))
    if abs_glat is not None:
        low, high = _ordered("abs_glat", abs_glat, 0.0)
        yield Constraint(f"|b| {low:g} to {high:g} deg", "GLAT", lambda x: (np.abs(x) >= low) & (np.abs(x) <= high))


def _by_flags(flags: Sequence[int] | None, status: str | Sequence[str] | None) -> Iterator[Constraint]:
    if status is not None:
        wanted = (status,) if isinstance(status, str) else tuple(status)
        unknown = sorted(set(wanted) - set(SOURCE_STATUSES))
        if unknown or not wanted:
            known = ", ".join(SOURCE_STATUSES)
            raise SelectionError(f"status={','.join(unknown)!r} is unknown: choose some of {known}")
        yield Constraint(" or ".join(wanted), STATUS, lambda names: np.isin(names, wanted))
    if flags:
        if odd := ",".join(str(bit) for bit in sorted(set(flags) - set(LABEL_FLAGS))):
            known = ", ".join(map(str, LABEL_FLAGS))
            raise SelectionError(f"flags={odd} is no bit of LABEL_FLAGS: choose some of {known}")
        bits = sum(set(flags))
        yield Constraint(f"without flags {','.join(map(str, flags))}", "LABEL_FLAGS", lambda found: found & bits == 0)


def _require(table: Table, column: str) -> None:
    if column not in table.colnames:
        raise CatalogError(
            f"the label table has no column {column}. Give a table that 'fermiclass classify' wrote of a catalogue "
            "that has it."
        )


def _number(name: str, value: float, least: float, most: float) -> float:
    if not (least <= value <= most and np.isfinite(value)):
        within = f" from {least:g}" * bool(np.isfinite(least)) + f" to {most:g}" * bool(np.isfinite(most))
        raise SelectionError(f"{name}={value:g} is not valid: give a number{within}")
    return float(value)


def _ordered(name: str, limits: Range, least: float) -> Range:
    low, high = (_number(name, value, least, 90.0) for value in limits)
    if low > high:
        raise SelectionError(f"{name} is from {low:g} to {high:g} deg: give the smaller number first")
    return low, high
