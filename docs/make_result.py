"""What the labels of 4FGL-DR4 say: the label table in ``catalogs/``, ``docs/result.md`` and its figures.

    python docs/build.py labels result

The text is ``docs/templates/result.md``, whose numbers and tables are filled in here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from astropy.table import Table
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fermiclass import Census

DOCS = Path(__file__).parent
REPOSITORY = DOCS.parent
CATALOG = "catalogs/4FGL-DR4.fits.gz"
LABELS = "catalogs/4FGL-DR4-labels.fits.gz"
EARLIER = "catalogs/4FGL-DR3.fits.gz"
CLASSES = ("bll", "fsrq", "psr", "msp", "other")
#: What the classes add up to, AGN first; Sum_P_agn and Sum_P_pulsar are columns of the label table.
GROUPS = {"agn": ("bll", "fsrq"), "pulsar": ("psr", "msp"), "other": ("other",)}

#: Columns of the tables of candidates.
SHOWN = {
    "pulsar": ("Sum_P_pulsar", "P_psr", "P_msp"),
    "bll": ("P_bll", "P_fsrq"),
    "fsrq": ("P_fsrq", "P_bll"),
}

#: |GLAT| in degrees.
LATITUDES = (0.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0, 90.0)
#: |GLAT| in degrees from which candidates and published numbers are those of cleaner sky.
EDGE = 10.0
#: Signif_Avg.
SIGNIFICANCES = (0.0, 5.0, 7.0, 10.0, 20.0, np.inf)
#: Bits of LABEL_FLAGS with which a source is no candidate: outside the training domain, flagged by the catalogue (as
#: soft Galactic sources are).
DOUBTFUL = 4 | 8
#: Bit of the catalogue's Flags: soft Galactic unassociated source.
SOFT = 1 << 13

FloatArray = NDArray[np.float64]


def write_labels() -> None:
    """Run the README's command; the table is what it writes, compressed."""
    command = ["classify", CATALOG, "-o", LABELS, "--quiet"]
    subprocess.run([sys.executable, "-m", "fermiclass", *command], cwd=REPOSITORY, check=True)


@dataclass(frozen=True, eq=False)
class Results:
    """All that the text and the figures say."""

    labels: Table  #: All rows.
    without_errors: Table  #: The same of the method that ignores the error bars.
    sources: Table  #: Rows of the unassociated sources.
    #: Unassociated sources by the way to label them: `default`, `trained`, `mgp`, `three` (a closed world of three
    #: classes), `light` and `heavy` (the ends of the range of the weight of guessed labels), `low` and `high` (those of
    #: S₀), and `dr3`, those of 4FGL-DR3.
    ways: dict[str, Table]
    censuses: dict[str, Census]  #: Of 4FGL-DR4 (`default`), with the latitudes as groups, and of 4FGL-DR3 (`dr3`).
    near_agn: FloatArray  #: Signif_Avg of the AGN with a type that are closer to the plane than `EDGE`.


def probabilities(table: Table) -> FloatArray:
    """Return P_<class> of the classes, ``(n, 5)``."""
    return np.array([table[f"P_{name}"] for name in CLASSES], np.float64).T


def grouped(table: Table) -> FloatArray:
    """Return the probabilities of AGN, pulsar and other, ``(n, 3)``; a class that the table lacks counts 0."""
    P = np.zeros((len(table), len(GROUPS)))
    for k, names in enumerate(GROUPS.values()):
        for name in names:
            if f"P_{name}" in table.colnames:
                P[:, k] += np.asarray(table[f"P_{name}"], float)
    return P


def compute() -> Results:
    """Label with the default, as trained, without error bars, and in a world of three classes; and label 4FGL-DR3."""
    import fermiclass as fc
    from fermiclass.labelling.associations import REFERENCE_RANGE
    from fermiclass.labelling.training import train_checked
    from fermiclass.labelling.training_rows import GUESS, GUESS_RANGE

    catalog, earlier = fc.read_catalog(REPOSITORY / CATALOG), fc.read_catalog(REPOSITORY / EARLIER)
    labels = fc.read_table(REPOSITORY / LABELS)
    sources = unassociated(labels)
    checked = fc.Recipe(targets="unassociated").check(catalog)
    light, heavy = (train_checked(checked.with_guesses(w)) for w in (GUESS / GUESS_RANGE, GUESS * GUESS_RANGE))
    model = train_checked(checked)
    without_errors = fc.classify(catalog, recipe=fc.Recipe().with_settings(method="mgp"))
    ways = {
        "default": sources,
        "trained": fc.classify(catalog, targets="unassociated", class_priors="trained"),
        "mgp": unassociated(without_errors),
        "three": fc.classify(catalog, targets="unassociated", classes="bll,fsrq,psr"),
        "light": light.label(catalog),
        "heavy": heavy.label(catalog),
        "low": model.with_reference(1.0 / REFERENCE_RANGE).label(catalog),
        "high": model.with_reference(REFERENCE_RANGE).label(catalog),
        "dr3": fc.classify(earlier, targets="unassociated"),
    }
    b = latitude(catalog.table)
    bins = {_bin(low, high): (catalog.classes == "") & (b >= low) & (b < high) for low, high in pairwise(LATITUDES)}
    censuses = {"default": fc.take_census(catalog, groups=bins), "dr3": fc.take_census(earlier)}
    near_agn = np.asarray(catalog.table["Signif_Avg"], float)[np.isin(catalog.classes, ["bll", "fsrq"]) & (b < EDGE)]
    return Results(labels, without_errors, sources, ways, censuses, near_agn)


