"""Summaries of records: means over splits with their standard errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fermiclass.benchmarks.blocks import Record
from fermiclass.benchmarks.problem import Benchmark
from fermiclass.io.arrays import FloatArray


def summarise(benchmark: Benchmark, records: Sequence[Record], num_splits: int) -> dict[str, Any]:
    """Summarise a run.

    Parameters
    ----------
    benchmark
        The benchmark, with its name and its published results.
    records
        Records of every cell, method and split. The tables have the same order of cells and methods.
    num_splits
        Number of splits.

    Returns
    -------
    dict
        ``{"benchmark", "splits", "methods": {NAME: …}}`` or, for several cells, ``{"benchmark", "splits", "datasets":
        {CELL: {"methods": {NAME: …}}}, "mean_rank": {NAME: …}}``; see :func:`_figures`.
    """
    by_cell: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        by_cell.setdefault(record["cell"], {}).setdefault(record["method"], []).append(record)
    tables = {cell: {"methods": _methods(benchmark, cell, of_cell)} for cell, of_cell in by_cell.items()}
    head = {"benchmark": benchmark.name, "splits": num_splits}
    if len(tables) == 1:
        return head | tables.popitem()[1]
    return head | {"datasets": tables, "mean_rank": _mean_rank(by_cell)}


def _methods(benchmark: Benchmark, cell: str, by_method: Mapping[str, Sequence[Record]]) -> dict[str, Any]:
    figures = {}
    first = _column(next(iter(by_method.values())), "nll")
    for k, (method, records) in enumerate(by_method.items()):
        figures[method] = _figures(records)
        if k:
            figures[method] |= _mean("nll_above_first", _column(records, "nll") - first)
        published = benchmark.published.get((cell, method))
        if published is not None and _same_noise(benchmark.settings(cell), records[0]["settings"]):
            known = published._asdict()
            figures[method]["published"] = {name: v for name, v in known.items() if not np.isnan(v)}
    return figures


def _same_noise(paper: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Whether both the run and the paper learned the noise, or both knew it: only then results are comparable."""
    known = "given"
    return (paper.get("noise", known) == known) == (settings.get("noise", known) == known)


def _figures(records: Sequence[Record]) -> dict[str, Any]:
    """Return means over the splits of one method and cell, with standard errors of the mean (``…_se``).

    - ``"nll"``, ``"error"``, ``"settings"``;
    - ``"seconds"`` per split, and its parts ``"fit_seconds"`` and ``"predict_seconds"``;
    - ``"confusion"``: predicted classes by true classes, mean numbers of test rows (the paper's table 10);
    - ``"bayes_nll"``, and the ``"excess"`` of the NLL over it, if it is known;
    - ``"noise"``, the learned noise variance of each feature, and the mean of the last ``"elbo"``;
    - mean ``"curves"`` of error and NLL, in active learning;
    - for wrong labels the balanced class rate ``"bcr"``, and the share of wrong labels that was ``"found"``;
    - the share of trainings that ``"converged"``, if it is known.
    """
    figures: dict[str, Any] = {}
    for name in ("nll", "error", "bayes_nll", "excess", "bcr"):
        if name in records[0]:
            figures |= _mean(name, _column(records, name))
    for name in ("seconds", "fit_seconds", "predict_seconds", "elbo", "converged"):
        if name in records[0]:
            figures[name] = float(_column(records, name).mean())
    if "found" in records[0] and any(record["wrong"] for record in records):
        figures["found"] = float(_column(records, "found").sum() / _column(records, "wrong").sum())
    if "noise" in records[0]:
        figures["noise"] = _column(records, "noise").mean(axis=0).tolist()
    if "curves" in records[0]:
        figures["curves"] = {"added": records[0]["curves"]["added"]} | {
            name: np.mean([record["curves"][name] for record in records], axis=0).tolist() for name in ("error", "nll")
        }
    return figures | {"confusion": _confusion(records), "settings": records[0]["settings"]}


def _column(records: Sequence[Record], name: str) -> FloatArray:
    return np.array([record[name] for record in records], np.float64)


def _mean(name: str, values: FloatArray) -> dict[str, float | None]:
    """Return the mean over splits and its standard error, which is None for one split."""
    se = None if len(values) == 1 else float(values.std() / np.sqrt(len(values) - 1))
    return {name: float(values.mean()), f"{name}_se": se}


def _confusion(records: Sequence[Record]) -> dict[str, Any]:
    """Return the mean confusion over splits. The splits may have different classes."""
    classes = list(dict.fromkeys(name for record in records for name in record["classes"]))
    total = np.zeros((len(classes), len(classes)))
    for record in records:
        places = [classes.index(name) for name in record["classes"]]
        total[np.ix_(places, places)] += np.array(record["confusion"])
    return {"classes": classes, "predicted_by_true": (total / len(records)).tolist()}


def _mean_rank(by_cell: Mapping[str, Mapping[str, Sequence[Record]]]) -> dict[str, dict[str, float | None]]:
    """Return mean ranks by NLL over all cells and splits. 1 is best (the last rows of the paper's tables)."""
    from scipy.stats import rankdata

    nll = [np.stack([_column(records, "nll") for records in cell.values()], axis=1) for cell in by_cell.values()]
    ranks = rankdata(np.concatenate(nll), axis=1)
    methods = next(iter(by_cell.values()))
    return {method: _mean("nll", ranks[:, k]) for k, method in enumerate(methods)}
