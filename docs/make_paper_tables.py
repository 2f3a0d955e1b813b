"""The main paper's tables in ``docs/development/paper-tables.md``, from the figures in ``docs/paper-results.csv``.

    fermiclass benchmark all --data DATA --results FOLDER
    python docs/make_paper_tables.py FOLDER

Figures of FOLDER replace those of the same benchmark, optimiser, cell and method that are means over as many splits or
fewer. Without FOLDER only the page is written. Each table stands between ``<!-- table: BENCHMARK DATASETS FIGURE
METHODS -->`` and ``<!-- end -->``. A method may end in ``/paper``: it was trained with the paper's optimiser. The table
``overview`` has the command and the verdict of each table of the paper.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from fermiclass_benchmarks import BENCHMARKS, make_benchmark

DOCS = Path(__file__).parent
PAGE, RESULTS = DOCS / "development" / "paper-tables.md", DOCS / "paper-results.csv"
KEY = ["benchmark", "optimiser", "cell", "method"]
#: Methods of which a table has only the best, in the column "best baseline".
BASELINES = ("logistic", "svm", "forest")
NAMES = {"mgp": "MGP", "nimgp": "NIMGP", "nimgp-nn": "NIMGP_NN", "nimgp-fo": "NIMGP_FO"} | {
    "nimgp-fo-marginal": "NIMGP_FO, marginal",
    "classifier": "NIMGP softmax",
    "logistic": "logistic regression",
}
SIGNS = {"reached": "✓", "within one standard error": "≈", "not": "✗", "": ""}
#: Where the page says why figures of a table are not reached.
WHY = {
    "Table 1": "[own functions](#one-dimensional-toy-problem-its-table-1)",
    "Tables 2 and 3, noise given": "[below Bayes](#synthetic-data-with-given-noise-its-tables-2-and-3)",
    "Tables 2 and 3, noise learned": "[input noise](input-noise.md)",
    "Tables 5 and 6": "[optimiser, NIMGP_FO's V](#uci-data-with-learned-noise-its-tables-5-and-6)",
    "Tables 5 and 6, satellite": "[optimiser, NIMGP_FO's V](#uci-data-with-learned-noise-its-tables-5-and-6)",
    "Tables 7 and 8": "[other data](#handwritten-digits-its-tables-7-and-8)",
    "Tables 9 and 10": "[the optimiser, for NIMGP_FO in part](training.md#optimiser-on-the-papers-data)",
    "Tables 11 and 12": "[a few draws in prediction](training.md#optimiser-on-the-papers-data)",
    "Tables 13 and 14": "[below Bayes](#synthetic-data-with-given-noise-its-tables-2-and-3)",
    "Tables 15 and 16": "[below Bayes](#synthetic-data-with-given-noise-its-tables-2-and-3)",
    "Tables 17 and 18": "[MGP, unexplained](#astrophysics-data-its-tables-9-and-10)",
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

Figures = dict[tuple[str, str, str, str, str], dict[str, float]]


def verdict(row: dict[str, float]) -> str:
    """Say whether a figure, the lower the better, is that of the paper, as exactly as the paper prints it.

    One split says too little.
    """
    published = row["published"]
    if pd.isna(published) or row["splits"] == 1:
        return ""
    above = row["mean"] - published - row["rounding"]
    if above <= 0.0:
        return "reached"
    return "within one standard error" if above <= row["se"] else "not"


def merge(earlier: pd.DataFrame, later: pd.DataFrame) -> pd.DataFrame:
    """Replace the figures that were measured again on as many splits or more, and add new ones.

    Only tables 10 and 18, of `astro454`, need the numbers of a confusion matrix.
    """
    counts_of_others = later["figure"].str.startswith("count") & (later["benchmark"] != "astro454")
    both = pd.concat([later[(later["figure"] != "seconds") & ~counts_of_others], earlier])
    most = both.groupby(KEY)["splits"].transform("max")
    return both[both["splits"] == most].drop_duplicates([*KEY, "figure"]).sort_values(KEY, kind="stable")


def rounding(published: pd.Series) -> pd.Series:
    """Return half a unit of the last digit of figures that the paper prints without zeros at their ends.

    They are those of one method and data set, with other noises: the one with most significant digits has them all.
    """
    digits = max((len(f"{figure:g}".replace(".", "").lstrip("0")) for figure in published.dropna()), default=0)
    return 0.5 * 10.0 ** (np.floor(np.log10(published)) + 1 - digits)


def read() -> Figures:
    """Return mean, standard error, splits and the paper's figure, by optimiser and so on."""
    table = pd.read_csv(RESULTS)
    with_other_noises = ["benchmark", "optimiser", table["cell"].str.partition("/")[0], "method", "figure"]
    table["rounding"] = table.groupby(with_other_noises)["published"].transform(rounding)
    return {tuple(row[name] for name in (*KEY, "figure")): row for row in table.to_dict("records")}


