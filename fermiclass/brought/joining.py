"""Columns, and labels, of another table for the sources of a catalogue, by name or by position."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from astropy.table import Table
from numpy.typing import NDArray

from fermiclass.brought.column_names import own_names
from fermiclass.brought.other_list import EARLIER, RADIUS, OtherList, names_of, numbers_of, place_of
from fermiclass.brought.published import stranger
from fermiclass.brought.sources import CatalogLike, catalog_of
from fermiclass.catalog.catalog import Catalog
from fermiclass.catalog.origin import Brought, digest
from fermiclass.catalog.releases import warn
from fermiclass.catalog.source_names import position_in_name
from fermiclass.errors import CatalogError, SelectionError
from fermiclass.io.plain import plain_column, texts
from fermiclass.io.tables import read_table
from fermiclass.io.target_lists import ELLIPSE, PLACE, angles, read_list

_LOG = logging.getLogger(__name__)
_MOST_SHOWN = 5
JOINED = "joined"  #: Metadata of columns that a table has brought.

#: Error ellipses within which a position may be that of a source. They have 97 % of the pulsars of the third LAT pulsar
#: catalogue; the 95 % ellipses themselves have 90 % (docs/development/open-world/exclusion_radius.py).
REACH = 1.5

_NAME_COLUMNS = ("Source_Name", *EARLIER, "ASSOC1")


def match(catalog: Catalog, other: OtherList, *, says: NDArray[Any], needed: bool = True) -> tuple[Any, Any, list[str]]:
    """Return rows of a catalogue and of a table that are one source, ``(n,)``, and sentences on them.

    They are those of :meth:`OtherList.pairs` of which neither has another partner. Of rows of one source that say the
    same, ``(N,)``, only the first counts. Raises CatalogError when nothing matches, unless `needed` is False.
    """
    at = (catalog.column(name) for name in (*PLACE, *ELLIPSE))
    pairs = other.pairs(catalog.names, *at, earlier=names_of(catalog.table))
    of_one, unmatched = np.bincount(pairs.theirs)[pairs.theirs] == 1, len(other) - len(np.unique(pairs.theirs))
    said = zip(pairs.mine.tolist(), (each.tobytes() for each in says[pairs.theirs]), strict=True)
    first = np.array(sorted({pair: k for k, pair in reversed([*enumerate(said)])}.values()), np.intp)
    pairs, of_one = pairs[first], of_one[first]
    single = of_one & (np.bincount(pairs.mine)[pairs.mine] == 1)
    ambiguous = np.unique(pairs.theirs[~single])
    if needed and not np.any(single):
        raise CatalogError(
            f"none of the {len(other)} rows of '{other.source}' is a source of {catalog.source} for certain "
            f"({len(ambiguous)} are ambiguous). Check its names and positions."
        )
    mine, theirs, by_name = pairs.mine[single], pairs.theirs[single], pairs.by_name[single]
    for i, j, named in zip(mine, theirs, by_name, strict=True):
        how = "by name" if named else "by position"
        _LOG.info("%s: row %d, '%s', is %s, %s", other.source, j + 1, other.names[j], catalog.names[i], how)
    notes = [
        f"'{other.source}': {by_name.sum()} rows match sources of {catalog.source} by name, {np.sum(~by_name)} by "
        f"position, {unmatched} none (-v lists the matches)"
    ]
    if len(ambiguous):
        shown = ", ".join(str(other.names[j] or f"row {j + 1}") for j in ambiguous[:_MOST_SHOWN])
        more = ", ..." if len(ambiguous) > _MOST_SHOWN else ""
        notes.append(f"{len(ambiguous)} rows match several sources, or share one, and are not used: {shown}{more}")
    return mine, theirs, notes


def join(
    catalog: CatalogLike, table: Table | str | os.PathLike[str], source: str = "<Table>", *, needed: bool = True
) -> Catalog:
    """Return the catalogue with the numeric columns of another table, NaN where no row matches.

    Rows match by Source_Name or a name in an earlier list, all others by position: within the 95 % error ellipse of a
    source, and within 0.1° where there is none. Rows that match several sources, or share one, are not used.

    Parameters
    ----------
    table
        A table with names or positions, or its file. The error of a column X is its column Unc_X, X_err or X_error; it
        becomes Unc_X. Columns that the catalogue has are not taken. Those of an earlier table are filled where they,
        their error and limit are empty.
    source
        Name of the table in messages.
    needed
        Whether it is an error if nothing matches, or if the table brings no column.

    Raises
    ------
    CatalogError
        See `needed`; or if the table has neither names nor positions, or a column has another unit than in an earlier
        table, or than its error or limit.
    """
    catalog, table, source = catalog_of(catalog), *_named(table, source)
    plain, forms = stranger(table, f"'{source}'")
    mine, theirs, told = match(catalog, OtherList.of(plain, source), says=plain.as_array(), needed=needed)
    result, brought, clash = catalog.table.copy(), [], dict[str, int]()
    earlier = [name for name in result.colnames if JOINED in result[name].meta]
    names = own_names(plain.colnames)
    for name, standard in names.items():  # an error that is left out would be taken for none
        if plain[name].dtype.kind == "U" and standard != name and plain[_quantity(standard)].dtype.kind in "fiu":
            plain[name] = plain_column(numbers_of(plain[name], name, f"'{source}'"), plain[name].unit, None, None)
    for name in [name for name in names if name[:3] == "ln_" and name[3:] in {*names.values(), *result.colnames}]:
        why = f"the feature {name} is the logarithm of {name[3:]}"
        warn(f"column {name} of '{source}' is not used, as {why}. Rename it")
        del names[name]
    units = {standard: plain[name].unit for name, standard in names.items()}
    for name, standard in names.items():
        column, of = plain[name], _quantity(standard)
        if column.dtype.kind not in "fiu" or column.ndim != 1 or {standard} & {*result.colnames} - {*earlier}:
            continue
        unit = column.unit or units.get(of)
        before = plain_column(np.full(len(catalog), np.nan), unit, column.description, column.meta.get("ucd"))
        before = result[standard] if standard in earlier else before
        for what, other in ((of, units.get(of)), ("that of an earlier table", before.unit)):
            if unit and other and unit != other:
                raise CatalogError(
                    f"column {name} of '{source}' is in {unit}, and {what} in {other}. Give both the same unit."
                )
        values = np.full(len(catalog), np.nan)
        values[mine] = column[theirs]
        if standard in earlier:
            other = np.sum(np.abs(values - before) > 1e-6 * np.abs(before))
            clash |= {of: clash.get(of, 0) + int(other)} if other else {}
            if (unit is None) != (before.unit is None):
                warn(f"column {name} of '{source}' and of an earlier table: one has a unit, {unit or before.unit}")
        for each in (each for each in earlier if of in units and _quantity(each) == of):
            values[np.isfinite(catalog.table[each])] = np.nan  # no value of one table with the error of another
        filled = np.isnan(before) & np.isfinite(values)
        brought.append(f"{standard} ({filled.sum()} more values)" if standard in earlier else standard)
        result[standard] = before.copy()
        result[standard][filled] = values[filled]
        result[standard].meta[JOINED] = True
    if needed and not brought:
        raise CatalogError(f"'{source}' has no column of numbers that {catalog.source} lacks.")
    notes = (*catalog.notes, *told, f"columns of '{source}': {', '.join(brought) or 'none'}")
    notes += tuple(f"'{source}': {form}" for form in forms)
    if clash:
        differ = ", ".join(f"{number} of {what}" for what, number in clash.items())
        warn(f"'{source}' has other values than an earlier table, whose values stay: {differ}")
    was = Brought("join", source, digest(plain))
    return dataclasses.replace(catalog, table=result, notes=notes, brought=(*catalog.brought, was))


def _named(table: Table | str | os.PathLike[str], source: str) -> tuple[Table, str]:
    """Return a table, or that of a file, and its name."""
    return (read_table(table), Path(table).name) if isinstance(table, str | os.PathLike) else (table, source)


def _quantity(name: str) -> str:
    return name.removeprefix("Unc_").removesuffix("_UL")


def relabel(
    catalog: CatalogLike, table: Table | str | os.PathLike[str], source: str = "<Table>", *, needed: bool = True
) -> Catalog:
    """Return the catalogue with labels of one's own to learn from, in place of its classes; rows match as in `join`.

    Parameters
    ----------
    table
        A table with names or positions, or its file, and a column of labels, named class, label or type: a group of the
        classes that are learned, a class code, or several with ``|`` between, of which one is right. A column weight or
        probability, in (0, 1], weighs the log likelihood of the row; rows of one source with different labels are not
        matched.
    source, needed
        As for :func:`join`.

    Raises
    ------
    CatalogError
        When nothing matches, there is no column of labels, or a weight is not in (0, 1].
    """
    catalog, table, source = catalog_of(catalog), *_named(table, source)
    plain, _ = stranger(table, f"'{source}'")
    there = {name.lower(): name for name in reversed(plain.colnames)}
    column = next((there[name] for name in ("label", "class", "class1", "type") if name in there), None)
    if column is None:
        raise CatalogError(f"'{source}' has no column of labels, named label, class or type; it has {plain.colnames}.")
    weight = next((plain[there[name]] for name in ("weight", "probability") if name in there), None)
    weights = np.ones(len(plain)) if weight is None else numbers_of(weight, "", f"'{source}'")
    if weights.ndim != 1 or not np.all((weights > 0) & (weights <= 1)):
        raise CatalogError(f"'{source}' has weights that are not in (0, 1]. Correct them, or leave the rows out.")
    words = texts(plain[column])
    says = np.array([f"{word}@{weight}" for word, weight in zip(words.tolist(), weights, strict=True)])
    mine, theirs, told = match(catalog, OtherList.of(plain, source, class_column=column), says=says, needed=needed)
    own = np.full(len(catalog), "") if catalog.own_labels is None else catalog.own_labels
    own_weights = np.ones(len(catalog)) if catalog.own_weights is None else catalog.own_weights.copy()
    said, own = words[theirs], own.astype(np.result_type(own, words))
    own[mine], own_weights[mine] = said, np.where(said == "", 1.0, weights[theirs])
    counts = ", ".join(f"{word or '(none)'} {n}" for word, n in sorted(Counter(said.tolist()).items()))
    notes = (*catalog.notes, *told, f"labels of '{source}': {counts or 'none'}")
    brought = (*catalog.brought, Brought("labels", source, digest(plain)))
    return dataclasses.replace(catalog, own_labels=own, own_weights=own_weights, notes=notes, brought=brought)


def list_of(given: Any, **columns: Any) -> OtherList:
    """Return the list that a user gives: a file, table, frame or dictionary of columns, or names.

    `columns` are those of :meth:`OtherList.of`. Raises SelectionError for anything else.
    """
    if isinstance(given, OtherList):
        return given
    source = "the list"
    if isinstance(given, list | tuple | set | np.ndarray):
        given, source = Table({"name": np.array([*given], str)}), "the names"
    elif isinstance(given, str | os.PathLike):
        given, source = read_list(given), Path(given).name
    elif isinstance(given, Mapping):
        given = Table(dict(given))
    if not isinstance(given, Table) and not hasattr(given, "set_axis"):  # a frame
        raise SelectionError(f"a list of sources is a {type(given).__name__}: give a file, a table or names")
    return OtherList.of(stranger(given, f"'{source}'", [*map(str, columns.values())])[0], source, **columns)


def same_sources(labels: Table, other: OtherList) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return all pairs of a labelled source and a row of another list that can be one source, ``(n,)`` rows of both.

    They have a name in common, that of a counterpart and those in earlier catalogues included. A row without such a
    name has a position within :data:`REACH` error ellipses, its own or that in its name.
    """
    rows: dict[str, set[int]] = {}
    for names in names_of(labels, _NAME_COLUMNS):
        for row, name in enumerate(names.tolist()):
            rows.setdefault(place_of(name), set()).add(row)
    rows.pop("", None)
    named = [sorted(rows.get(place_of(name), ())) for name in other.names.tolist()]
    mine = [np.array([row for found in named for row in found], np.intp)]
    theirs = [np.repeat(np.arange(len(other)), [len(found) for found in named])]

    ra, dec, major, minor, angle = (angles(labels, name) for name in (*PLACE, *ELLIPSE))
    dec = np.where(np.abs(dec) <= 90.0, dec, np.nan)
    inside = np.array([position_in_name(name) or (np.nan,) * 3 for name in other.names.tolist()]).reshape(-1, 3)
    given = np.column_stack([other.ra, other.dec, np.zeros(len(other))])
    placed = np.isfinite(given).all(axis=1)
    for chosen, place in ((placed, given), (~placed & np.isfinite(inside[:, 0]), inside)):
        some = np.setdiff1d(np.flatnonzero(chosen), theirs[0])
        if len(some):
            ra_there, dec_there, reach = place[some, 0], place[some, 1], place[some, 2].max()
            there = OtherList(other.source, np.full(len(some), ""), ra_there, dec_there, radius=RADIUS + reach)
            pairs = there.pairs(np.array([], str), ra, dec, REACH * major + reach, REACH * minor + reach, angle)
            mine.append(pairs.mine)
            theirs.append(some[pairs.theirs])
    return np.concatenate(mine), np.concatenate(theirs)
