"""The numbers of README, index, trust, benchmarks, in-a-paper and paper.md: measured, filled in, and checked.

    python docs/check_numbers.py                              check numbers and tables; exit status 1 if one is wrong
    python docs/check_numbers.py --write                      fill the tables
    python docs/check_numbers.py --measure FL16Y.fits OPEN    measure again: writes docs/measured.json

OPEN is the folder of ``docs/development/benchmarks/open_world.py FL16Y.fits --cells even --output OPEN``. A page must
contain the numbers of its facts somewhere.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).parent
REPOSITORY = DOCS.parent
MEASURED = DOCS / "measured.json"
sys.path.append(str(DOCS / "development" / "benchmarks"))  # open_world.py
LATEST = "DR4 to FL16Y"
PAIRS = ("DR1 to DR4", "DR2 to DR4", "DR3 to DR4", LATEST)
#: Edges of the probability of a label.
EDGES = (0.0, 0.6, 0.8, 0.9, 1.0)
#: Rows of the table of losses.
SHORT = ("AGN, pulsar or other, as the codes say", "AGN or pulsar", "the same, 10° and more")
#: What the endings of the names of baselines mean.
ENDINGS = {"": "codes at face value", "clear": "clear codes", "spiders": "binaries as pulsars"}
NAMES = {"mlps": "five neural networks", "xgboost": "XGBoost", "forest": "random forest"}
NAMES |= {"logistic": "logistic regression"}

#: Facts whose numbers a page has, by page.
FACTS = {
    "README.md": (
        "unassociated scored clear c90_n c90_psr c90_face c90_spiders_n c90_spiders base_face "
        "base_spiders last90_n last90_psr last90_may difference labelled"
    ),
    "docs/index.md": "unassociated",
    "docs/trust.md": (
        "scored clear right_share sure_right sure c90_face_range c90_spiders_range base_face_range "
        "base_spiders_range difference_range agn_share dr1_psr dr1_n dr1_agn dr1_agn_found dr1_rest "
        "dr1_rest_found other"
    ),
    "docs/development/benchmarks.md": "",
    "docs/label-a-catalogue.md": "claimed",
    "docs/in-a-paper.md": "learned bll fsrq psr msp other agn_of_other_types binaries spp soft",
    "paper.md": "labelled",
}


def measure(later: Path, folder: Path) -> dict[str, Any]:
    """Test the default on four pairs of lists, and sum up what open_world.py measured."""
    import fermiclass as fc
    from fermiclass import evaluation

    catalogs = {
        name: fc.read_catalog(REPOSITORY / "catalogs" / f"4FGL-{name}.fits.gz") for name in ("DR1", "DR2", "DR3", "DR4")
    }
    found: dict[str, Any] = {"pairs": {}, "open": {}}
    for pair in PAIRS:
        earlier, _, last = pair.partition(" to ")
        newer, cells = (catalogs["DR4"], "all") if last == "DR4" else (fc.read_catalog(later), "even")
        result = evaluation.evaluate(
            evaluation.open_world(catalogs[earlier], newer, cells=cells), [evaluation.default_method()]
        )
        default = result.to_dict()["methods"]["default"]
        found["pairs"][pair] = {
            "n": len(result),
            "per_class": default["per_class"],
            "candidates": {reading: default[reading]["candidates"]["pulsar"] for reading in ("face", "spiders")},
        }
    clear = result.truth.sum(axis=1) == 1
    P, truth = result.probabilities("default")[clear], result.truth[clear].argmax(axis=1)
    found["calibration"] = [
        {
            "low": low,
            "n": int(rows.sum()),
            "right": int((P.argmax(axis=1) == truth)[rows].sum()),
            "P": float(P.max(axis=1)[rows].mean()),
        }
        for low, high in pairwise(EDGES)
        for rows in [(P.max(axis=1) >= low) & (P.max(axis=1) < high + (high == 1.0))]
    ]
    found["confusion"] = default["unambiguous"]["confusion"]
    found["open"] = {
        path.stem: open_figures(json.loads(path.read_text(encoding="utf-8")))
        for path in sorted(folder.glob("DR?.json"))
    }
    return found


def open_figures(result: dict[str, Any]) -> dict[str, Any]:
    """Return the losses of the default and the best baseline, expected numbers, and rows of README's table."""
    from open_world import FIGURES, best, of

    own = result["methods"]["default"]
    losses = {}
    for label, (population, figure) in FIGURES.items():
        name, other = best(result, lambda scores, p=population, f=figure: float(of(scores, p)[f]))
        losses[label] = {"default": of(own, population)[figure], "best": other, "name": name}
    baselines = {name: scores for name, scores in result["methods"].items() if scores["is_baseline"]}
    kinds = {}
    for kind in NAMES:
        name = min(
            (n for n in baselines if re.fullmatch(rf"{kind}(\+gas)?(:.*)?", n)), key=lambda n: baselines[n]["nll"]
        )
        kinds[name] = baselines[name]
    rows = {
        name: [scores["nll"], scores["nll_se"], scores["unambiguous"]["nll"], scores["agn_or_pulsar"]["nll"]]
        for name, scores in {"default": own, **kinds}.items()
    }
    return {
        "n": result["n"],
        "losses": losses,
        "difference": own["versus_baselines"]["all"],
        "same_factors": result["same_factors"]["default"]["all"],
        "frequencies": result["nll_of_constants"],
        "expected": {place: own[place]["per_class"] for place in ("high", "low")},
        "rows": rows,
    }


