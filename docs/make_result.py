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
from typing import Any

import numpy as np
from astropy.table import Table
from numpy.typing import NDArray

DOCS = Path(__file__).parent
REPOSITORY = DOCS.parent
CATALOG = "catalogs/4FGL-DR4.fits.gz"
LABELS = "catalogs/4FGL-DR4-labels.fits.gz"
CLASSES = ("bll", "fsrq", "psr")

#: |GLAT| in degrees; shares are estimated within each bin.
LATITUDES = (0.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0, 90.0)
#: Signif_Avg.
SIGNIFICANCES = (0.0, 5.0, 7.0, 10.0, 20.0, np.inf)
#: Bits of LABEL_FLAGS with which a source is no candidate: outside the training domain, flagged by the catalogue.
DOUBTFUL = 4 | 8

FloatArray = NDArray[np.float64]


def write_labels() -> None:
    """Run the README's command; the table is what it writes, compressed."""
    command = ["classify", CATALOG, "-o", LABELS, "--quiet"]
    subprocess.run([sys.executable, "-m", "fermiclass", *command], cwd=REPOSITORY, check=True)


@dataclass(frozen=True, eq=False)
class Count:
    """Expected numbers of sources of each class, ``(C,)``, with their standard deviations."""

    mean: FloatArray
    std: FloatArray

    def text(self, c: int) -> str:
        """Return the number of class `c` with its standard deviation."""
        return f"{self.mean[c]:.0f} ± {self.std[c]:.0f}"


@dataclass(frozen=True, eq=False)
class Results:
    """All that the text and the figures say.

    Attributes
    ----------
    labels
        The label table, all 4186 rows; `without_errors` is that of the method that ignores the error bars.
    sources
        Rows of the label table that are unassociated, with P_<class>_LAT, the probabilities by latitude.
    latitude_sources
        (B,) unassociated sources by bins of latitude.
    bins
        Shares of each class in each bin, ``(B, C)``, and their standard deviations.
    one_share, trained
        Expected numbers by bin, ``(B, C)``: with one share for all latitudes, and as trained.
    counts
        Expected numbers of unassociated sources by the way to find them.
    """

    labels: Table
    without_errors: Table
    sources: Table
    latitude_sources: FloatArray
    bins: tuple[FloatArray, FloatArray]
    one_share: FloatArray
    trained: FloatArray
    counts: dict[str, Count]


def probabilities(table: Table, suffix: str = "") -> FloatArray:
    """Return P_<class> of the three classes, ``(n, 3)``."""
    return np.array([table[f"P_{name}{suffix}"] for name in CLASSES], np.float64).T


def compute() -> Results:
    """Train the default, the same without error bars, and one with a class 'other'; count what they find."""
    import fermiclass as fc

    catalog = fc.read_catalog(REPOSITORY / CATALOG)
    labels = fc.read_table(REPOSITORY / LABELS)
    sources = labels[labels["CLASS1"] == ""]
    model = fc.train(catalog)
    training = np.array([model.provenance["training_counts"][name] for name in CLASSES], float)
    trained = probabilities(model.label(catalog, "unassociated", shares="trained"))
    by_latitude = model.label(catalog, "unassociated", shares="latitude")
    for name in CLASSES:
        sources[f"P_{name}_LAT"] = by_latitude[f"P_{name}"]

    latitude = np.abs(np.asarray(sources["GLAT"], float))
    within = [(latitude >= low) & (latitude < high) for low, high in pairwise(LATITUDES)]
    within[-1] |= latitude == LATITUDES[-1]
    shares = [fc_shares(trained[rows], training) for rows in within]
    bins = np.array([each.mean for each in shares]), np.array([each.std for each in shares])
    sizes = np.array([rows.sum() for rows in within], float)
    near = latitude < 10.0

    ignorant = fc.train(catalog, fc.NIMGPClassifier("mgp"))
    without_errors = ignorant.label(catalog, shares="estimated")
    ignored = ignorant.label(catalog, "unassociated", shares="trained")
    other = fc.classify(catalog, targets="unassociated", classes="bll,fsrq,psr,other", shares="trained")
    none = np.full(len(CLASSES), np.nan)
    return Results(
        labels=labels,
        without_errors=without_errors,
        sources=sources,
        latitude_sources=sizes,
        bins=bins,
        one_share=np.array([probabilities(sources[rows]).sum(axis=0) for rows in within]),
        trained=np.array([trained[rows].sum(axis=0) for rows in within]),
        counts={
            "one": total([np.ones(len(near), bool)], trained, training),
            "two": total([near, ~near], trained, training),
            "far": total([~near], trained, training),
            "bins": total(within, trained, training),
            "mgp": total([np.ones(len(near), bool)], probabilities(ignored), training),
            "trained": Count(trained.sum(axis=0), none),
            "other": Count(probabilities(other).sum(axis=0), none),
        },
    )


