"""Which sources to observe next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermiclass.errors import CatalogError, SelectionError
from fermiclass.settings import CRITERIA

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.catalog import Catalog

#: Columns that the catalogue adds, as far as it has them.
CATALOGUE_COLUMNS = ("Flux1000", "Unc_Flux1000", "Conf_95_SemiMajor", "Conf_95_SemiMinor", "Conf_95_PosAng")

_LABEL_COLUMNS = (
    *("Source_Name", "RAJ2000", "DEJ2000", "GLAT", "Signif_Avg"),
    *("PRED_CLASS", "P_MAX", "ENTROPY", "INFORMATION", "NOISE_ENTROPY", "OOD_SCORE", "LABEL_FLAGS"),
)

Range = tuple[float, float]


class Constraint(NamedTuple):
    """What a source has to fulfil: in words, of which column, and how."""

    text: str
    column: str
    good: Callable[[NDArray[Any]], NDArray[np.bool_]]

    def met_by(self, table: Table) -> NDArray[np.bool_]:
        """Return which rows of a table fulfil it, ``(n,)``; unknown values (NaN or masked) do not."""
        _require(table, self.column)
        values = table[self.column]
        known = ~np.ma.getmaskarray(values)
        return np.asarray(known & self.good(np.ma.getdata(values)))


def followup(
    labels: Table,
    *,
    by: str | None = None,
    want: str | None = None,
    min_probability: float | None = None,
    ra: Range | None = None,
    dec: Range | None = None,
    abs_glat: Range | None = None,
    min_significance: float | None = None,
    min_flux: float | None = None,
    max_error: float | None = None,
    unflagged: bool = False,
    catalog: Catalog | None = None,
    top: int | None = None,
) -> Table:
    """Rank labelled sources for observers, those first that are worth most.

    Parameters
    ----------
    labels
        A label table, as :func:`fermiclass.classify` returns it.
    by
        ``'information'`` or ``'bald'``: what a label of the source would tell the model, the mutual information of
        label and latent functions; ``'entropy'``: how open the class is; ``'noise'``: what better measurements of the
        same features could tell; ``'ood'``: how unlike the training sources; ``'significance'``; ``'probability'``: of
        the wanted class, or of the most probable one. By default 'probability' with a wanted class, else 'information'.
    want
        A class. Ranked by probability, all sources stay; ranked by anything else, those of which it is the most
        probable class.
    min_probability
        Of the wanted class, or of the most probable one.
    ra, dec
        Right ascension and declination, J2000, from and to in degrees; right ascension may run through 0.
    abs_glat
        Galactic latitude without its sign, from and to in degrees.
    min_significance
        Signif_Avg.
    min_flux
        Flux1000, ph cm-2 s-1, 1 to 100 GeV; needs the catalogue.
    max_error
        Semi-major axis of the position's 95 % error ellipse in degrees (Conf_95_SemiMajor); needs the catalogue, in
        which extended sources have none.
    unflagged
        Whether to leave out sources with LABEL_FLAGS.
    catalog
        The catalogue of the labels: it adds fluxes and error ellipses.
    top
        How many sources to keep.

    Returns
    -------
    Table
        The rows of `labels` that are left, the first to observe first, with RANK from 1 and what the catalogue adds.
        Its metadata are those of `labels`, with ``rankedby``, a column, and ``selected``, how many each constraint
        left. Sources of equal rank are in the order of their names.

    Raises
    ------
    SelectionError
        When a constraint, the criterion or the class is unknown or makes no sense.
    CatalogError
        When a column is missing, or a labelled source is not in the catalogue.
    """
    from astropy.table import Column

    from fermiclass.labels import classes_of

    table = labels.copy()
    for column in _LABEL_COLUMNS:
        _require(table, column)
    if catalog is not None:
        _add_catalogue(table, catalog)
    if want is not None and want not in classes_of(table):
        raise SelectionError(f"'{want}' is none of the labels' classes: choose one of {', '.join(classes_of(table))}")
    by = by or ("information" if want is None else "probability")
    if by not in CRITERIA:
        raise SelectionError(f"by='{by}' is unknown: choose one of {', '.join(CRITERIA)}")
    if top is not None and top < 1:
        raise SelectionError(f"top={top} leaves nothing: give 1 or more")
    probability = "P_MAX" if want is None else f"P_{want}"
    score = probability if by == "probability" else CRITERIA[by]

    constraints = [
        *_by_class(want if by != "probability" else None, probability, min_probability),
        *_by_place(ra, dec, abs_glat),
        *_by_size(min_significance, min_flux, max_error),
        *([Constraint("without flags", "LABEL_FLAGS", lambda flags: flags == 0)] if unflagged else []),
    ]
    selected = [f"all {len(table)}"]
    for constraint in constraints:
        table = table[constraint.met_by(table)]
        selected.append(f"{constraint.text} {len(table)}")

    worth = np.asarray(table[score], np.float64)
    order = np.lexsort((np.asarray(table["Source_Name"]), -np.where(np.isnan(worth), -np.inf, worth)))[:top]
    table = table[order]
    description = f"Rank by {score}, highest first"
    rank = Column(np.arange(1, len(table) + 1), description=description, meta={"ucd": "meta.number"})
    if "RANK" in table.colnames:  # of an earlier ranking
        table.remove_column("RANK")
    table.add_column(rank, name="RANK", index=0)
    table.meta["rankedby"] = score
    table.meta["selected"] = "; ".join(selected)
    return table


def _by_class(pred_class: str | None, probability: str, least: float | None) -> Iterator[Constraint]:
    if pred_class is not None:
        yield Constraint(f"most probably {pred_class}", "PRED_CLASS", lambda names: names == pred_class)
    if least is not None:
        limit = _number("min_probability", least, 0.0, 1.0)
        yield Constraint(f"{probability} >= {limit:g}", probability, lambda p: p >= limit)


def _by_place(ra: Range | None, dec: Range | None, abs_glat: Range | None) -> Iterator[Constraint]:
    if ra is not None:
        west, east = (_number("ra", value, 0.0, 360.0) for value in ra)
        wraps = west > east
        yield Constraint(
            f"RA {west:g} to {east:g} deg",
            "RAJ2000",
            lambda x: (x >= west) | (x <= east) if wraps else (x >= west) & (x <= east),
        )
    if dec is not None:
        south, north = _ordered("dec", dec, -90.0)
        yield Constraint(f"Dec {south:g} to {north:g} deg", "DEJ2000", lambda x: (x >= south) & (x <= north))
    if abs_glat is not None:
        low, high = _ordered("abs_glat", abs_glat, 0.0)
        yield Constraint(f"|b| {low:g} to {high:g} deg", "GLAT", lambda x: (np.abs(x) >= low) & (np.abs(x) <= high))


def _by_size(significance: float | None, flux: float | None, error: float | None) -> Iterator[Constraint]:
    if significance is not None:
        least = _number("min_significance", significance, -np.inf, np.inf)
        yield Constraint(f"Signif_Avg >= {least:g}", "Signif_Avg", lambda x: x >= least)
    if flux is not None:
        faintest = _number("min_flux", flux, -np.inf, np.inf)
        yield Constraint(f"Flux1000 >= {faintest:g} ph cm-2 s-1", "Flux1000", lambda x: x >= faintest)
    if error is not None:
        most = _number("max_error", error, 0.0, np.inf)
        yield Constraint(f"Conf_95_SemiMajor <= {most:g} deg", "Conf_95_SemiMajor", lambda x: x <= most)


def _add_catalogue(table: Table, catalog: Catalog) -> None:
    rows = {name: row for row, name in enumerate(catalog.names.tolist())}
    names = [str(name) for name in table["Source_Name"]]
    absent = [name for name in names if name not in rows]
    if absent:
        raise CatalogError(
            f"{catalog.source} does not have {len(absent)} of {len(names)} labelled sources, such as {absent[0]}. Give "
            f"the catalogue that was labelled, {table.meta.get('catalog', 'which the labels do not name')}."
        )
    index = [rows[name] for name in names]
    for column in CATALOGUE_COLUMNS:
        if catalog.has_column(column) and column not in table.colnames:
            table[column] = catalog.table[column][index]


def _require(table: Table, column: str) -> None:
    if column in table.colnames:
        return
    remedy = (
        "Give the catalogue that was labelled, too (--catalog)."
        if column in CATALOGUE_COLUMNS
        else "Give a table that 'fermiclass classify' wrote."
    )
    raise CatalogError(f"the label table has no column {column}. {remedy}")


def _number(name: str, value: float, least: float, most: float) -> float:
    if not least <= value <= most:  # NaN is neither
        raise SelectionError(f"{name}={value:g} does not do: expected a number from {least:g} to {most:g}")
    return float(value)


def _ordered(name: str, limits: Range, least: float) -> Range:
    low, high = (_number(name, value, least, 90.0) for value in limits)
    if low > high:
        raise SelectionError(f"{name} runs from {low:g} to {high:g} deg: give the smaller number first")
    return low, high