def _bin(low: float, high: float) -> str:
    return f"{low:.0f} to {high:.0f}"


def unassociated(labels: Table) -> Table:
    """Return the rows of the sources without any association."""
    return labels[labels["STATUS"] == "unassociated"]


def latitude(table: Table) -> FloatArray:
    """Return |GLAT| in degrees, ``(n,)``."""
    return np.abs(np.asarray(table["GLAT"], float))


def expected(p: FloatArray, census: Census | None = None, place: str = "", names: Sequence[str] = ()) -> str:
    """Return the expected number, Σ p, as text, with the 90 % interval of a census where one is given."""
    if census is None:
        return f"{p.sum():.0f}"
    _, low, high = census.interval(place, names)
    return f"{p.sum():.0f} ({low:.0f}–{high:.0f})"


def moved(results: Results) -> FloatArray:
    """Total variation distance of the two methods' probabilities, ½ Σ_c |P_c − P'_c|, of all labelled sources."""
    return 0.5 * np.abs(probabilities(results.labels) - probabilities(results.without_errors)).sum(axis=1)


def candidates(results: Results, name: str, low: float = EDGE, high: float = np.inf, top: int = 10) -> Table:
    """Return the unassociated sources of the highest probability of a class times LASTS that no flag speaks against."""
    table = results.sources
    good = (np.asarray(table["LABEL_FLAGS"]) & DOUBTFUL == 0) & (latitude(table) >= low) & (latitude(table) < high)
    table = table[good]
    order = np.lexsort((np.asarray(table["Source_Name"]), -np.asarray(table[column_of(name)] * table["LASTS"])))
    return table[order[:top]]


def column_of(name: str) -> str:
    """Return the column of the probability of a class; that of both kinds for pulsars."""
    return "Sum_P_pulsar" if name == "pulsar" else f"P_{name}"


def candidates_text(table: Table, name: str) -> str:
    """Return a Markdown table of candidates."""
    from fermiclass.analysis.facts import first_list_of, known_as

    columns = [*SHOWN[name], "LASTS"]
    numbers = " ---: |" * (3 + len(columns))
    head = f"| source | l, b (deg) | σ | {' | '.join(columns)} | OOD | since | known |\n| --- |{numbers} --- | --- |"
    rows = [
        f"| {row['Source_Name']} | {row['GLON']:.2f}, {row['GLAT']:+.2f} | {row['Signif_Avg']:.1f} | "
        + " | ".join(_probability(row[column]) for column in columns)
        + f" | {row['OOD_SCORE']:.2f} | {since} | {known} |"
        for row, since, known in zip(table, first_list_of(table), known_as(table), strict=True)
    ]
    return "\n".join([head, *rows])


def _probability(p: float) -> str:
    if p >= 0.9995 or p < 0.0005:
        return "> 0.999" if p > 0.5 else "< 0.001"
    return f"{p:.3f}"