def of(figures: Figures, benchmark: str, cell: str, method: str, figure: str) -> dict[str, float] | None:
    """Return a figure of a method such as ``mgp`` or ``mgp/paper``; None if it was not measured."""
    name, _, optimiser = method.partition("/")
    return figures.get((benchmark, optimiser or "project", cell, name, figure))


def title(method: str) -> str:
    """Return the name of a method on the page."""
    name, _, optimiser = method.partition("/")
    return NAMES.get(name, name) + (", the paper's optimiser" if optimiser else "")


def number(row: dict[str, float] | None, digits: int = 3) -> str:
    """Return mean and standard error."""
    if row is None:
        return ""
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
    with_baselines = benchmark == "uci" and figure == "nll" and "classifier" in methods
    if with_baselines:
        table[0].append("best baseline")
    for cell in cells:
        rows = [of(figures, benchmark, cell, method, figure) for method in methods]
        splits = {int(row["splits"]) for row in rows if row is not None}
        line = [cell, " to ".join(map(str, sorted({min(splits), max(splits)}))) if splits else ""]
        for row in rows:
            text = number(row)
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
    columns = [(figure, found) for figure in ("nll", "error") for found in SIGNS if found]
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


def overview(figures: Figures) -> list[list[str]]:
    """Lay out the tables of the paper: command, and verdicts of all NLL and errors that the paper prints."""
    table = [["of the paper", "`fermiclass benchmark …`", "splits", "✓", "≈", "✗", "one split", "not run", "why not"]]
    for name in BENCHMARKS:
        benchmark = make_benchmark(name)
        for of_paper, asked in benchmark.tables.items():
            methods = asked.methods or benchmark.methods
            entries = [
                (cell, method, figure)
                for cell in benchmark.choose_cells(asked.datasets)
                for method in methods
                for figure in benchmark.published.get((cell, method), {})
            ]
            command = f"{name} --datasets {asked.datasets}" if asked.datasets else name
            command += f" --methods {','.join(methods)}" if asked.methods else ""
            for end in ("", "/paper"):
                rows = [of(figures, name, cell, method + end, figure) for cell, method, figure in entries]
                found = [row for row in rows if row is not None]
                if end and not entries:
                    continue
                counted = Counter(map(verdict, found))
                splits = sorted({int(row["splits"]) for row in found})
                line = [of_paper, f"`{command}{' --paper' if end else ''}`"]
                line += [" to ".join(map(str, dict.fromkeys([splits[0], splits[-1]]))) if splits else ""]
                line += [str(counted[name]) for name in SIGNS] + [str(len(rows) - len(found))]
                table.append([*line, WHY[of_paper] if counted["not"] or not entries else ""])
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
        every = sorted({cell for bench, _, cell, *_ in figures if bench == benchmark})
        cells = [cell for name in wanted for cell in every if cell.rpartition("/")[0] == name or cell == name]
        if figure == "verdicts":
            table = verdicts(figures, benchmark, cells, methods)
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
    """Take up the figures of a folder, and write the page."""
    if len(sys.argv) > 1:
        from fermiclass_benchmarks.papers import figures_of  # starts slowly

        both = merge(pd.read_csv(RESULTS), figures_of(Path(sys.argv[1])))
        both.to_csv(RESULTS, index=False, float_format="%.7g")
    PAGE.write_text(fill(PAGE.read_text(), read()))


if __name__ == "__main__":
    main()
