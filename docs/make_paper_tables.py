"""The tables of the papers in ``docs/development/``, from the figures in ``docs/paper-results.csv``.

    fermiclass benchmark all --data DATA --results FOLDER
    python docs/make_paper_tables.py FOLDER

Figures of FOLDER replace those of the same benchmark, optimiser, cell and method that are means over as many splits or
fewer. Its scores of each split go to ``docs/paper-splits.csv``. Without FOLDER only the pages are written. Each table
stands between ``<!-- table: BENCHMARK DATASETS FIGURE METHODS -->`` and ``<!-- end -->``. A method may end in
``/paper``: it was trained with the paper's optimiser. FIGURE is one of paper-results.csv, such as ``nll`` or
``nll-less-project`` (paired by split); ``all``, ``confusion``, ``verdicts`` or ``ranks``. The table ``overview`` has
the command and the verdicts of each table of the papers.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fermiclass_benchmarks import PAPERS, make_benchmark

DOCS = Path(__file__).parent
PAGES = [DOCS / "development" / f"{name}.md" for name in ("paper-tables", "main-paper", "likelihoods-paper")]
PAGES += [DOCS / "development" / f"{name}.md" for name in ("wrong-labels-paper", "uncertain-inputs-paper")]
RESULTS = DOCS / "paper-results.csv"
SPLITS = DOCS / "paper-splits.csv"
KEY = ["benchmark", "optimiser", "cell", "method"]
#: Methods of which a table has only the best, in the column "best baseline".
BASELINES = ("logistic", "svm", "forest")
NAMES = {"mgp": "MGP", "nimgp": "NIMGP", "nimgp-nn": "NIMGP_NN", "nimgp-fo": "NIMGP_FO"} | {
    "nimgp-fo-marginal": "NIMGP_FO, marginal",
    "nimgp@authors": "NIMGP, the authors' start",
    "nimgp-fo@fixed": "NIMGP_FO, V = 0.1",
    "nimgp-fo@fixed-0.25": "NIMGP_FO, V = 0.25",
    "nimgp-fo@fixed-0.5": "NIMGP_FO, V = 0.5",
    "classifier": "NIMGP softmax",
    "logistic": "logistic regression",
    "svm": "SVM",
    "rmgpc": "RMGPC",
    "smgpc": "SMGPC",
    "classic": "the classic process",
    "uncertain": "expected covariances",
    "mixture": "both (its equation 20)",
    "mlp": "MLP",
    "mgp@softmax-bound": "softmax, closed bound",
}
#: Verdicts and their signs. "better" is below by more than two errors and 5 %: another method, or another protocol.
SIGNS = {
    "better": "⇓",
    "reached": "✓",
    "within one error": "≈",
    "not": "✗",
    "few splits": "",
    "not comparable": "",
    "": "",
}
#: Figures that are the better, the higher.
HIGHER = ("bcr",)
#: Cells whose length-scales the paper does not state, so that ours are other problems.
OTHER_PROBLEMS = re.compile("synthetic .*-d(5|10)-")
#: Benchmarks whose problems are other draws than the 100 of the paper, and the most splits that decide nothing.
OTHER_DRAWS, FEW = ("synthetic", "rmgpc"), 4
#: How much the NLL of a split of `astro454` differs by the path of the optimiser, where it is known (main-paper.md).
PATH = {"mgp": 0.07}
#: Level of the Wilcoxon signed-rank test; a difference below it has a star.
LEVEL = 0.01
_MAIN = "main-paper.md#"  # the page of the main paper
_ON_UCI = f"{_MAIN}uci-data-with-learned-noise-its-tables-5-and-6"
#: What the overview remarks on a table.
REMARKS = {
    "Table 1": f"[own functions]({_MAIN}one-dimensional-toy-problem-its-table-1)",
    "Tables 2 and 3, noise given": f"[own problems]({_MAIN}synthetic-data-with-given-noise-its-tables-2-and-3)",
    "Tables 2 and 3, noise learned": "[input noise](input-noise.md)",
    "Tables 5 and 6": f"[optimiser, NIMGP_FO's V]({_ON_UCI})",
    "Tables 5 and 6, the authors' start": f"[four data sets]({_ON_UCI})",
    "Tables 5 and 6, satellite": f"[optimiser, NIMGP_FO's V]({_ON_UCI})",
    "Tables 7 and 8": f"60,000 images (`--openml`); [5,000 were run]({_MAIN}handwritten-digits-its-tables-7-and-8)",
    "Figures 6 and 7": f"figures only; run with [ten labels a round]({_MAIN}active-learning-its-figures-6-and-7)",
    "Tables 9 and 10": "[MGP is reproduced; NIMGP_FO is open](training.md#optimiser-on-the-papers-data)",
    "Tables 11 and 12": "[perhaps a few draws in prediction](training.md#optimiser-on-the-papers-data)",
    "Tables 13 and 14, D = 5 and 10": "the paper does not state its length-scales",
    "Tables 17 and 18": f"[MGP, unexplained]({_MAIN}astrophysics-data-its-tables-9-and-10)",
    "Likelihoods, figure 2": "figure only",
    "Likelihoods, tables III and IV": "[9 of 19 data sets](likelihoods-paper.md#data-sets-that-are-missing)",
    "Uncertain inputs, figures 3, 5 and 6": "figures only",
    "Uncertain inputs, figure 7": "figure only",
}

#: Tables 10 and 18 of the paper: numbers of bll, fsrq and psr sources (true) for each predicted class and method.
PAPERS_COUNTS = {
    "six": """
        bll mgp 17.66 1.31 0.01, bll nimgp 17.61 1.66 0.04
        bll nimgp-nn 17.76 1.53 0.01, bll nimgp-fo 17.8 1.27 0.01
        fsrq mgp 1.48 15.16 0.36, fsrq nimgp 1.53 14.8 0.47
        fsrq nimgp-nn 1.38 14.95 0.46, fsrq nimgp-fo 1.34 15.2 0.37
        psr mgp 0.00 0.29 9.73, psr nimgp 0.00 0.3 9.59
        psr nimgp-nn 0.00 0.28 9.63, psr nimgp-fo 0.00 0.29 9.72
        """,
    "four": """
        bll mgp 17.52 1.2 0.07, bll nimgp 17.59 1.45 0.02
        bll nimgp-nn 17.43 1.55 0.06, bll nimgp-fo 17.65 1.87 0.02
        fsrq mgp 1.59 15.26 0.37, fsrq nimgp 1.52 15.08 0.49
        fsrq nimgp-nn 1.65 14.78 0.43, fsrq nimgp-fo 1.49 14.63 0.37
        psr mgp 0.03 0.3 9.66, psr nimgp 0.03 0.23 9.59
        psr nimgp-nn 0.06 0.43 9.61, psr nimgp-fo 0.00 0.26 9.71
        """,
}

Figures = dict[tuple[str, str, str, str, str], dict[str, Any]]


def verdict(row: dict[str, Any]) -> str:
    """Say whether a figure is that of the paper, as exactly as the paper prints it. Few splits say too little."""
    if pd.isna(row["published"]):
        return ""
    if OTHER_PROBLEMS.match(f"{row['benchmark']} {row['cell']}"):
        return "not comparable"
    if row["splits"] <= FEW:
        return "few splits"
    above = (row["mean"] - row["published"]) * (-1 if row["figure"] in HIGHER else 1)
    if above < -max(2.0 * row["error"], 0.05 * row["published"]) - row["rounding"]:
        return "better"
    if above <= row["rounding"]:
        return "reached"
    return "within one error" if above <= row["error"] + row["rounding"] else "not"


def merge(earlier: pd.DataFrame, later: pd.DataFrame) -> pd.DataFrame:
    """Replace the figures that were measured again on as many splits or more, and add new ones.

    Only tables 10 and 18, of `astro454`, need the numbers of a confusion matrix.
    """
    counts_of_others = later["figure"].str.startswith("count") & (later["benchmark"] != "astro454")
    both = pd.concat([later[(later["figure"] != "seconds") & ~counts_of_others], earlier])
    most = both.sort_values("splits", ascending=False, kind="stable").drop_duplicates([*KEY, "figure"])
    return most.sort_index(kind="stable").sort_values(KEY, kind="stable")


def rounding(published: pd.Series) -> pd.Series:
    """Return half a unit of the last digit of figures that the paper prints without zeros at their ends.

    They are those of one method and data set, with other noises: the one with most significant digits has them all.
    """
    digits = max((len(f"{figure:g}".replace(".", "").lstrip("0")) for figure in published.dropna()), default=0)
    return 0.5 * 10.0 ** (np.floor(np.log10(published)) + 1 - digits)


def read() -> Figures:
    """Return mean, standard error, splits and the paper's figure, by optimiser and so on.

    The error is that of the difference from the paper. All 100 splits of `astro454` are the paper's own: there it is
    how much two optimisers differ with all features, paired by split, and what their path adds. Elsewhere it is the
    standard error, with that of the 100 problems of the paper where ours are not the same.
    """
    table = pd.read_csv(RESULTS)
    with_other_noises = ["benchmark", "optimiser", table["cell"].str.partition("/")[0], "method", "figure"]
    table["rounding"] = table.groupby(with_other_noises)["published"].transform(rounding)
    figures = {tuple(row[name] for name in (*KEY, "figure")): row for row in table.to_dict("records")}
    for row in figures.values():
        paired = figures.get((row["benchmark"], "paper", "six", row["method"], f"{row['figure']} less project"))
        row["error"] = row["se"]
        if paired and row["benchmark"] == "astro454" and row["splits"] == 100:
            path = PATH.get(row["method"], 0.0) / 10 if row["figure"] == "nll" else 0.0
            row["error"] = np.hypot(paired["se"] * (paired["splits"] / 100) ** 0.5, path)
        elif row["benchmark"] in OTHER_DRAWS:
            row["error"] *= (1 + row["splits"] / 100) ** 0.5
    return figures


def of(figures: Figures, benchmark: str, cell: str, method: str, figure: str) -> dict[str, Any] | None:
    """Return a figure of a method such as ``mgp`` or ``mgp/paper``; None if it was not measured."""
    name, _, optimiser = method.partition("/")
    return figures.get((benchmark, optimiser or "project", cell, name, figure))


def title(method: str) -> str:
    """Return the name of a method on the page."""
    name, _, optimiser = method.partition("/")
    likelihood = name.removeprefix("mgp@").replace("step", "RobustMax").replace("-", ", ")
    known = NAMES.get(name, likelihood if name.startswith("mgp@") else name)
    return known + (", the paper's optimiser" if optimiser else "")


def number(row: dict[str, Any] | None, digits: int | None = None) -> str:
    """Return mean and standard error."""
    if row is None:
        return ""
    if digits is None:
        digits = 5 if row["figure"].startswith("mse") else 4 if row["figure"] == "nll" and row["mean"] < 0.01 else 3
    return " ± ".join(f"{row[name]:.{digits}f}" for name in ("mean", "se") if not pd.isna(row[name]))


def one_cell(figures: Figures, benchmark: str, cell: str, methods: list[str]) -> list[list[str]]:
    """Lay out NLL and error of one cell: a row for each method."""
    head = ["", "splits", "NLL", "the paper's", "verdict", "error", "the paper's", "verdict"]
    table = [head]
    for method in methods:
        nll, error = (of(figures, benchmark, cell, method, figure) for figure in ("nll", "error"))
        if nll is None or error is None:
            continue
        cells = [title(method), str(int(nll["splits"]))]
        for row, digits in ((nll, 4), (error, 3)):
            known = not pd.isna(row["published"])
            cells += [number(row, digits), f"{row['published']:g}" if known else ""]
            cells += [verdict(row)]
        table.append(cells)
    return table


def papers_counts(cell: str) -> dict[tuple[str, str], list[str]]:
    """Return the paper's numbers of the true classes by predicted class and method."""
    lines = re.split(r"[,\n]\s*", PAPERS_COUNTS[cell].strip())
    return {(predicted, name): counts for predicted, name, *counts in map(str.split, lines)}


