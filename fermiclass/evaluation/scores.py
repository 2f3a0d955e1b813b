"""All metrics of one method on one set of sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermiclass.evaluation import metrics
from fermiclass.evaluation.metrics import NUM_BINS, ReliabilityBin
from fermiclass.io.arrays import FloatArray

#: Edges of the bins of Signif_Avg for scores.
SCORE_SIGNIFICANCE_EDGES = (0.0, 5.0, 7.0, 10.0, 20.0, np.inf)


@dataclass(frozen=True)
class SignificanceBin:
    """Metrics of the sources with low <= Signif_Avg < high; None if there is no upper limit."""

    low: float | None
    high: float | None
    n: int
    nll: float
    nll_se: float
    error: float
    brier: float


@dataclass(frozen=True, eq=False)
class Scores:
    """The metrics of :mod:`fermiclass.evaluation.metrics` for n sources.

    Attributes
    ----------
    nll, nll_se
        Mean of −ln P of the true class, and its bootstrap standard error.
    error
        Fraction of the sources whose most probable class is wrong.
    ece, ece_chance
        Calibration error of the top probability, and its mean by chance if calibration were perfect.
    brier
        Brier score: sum of squares over the classes, mean over the sources.
    n
        Number of sources.
    per_class
        Precision, recall, n and pr_auc of each class.
    reliability
        Confidence and accuracy in bins of confidence.
    confusion
        Numbers of sources by true class (rows) and most probable class (columns), (C, C), in the order of the classes.
    by_significance
        The main metrics in bins of Signif_Avg; empty if Signif_Avg is unknown.
    nll_per_source
        (n,) NLL of each source, for paired comparisons. It is not part of :meth:`to_dict`.
    """

    nll: float
    nll_se: float
    error: float
    ece: float
    ece_chance: float
    brier: float
    n: int
    per_class: Mapping[str, Mapping[str, Any]]
    reliability: tuple[ReliabilityBin, ...]
    confusion: tuple[tuple[int, ...], ...]
    by_significance: tuple[SignificanceBin, ...]
    nll_per_source: FloatArray = field(repr=False)

    @classmethod
    def of(
        cls,
        probabilities: ArrayLike,
        labels: ArrayLike,
        classes: Sequence[str],
        *,
        significance: ArrayLike | None = None,
        num_bins: int = NUM_BINS,
        seed: int = 0,
    ) -> Scores:
        """Score probabilities (n, C), in the order of the C classes, by the true labels (n,).

        Parameters
        ----------
        probabilities, labels, classes
            Probabilities, labels and classes. Each label is one of the classes.
        significance
            (n,) Signif_Avg. Sources without it (NaN) are in no bin.
        num_bins
            Number of bins of the reliability table.
        seed
            Seed of the bootstrap and of ``ece_chance``.

        Raises
        ------
        ValueError
            See :func:`fermiclass.evaluation.metrics.label_indices`.
        """
        p, y = metrics.label_indices(probabilities, labels, classes)
        loss = metrics.nll_per_source(p, y)
        table = metrics.reliability(p, y, num_bins)
        return cls(
            nll=float(loss.mean()),
            nll_se=metrics.bootstrap_se(loss, seed),
            error=float(np.mean(p.argmax(axis=1) != y)),
            ece=metrics.expected_calibration_error(table),
            ece_chance=metrics.chance_calibration_error(p, num_bins, seed=seed),
            brier=metrics.brier(p, y),
            n=len(p),
            per_class=metrics.per_class(p, y, classes),
            reliability=table,
            confusion=metrics.confusion(p, y),
            by_significance=_by_significance(p, y, loss, significance, seed),
            nll_per_source=loss,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the JSON of the command ``evaluate``."""
        return {
            "nll": self.nll,
            "nll_se": self.nll_se,
            "error": self.error,
            "ece": self.ece,
            "brier": self.brier,
            "n": self.n,
            "per_class": {name: dict(values) for name, values in self.per_class.items()},
            "ece_chance": self.ece_chance,
            "reliability": [asdict(row) for row in self.reliability],
            "confusion": [list(row) for row in self.confusion],
            "by_significance": [asdict(row) for row in self.by_significance],
        }


def significance_bins(significance: ArrayLike) -> list[tuple[float, float | None, NDArray[np.bool_]]]:
    """Return the bins of Signif_Avg that have sources: lower edge, upper edge (None for no limit), and a mask (n,).

    A source of unknown significance (NaN) is in no bin.
    """
    values = np.asarray(significance, dtype=np.float64)
    bins = (
        (low, high if np.isfinite(high) else None, (values >= low) & (values < high))
        for low, high in pairwise(SCORE_SIGNIFICANCE_EDGES)
    )
    return [row for row in bins if np.any(row[2])]


def _by_significance(
    p: FloatArray, y: metrics.IntArray, loss: FloatArray, significance: ArrayLike | None, seed: int
) -> tuple[SignificanceBin, ...]:
    if significance is None:
        return ()
    values = np.asarray(significance, dtype=np.float64)
    if values.shape != loss.shape:
        raise ValueError(f"significance has shape {values.shape}, expected one value for each of {len(loss)} sources")
    return tuple(
        SignificanceBin(
            low=low,
            high=high,
            n=int(rows.sum()),
            nll=float(loss[rows].mean()),
            nll_se=metrics.bootstrap_se(loss[rows], seed),
            error=float(np.mean(p[rows].argmax(axis=1) != y[rows])),
            brier=metrics.brier(p[rows], y[rows]),
        )
        for low, high, rows in significance_bins(values)
    )
