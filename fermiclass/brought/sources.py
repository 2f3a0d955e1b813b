"""Sources of one's own, in no catalogue. ``docs/own-sources.md`` has known names, and formulas of what is derived."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from astropy.table import Column, Table
from numpy.typing import NDArray

from fermiclass.brought import column_names as own
from fermiclass.brought.entries import table_of
from fermiclass.brought.published import in_usual_form, take_implausible_as_missing, warn_of_ratios
from fermiclass.catalog import plausibility, reading
from fermiclass.catalog.catalog import BY_ROW, Catalog
from fermiclass.catalog.classes import CLASS_CODES, CLASS_TREE
from fermiclass.catalog.origin import Brought, digest
from fermiclass.catalog.plausibility import EXPECTED
from fermiclass.catalog.releases import RELEASES, REQUIRED_COLUMNS, Release, recognise, warn
from fermiclass.catalog.time_bins import BINS, in_bins_of
from fermiclass.errors import CatalogError, in_one_line, require
from fermiclass.io import FloatArray
from fermiclass.io.files import read_bytes
from fermiclass.io.plain import plain_column, plain_table, texts
from fermiclass.io.tables import parse_table

#: What stands for the release of sources that are in no catalogue.
OWN_SOURCES = Release("own sources", "", (0, 0), 0, 0, "")

_MOST_NAMED = 8
_BAND_ERROR, _BAND_LIMIT = "Unc_Flux_Band", "Flux_Band_UL"
_BANDS = (7, 8)  #: Numbers of bands in 4FGL. Five may be those of 3FGL or of 3FHL.


def read_sources(
    source: Any,
    columns: Mapping[str, str] | None = None,
    variability_bins: int | None = None,
    *,
    own_classes: bool = False,
) -> Catalog:
    """Read sources of one's own, with whatever is known of them; a catalogue of the LAT as :func:`read_catalog` does.

    Parameters
    ----------
    source
        A file with a table (FITS, VOTable, Parquet, ECSV or CSV), an astropy table, a data frame, a dictionary of
        values or of columns, gammapy's `SkyModel` or catalogue source, or a list of dictionaries and models, which is
        the table of their values. A dictionary may have the key 'model' with a fitted `SkyModel`, and 'flux_points' for
        :func:`fermiclass.brought.entries.band_fluxes`. Names are known in any case, those of fermipy and gammapy
        too; units are converted.
    columns
        The names in `source` of the catalogue's columns, where they are not known, such as ``{'Flux1000': 'flux'}``.
    variability_bins
        Number of time bins of Variability_Index, where no column variability_bins has it. Without it this index is left
        out of labels: :func:`fermiclass.catalog.time_bins.rescale`.
    own_classes
        Whether a class that is no class code is one that no catalogue has. Else it is no class.

    Returns
    -------
    Catalog
        A value that is not given is NaN, and CLASS1 empty. ``notes`` says what was taken from where, and ``in_doubt``
        which sources have an implausible value, which counts as not given.

    Raises
    ------
    CatalogError
        When there is no table, no known column, a column of `columns` is missing, or a column holds something else.
    """
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    table, sha256, shown = source, "", f"<{type(source).__name__}>"
    if path is not None:
        content = read_bytes(path)
        known = {name for usual in own.NAMES.values() for name in usual}
        table, shown = parse_table(content, path, reading.KEY_COLUMNS, known), path.name
        sha256 = hashlib.sha256(content).hexdigest()
    of_release = isinstance(table, Table) and (
        set(REQUIRED_COLUMNS) <= set(table.colnames) or "cds-name" in map(str.lower, map(str, table.meta))
    )
    if of_release and not columns and variability_bins is None:
        table = Table(table, copy=False)
        release, _ = recognise({key.upper(): value for key, value in table.meta.items()}, table.colnames, len(table))
        there = {name.lower() for name in (*table.colnames, *map(release.renamed.get, table.colnames)) if name}
        for name in release.required if release in RELEASES else ("CLASS1",):  # sources to label need none
            if there.isdisjoint(own.NAMES.get(name, (name.lower(),))):
                table[name] = "" if name in own.TEXTS else np.nan
        return reading.read_catalog(table) if path is None else reading.as_catalog(table, path, sha256)
    table = table_of(table)
    if not len(table):
        raise CatalogError(f"{shown} has no rows.")
    try:
        table = own.with_units_of_names(plain_table(table), {*(columns or {}).values()})
    except TypeError as error:
        raise CatalogError(f"{shown}: {in_one_line(error)}. Remove the column.") from error
    catalog = _as_catalog(table, shown, own.standard_names(columns or {}, table, shown), own_classes)
    brought = [Brought("columns", ",".join(f"{side}={column}" for side, column in columns.items()))] if columns else []
    if variability_bins is not None:
        if not isinstance(variability_bins, Real) or not (variability_bins >= 2 and variability_bins % 1 == 0):
            raise CatalogError(f"variability_bins={variability_bins} is no number of time bins: give one from 2.")
        bins = catalog.column(BINS)
        catalog.table[BINS] = np.where(np.isfinite(bins), bins, variability_bins)
        brought.append(Brought("bins", str(variability_bins)))
    return replace(catalog, sha256=sha256 or catalog.sha256, brought=tuple(brought))


#: A catalogue, or the file of one, as functions take it.
CatalogLike = Catalog | str | os.PathLike[str]


def catalog_of(given: CatalogLike, name: str = "catalog") -> Catalog:
    """Return a catalogue as it is, and that in a file as :func:`read_sources` reads it; `name` is for messages."""
    if isinstance(given, str | os.PathLike):
        return read_sources(given)
    require(Catalog, **{name: given})
    return given


def learn_also(catalog: CatalogLike, source: Any) -> Catalog:
    """Return a training catalogue with further sources to learn from, which may be of classes that no catalogue has.

    Such classes are learned beside the others; ``also_share`` of :class:`fermiclass.Recipe` is the share of the
    unassociated sources that is expected to be of them. They are no sources to label.

    Parameters
    ----------
    source
        The sources, as for :func:`read_sources`, with a column class: a word of letters and digits, or a class code.

    Raises
    ------
    CatalogError
        As :func:`read_sources`; or when a source has no class, or that of a group, such as pulsar.
    """
    catalog = catalog_of(catalog)
    more = in_bins_of(read_sources(source, own_classes=True), catalog.release.name, catalog)
    if nameless := np.sum(more.classes == ""):
        what = f"{more.source}: {nameless} of {len(more)} rows have no class"
        raise CatalogError(f"{what}. Give each row a class (column class), or leave it out.")
    if groups := {*more.classes.tolist()} & {*CLASS_TREE} - {*CLASS_CODES}:
        raise CatalogError(f"{more.source}: '{min(groups)}' is a group of classes. Give one of them, or another word.")

    def longer(mine: Any, theirs: Any = None) -> Any:
        empty = {"U": "", "f": np.nan}.get(mine.dtype.kind, 0)
        unknown = np.full((len(more), *mine.shape[1:]), empty, mine.dtype)
        fits = theirs is not None and theirs.shape == unknown.shape and (theirs.dtype.kind == "U") == (empty == "")
        return np.concatenate([mine, theirs if fits else unknown])

    table = Table(meta=catalog.table.meta)
    for name, column in catalog.table.columns.items():
        values = longer(np.asarray(column), more.table.columns.get(name))
        table[name] = Column(values, unit=column.unit, description=column.description, meta=column.meta)
    rest = {"own_weights": np.ones(len(more)), "further": np.ones(len(more), bool)}
    given = {"further": np.zeros(len(catalog), bool)}
    given |= {name: each for name in BY_ROW if (each := getattr(catalog, name)) is not None}
    counts = Counter(more.classes.tolist())
    taught = ", ".join(f"{count} {name}" for name, count in counts.items())
    notes = (*catalog.notes, *more.notes, f"sources of '{more.source}' to learn from: {taught}")
    brought = (*catalog.brought, Brought("also", more.source, more.sha256))
    own_classes = tuple(sorted({*catalog.own_classes, *counts} - {*CLASS_CODES}))
    by_row = {name: longer(each, rest.get(name)) for name, each in given.items()}
    return replace(catalog, table=table, notes=notes, brought=brought, own_classes=own_classes, **by_row)


def _as_catalog(given: Table, shown: str, said: Mapping[str, str], own_classes: bool) -> Catalog:
    """Return the rows of a table as sources with the columns of the catalogue."""
    forms = in_usual_form(given, shown)
    found = own.find_columns(given, said, shown)
    names = texts(given[found["Source_Name"]]) if "Source_Name" in found else ()
    reading.refuse_hard([*given.colnames, *found], names, shown)
    clean, notes = Table(), forms
    for name, original in found.items():
        column, (unit, ucd) = given[original], reading.USUAL.get(name, (None, None))
        data, where = own.values_of(name, given, found, said, shown)
        expected = EXPECTED[name].unit if name in EXPECTED else None
        usual = own.unit_of(name, given, found) or expected
        of_text = name in reading.USUAL and column.dtype.kind == "U"  # positions, which are degrees now
        given_unit = None if of_text else column.unit
        clean[name] = plain_column(data, given_unit or usual or unit, column.description, ucd)
        taken = f", taken as {usual}" if expected and column.unit is None and not of_text else ""
        if original != name or where or taken:
            notes.append(f"{name} = {original}{where}{taken}")
    for name, standard in own.own_names(given.colnames).items():
        if name not in found.values() and name not in clean.colnames:
            clean[name if standard in clean.colnames else standard] = given[name]
    rest = [name for name in given.colnames if name not in found.values()]
    if "Variability_Index" in clean.colnames and BINS not in clean.colnames:
        notes.append("Variability_Index counts if its number of time bins is known (--variability-bins)")
    plausibility.take_marks_as_missing(clean, shown)
    plausibility.convert_units(clean, shown)
    in_doubt = take_implausible_as_missing(clean, shown)
    reading.join_bands(clean, _BANDS)
    _complete_bands(clean)
    done = _derive(clean)
    notes += done
    _warn_of_unused(clean, said, done)
    more = f" and {len(rest) - _MOST_NAMED} more" if len(rest) > _MOST_NAMED else ""
    notes += [f"not known by name (--columns): {', '.join(rest[:_MOST_NAMED])}{more}"] if rest else []
    in_doubt |= take_implausible_as_missing(clean, shown)  # of what was derived
    warn_of_ratios(clean, shown)
    plausibility.wrap_longitudes(clean)
    errors = [f"Unc_{name}" for name in clean.colnames if f"Unc_{name}" in EXPECTED]
    for name in (*REQUIRED_COLUMNS, *errors):
        if name not in clean.colnames:
            unit, ucd = reading.USUAL.get(name, (EXPECTED[name].unit if name in EXPECTED else None, None))
            empty = np.full(len(clean), "" if name in own.TEXTS else np.nan)
            clean[name] = plain_column(empty, unit, "not given", ucd)
    words = np.asarray(clean["CLASS1"])
    unknown = (words != "") & ~np.isin(np.char.lower(words), [*CLASS_CODES])
    clean["CLASS1"] = np.where(unknown, np.char.lower(words) if own_classes else "", words)
    if np.any(unknown) and not own_classes:
        shown_words = ", ".join(np.unique(words[unknown]).tolist()[:_MOST_NAMED])
        notes.append(f"CLASS1 is no class code for {unknown.sum()} sources, which have no class: {shown_words}")
    clean["Source_Name"] = [str(name) or f"row {k}" for k, name in enumerate(clean["Source_Name"], start=1)]
    reading.put_back_second_associations(clean, OWN_SOURCES, shown)
    reading.fill_places(clean, shown, given[found["RAJ2000"]] if "RAJ2000" in found else None)
    return Catalog(clean, OWN_SOURCES, shown, digest(given), tuple(notes), in_doubt=in_doubt)


def _warn_of_unused(table: Table, said: Collection[str], done: Sequence[str]) -> None:
    """Warn of quantities that the user has named, and that tell nothing beside the others."""
    told = ((own.TS, "√TS"), (own.DELTA_TS, "√ΔTS"), (own.REFERENCE, own.REFERENCE))
    unused = [name for name, how in told if name in said and not any(how in note for note in done)]
    if "Flux_Band" in table.colnames:  # a hardness ratio needs two neighbours
        known = [False, *np.isfinite(np.asarray(table["Flux_Band"], float)).any(axis=0), False]
        alone = [k for k in range(1, len(known) - 1) if not (known[k] and (known[k - 1] or known[k + 1]))]
        unused += [f"Flux_Band_{k}" for k in alone if f"Flux_Band_{k}" in said]
    if unused:
        warn(f"--columns: {', '.join(unused)} not used, as nothing follows from it beside the other columns")


def _derive(table: Table) -> list[str]:
    """Add what follows from other quantities, and return what was done. Quantities of no catalogue are removed."""
    notes = []

    def has(*names: str) -> bool:
        return set(names) <= set(table.colnames)

    def get(name: str) -> NDArray[np.float64]:
        return np.asarray(table[name], float) if has(name) else np.full(len(table), np.nan)

    def add(name: str, values: NDArray[np.float64], how: str) -> None:
        empty = np.isnan(get(name)) & np.isfinite(values)
        if np.any(empty):
            notes.append(f"{name} = {how}" + " where it is empty" * has(name))
            table[name] = plain_column(np.where(empty, values, get(name)), EXPECTED[name].unit, None, None)

    if has(own.VALUES):
        _add_parameters(table, add, get)
    with np.errstate(invalid="ignore", divide="ignore"):
        add("Signif_Avg", np.sqrt(get(own.TS)), "√TS")
        add("LP_SigCurv", np.sqrt(np.maximum(get(own.DELTA_TS), 0.0)), "√ΔTS of curvature")
        add("LP_SigCurv", np.abs(get("LP_beta")) / get("Unc_LP_beta"), "|LP_beta| / Unc_LP_beta, in place of √ΔTS")
    if has(own.REFERENCE, "LP_Index", "LP_beta"):
        pivot, reference = get("Pivot_Energy"), get(own.REFERENCE)
        distance = np.where(np.isfinite(pivot) & (pivot > 0), np.log(pivot / reference), np.nan)
        moved = np.isfinite(distance) & (distance != 0.0)
        if np.any(moved):
            error, of_beta, covariance = get("Unc_LP_Index"), get("Unc_LP_beta"), get(own.COVARIANCE)
            largest = error * of_beta * np.sign(distance)  # the covariance is not known: as large as it can be
            covariance = np.where(np.isfinite(covariance), covariance, largest)
            variance = error**2 + 4 * distance**2 * of_beta**2 + 4 * distance * covariance
            table["LP_Index"] = np.where(moved, get("LP_Index") + 2 * get("LP_beta") * distance, get("LP_Index"))
            table["Unc_LP_Index"] = np.where(moved, np.sqrt(np.maximum(variance, 0.0)), error)
            notes.append(f"LP_Index moved from {own.REFERENCE} to Pivot_Energy")
        if np.any(np.isfinite(get("LP_Index")) & np.isnan(pivot)):
            notes.append(f"LP_Index is at {own.REFERENCE} where Pivot_Energy is not given")
    gone = (own.TS, own.DELTA_TS, own.REFERENCE, own.COVARIANCE, own.VALUES, own.ERRORS, own.SPECTRUM)
    table.remove_columns([name for name in table.colnames if name.removeprefix("Unc_") in gone])
    return notes


def _complete_bands(table: Table) -> None:
    """Give each band two errors, as in the catalogue. A limit L in place of a flux becomes L/2 ± L/√12."""
    if {"Flux_Band", _BAND_LIMIT}.isdisjoint(table.colnames):
        return
    flux, error, limit = (
        np.asarray(table[name], float).reshape(len(table), -1) if name in table.colnames else np.empty((len(table), 0))
        for name in ("Flux_Band", _BAND_ERROR, _BAND_LIMIT)
    )
    bands = flux.shape[-1] or limit.shape[-1]
    if bands not in _BANDS:
        raise CatalogError(
            f"Flux_Band of your own sources has {bands} bands, and nothing says at which energies. Give the "
            f"{max(_BANDS)} bands of 4FGL-DR4, or flux_points at any energies (from Python), or leave the bands out."
        )
    flux, limit = _of_width(flux, bands), _of_width(limit, bands)
    if np.flatnonzero(np.isfinite(flux).any(axis=0)).tolist() == [0, 1, 2, 3, 4]:
        warn("bands 1 to 5 are taken as those of 4FGL, from 50 MeV to 10 GeV; those of 3FGL and 3FHL are others")
    if error.shape[1] <= max(_BANDS):
        error = _of_width(error, bands)
        error = np.stack([-np.abs(error), error], axis=2)
    sides = _of_width(error.reshape(len(table), -1), 2 * bands).reshape(*flux.shape, 2)
    is_limit = np.isnan(flux) & (limit > 0.0)
    spread = limit / np.sqrt(12.0)
    sides = np.where(is_limit[..., None], np.stack([-spread, spread], axis=2), sides)
    for name, data in (("Flux_Band", np.where(is_limit, 0.5 * limit, flux)), (_BAND_ERROR, sides)):
        table[name] = plain_column(data, EXPECTED[name].unit, None, None)


def _of_width(data: FloatArray, width: int) -> FloatArray:
    """Return the first columns of a table of numbers, NaN where it has fewer."""
    return np.hstack([data, np.full((len(data), width), np.nan)])[:, :width]


def _add_parameters(table: Table, add: Any, get: Any) -> None:
    """Add the parameters that fermipy lists: norm, alpha, beta, Eb, or Prefactor, Index (below 0), Scale."""
    values, errors = (_of_width(np.asarray(get(name)).reshape(len(table), -1), 4) for name in (own.VALUES, own.ERRORS))
    kind = np.asarray(table[own.SPECTRUM]) if own.SPECTRUM in table.colnames else np.full(len(table), "")
    curved, straight = (np.where(kind == name, 1.0, np.nan) for name in ("LogParabola", "PowerLaw"))
    for name, of_kind, place in (("LP_Index", curved, 1), ("LP_beta", curved, 2), ("PL_Index", straight, 1)):
        value = np.abs(values[:, 1]) if name == "PL_Index" else values[:, place]
        add(name, of_kind * value, f"param_values[{place}]")
        add(f"Unc_{name}", of_kind * errors[:, place], f"param_errors[{place}]")
    if own.REFERENCE not in table.colnames:
        table[own.REFERENCE] = curved * values[:, 3]
