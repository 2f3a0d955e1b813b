"""The columns of the labelled sources on the page, and the map of the sky."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermiclass.catalog import SOURCE_STATUSES
from fermiclass.errors import CatalogError
from fermiclass.io import FloatArray
from fermiclass.labelling.labels import SUM_PREFIX, Labels, counterparts_of

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.catalog import Catalog

_NOT_ASCII = re.compile("[^ -~]")
#: Numeric columns of the label table, their names on the page and their decimals.
_NUMBERS = (
    ("RAJ2000", "ra", 4),
    ("DEJ2000", "dec", 4),
    ("GLON", "l", 3),
    ("GLAT", "b", 3),
    ("P_MAX", "pmax", 4),
    ("ENTROPY", "entropy", 3),
    ("INFORMATION", "information", 3),
    ("NOISE_ENTROPY", "noise", 3),
    ("OOD_SCORE", "ood", 3),
    ("LASTS", "lasts", 3),
    ("LABEL_FLAGS", "flags", 0),
)
_OPTIONAL = (
    *(("Signif_Avg", "significance", 2), ("Flags", "warnings", 0)),
    *(("ASSOC_PROB_BAY", "byBayes", 2), ("ASSOC_PROB_LR", "byRatio", 2)),
)
_TEXTS = (("CLASS1", "class1"), ("ASSOC1", "assoc1"), ("CLASS2", "class2"), ("ASSOC2", "assoc2"))

#: Columns with three digits, and their names on the page.
_MEASURED = (
    ("Flux1000", "flux"),
    ("Unc_Flux1000", "fluxError"),
    ("Conf_95_SemiMajor", "r95"),
    ("Conf_95_SemiMinor", "r95Minor"),
    ("Conf_95_PosAng", "r95Angle"),
)

#: Names in other catalogues, which the label table does not have.
OTHER_NAMES = "Names in earlier and other gamma-ray catalogues"


def source_columns(about: Labels, candidates: Table | None = None) -> dict[str, Any]:
    """Return the columns of the page's sources: lists by name with one item for each source, None if unknown.

    They are those of the tables above, and name, status, predicted (index of a class), x, y (on the map), probability
    and deviation (a list for each class), sum (a list for each group of classes), and the candidate counterparts, if
    there are any. Raises CatalogError when a column is missing, or a predicted class is not among the classes.
    """
    labels, classes = about.table, about.classes
    needed = ("Source_Name", "STATUS", "PRED_CLASS", *(column for column, _, _ in _NUMBERS))
    if missing := [column for column in needed if column not in labels.colnames]:
        raise CatalogError(
            f"the label table has no column {', '.join(missing)}. Give a table that 'fermiclass classify' wrote."
        )
    predicted = _text(labels, "PRED_CLASS")
    if strange := sorted(set(predicted) - set(classes)):
        raise CatalogError(
            f"PRED_CLASS has {', '.join(map(repr, strange[:3]))}, but the table has probabilities for "
            f"{', '.join(classes)} only. Label the sources again."
        )
    columns: dict[str, Any] = {"name": _text(labels, "Source_Name")}
    for column, name in _TEXTS:
        columns[name] = _text(labels, column) if column in labels.colnames else [""] * len(labels)
    columns["status"] = _text(labels, "STATUS")
    columns["predicted"] = [classes.index(name) for name in predicted]
    for column, name, decimals in (*_NUMBERS, *(row for row in _OPTIONAL if row[0] in labels.colnames)):
        columns[name] = _rounded(labels, column, decimals)
    columns["probability"] = [_rounded(labels, f"P_{name}", 4) for name in classes]
    columns["deviation"] = [_rounded(labels, f"Unc_P_{name}", 3) for name in classes]
    columns["sum"] = [_rounded(labels, SUM_PREFIX + top, 4) for top in about.groups]
    places = project(floats(labels, "GLON"), floats(labels, "GLAT"))
    columns["x"], columns["y"] = (_list(np.round(axis, 4)) for axis in places.T)
    if "CPT_NAME" in labels.colnames:
        columns["counterpart"] = ["; ".join(counterparts_of(row, candidates)) for row in labels]
    for column, name in _MEASURED:
        if column in labels.colnames:
            columns[name] = significant(floats(labels, column), 3)
    return columns


def saved_columns(about: Labels) -> list[dict[str, Any]]:
    """Return the columns of the files that the page saves; ``key`` says where :func:`source_columns` has them."""
    labels = about.table
    texts = (("Source_Name", "name"), *_TEXTS, ("STATUS", "status"))
    numbers = (*_NUMBERS, *_OPTIONAL, *((column, name, 1) for column, name in _MEASURED))
    columns: list[tuple[str, list[Any], str]] = [(column, [name], "char") for column, name in texts]
    columns += [(column, [name], "double" if decimals else "int") for column, name, decimals in numbers]
    columns.append(("PRED_CLASS", ["predicted"], "char"))
    for c, name in enumerate(about.classes):
        columns += [(f"P_{name}", ["probability", c], "double"), (f"Unc_P_{name}", ["deviation", c], "double")]
    columns += [(SUM_PREFIX + top, ["sum", g], "double") for g, top in enumerate(about.groups)]
    return [
        {
            "name": column,
            "key": key,
            "type": kind,
            "about": labels[column].description or "",
            "unit": "" if labels[column].unit is None else labels[column].unit.to_string("vounit"),
            "ucd": str(labels[column].meta.get("ucd", "")),
        }
        for column, key, kind in columns
        if column in labels.colnames
    ]


def text_column(name: str, key: str, about: str, ucd: str) -> dict[str, Any]:
    """Return a column of saved files, of texts that the label table does not have."""
    return {"name": name, "key": [key], "type": "char", "about": about, "unit": "", "ucd": ucd}


def statuses_of(columns: dict[str, Any]) -> list[str]:
    """Return each status that some source has, in the usual order."""
    found = dict.fromkeys(columns["status"])
    return [name for name in dict.fromkeys((*SOURCE_STATUSES, *found)) if name in found]


def catalogue_rows(labels: Table, catalog: Catalog) -> list[int]:
    """Return the catalogue's row of each labelled source; if a name repeats, its rows in their order.

    Raises CatalogError when the catalogue has fewer sources of a name than the labels.
    """
    rows: dict[str, list[int]] = {}  # letters that FITS cannot hold are all alike
    for row in reversed(range(len(catalog))):
        rows.setdefault(_NOT_ASCII.sub("?", str(catalog.names[row])), []).append(row)
    found = []
    for name in _text(labels, "Source_Name"):
        if not (those := rows.get(_NOT_ASCII.sub("?", name.strip()))):
            raise CatalogError(
                f"{catalog.source} does not have the labelled source {name}. Give the catalogue that was labelled, "
                f"{labels.meta.get('catalog', 'which the labels do not name')} (--catalog)."
            )
        found.append(those.pop())
    return found


def _text(table: Table, column: str) -> list[str]:
    """Return a column's texts without the blanks around them, with no half characters, which JavaScript cannot link."""
    texts = ("" if text is np.ma.masked else str(text).strip(" ") for text in table[column])
    return [text.encode("utf-8", "replace").decode() for text in texts]


