"""Printed tables of the evaluation in the open world."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from fermiclass.evaluation.metrics import confusion
from fermiclass.evaluation.open_world import LATITUDE_EDGE, TOPS, OpenEvaluation
from fermiclass.show.confusion import confusion_table
from fermiclass.show.summaries import console_for_tables, plain_table

_FIGURES = {
    "nll": "NLL",
    "nll_high": "NLL high",
    "agn_psr": "AGN|psr",
    "agn_psr_high": "high",
    "evidence": "evidence",
    "error": "error",
    "ece": "ECE",
    "ap_psr": "AP psr",
}


def methods_table(figures: dict[str, Any]) -> Table:
    """Return the figures of all methods, the lowest NLL first."""
    table = plain_table("method", *_FIGURES.values(), right=tuple(range(1, len(_FIGURES) + 1)))
    table.padding = (0, 1, 0, 0)
    methods = figures["methods"]
    for name in sorted(methods, key=lambda name: methods[name]["nll"]):
        cells = [_number(methods[name][key]) for key in _FIGURES]
        table.add_row(name, *cells, style=None if methods[name]["is_baseline"] else "bold")
    return table


def numbers_table(figures: dict[str, Any]) -> Table:
    """Return the expected and found numbers of each group, below and above the latitude edge."""
    table = plain_table("method", "|b|, deg", *(f"{name}, found" for name in TOPS), right=(2, 3, 4))
    for name, method in figures["methods"].items():
        if method["is_baseline"]:
            continue
        for stratum, words in (("low", f"< {LATITUDE_EDGE:g}"), ("high", f"≥ {LATITUDE_EDGE:g}")):
            cells = [
                f"{number['expected']:.1f} ± {number['se']:.1f}, {number['found']}"
                for number in (method["numbers"][stratum][top] for top in TOPS)
            ]
            table.add_row(name, words, *cells)
    return table


def candidates_table(figures: dict[str, Any]) -> Table:
    """Return purity and completeness of pulsar candidates by threshold."""
    table = plain_table("method", "P_psr from", "candidates", "purity", "completeness", right=(1, 2, 3, 4))
    for name, method in figures["methods"].items():
        if method["is_baseline"]:
            continue
        for row in method["candidates"]["psr"]:
            cells = (_number(row["purity"]), _number(row["completeness"]))
            table.add_row(name, f"{row['threshold']:g}", str(row["n"]), *cells)
    return table


def print_open(evaluation: OpenEvaluation, console: Console | None = None) -> None:
    """Print the scored sources, the figures of all methods, and notes on how to read them."""
    console = console or console_for_tables()
    figures = evaluation.to_dict()

    def say(text: str) -> None:
        console.print(text, markup=False)

    found = ", ".join(f"{number} {name}" for name, number in figures["found"].items())
    cells = "" if evaluation.cells == "all" else f" in the {evaluation.cells} cells of the sky"
    say(
        f"{evaluation.earlier} leaves {figures['n']} sources{cells} unassociated that {evaluation.later} gives a "
        f"class: {found}. Every class except unk counts; a bcu is an AGN."
    )
    console.print(methods_table(figures))
    say(
        "NLL: mean of −ln P(true group), of the three groups.\n"
        "NLL high: the same at 10 degrees and more from the Galactic plane.\n"
        "AGN|psr, and high: NLL of AGN against pulsar alone.\n"
        "evidence: NLL after the best class priors by latitude, chosen with the truth known.\n"
        "error: fraction of sources whose most probable group is wrong.\n"
        "ECE: mean distance of confidence and accuracy. Lower is better for all figures above.\n"
        "AP psr: how well P_psr ranks the pulsars found among all unassociated sources, 1 is best."
    )
    best = min(
        evaluation.methods, key=lambda name: (evaluation.methods[name].is_baseline, figures["methods"][name]["nll"])
    )
    say(f"\nTrue groups and the most probable ones by {best}:")
    console.print(confusion_table(confusion(evaluation.methods[best].p, evaluation.targets.top), TOPS))
    console.print(numbers_table(figures))
    say("Candidates: purity is the share of them that are pulsars, completeness the share of all pulsars found.")
    console.print(candidates_table(figures))
    for name, method in figures["methods"].items():
        types = method["bll_fsrq"]
        if not method["is_baseline"] and types["n"]:
            say(
                f"{name}: bll against fsrq of {types['n']} bcu that have a type later: NLL {types['nll']:.3f}, "
                f"{types['expected_fsrq']:.1f} fsrq expected, {types['found_fsrq']} found."
            )
        if "versus_best" in method:
            versus = method["versus_best"]
            say(
                f"{name} against the best baseline, {versus['baseline']}: NLL {versus['mean']:+.3f} ± "
                f"{versus['se']:.3f} for the same sources."
            )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