def facts(measured: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of the sentences, from the label table, the catalogue and what was measured."""
    import fermiclass as fc

    labels = fc.read_table(REPOSITORY / "catalogs" / "4FGL-DR4-labels.fits.gz")
    codes = fc.read_catalog(REPOSITORY / "catalogs" / "4FGL-DR4.fits.gz").classes
    counts = dict(part.split("=") for part in labels.meta["counts"].split(","))
    bins, first, last = measured["calibration"], measured["pairs"][PAIRS[0]], measured["pairs"][LATEST]
    clear = sum(row["n"] for row in bins)
    at = {
        (pair, reading): candidates_at(measured, pair, reading, 0.9)
        for pair in PAIRS
        for reading in ("face", "spiders")
    }
    base = {(pair, reading): candidates_at(measured, pair, reading, 0.0) for pair, reading in at}
    last90 = [round(at[LATEST, reading]["n"] * at[LATEST, reading]["purity"]) for reading in ("face", "spiders")]
    differences = {name: release["difference"] for name, release in measured["open"].items()}
    errors = sorted(abs(one["mean"]) / one["se"] for one in differences.values())
    rest, agn = first["per_class"]["pulsar|other"], first["per_class"]["agn"]

    def percent(value: float) -> str:
        return f"{100 * value:.0f}"

    def spread(of: dict[tuple[str, str], dict[str, Any]], reading: str) -> str:
        values = sorted(of[pair, reading]["purity"] for pair in PAIRS[:3])
        return f"{percent(values[0])} to {percent(values[-1])}"

    status = np.asarray(labels["STATUS"])
    return {
        "unassociated": int(np.sum(status == "unassociated")),
        "labelled": len(labels),
        "claimed": int(np.sum(np.asarray(labels["BF_CLAIM"]) > 1.0)),
        "scored": last["n"],
        "clear": clear,
        "right_share": percent(sum(row["right"] for row in bins) / clear),
        "sure": bins[-1]["n"],
        "sure_right": bins[-1]["right"],
        "agn_share": percent(sum(measured["confusion"][0]) / clear),
        "c90_n": at[PAIRS[0], "face"]["n"],
        "c90_face": percent(at[PAIRS[0], "face"]["purity"]),
        "c90_psr": round(at[PAIRS[0], "face"]["n"] * at[PAIRS[0], "face"]["purity"]),
        "c90_spiders": percent(at[PAIRS[0], "spiders"]["purity"]),
        "c90_spiders_n": round(at[PAIRS[0], "spiders"]["n"] * at[PAIRS[0], "spiders"]["purity"]),
        "c90_face_range": spread(at, "face"),
        "c90_spiders_range": spread(at, "spiders"),
        "base_face": percent(base[PAIRS[0], "face"]["purity"]),
        "base_spiders": percent(base[PAIRS[0], "spiders"]["purity"]),
        "base_face_range": spread(base, "face"),
        "base_spiders_range": spread(base, "spiders"),
        "last90_n": at[LATEST, "face"]["n"],
        "last90_psr": last90[0],
        "last90_may": last90[1] - last90[0],
        "difference": f"{abs(differences['DR4']['mean']):.3f} ± {differences['DR4']['se']:.3f}",
        "difference_range": f"{errors[0]:.1f} to {errors[-1]:.1f}",
        "dr1_n": first["n"],
        "dr1_psr": first["per_class"]["pulsar"]["n"],
        "dr1_agn": f"{agn['expected']:.1f} ± {agn['expected_se']:.1f}",
        "dr1_agn_found": agn["n"],
        "dr1_rest": f"{rest['expected']:.1f} ± {rest['expected_se']:.1f}",
        "dr1_rest_found": rest["n"],
        "learned": sum(int(number) for name, number in counts.items() if "|" not in name),
        **counts,
        "agn_of_other_types": int(np.isin(codes, ["rdg", "agn", "nlsy1", "css", "ssrq", "sey", "sbg", "gal"]).sum()),
        "binaries": int(np.isin(codes, ["bin", "lmb", "glc"]).sum()),
        "spp": int(np.sum(codes == "spp")),
        "soft": int(np.sum((status == "unassociated") & (np.asarray(labels["Flags"]) & (1 << 13) > 0))),
    }


def candidates_at(measured: dict[str, Any], pair: str, reading: str, limit: float) -> dict[str, Any]:
    """Return number and purity of pulsar candidates from a limit on."""
    rows = measured["pairs"][pair]["candidates"][reading]
    return next(row for row in rows if row["threshold"] == limit)


def tables(measured: dict[str, Any]) -> dict[str, str]:
    """Return the Markdown tables, by the name of their region."""
    return {
        "calibration": calibration_table(measured),
        "confusion": confusion_table(measured),
        "results": results_table(measured),
        "ratios": ratios_table(measured),
        "expected": expected_table(measured, ["agn", "pulsar|other"]),
        "expected-all": expected_table(measured, ["agn", "pulsar|other", "pulsar", "other"]),
        "candidates": candidates_table(measured),
        "rows": best_rows(),
    }


def markdown(head: list[str], rows: list[list[str]], left: int = 1) -> str:
    """Return a table; the first `left` columns are text."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows])


def calibration_table(measured: dict[str, Any]) -> str:
    """Return how often labels are right, by their probability."""
    bins = measured["calibration"]
    names = ["below 0.6", "0.6 to 0.8", "0.8 to 0.9", "0.9 and more"]
    rows = [[name, str(row["n"]), str(row["right"]), f"{row['P']:.2f}"] for name, row in zip(names, bins, strict=True)]
    n, right = sum(row["n"] for row in bins), sum(row["right"] for row in bins)
    mean = sum(row["n"] * row["P"] for row in bins) / n
    rows.append(["all", str(n), f"{right} ({right / n:.0%})".replace("%", " %"), f"{mean:.2f}"])
    return markdown(["P of the label", "sources", "right", "mean P"], rows)


def confusion_table(measured: dict[str, Any]) -> str:
    """Return numbers by true group and label."""
    names = ("AGN", "pulsars", "others")
    rows = [[f"{sum(row)} {name}", *map(str, row)] for name, row in zip(names, measured["confusion"], strict=True)]
    return markdown(["class in FL16Y", "labelled AGN", "pulsar", "other"], rows)


def results_table(measured: dict[str, Any]) -> str:
    """Return losses of the default and of the best baseline of each kind."""
    head = ["method", "AGN, pulsar or other", "clear codes only", "AGN or pulsar"]
    rows = []
    for name, (nll, error, clear, pair) in sorted(measured["open"]["DR4"]["rows"].items(), key=lambda row: row[1][0]):
        bold = "**" if name == "default" else ""
        what = "**fermiclass, default**" if bold else f"baseline: {described(name)}"
        rows.append(
            [what, f"{bold}{nll:.3f}{bold} ± {error:.3f}", f"{bold}{clear:.3f}{bold}", f"{bold}{pair:.3f}{bold}"]
        )
    rows.append(["class frequencies, known", f"{measured['open']['DR4']['frequencies']:.3f}", "", ""])
    return markdown(head, rows)


def described(name: str) -> str:
    """Return the words for the name of a baseline."""
    method, _, training = name.partition(":")
    kind, _, gas = method.partition("+")
    return ", ".join([NAMES[kind], *(["gas"] if gas else []), ENDINGS[training]])


def ratios_table(measured: dict[str, Any]) -> str:
    """Return losses of the default over the best baseline, in each release; the benchmarks have more rows."""
    releases = measured["open"]
    rows = []
    for label in SHORT:
        cells = [releases[name]["losses"][label] for name in releases]
        rows.append(
            [label, *(f"{c['default']:.3f} / {c['best']:.3f} = **{c['default'] / c['best']:.2f}**" for c in cells)]
        )
    compared = {
        "default − best baseline, first row": "difference",
        "the same, baselines with the default's factors": "same_factors",
    }
    for label, which in compared.items():
        versus = [release[which] for release in releases.values()]
        rows.append([label, *(f"{v['mean']:+.3f} ± {v['se']:.3f}".replace("-", "−") for v in versus)])
    head = ["", *(f"{name}, {release['n']} sources" for name, release in releases.items())]
    return markdown(head, rows)


def expected_table(measured: dict[str, Any], groups: list[str]) -> str:
    """Return expected numbers and numbers found, in each release."""
    names = {"agn": "AGN", "pulsar|other": "pulsars and other", "pulsar": "pulsars", "other": "other"}
    rows = []
    for place, where in (("high", "10° and more"), ("low", "closer")):
        for key in groups:
            numbers = [release["expected"][place][key] for release in measured["open"].values()]
            rows.append(
                [
                    f"{where}: {names[key]}",
                    *(f"{n['expected']:.1f} ± {n['expected_se']:.1f} / {n['n']}" for n in numbers),
                ]
            )
    return markdown(["", *measured["open"]], rows)


def candidates_table(measured: dict[str, Any]) -> str:
    """Return the purity of pulsar candidates in two readings, by limit and pair of lists."""
    rows = []
    for row in measured["pairs"][LATEST]["candidates"]["face"]:
        limit = row["threshold"]
        rows.append([f"{limit:g}" if limit else "all", *(candidates_cell(measured, pair, limit) for pair in PAIRS)])
    return markdown(["limit", *PAIRS], rows)


def candidates_cell(measured: dict[str, Any], pair: str, limit: float) -> str:
    """Return number and purities of the candidates."""
    face, spiders = (candidates_at(measured, pair, reading, limit) for reading in ("face", "spiders"))
    if not face["n"]:
        return "0"
    low, high = spiders["purity_interval"]
    return (
        f"{face['n']}: {100 * face['purity']:.0f}, {100 * spiders['purity']:.0f} % ({100 * low:.0f}–{100 * high:.0f})"
    )


def best_rows() -> str:
    """Return five rows of the label table: the best pulsar candidates far from the plane that nobody has claimed."""
    import fermiclass as fc

    labels = fc.read_table(REPOSITORY / "catalogs" / "4FGL-DR4-labels.fits.gz")
    debated = ["4FGL J2112.5-3043"]
    best = fc.followup(
        labels, want="pulsar", status="unassociated", abs_glat=(10, 90), exclude=debated, exclude_known=True, top=5
    )
    names = ["Source_Name", "RAJ2000", "DEJ2000", "Signif_Avg", "Sum_P_pulsar", "P_msp", "LASTS", "OOD_SCORE"]
    digits = [None, 2, 2, 1, 3, 3, 3, 2]
    rows = [
        [str(row[name]) if d is None else shown(row[name], d) for name, d in zip(names, digits, strict=True)]
        for row in best
    ]
    return markdown([f"`{name}`" for name in names], rows)


def shown(value: float, digits: int) -> str:
    """Return a number as text; one that rounds to 1 is below it."""
    return "> 0.999" if digits == 3 and value >= 0.9995 else f"{value:.{digits}f}"


def filled(text: str, found: dict[str, str]) -> str:
    """Return a page with its tables filled in."""
    for name, table in found.items():
        text = re.sub(
            rf"(<!-- {name} -->\n)(?:.*?\n)?(<!-- /{name} -->)",
            lambda m, t=table: f"{m[1]}\n{t}\n\n{m[2]}",
            text,
            flags=re.DOTALL,
        )
    return text


def missing(page: str, text: str, known: dict[str, Any]) -> Iterator[str]:
    """Yield the facts whose number the page does not have."""
    for name in FACTS[page].split():
        if not re.search(rf"(?<![\d.]){re.escape(str(known[name]))}(?![\d]|\.\d)", text):
            yield f"{page} does not have {name}: {known[name]}"


def main() -> int:
    """Measure, write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs=2, type=Path, metavar=("FL16Y", "OPEN"))
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, str(DOCS / "development"))
    if arguments.measure:
        MEASURED.write_text(json.dumps(measure(*arguments.measure), indent=1) + "\n", encoding="utf-8")
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    if arguments.write:
        from result_figures import purity

        purity(measured["pairs"], (PAIRS[0], LATEST), DOCS / "figures" / "trust-purity.png")
    known, found, wrong = facts(measured), tables(measured), []
    for page in FACTS:
        path = REPOSITORY / page
        text = path.read_text(encoding="utf-8")
        if arguments.write:
            path.write_text(text := filled(text, found), encoding="utf-8")
        elif filled(text, found) != text:
            wrong.append(f"{page}: a table differs from what was measured; run with --write")
        wrong.extend(missing(page, " ".join(text.split()), known))
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