def floats(table: Table, column: str) -> Any:
    """Return the numbers of a column of a label table, ``(n,)``, NaN where masked or infinite. Raises CatalogError."""
    values = table[column]
    try:
        numbers = np.array(np.ma.getdata(values), np.float64)
        if numbers.ndim != 1:
            raise ValueError("several numbers for each source")
    except (TypeError, ValueError) as error:
        raise CatalogError(
            f"column {column} of the label table holds {values.dtype} of shape {values.shape}, expected one number a "
            "source. Label the sources again."
        ) from error
    numbers[np.ma.getmaskarray(values) | ~np.isfinite(numbers)] = np.nan
    return numbers


def _rounded(table: Table, column: str, decimals: int) -> list[Any]:
    """Return the numbers of :func:`floats`, rounded, as integers where there are no decimals; None for NaN."""
    rounded = _list(np.round(floats(table, column), decimals))
    return rounded if decimals else [None if value is None else int(value) for value in rounded]


def significant(values: Any, digits: int) -> list[float | None]:
    """Return numbers of so many digits, None for NaN."""
    return [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in values]


def _list(values: Any) -> list[Any]:
    return [value if known else None for value, known in zip(values.tolist(), np.isfinite(values), strict=True)]


EXTENT = (float(np.pi), float(np.pi / 2))  #: Half the width and half the height of the whole sky.

_STEPS = 91  # number of points in a line of the grid
_LEFT = 179.999  # deg, the map's left edge; 180 is its right edge


def project(lon: ArrayLike, lat: ArrayLike) -> FloatArray:
    """Return Aitoff's x and y, ``(n, 2)``, of Galactic longitude, which increases to the left, and latitude in deg."""
    from matplotlib.projections.geo import AitoffAxes

    to_the_left = -((np.asarray(lon, np.float64) + 180.0) % 360.0 - 180.0)
    angles = np.radians(np.stack([to_the_left, np.asarray(lat, np.float64)], axis=-1))
    # Matplotlib's transform has half the width; it stretches the result when it draws.
    return np.asarray(AitoffAxes.AitoffTransform(1).transform_non_affine(angles)) * [2.0, 1.0]


def grid() -> dict[str, Any]:
    """Return the lines of the grid as lists of points, the outline of the sky, and the labels with their places."""
    lines = [_line(np.full(_STEPS, lon), np.linspace(-90, 90, _STEPS)) for lon in range(-120, 121, 60)]
    lines += [_line(np.linspace(-180, _LEFT, _STEPS), np.full(_STEPS, lat)) for lat in (-60, -30, 0, 30, 60)]
    up = np.linspace(-90, 90, _STEPS)
    edge = _line(np.full(_STEPS, _LEFT), up) + _line(np.full(_STEPS, 180.0), up[::-1])
    places = [(lon, 0, f"{lon % 360}°") for lon in range(-120, 121, 60)]
    places += [(180, lat, f"{lat}°".replace("-", "−")) for lat in (-60, -30, 30, 60)]
    at = _line(*np.array([place[:2] for place in places]).T)
    labels = [{"at": point, "text": place[2]} for point, place in zip(at, places, strict=True)]
    return {"lines": lines, "edge": edge, "labels": labels, "extent": EXTENT}


def _line(lon: NDArray[Any], lat: NDArray[Any]) -> list[list[float]]:
    return np.round(project(lon, lat), 4).tolist()
