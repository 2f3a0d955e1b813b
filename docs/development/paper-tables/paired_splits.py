"""Two optimisers on the same splits: the paper's and ours.

    fermiclass benchmark astro454 --data DATA --splits 10 --results FOLDER/astro454.jsonl
    fermiclass benchmark astro454 --data DATA --splits 10 --paper --results FOLDER/astro454-paper.jsonl
    python docs/development/paper-tables/paired_splits.py FOLDER astro454

Each line has the means of NLL or error over the common splits, their paired difference, and ours over all splits (of
docs/paper-results.csv) plus this difference: what the paper's optimiser would have on all splits, which may be harder
or easier than the first ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from fermiclass_benchmarks.harness import RecordFile

RESULTS = Path(__file__).parents[2] / "paper-results.csv"


def main() -> None:
    """Print the table in Markdown."""
    folder, benchmark = Path(sys.argv[1]), sys.argv[2]
    of_paper, ours = (
        pd.DataFrame(RecordFile(folder / f"{benchmark}{end}.jsonl", {"benchmark": benchmark}).load())
        for end in ("-paper", "")
    )
    both = of_paper.merge(ours, on=["cell", "method", "split"], suffixes=("", "_ours"))
    all_splits = pd.read_csv(RESULTS).query("benchmark == @benchmark and optimiser == 'project'")
    all_splits = all_splits.set_index(["cell", "method", "figure"])
    print("| | splits | the paper's optimiser | ours | difference | all splits | published |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (cell, method), group in both.groupby(["cell", "method"], sort=False):
        for figure in ("nll", "error"):
            difference = group[figure] - group[f"{figure}_ours"]
            known = all_splits.loc[cell, method, figure]
            cells = [f"{cell}, {method}, {figure}", f"{len(group)}"]
            cells += [f"{group[name].mean():.3f}" for name in (figure, f"{figure}_ours")]
            cells += [f"{difference.mean():+.3f} ± {difference.sem():.3f}", f"{known['mean'] + difference.mean():.3f}"]
            print("| " + " | ".join([*cells, f"{known['published']}"]) + " |")


if __name__ == "__main__":
    main()