def fc_shares(p: FloatArray, training: FloatArray) -> Any:
    """Estimate the shares of the classes among sources with the probabilities `p` as trained."""
    from fermiclass.shares import estimate_shares

    return estimate_shares(p, training / training.sum())


def total(groups: list[NDArray[np.bool_]], trained: FloatArray, training: FloatArray) -> Count:
    """Add up the numbers of sources by group, each with shares of its own; groups are independent."""
    shares = [fc_shares(trained[rows], training) for rows in groups]
    sizes = [rows.sum() for rows in groups]
    mean = sum(each.mean * n for each, n in zip(shares, sizes, strict=True))
    variance = sum((each.std * n) ** 2 for each, n in zip(shares, sizes, strict=True))
    return Count(np.asarray(mean), np.sqrt(variance))


def moved(results: Results) -> FloatArray:
    """Total variation distance of the two methods' probabilities, ½ Σ_c |P_c − P'_c|, of all labelled sources."""
    return 0.5 * np.abs(probabilities(results.labels) - probabilities(results.without_errors)).sum(axis=1)


def candidates(results: Results, name: str, suffix: str = "", least_latitude: float = 0.0, top: int = 10) -> Table:
    """Return the unassociated sources of the highest probability of a class that no flag speaks against."""
    table = results.sources
    good = (np.asarray(table["LABEL_FLAGS"]) & DOUBTFUL == 0) & (np.abs(table["GLAT"]) >= least_latitude)
    table = table[good]
    order = np.lexsort((np.asarray(table["Source_Name"]), -np.asarray(table[f"P_{name}{suffix}"])))
    return table[order[:top]]


def candidates_text(table: Table, name: str) -> str:
    """Return a Markdown table of candidates."""
    head = f"| source | l, b (deg) | σ | P_{name} | by latitude | OOD | flags |\n| --- |" + " ---: |" * 6
    rows = [
        f"| {row['Source_Name']} | {row['GLON']:.2f}, {row['GLAT']:+.2f} | {row['Signif_Avg']:.1f} "
        f"| {_probability(row[f'P_{name}'], row[f'Unc_P_{name}'])} | {_probability(row[f'P_{name}_LAT'])} "
        f"| {row['OOD_SCORE']:.2f} | {row['LABEL_FLAGS']} |"
        for row in table
    ]
    return "\n".join([head, *rows])


def _probability(p: float, std: float | None = None) -> str:
    if p >= 0.9995:
        return "> 0.999"
    return f"{p:.3f}" if std is None else f"{p:.3f} ± {std:.3f}"


