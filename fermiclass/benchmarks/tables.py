"""Results of a benchmark as tables in the terminal, with the results of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

Methods = Mapping[str, Mapping[str, Any]]
Column = Sequence[Text]  # title, then an entry for every row

_GAP = 2  # spaces between columns
_FULL_TABLES = 3  # largest number of cells with separate tables; more cells share a table


def plain_table(*titles: str, numbers: Iterable[str] = ()) -> Table:
    """Return an empty table with left-aligned columns of text, then right-aligned columns of numbers."""
    table = Table(*titles, box=box.SIMPLE_HEAD, show_edge=False, padding=(0, _GAP - 1, 0, 0))
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def print_benchmark(results: Mapping[str, Any], console: Console | None = None) -> None:
    """Print one table of methods per cell, or tables of cells by methods if there are many cells."""
    console = console or Console(highlight=False)
    cells = {"": results["methods"]} if "methods" in results else _of(results["datasets"])
    notes = [f"Means over {results['splits']} split{'s' if results['splits'] > 1 else ''}"]
    if len(cells) <= _FULL_TABLES:
        for cell, methods in cells.items():
            _print(console, _methods_down(cell, methods))
        if results["splits"] > 1:
            notes.append("± is the standard error of the mean")
    else:
        _print(console, _cells_down(cells, "nll", "NLL", results["mean_rank"]))
        console.print()
        _print(console, _cells_down(cells, "error", "error"))
        for figure, title in (("bcr", "BCR"), ("found", "found")):
            if any(figure in figures for methods in cells.values() for figures in methods.values()):
                console.print()
                _print(console, _cells_down(cells, figure, title, best=max))
        if any("published" in figures for methods in cells.values() for figures in methods.values()):
            notes.append("results of the paper are in brackets")
    if any(len(methods) > 1 for methods in cells.values()):
        notes.append("the best result is bold")
    console.print("; ".join(notes) + ".")


def _of(data_sets: Mapping[str, Any]) -> dict[str, Methods]:
    return {cell: table["methods"] for cell, table in data_sets.items()}


def _methods_down(cell: str, methods: Methods) -> list[list[Column]]:
    """Return the columns of the table of one cell, with the paper's results and the excess over Bayes if known."""
    every = list(methods.values())
    best = min(figures["nll"] for figures in every) if len(every) > 1 else None
    nll: list[Column] = [[Text("NLL"), *(Text(_pm(f, "nll", 4), "bold" if f["nll"] == best else "") for f in every)]]
    nll += _paper(every, "nll")
    if len(every) > 1:
        nll.append(_column("above first", [_pm(f, "nll_above_first", 4, sign="+") for f in every]))
    if "excess" in every[0]:
        nll.append(_column("above Bayes", [_pm(f, "excess", 4, sign="+") for f in every]))
    others: list[Column] = [_column("error", [_pm(f, "error", 3) for f in every])]
    others += _paper(every, "error")
    others.append(_column("s/split", [_seconds(f["seconds"]) for f in every]))
    groups: list[list[Column]] = [[_column(cell or "method", methods)], nll, others]
    if "bcr" in every[0]:
        most = max(f["bcr"] for f in every) if len(every) > 1 else None
        rate: Column = [Text("BCR"), *(Text(_pm(f, "bcr", 3), "bold" if f["bcr"] == most else "") for f in every)]
        found = [f"{f['found']:.3f}" if "found" in f else "" for f in every]
        groups.append([rate, *_paper(every, "bcr"), _column("found", found)])
    return groups


def _cells_down(
    cells: Mapping[str, Methods],
    figure: str,
    title: str,
    ranks: Mapping[str, Any] | None = None,
    *,
    best: Callable[[Iterable[float]], float] = min,
) -> list[list[Column]]:
    """Return the columns of the table of many cells, one per method, with an empty row between data sets."""
    rows: list[str | None] = []
    for cell in cells:
        if rows and str(rows[-1]).partition("/")[0] != cell.partition("/")[0]:
            rows.append(None)
        rows.append(cell)
    columns: list[Column] = [_column(title, [row or "" for row in rows])]
    for name in next(iter(cells.values())):
        column = [Text(name)]
        for row in rows:
            if row is None or figure not in cells[row][name]:
                column.append(Text())
                continue
            figures, winner = cells[row][name], best(f[figure] for f in cells[row].values() if figure in f)
            paper = _published(figures, figure)
            column.append(Text(f"{figures[figure]:.3f}", "bold" if figures[figure] == winner else ""))
            column[-1].append(f" ({paper})" if paper else "", "not bold")
        columns.append(column)
    if ranks is not None:
        columns = [[*column, Text()] for column in columns]
        last = ["mean rank", *(f"{rank['nll']:.2f}" for rank in ranks.values())]
        columns = [[*column, Text(entry)] for column, entry in zip(columns, last, strict=True)]
    return [[column] for column in columns]


def _print(console: Console, groups: Sequence[Sequence[Column]]) -> None:
    """Print as many tables as the width of the terminal requires. Each has the first column.

    The columns of a group stay together if they fit into one table.
    """
    (first,), *others = groups
    for part in _parts(others, console.width - _width([first])):
        table = plain_table()
        for k, column in enumerate((first, *part)):
            table.add_column(column[0], justify="right" if k else "left", no_wrap=True)
        for row in zip(*(column[1:] for column in (first, *part)), strict=True):
            table.add_row(*row)
        console.print(table)
        console.print()


def _parts(groups: Sequence[Sequence[Column]], room: int) -> Iterator[list[Column]]:
    part: list[Column] = []
    whole = [[group] if _width(group) <= room else [[column] for column in group] for group in groups]
    for group in chain.from_iterable(whole):
        if part and _width([*part, *group]) > room:
            yield part
            part = []
        part.extend(group)
    yield part


def _width(columns: Sequence[Column]) -> int:
    return sum(max(len(entry) for entry in column) + _GAP for column in columns)


def _column(title: str, entries: Any) -> list[Text]:
    return [Text(title), *map(Text, entries)]


def _pm(figures: Mapping[str, Any], name: str, digits: int, *, sign: str = "") -> str:
    if name not in figures:
        return ""
    mean, se = figures[name], figures[f"{name}_se"]
    return f"{mean:{sign}.{digits}f}" + ("" if se is None else f" ± {se:.{digits}f}")


def _paper(every: Sequence[Mapping[str, Any]], name: str) -> list[Column]:
    """Return the column of the paper's results, if there are any."""
    entries = [_published(figures, name) for figures in every]
    return [_column("paper", entries)] if any(entries) else []


def _published(figures: Mapping[str, Any], name: str) -> str:
    value = figures.get("published", {}).get(name)
    return "" if value is None else f"{value:.3f}"


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"
