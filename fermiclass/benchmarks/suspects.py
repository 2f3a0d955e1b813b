"""Search for wrong labels: labels of 4FGL-DR4 that were replaced, and labels of 4FGL-DR1 that DR4 has changed.

Held-out predictions rank all labels, in the same stratified folds for every method. This package ranks by P_WRONG
(:func:`fermiclass.analysis.outliers.hold_out`), the baselines by one minus the probability of the label. The methods
use nothing of the later release; its classes only define which labels are wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from fermiclass.benchmarks.studies import mean_and_error
from fermiclass.benchmarks.tables import plain_table
from fermiclass.catalog.classes import THREE_CLASSES
from fermiclass.errors import BenchmarkError
from fermiclass.io.arrays import FloatArray
from fermiclass.show.summaries import console_for_tables

if TYPE_CHECKING:
    from fermiclass.catalog import Catalog
    from fermiclass.features import FeatureTable

Ranker = Callable[["FeatureTable", int], FloatArray]

#: Shares of labels that are replaced by another class.
SHARES = (0.02, 0.05)

_FOLDS = 5
_SEED = 23
_OURS, _FOREST = "outliers", "forest"
_PEERS = (_FOREST, "boosting", "logistic")
_PLANTED, _EARLIER = "4FGL-DR4", "4FGL-DR1"


def run(
    folder: Path,
    *,
    seeds: int = 10,
    estimator: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Rank labels, and find the positions of the wrong ones.

    Parameters
    ----------
    folder
        Folder of ``4FGL-DR4.fits.gz`` and ``4FGL-DR1.fits.gz``, or of the same files unpacked.
    seeds
        Number of seeds for the labels that are replaced in DR4, for each share.
    estimator
        Estimator to measure, by default :func:`fermiclass.analysis.outliers.default_estimator`.
    progress
        Called with the numbers of rankings done and in total.

    Returns
    -------
    dict
        ``"planted"``: by share and method the mean average precision over seeds with its standard error, and the paired
        difference between this package and the method with its standard error. ``"changed"``: the sources of DR1 with
        another class in DR4, their percentiles in each ranking (100 is the most suspicious), and the means of these.

    Raises
    ------
    BenchmarkError
        When a catalogue cannot be found.
    """
    rankers = _rankers(estimator)
    earlier, later = (_catalogue(folder, release) for release in (_EARLIER, _PLANTED))
    total = (1 + seeds * len(SHARES)) * len(rankers)
    done = iter(range(1, total + 1))

    def ranked(table: FeatureTable, seed: int) -> Iterator[tuple[str, FloatArray]]:
        for method, ranker in rankers.items():
            yield method, ranker(table, seed)
            if progress is not None:
                progress(next(done), total)

    return {
        "benchmark": "outliers",
        "seeds": seeds,
        "changed": _changed(earlier, later, ranked),
        "planted": {str(share): _planted(later, share, seeds, ranked) for share in SHARES},
    }


def replaced(y: NDArray[np.str_], share: float, rng: np.random.Generator) -> NDArray[np.str_]:
    """Return labels in which a random share is replaced by another class. All other classes are equally likely."""
    names, labels = np.unique(y), y.copy()
    for row in rng.choice(len(y), round(share * len(y)), replace=False):
        labels[row] = rng.choice(names[names != y[row]])
    return labels


def _planted(catalog: Catalog, share: float, seeds: int, ranked: Any) -> dict[str, Any]:
    from sklearn.metrics import average_precision_score

    table = _table(catalog)
    scores: dict[str, list[float]] = {}
    for seed in range(seeds):
        y = replaced(table.y, share, np.random.default_rng((_SEED, seed, round(1000 * share))))
        for method, suspicion in ranked(replace(table, y=y), seed):
            scores.setdefault(method, []).append(float(average_precision_score(y != table.y, suspicion)))
    return {method: _summary(values, scores[_OURS]) for method, values in scores.items()}


def _summary(values: Sequence[float], ours: Sequence[float]) -> dict[str, Any]:
    mean, error = mean_and_error(values)
    lead, lead_error = mean_and_error(np.subtract(ours, values))
    return {
        "average_precision": mean,
        "average_precision_error": error,
        "ours_ahead": lead,
        "ours_ahead_error": lead_error,
    }