def latitude_text(results: Results) -> str:
    """Return the Markdown table of numbers by latitude."""
    flagged = np.asarray(results.sources["LABEL_FLAGS"]) & 8 > 0
    latitude = np.abs(results.sources["GLAT"])
    lines = [
        "| \\|b\\|, deg | unassociated | flagged by the catalogue | pulsar-like | BL Lac | FSRQ |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for k, n in enumerate(results.latitude_sources):
        rows = (latitude >= LATITUDES[k]) & (latitude < LATITUDES[k + 1] + (k == len(LATITUDES) - 2))
        numbers = [f"{n * results.bins[0][k, c]:.0f} ± {n * results.bins[1][k, c]:.0f}" for c in (2, 0, 1)]
        lines.append(
            f"| {LATITUDES[k]:.0f} to {LATITUDES[k + 1]:.0f} | {n:.0f} | {flagged[rows].mean():.0%} | "
            + " | ".join(numbers)
            + " |"
        )
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
    counts = results.counts
    psr, far = CLASSES.index("psr"), np.abs(results.sources["GLAT"]) >= 10.0

    def blazars(count: Count) -> str:
        # the numbers of all classes add up to the number of sources, which is known
        return f"{count.mean[0] + count.mean[1]:.0f} ± {count.std[psr]:.0f}"

    labels, other = results.labels, results.without_errors
    changed = np.asarray(labels["PRED_CLASS"]) != np.asarray(other["PRED_CLASS"])
    unknown = len(results.sources)
    found: dict[str, str] = {
        "labelled": str(len(labels)),
        "unassociated": str(unknown),
        "far": str(int(far.sum())),
        "far_one": f"{float(np.sum(results.sources['P_psr'][far])):.0f}",
        "far_two": counts["far"].text(psr),
        "other_psr": f"{counts['other'].mean[psr]:.0f}",
        "other_blazars": f"{counts['other'].mean[:2].sum():.0f}",
        "other_other": f"{unknown - counts['other'].mean.sum():.0f}",
        "sure_psr": str(int(np.sum(results.sources["P_psr"] > 0.9))),
        "sure_psr_good": str(
            int(np.sum((results.sources["P_psr"] > 0.9) & (results.sources["LABEL_FLAGS"] & DOUBTFUL == 0)))
        ),
        "sure_bll": str(int(np.sum(results.sources["P_bll"] > 0.9))),
        "sure_fsrq": str(int(np.sum(results.sources["P_fsrq"] > 0.9))),
        "changed": str(int(changed.sum())),
        "changed_share": f"{changed.mean():.1%}",
        "moved": f"{moved(results).mean():.3f}",
        "moved_most": str(int(np.sum(moved(results) > 0.1))),
        "latitude_table": latitude_text(results),
        "errors_table": errors_text(results),
        "w_bcu": labels.meta["w_bcu"].replace("+-", " ± ").replace(",", ", ").replace("=", " "),
        "psr_table": candidates_text(candidates(results, "psr"), "psr"),
        "psr_far_table": candidates_text(candidates(results, "psr", "_LAT", 10.0), "psr"),
        "bll_table": candidates_text(candidates(results, "bll"), "bll"),
        "fsrq_table": candidates_text(candidates(results, "fsrq"), "fsrq"),
    }
    for way in ("one", "two", "bins", "mgp"):
        for c, name in enumerate(CLASSES):
            found[f"{way}_{name}"] = counts[way].text(c)
        found[f"{way}_blazars"] = blazars(counts[way])
    for c, name in enumerate(CLASSES):
        found[f"trained_{name}"] = f"{counts['trained'].mean[c]:.0f}"
    found["trained_blazars"] = f"{counts['trained'].mean[:2].sum():.0f}"
    return found


def write_result() -> None:
    """Write ``docs/result.md`` and its figures."""
    from result_figures import draw

    results = compute()
    draw(results, DOCS / "figures")
    template = (DOCS / "templates" / "result.md").read_text(encoding="utf-8")
    filled = {name: re.sub(r"(?<=\d)%", " %", text) for name, text in numbers(results).items()}
    (DOCS / "result.md").write_text(template.format_map(filled), encoding="utf-8")
