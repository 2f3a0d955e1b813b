"""All tables of the main paper: one run that can be continued, and its figures in one file.

The results of a run are a folder with the records of each benchmark, ``NAME.jsonl`` and, with the paper's optimiser,
``NAME-paper.jsonl``. They are files of ``fermiclass benchmark NAME --results FILE``, which may add to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from fermiclass.errors import BenchmarkError
from fermiclass.io.files import write_bytes
from fermiclass_benchmarks import BENCHMARKS, harness, make_benchmark
from fermiclass_benchmarks.benchmark import Benchmark
from fermiclass_benchmarks.harness import RecordFile
from fermiclass_benchmarks.methods import MethodOptions
from fermiclass_benchmarks.tables import summarise

#: Endings of the files of records, by whether the optimiser is the paper's.
_ENDINGS: Mapping[bool, str] = {False: "", True: "-paper"}


def run_tables(
    folder: Path,
    head: Mapping[str, Any],
    *,
    quick: bool = False,
    data: Path = Path(),
    openml: bool = False,
    seed: int = 0,
    leave_out: Callable[[BenchmarkError], None],
    **how: Any,
) -> Iterator[tuple[str, Benchmark, dict[str, Any]]]:
    """Fill all tables of the main paper, each cell once, and write ``folder/results.csv`` after each.

    `folder`: folder of the results, which exists. Records that it already has are not made again.
    `head`: header of the files of records.
    `quick`: whether to take one split of each cell, with the project's optimiser and without slow tables.
    `data`, `openml`: see :func:`fermiclass_benchmarks.make_benchmark`.
    `leave_out`: called with the error if the data of a table cannot be read; the other tables follow.
    `how`: arguments of :func:`fermiclass_benchmarks.harness.run`, such as ``workers``.

    Yields title of the table, its benchmark, and its summary; see :func:`fermiclass_benchmarks.tables.summarise`.
    """
    for name in BENCHMARKS:
        benchmark = make_benchmark(name, data=data, openml=openml)
        splits = 1 if quick else benchmark.num_splits
        for title, table in benchmark.tables.items():
            if quick and table.slow:
                continue
            cells = benchmark.choose_cells(table.datasets)
            try:
                benchmark.check_data(cells)
            except BenchmarkError as error:
                leave_out(error)
                continue
            for papers_optimiser in (False, True)[: 1 if quick or table.slow else 2]:
                options = MethodOptions(paper=papers_optimiser, seed=seed)
                methods = table.methods or benchmark.methods
                estimators = {(cell, m): benchmark.estimator(cell, m, options) for cell in cells for m in methods}
                path = folder / f"{name}{_ENDINGS[papers_optimiser]}.jsonl"
                file = RecordFile(path, {"benchmark": name, **head})
                records = harness.run(benchmark, estimators, splits, file=file, **how)
                write_bytes(
                    folder / "results.csv", figures_of(folder).to_csv(index=False, float_format="%.7g").encode()
                )
                optimiser = "the paper's" if papers_optimiser else "the project's"
                yield f"{title}, {optimiser} optimiser", benchmark, summarise(benchmark, records, splits)


def figures_of(folder: Path) -> pd.DataFrame:
    """Average the records of a folder, whose other files are passed over.

    Returns a row for each figure, in the order of the files: ``"benchmark"``, ``"optimiser"`` (``"paper"`` or
    ``"project"``), ``"cell"``, ``"method"``, ``"splits"``, ``"figure"``, ``"mean"``, ``"se"``, and ``"published"``.
    Figures are the scores of the benchmark; ``"excess"``; ``"noise"``, the median over the splits of the mean learned
    variance; ``"seconds"``; and ``"count PREDICTED TRUE"``, the confusion matrix.
    """
    rows = []
    for path in sorted(folder.glob("*.jsonl")):
        name = path.stem.removesuffix(_ENDINGS[True])
        records = RecordFile(path, {"benchmark": name}).load() if name in BENCHMARKS else []
        if not records:
            continue
        benchmark, optimiser = make_benchmark(name), "project" if path.stem == name else "paper"
        for (cell, method), group in pd.DataFrame(records).groupby(["cell", "method"], sort=False):
            figures = summarise(benchmark, group, len(group))["methods"][method]
            values = {name: figures.get(name) for name in (*benchmark.scores, "excess", "seconds")}
            if "noise" in figures:
                values["noise"] = group["noise"].map(lambda variances: sum(variances) / len(variances)).median()
            if "confusion" in figures:
                classes, counts = figures["confusion"].values()
                names = [f"count {predicted} {true}" for predicted in classes for true in classes]
                values |= dict(zip(names, chain(*counts), strict=True))
            paper = figures.get("published", {})
            rows += [
                (benchmark.name, optimiser, cell, method, len(group), of, value, figures.get(f"{of}_se"), paper.get(of))
                for of, value in values.items()
                if value is not None
            ]
    numbers = ["mean", "se", "published"]
    columns = ["benchmark", "optimiser", "cell", "method", "splits", "figure", *numbers]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, float))