def confusion(figures: Figures, benchmark: str, cell: str, methods: list[str]) -> list[list[str]]:
    """Lay out mean numbers of test rows, with the paper's in brackets: predicted classes by true ones."""
    papers = papers_counts(cell)
    classes = list(dict.fromkeys(predicted for predicted, _ in papers))
    table = [["predicted", "method", *(f"{true} (true)" for true in classes)]]
    for predicted in classes:
        for method in methods:
            found = [of(figures, benchmark, cell, method, f"count {predicted} {true}") for true in classes]
            brackets = [f" ({count})" for count in papers.get((predicted, method.partition("/")[0]), [])] or [""] * 3
            if None not in found:
                numbers = [f"{row['mean']:.2f}{paper}" for row, paper in zip(found, brackets, strict=True) if row]
                table.append([predicted, title(method), *numbers])
    return table


def several_cells(
    figures: Figures, benchmark: str, cells: list[str], figure: str, methods: list[str]
) -> list[list[str]]:
    """Lay out a figure: a row for each cell and a column for each method, with the paper's in brackets."""
    table = [["data/noise", "splits", *(title(method) for method in methods)]]
    figure = figure.replace("-less-", " less ").replace("angular_", "angular ")
    with_baselines = benchmark == "uci" and figure == "nll" and "classifier" in methods
    if with_baselines:
        table[0].append("best baseline")
    for cell in cells:
        rows = [of(figures, benchmark, cell, method, figure) for method in methods]
        splits = {int(row["splits"]) for row in rows if row is not None}
        line = [cell, " to ".join(map(str, sorted({min(splits), max(splits)}))) if splits else ""]
        for method, row in zip(methods, rows, strict=True):
            text = number(row)
            if (p := of(figures, benchmark, cell, method, f"{figure}, p")) and p["mean"] < LEVEL:
                text += " *"
            if row is not None and not pd.isna(row["published"]):
                text = f"{text} ({row['published']:g}) {SIGNS[verdict(row)]}".rstrip()
            line.append(text)
        if with_baselines:
            found = [(row["mean"], name) for name in BASELINES if (row := of(figures, benchmark, cell, name, figure))]
            line.append("{:.3f} ({})".format(*min(found)) if found else "")
        if any(line[2:]):
            table.append(line)
    return table