def _changed(earlier: Catalog, later: Catalog, ranked: Any) -> dict[str, Any]:
    """Return the positions in the rankings of sources whose class differs in a later release."""
    from fermiclass.catalog import ClassGrouping
    from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources

    grouping = ClassGrouping.parse(THREE_CLASSES)
    table = _table(earlier)
    counterpart = match_sources(earlier, later)[0][table.rows]
    # A source counts as changed if its later class is not among the learned ones, or if it has no class any more.
    same = grouping.assign(later.classes)[counterpart] == table.y
    changed = np.flatnonzero((counterpart != UNMATCHED) & ~same)
    sources: list[dict[str, Any]] = [
        {
            "name": str(table.names[row]),
            "earlier": str(table.y[row]),
            "later": str(later.classes[counterpart[row]]),
            "percentile": {},
        }
        for row in changed
    ]
    means = {}
    for method, suspicion in ranked(table, 0):
        percentiles = 100.0 * (np.argsort(np.argsort(suspicion, kind="stable")) + 0.5) / len(suspicion)
        for source, row in zip(sources, changed, strict=True):
            source["percentile"][method] = float(percentiles[row])
        means[method] = float(percentiles[changed].mean())
    return {"sources": sources, "of": len(table), "mean_percentile": means}


def _table(catalog: Catalog) -> FeatureTable:
    from fermiclass.labelling.training import training_table

    return training_table(catalog, features="extended", classes=THREE_CLASSES)


def _rankers(estimator: Any) -> Mapping[str, Ranker]:
    from fermiclass.analysis.outliers import default_estimator, hold_out

    chosen = estimator or default_estimator()

    def ours(table: FeatureTable, seed: int) -> FloatArray:
        return hold_out(table, chosen, _FOLDS, seed)[2]

    return {_OURS: ours, **{peer: _of_peer(peer) for peer in _PEERS}}


def _of_peer(peer: str) -> Ranker:
    def suspicion(table: FeatureTable, seed: int) -> FloatArray:
        from fermiclass.evaluation.baselines import BaselineClassifier
        from fermiclass.nimgp.estimators.folds import stratified_folds

        right = np.empty(len(table))
        for train, test in stratified_folds(table.y, _FOLDS, seed):
            fitted = BaselineClassifier(peer, seed=seed).fit(table.X[train], table.y[train])
            p = fitted.predict_proba(table.X[test])
            right[test] = p[np.arange(len(test)), np.searchsorted(fitted.classes_, table.y[test])]
        return 1.0 - right

    return suspicion


def _catalogue(folder: Path, release: str) -> Catalog:
    from fermiclass.catalog import read_catalog

    for ending in (".fits.gz", ".fits"):
        path = folder / f"{release}{ending}"
        if path.exists():
            return read_catalog(path)
    raise BenchmarkError(
        f"the benchmark 'outliers' needs {release}.fits.gz, which is not in '{folder}': give the folder that holds the "
        "catalogues with --data, such as the repository's catalogs/."
    )


def print_suspects(results: Mapping[str, Any], console: Console | None = None) -> None:
    """Print average precisions and percentiles."""
    console = console or console_for_tables()
    planted, changed = results["planted"], results["changed"]
    methods = list(changed["mean_percentile"])
    table = _empty("AP", methods)
    for share, scores in planted.items():
        cells = [f"{s['average_precision']:.3f} ± {s['average_precision_error']:.3f}" for s in map(scores.get, methods)]
        table.add_row(f"{100 * float(share):g} % replaced", *cells)
        ahead = [f"{s['ours_ahead']:+.3f} ± {s['ours_ahead_error']:.3f}" for s in map(scores.get, methods[1:])]
        table.add_row("  ours ahead by", "", *ahead)
    console.print(table)
    console.print()
    table = _empty("percentile", methods)
    for source in changed["sources"]:
        cells = [f"{source['percentile'][method]:.1f}" for method in methods]
        table.add_row(f"{source['name']}  {source['earlier']} → {source['later'] or 'none'}", *cells)
    table.add_section()
    table.add_row("mean", *[f"{changed['mean_percentile'][method]:.1f}" for method in methods])
    console.print(table)
    console.print(
        f"AP: average precision, with labels of {_PLANTED} replaced by another class, {results['seeds']} times. Below: "
        f"sources of {_EARLIER} with another class in {_PLANTED}, and their percentiles among {changed['of']} sources "
        f"ranked from {_EARLIER} alone; 100 is the most suspicious."
    )


def _empty(title: str, methods: Sequence[str]) -> Table:
    table = plain_table(title)
    for method in methods:
        table.add_column(method, justify="right", no_wrap=True)
    return table