def latitude_text(results: Results) -> str:
    """Return the Markdown table of numbers by latitude."""
    flagged = np.asarray(results.sources["LABEL_FLAGS"]) & 8 > 0
    P, b = grouped(results.sources), latitude(results.sources)
    lines = [
        "| \\|b\\|, deg | unassociated | flagged by the catalogue | AGN | pulsars | other |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for low, high in pairwise(LATITUDES):
        rows, place = (b >= low) & (b < high), _bin(low, high)
        numbers = " | ".join(
            expected(P[rows, k], results.censuses["default"], place, names) for k, names in enumerate(GROUPS.values())
        )
        lines.append(f"| {place} | {rows.sum()} | {flagged[rows].mean():.0%} | {numbers} |")
    return "\n".join(lines)


def errors_text(results: Results) -> str:
    """Return the Markdown table of what error bars change, by significance."""
    labels, other = results.labels, results.without_errors
    significance = np.asarray(labels["Signif_Avg"], float)
    distance = moved(results)
    changed = np.asarray(labels["PRED_CLASS"]) != np.asarray(other["PRED_CLASS"])
    lines = [
        "| Signif_Avg | sources | another class | mean shift of P | P_MAX > 0.9: with, without error bars |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    edges = [*pairwise(SIGNIFICANCES), (0.0, np.inf)]
    for low, high in edges:
        rows = (significance >= low) & (significance < high)
        name = (
            "all" if (low, high) == (0.0, np.inf) else f"below {high:.0f}" if low == 0 else f"{low:.0f} to {high:.0f}"
        )
        name = f"{low:.0f} and more" if high == np.inf and low > 0 else name
        sure = [f"{np.mean(np.asarray(table['P_MAX'])[rows] > 0.9):.0%}" for table in (labels, other)]
        lines.append(
            f"| {name} | {rows.sum()} | {changed[rows].sum()} ({changed[rows].mean():.1%}) "
            f"| {distance[rows].mean():.3f} | {sure[0]}, {sure[1]} |"
        )
    return "\n".join(lines)


def numbers(results: Results) -> dict[str, str]:
    """Return what stands in for the template's names."""
    labels, sources = results.labels, results.sources
    good = np.asarray(sources["LABEL_FLAGS"]) & DOUBTFUL == 0
    far = latitude(sources) >= EDGE
    soft = np.asarray(sources["Flags"]) & SOFT > 0
    sure = np.asarray(sources["Sum_P_pulsar"]) > 0.9
    half = float(np.median(np.asarray(sources["Signif_Avg"], float)[~far]))
    found: dict[str, str] = {
        "labelled": str(len(labels)),
        "unassociated": str(len(sources)),
        "soft": str(int(soft.sum())),
        "other_count": dict(part.split("=") for part in labels.meta["counts"].split(","))["other"],
        "near_half": f"{half:.1f}",
        "near_agn": str(len(results.near_agn)),
        "near_agn_faint": str(int(np.sum(results.near_agn < half))),
        "sure_psr": str(int(sure.sum())),
        "sure_psr_good": str(int((sure & good).sum())),
        "sure_psr_far": str(int((sure & good & far).sum())),
        "sure_bll": str(int(np.sum(sources["P_bll"] > 0.9))),
        "sure_fsrq": str(int(np.sum(sources["P_fsrq"] > 0.9))),
        "sure_other": str(int(np.sum(sources["P_other"] > 0.9))),
        "moved": f"{moved(results).mean():.3f}",
        "moved_most": str(int(np.sum(moved(results) > 0.1))),
        "latitude_table": latitude_text(results),
        "errors_table": errors_text(results),
        "psr_far_table": candidates_text(candidates(results, "pulsar"), "pulsar"),
        "psr_near_table": candidates_text(candidates(results, "pulsar", 0.0, EDGE), "pulsar"),
        "bll_table": candidates_text(candidates(results, "bll"), "bll"),
        "fsrq_table": candidates_text(candidates(results, "fsrq"), "fsrq"),
    }
    for k, group in enumerate(GROUPS):
        found[f"soft_{group}"] = f"{grouped(sources)[soft, k].mean():.2f}"
    bcu = labels[np.char.lower(np.asarray(labels["CLASS1"], str)) == "bcu"]
    census = results.censuses["default"]
    found["bcu_rest"] = expected(grouped(bcu)[:, 1:].sum(axis=1), census, "bcu", ("psr", "msp", "other"))
    for name in ("bll", "fsrq"):
        found[f"bcu_{name}"] = expected(np.asarray(bcu[f"P_{name}"], float), census, "bcu", (name,))
    for way, table in results.ways.items():
        P, away = grouped(table), latitude(table) >= EDGE
        for group, number in zip(GROUPS, np.bincount(P[away].argmax(axis=1), minlength=len(GROUPS)), strict=True):
            found[f"{way}_high_most_{group}"] = str(int(number))
        for place, rows in (("all", away | ~away), ("low", ~away), ("high", away)):
            found[f"{way}_{place}"] = str(int(rows.sum()))
            where = f"unassociated {place}".removesuffix(" all")
            for k, (group, members) in enumerate(GROUPS.items()):
                found[f"{way}_{place}_{group}"] = expected(P[rows, k], results.censuses.get(way), where, members)
    return found


def write_result() -> None:
    """Write ``docs/result.md`` and its figures."""
    from result_figures import draw

    results = compute()
    draw(results, DOCS / "figures")
    template = (DOCS / "templates" / "result.md").read_text(encoding="utf-8")
    filled = {name: re.sub(r"(?<=\d)%", " %", text) for name, text in numbers(results).items()}
    (DOCS / "result.md").write_text(template.format_map(filled), encoding="utf-8")