def verdicts(figures: Figures, benchmark: str, cells: list[str], methods: list[str]) -> list[list[str]]:
    """Lay out the numbers of cells with each verdict: a row for each method."""
    columns = [(figure, found) for figure in ("nll", "error") for found in SIGNS if SIGNS[found]]
    table = [["", *(f"{'NLL' if figure == 'nll' else figure} {SIGNS[found]}" for figure, found in columns)]]
    for method in methods:
        counted = Counter(
            (figure, verdict(row))
            for cell in cells
            for figure in ("nll", "error")
            if (row := of(figures, benchmark, cell, method, figure))
        )
        table.append([title(method), *(str(counted[column]) for column in columns)])
    return table


def ranks(figures: Figures, benchmark: str, cells: list[str], methods: list[str]) -> list[list[str]]:
    """Lay out mean ranks by NLL over the cells of each noise, with those of the paper's figures in brackets."""
    table = [["noise", "cells", *map(title, methods)]]
    rows = {cell: [of(figures, benchmark, cell, method, "nll") for method in methods] for cell in cells}
    frame = pd.DataFrame({cell: of_cell for cell, of_cell in rows.items() if None not in of_cell}, methods).T
    for noise, group in frame.groupby([cell.partition("/")[2] for cell in frame.index], sort=False):
        ours, papers = (
            group.map(lambda row, name=name: row[name]).rank(axis=1).mean() for name in ("mean", "published")
        )
        table.append([noise, str(len(group)), *(f"{ours[m]:.1f} ({papers[m]:.1f})" for m in methods)])
    return table


