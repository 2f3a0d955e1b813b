"""Summaries of records: means over splits with their standard errors, as JSON and as a table in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.table import Table
from rich.text import Text

from fermiclass.show.terminal import console_for_tables
from fermiclass_benchmarks.benchmark import Benchmark

_COUNTS = ("split", "wrong", "found")


def summarise(benchmark: Benchmark, records: pd.DataFrame, num_splits: int) -> dict[str, Any]:
    """Summarise the records of :func:`fermiclass_benchmarks.harness.run`.

    Returns ``{"benchmark", "splits", "methods": {NAME: …}}`` or, for several cells, ``{"benchmark", "splits",
    "datasets": {CELL: {"methods": {NAME: …}}}, "mean_rank": {NAME: …}}``. A method has the mean of each figure over the
    splits with its standard error (``…_se``), see :meth:`Benchmark.run`, and

    - ``"nll_above_first"``: the paired difference from the first method;
    - ``"found"``: the share of wrong labels that was found;
    - ``"confusion"``: predicted classes by true classes, mean numbers of test rows;
    - ``"noise"``, the learned noise variance of each feature; mean ``"curves"`` of active learning;
    - ``"published"``, figures of the paper, and ``"settings"``.

    Ranks are by the first score, over all cells and splits; 1 is best.
    """
    tables = {
        str(cell): {"methods": _methods(benchmark, str(cell), of_cell)}
        for cell, of_cell in records.groupby("cell", sort=False)
    }
    head = {"benchmark": benchmark.name, "splits": num_splits}
    if len(tables) == 1:
        return head | tables.popitem()[1]
    score = next(iter(benchmark.scores))
    ranks = records.pivot(index=["cell", "split"], columns="method", values=score).rank(axis=1)
    mean_rank = {method: _means(ranks[[method]].set_axis([score], axis=1)) for method in records["method"].unique()}
    return head | {"datasets": tables, "mean_rank": mean_rank}


def _methods(benchmark: Benchmark, cell: str, records: pd.DataFrame) -> dict[str, Any]:
    first, score = None, next(iter(benchmark.scores))
    methods: dict[str, dict[str, Any]] = {}
    for method, of_method in records.groupby("method", sort=False):
        of_method = of_method.dropna(axis=1, how="all").set_index("split", drop=False)
        figures: dict[str, Any] = _means(of_method.select_dtypes("number").drop(columns=[*_COUNTS], errors="ignore"))
        if first is None:
            first = of_method[score]
        else:
            figures |= _means((of_method[score] - first).to_frame(f"{score}_above_first"))
        figures |= _others(of_method)
        published = benchmark.published.get((cell, str(method)))
        if published is not None:
            figures["published"] = dict(published)
        methods[str(method)] = figures | {"settings": of_method["settings"].iloc[0]}
    return methods


def _means(columns: pd.DataFrame) -> dict[str, float | None]:
    """Return the means of columns, and their standard errors, which are None for one split."""
    found: dict[str, float | None] = {}
    for name, mean in columns.mean().items():
        found |= {str(name): float(mean), f"{name}_se": None if len(columns) == 1 else float(columns[name].sem())}
    return found


def _others(records: pd.DataFrame) -> dict[str, Any]:
    """Return the figures that are more than a mean."""
    figures: dict[str, Any] = {}
    if "found" in records and records["wrong"].any():
        figures["found"] = float(records["found"].sum() / records["wrong"].sum())
    if "noise" in records:
        figures["noise"] = np.mean(records["noise"].tolist(), axis=0).tolist()
    if "curves" in records:
        curves = records["curves"].tolist()
        figures["curves"] = {name: np.mean([curve[name] for curve in curves], axis=0).tolist() for name in curves[0]}
    if "confusion" in records:  # the splits may have different classes
        named = zip(records["confusion"], records["classes"], strict=True)
        total = pd.concat([pd.DataFrame(counts, classes, classes) for counts, classes in named])
        classes = list(dict.fromkeys(total.index))
        by_name = total.groupby(level=0).sum().loc[classes, classes] / len(records)
        figures["confusion"] = {"classes": classes, "predicted_by_true": by_name.to_numpy().tolist()}
    return figures


def print_results(benchmark: Benchmark, results: Mapping[str, Any]) -> None:
    """Print a row for each cell and method: every score with its standard error, and that of the paper."""
    console = console_for_tables()
    found = {"": results} if "methods" in results else results["datasets"]
    cells = {cell: {name: _flat(each) for name, each in of_cell["methods"].items()} for cell, of_cell in found.items()}
    every = [figures for methods in cells.values() for figures in methods.values()]
    first = next(iter(benchmark.scores))
    columns: dict[str, tuple[str, str]] = {}
    for score, (title, form) in benchmark.scores.items():
        columns |= {score: (title, form), f"published {score}": ("paper", ".3f")}
        if score == first:
            columns |= {f"{first}_above_first": ("above first", f"+{form}"), "excess": ("above Bayes", f"+{form}")}
    columns |= {"found": ("found", ".3f"), "seconds": ("s/split", ".2g")}
    columns = {name: of for name, of in columns.items() if any(each.get(name) is not None for each in every)}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    names = ["method"] if len(cells) == 1 else ["", "method"]
    for title in (*names, *(title for title, _ in columns.values())):
        table.add_column(title, justify="left" if title in names else "right", no_wrap=True)
    for cell, methods in cells.items():
        best = min(figures[first] for figures in methods.values()) if len(methods) > 1 else None
        for method, figures in methods.items():
            texts = [Text(_text(figures, name, form)) for name, (_, form) in columns.items()]
            if figures[first] == best:
                texts[0].stylize("bold")
            table.add_row(*[cell, Text(method)][-len(names) :], *texts)
        table.add_section()
    console.width = max(console.width, table.__rich_measure__(console, console.options.update(width=999)).maximum)
    console.print(table)
    notes = f"\nMeans over {results['splits']} split{'s' if results['splits'] > 1 else ''}"
    console.print(notes + (" with their standard errors." if results["splits"] > 1 else "."))
    if len(every) > len(cells) > 1:
        ranks = ", ".join(f"{method} {rank[first]:.2f}" for method, rank in results["mean_rank"].items())
        console.print(f"Mean ranks by {benchmark.scores[first][0]}: {ranks}.")


def _flat(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {**figures, **{f"published {score}": value for score, value in figures.get("published", {}).items()}}


def _text(figures: Mapping[str, Any], name: str, form: str) -> str:
    value, error = figures.get(name), figures.get(f"{name}_se")
    if value is None:
        return ""
    return f"{value:{form}}" + (f" ± {error:{form.lstrip('+')}}" if error is not None and name != "seconds" else "")
