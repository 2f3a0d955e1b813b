"""All tables of a paper: one run that can be continued, and its figures in one file.

The results of a run are a folder with the records of each benchmark, ``NAME.jsonl`` and, with the paper's optimiser,
``NAME-paper.jsonl``. They are files of ``fermiclass benchmark NAME --results FILE``, which may add to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import wilcoxon

from fermiclass.errors import BenchmarkError
from fermiclass.io.files import write_bytes
from fermiclass_benchmarks import BENCHMARKS, PAPERS, harness, make_benchmark
from fermiclass_benchmarks.benchmark import Benchmark
from fermiclass_benchmarks.harness import RecordFile
from fermiclass_benchmarks.methods import MethodOptions
from fermiclass_benchmarks.tables import summarise

#: Endings of the files of records, by the optimiser.
_ENDINGS: Mapping[str, str] = {"project": "", "paper": "-paper"}


def run_tables(
    folder: Path,
    head: Mapping[str, Any],
    *,
    papers: str = "main",
    quick: bool = False,
    data: Path = Path(),
    openml: bool = False,
    seed: int = 0,
    leave_out: Callable[[BenchmarkError], None],
    **how: Any,
) -> Iterator[tuple[str, Benchmark, dict[str, Any]]]:
    """Fill all tables of a paper, each cell once. After each, write ``results.csv`` and ``splits.csv``.

    `folder`: folder of the results, which exists. Records that it already has are not made again.
    `head`: header of the files of records.
    `papers`: a key of :data:`fermiclass_benchmarks.PAPERS`.
    `quick`: whether to take one split of each cell, with the project's optimiser and without slow tables.
    `data`, `openml`: see :func:`fermiclass_benchmarks.make_benchmark`.
    `leave_out`: called with an error that says why a table is not filled; the other tables follow.
    `how`: arguments of :func:`fermiclass_benchmarks.harness.run`, such as ``workers``.

    Yields title of the table, its benchmark, and its summary; see :func:`fermiclass_benchmarks.tables.summarise`.
    Raises BenchmarkError when there is no table to fill.
    """
    filled = False
    for name in PAPERS[papers]:
        benchmark = make_benchmark(name, data=data, openml=openml)
        splits = 1 if quick else benchmark.num_splits
        for title, table in benchmark.tables.items():
            if quick and table.slow:
                leave_out(BenchmarkError(f"{title}, which takes hours: it needs a run without --quick"))
                continue
            cells = benchmark.choose_cells(table.datasets)
            try:
                benchmark.check_data(cells)
            except BenchmarkError as error:
                leave_out(error)
                continue
            for optimiser in table.optimisers:
                if optimiser == "paper" and (quick or table.slow):
                    continue
                options = MethodOptions(paper=optimiser == "paper", seed=seed)
                methods = table.methods or benchmark.methods
                estimators = {(cell, m): benchmark.estimator(cell, m, options) for cell in cells for m in methods}
                file = RecordFile(folder / f"{name}{_ENDINGS[optimiser]}.jsonl", {"benchmark": name, **head})
                records = harness.run(benchmark, estimators, splits, file=file, **how)
                for file_name, made in (("results.csv", figures_of), ("splits.csv", splits_of)):
                    write_bytes(folder / file_name, made(folder).to_csv(index=False, float_format="%.7g").encode())
                filled = True
                yield f"{title}, the {optimiser}'s optimiser", benchmark, summarise(benchmark, records, splits)
    if not filled:
        raise BenchmarkError(
            f"no table of the paper '{papers}' was filled: give its data (--data, --openml), or no --quick"
        )


def records_of(folder: Path) -> dict[tuple[str, str], pd.DataFrame]:
    """Read the records of a folder, whose other files are passed over.

    Returns them by benchmark and optimiser, ``"paper"`` or ``"project"``.
    """
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        name = path.stem.removesuffix(_ENDINGS["paper"])
        records = RecordFile(path, {"benchmark": name}).load() if name in BENCHMARKS else []
        if records:
            found[name, "project" if path.stem == name else "paper"] = pd.DataFrame(records)
    return found


def figures_of(folder: Path) -> pd.DataFrame:
    """Average the records of a folder.

    Returns a row for each figure, in the order of the files: ``"benchmark"``, ``"optimiser"``, ``"cell"``,
    ``"method"``, ``"splits"``, ``"figure"``, ``"mean"``, ``"se"``, and ``"published"``. Figures are the scores of the
    benchmark; ``"excess"``; ``"noise"``, the median over the splits of the mean learned variance; ``"seconds"``;
    ``"found"``; and ``"count PREDICTED TRUE"``, the confusion matrix. Paired by split are ``"SCORE less METHOD"``, the
    difference from the paper's first method, its ``"p"`` by the Wilcoxon signed-rank test, and ``"SCORE less
    project"``, that of the two optimisers.
    """
    rows: list[tuple[Any, ...]] = []
    every = records_of(folder)
    for (name, optimiser), records in every.items():
        benchmark = make_benchmark(name)
        for (cell, method), group in records.groupby(["cell", "method"], sort=False):
            figures = summarise(benchmark, group, len(group))["methods"][method]
            values = {name: figures.get(name) for name in (*benchmark.scores, "excess", "seconds", "found")}
            if "noise" in figures:
                values["noise"] = group["noise"].map(lambda variances: sum(variances) / len(variances)).median()
            if "confusion" in figures:
                classes, counts = figures["confusion"].values()
                names = [f"count {predicted} {true}" for predicted in classes for true in classes]
                values |= dict(zip(names, chain(*counts), strict=True))
            paper = figures.get("published", {})
            key = (name, optimiser, cell, method)
            rows += [
                (*key, len(group), of, value, figures.get(f"{of}_se"), paper.get(of))
                for of, value in values.items()
                if value is not None
            ]
            others = {benchmark.methods[0]: records[records["method"] != method]}
            if optimiser == "paper" and (name, "project") in every:
                others["project"] = every[name, "project"]
            for of, other in others.items():
                same = other[(other["cell"] == cell) & (other["method"] == (method if of == "project" else of))]
                rows += [(*key, *row) for row in _paired(f"less {of}", group, same, list(benchmark.scores))]
    numbers = ["mean", "se", "published"]
    columns = ["benchmark", "optimiser", "cell", "method", "splits", "figure", *numbers]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, float))


def _paired(of: str, group: pd.DataFrame, other: pd.DataFrame, scores: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield number of splits, name, mean and standard error of differences on the same splits, and their p."""
    for score in scores:
        if score in group and score in other:
            less = (group.set_index("split")[score] - other.set_index("split")[score]).dropna()
            if len(less) > 1:
                yield len(less), f"{score} {of}", less.mean(), less.sem(), None
                yield len(less), f"{score} {of}, p", wilcoxon(less).pvalue if less.any() else 1.0, None, None


def splits_of(folder: Path) -> pd.DataFrame:
    """Return the scores of a folder's records: a row for each benchmark, optimiser, cell, method and split."""
    parts = [
        records.assign(benchmark=name, optimiser=optimiser).reindex(
            columns=["benchmark", "optimiser", "cell", "method", "split", *make_benchmark(name).scores]
        )
        for (name, optimiser), records in records_of(folder).items()
    ]
    return pd.concat(parts)