def overview(figures: Figures) -> list[list[str]]:
    """Lay out the tables of the papers: command, and verdicts of all figures that the papers print."""
    table = [["of the paper", "`fermiclass benchmark …`", "splits"]]
    table[0] += [*(sign or found for found, sign in SIGNS.items() if found), "not run", "remarks"]
    for name in chain(*PAPERS.values()):
        benchmark = make_benchmark(name, openml=name == "mnist")  # the paper has all images
        for of_paper, asked in benchmark.tables.items():
            methods, cells = asked.methods or benchmark.methods, benchmark.choose_cells(asked.datasets)
            entries = [
                (cell, method, figure)
                for cell in cells
                for method in methods
                for figure in benchmark.published.get((cell, method), {})
            ]
            command = f"{name} --datasets {asked.datasets}" if asked.datasets else name
            command += f" --methods {','.join(asked.methods)}" if asked.methods else ""
            for optimiser in asked.optimisers:
                end = "/paper" if optimiser == "paper" else ""
                other = (optimiser == "paper") != benchmark.paper_first
                flag = (" --paper" if end else " --fast") if other else ""
                rows = [of(figures, name, cell, method + end, figure) for cell, method, figure in entries]
                found = [row for row in rows if row is not None]
                counted = Counter(map(verdict, found))
                judged = {figure for _, _, figure in entries} or {next(iter(benchmark.scores))}
                any_score = [
                    int(row["splits"])
                    for cell, method, figure in product(cells, methods, judged)
                    if (row := of(figures, name, cell, method + end, figure))
                ]
                line = [of_paper, f"`{command}{flag}`"]
                line += [" to ".join(map(str, sorted({min(any_score), max(any_score)}))) if any_score else "none"]
                counts = [str(counted[verdict]) for verdict in SIGNS if verdict] + [str(len(rows) - len(found))]
                table.append([*line, *(counts if entries else [""] * len(counts)), REMARKS.get(of_paper, "")])
    return table


