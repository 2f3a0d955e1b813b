"""The figures of the open world: the default and all baselines, on the sources that a later list gives a class.

    python docs/development/benchmarks/open_world.py LATER.fits [--cells even] [--output FOLDER] [--releases DR1 DR4]
    python docs/development/benchmarks/open_world.py LATER.fits --baselines realmlp --output realmlp

LATER is FL16Y (gll_psc_16year). The script writes DR1.json and so on, and prints the tables of
docs/development/benchmarks.md. A file that is there is read, not made again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

RELEASES = ("DR1", "DR2", "DR3", "DR4")
#: Population and column of each figure.
FIGURES = {
    "AGN, pulsar or other, as the codes say": ("all", "nll"),
    "the same, 10° and more from the plane": ("high", "nll"),
    "clear codes only": ("unambiguous", "nll"),
    "each code at face value": ("face", "nll"),
    "AGN or pulsar": ("agn_or_pulsar", "nll"),
    "the same, 10° and more": ("agn_or_pulsar_high", "nll"),
    "three groups, best class priors": ("all", "nll_after_best_priors"),
}
GROUPS = (("agn", "AGN"), ("pulsar|other", "pulsars and other"), ("pulsar", "pulsars"), ("other", "other"))


def evaluate(release: str, later: Path, cells: str, output: Path, baselines: Sequence[str]) -> dict[str, Any]:
    """Return what ``Evaluation.to_dict`` has for a release, from its file where there is one."""
    path = output / f"{release}.json"
    if not path.exists():
        import fermiclass as fc
        from fermiclass import evaluation

        earlier = fc.read_catalog(f"catalogs/4FGL-{release}.fits.gz")
        named = baselines or evaluation.open_baselines()
        methods = [evaluation.default_method(), *evaluation.baseline_methods(named)]
        result = evaluation.evaluate(evaluation.open_world(earlier, fc.read_catalog(later), cells=cells), methods)
        path.write_text(json.dumps(result.to_dict(), indent=1) + "\n", encoding="utf-8")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def of(scores: dict[str, Any], population: str) -> dict[str, Any]:
    """Return the figures of a population, of a method."""
    return scores if population == "all" else scores[population]


def best(
    result: dict[str, Any], value: Callable[[dict[str, Any]], float], *, largest: bool = False
) -> tuple[str, float]:
    """Return the best baseline by a figure, and its figure."""
    found = {name: value(scores) for name, scores in result["methods"].items() if scores["is_baseline"]}
    name = (max if largest else min)(found, key=found.__getitem__)
    return name, found[name]


def table(results: dict[str, dict[str, Any]], lines: dict[str, Callable[[dict[str, Any]], str]]) -> str:
    """Return a Markdown table with a column for each release."""
    head = ["| | " + " | ".join(results) + " |", "| --- |" + " ---: |" * len(results)]
    return "\n".join(
        [*head, *(f"| {name} | " + " | ".join(map(cell, results.values())) + " |" for name, cell in lines.items())]
    )


def compared(population: str, figure: str) -> Callable[[dict[str, Any]], str]:
    """Return what writes the default's figure, the best baseline's, and the ratio."""

    def cell(result: dict[str, Any]) -> str:
        own = of(result["methods"]["default"], population)[figure]
        name, other = best(result, lambda scores: float(of(scores, population)[figure]))
        return f"{own:.3f} / {other:.3f} ({name}) = **{own / other:.2f}**"

    return cell


def numbers(place: str, group: str, method: str = "default") -> Callable[[dict[str, Any]], str]:
    """Return what writes the expected number of a group, and the number found."""

    def cell(result: dict[str, Any]) -> str:
        number = result["methods"][method][place]["per_class"][group]
        return f"{number['expected']:.1f} ± {number['expected_se']:.1f} / {number['n']}"

    return cell


def difference(result: dict[str, Any]) -> str:
    """Return the paired difference of the losses of the default and the best baseline."""
    versus = result["methods"]["default"]["versus_baselines"]["all"]
    return f"{versus['mean']:+.3f} ± {versus['se']:.3f}"


def same_factors(result: dict[str, Any]) -> str:
    """Return the paired difference of the losses of the default and the best baseline with the default's factors."""
    versus = result["same_factors"]["default"]["all"]
    return f"{versus['mean']:+.3f} ± {versus['se']:.3f} ({versus['baseline']})"


def without_factors(result: dict[str, Any]) -> str:
    """Return the loss of the default without its factors, and that of the best baseline with them."""
    own, bare = (result["same_factors"][name]["all"] for name in ("default", "default without factors"))
    best = result["methods"]["default"]["nll"] / own["ratio"]
    return f"{bare['ratio'] * best:.3f} / {best:.3f}"


def ranking(result: dict[str, Any]) -> str:
    """Return the average precision of P_psr among all unassociated sources."""

    def precision(scores: dict[str, Any]) -> float:
        return float(scores["per_class"]["pulsar"]["average_precision"])

    name, other = best(result, precision, largest=True)
    return f"{precision(result['methods']['default']):.3f} / {other:.3f} ({name})"


def types(result: dict[str, Any]) -> str:
    """Return the NLL of bll against fsrq, of bcu with a later type."""
    return compared("bll_or_fsrq", "nll")(result)


def main() -> None:
    """Evaluate the releases, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("later", type=Path, metavar="LATER.fits")
    parser.add_argument("--cells", default="even", choices=["all", "even", "odd"])
    parser.add_argument("--output", type=Path, default=Path())
    parser.add_argument("--releases", nargs="+", default=RELEASES, choices=RELEASES)
    parser.add_argument("--baselines", nargs="+", default=())
    arguments = parser.parse_args()
    results = {
        name: evaluate(name, arguments.later, arguments.cells, arguments.output, arguments.baselines)
        for name in arguments.releases
    }
    losses = {name: compared(*figure) for name, figure in FIGURES.items()}
    apart = {
        "default − best baseline, three groups": difference,
        "default − best baseline with its factors": same_factors,
        "default without factors / best baseline with them": without_factors,
    }
    print(table(results, losses | apart), end="\n\n")
    counts = {
        f"{where}: {group}": numbers(place, key)
        for place, where in (("high", "10° and more"), ("low", "closer"))
        for key, group in GROUPS
    }
    print(table(results, counts), end="\n\n")
    print(table(results, {"average precision of `P_psr`": ranking, "bll or fsrq, of typed `bcu` (NLL)": types}))


if __name__ == "__main__":
    main()