def render(figures: Figures, order: str) -> str:
    """Return the table that ``BENCHMARK DATASETS FIGURE METHODS`` or ``overview`` asks for, in Markdown."""
    if order == "overview":
        return markdown(overview(figures))
    benchmark, data_sets, figure, names = order.split()
    methods, wanted = names.split(","), data_sets.split(",")
    if figure == "all":
        table = one_cell(figures, benchmark, data_sets, methods)
    elif figure == "confusion":
        table = confusion(figures, benchmark, data_sets, methods)
    else:
        found = {tuple(cell.partition("/")[::2]) for bench, _, cell, *_ in figures if bench == benchmark}
        every = [
            "/".join(filter(None, cell)) for cell in sorted(found, key=lambda cell: (cell[0], float(cell[1] or -1)))
        ]
        cells = [cell for name in wanted for cell in every if cell.rpartition("/")[0] == name or cell == name]
        if figure in ("verdicts", "ranks"):
            table = {"verdicts": verdicts, "ranks": ranks}[figure](figures, benchmark, cells, methods)
        else:
            table = several_cells(figures, benchmark, cells, figure, methods)
    return markdown(table)


def markdown(table: list[list[str]]) -> str:
    """Return a table, whose first line is its head, in Markdown."""
    lines = ["| " + " | ".join(cells) + " |" for cells in table]
    return "\n".join([lines[0], "| " + " | ".join("---" for _ in table[0]) + " |", *lines[1:]])


def fill(page: str, figures: Figures) -> str:
    """Return the page with its tables made anew."""
    pattern = re.compile(r"(<!-- table: (.*?) -->\n\n).*?(\n\n<!-- end -->)", re.DOTALL)
    return pattern.sub(lambda found: found[1] + render(figures, found[2]) + found[3], page)


def main() -> None:
    """Take up the figures of a folder, and write the pages."""
    if len(sys.argv) > 1:
        from fermiclass_benchmarks.papers import figures_of, splits_of  # starts slowly

        folder, earlier = Path(sys.argv[1]), [pd.read_csv(SPLITS)] if SPLITS.exists() else []
        merge(pd.read_csv(RESULTS), figures_of(folder)).to_csv(RESULTS, index=False, float_format="%.7g")
        splits = pd.concat([splits_of(folder), *earlier]).drop_duplicates([*KEY, "split"])
        splits.to_csv(SPLITS, index=False, float_format="%.7g")
    figures = read()
    for page in PAGES:
        page.write_text(fill(page.read_text(), figures))


if __name__ == "__main__":
    main()
