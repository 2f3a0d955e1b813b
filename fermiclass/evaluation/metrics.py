"""Metrics of class probabilities p (n, C) of n sources, given the index y (n,) of the true class of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermiclass.io.arrays import FloatArray

#: Probabilities below this become this before their logarithm is taken.
CLIP = 1e-5

#: Number of bins, of equal count, that compare confidence with accuracy.
NUM_BINS = 10

_NUM_RESAMPLES = 1000
_BLOCK = 2**16  # values that are resampled at a time, few enough for the cache

IntArray = NDArray[np.intp]


@dataclass(frozen=True)
class Difference:
    """Mean of paired differences, its standard error, and the number of pairs."""

    mean: float
    se: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.se:.4f}"


@dataclass(frozen=True)
class ReliabilityBin:
    """Sources of similar confidence: their number, mean top probability, and fraction that is right."""

    n: int
    confidence: float
    accuracy: float


def label_indices(probabilities: ArrayLike, labels: ArrayLike, classes: Sequence[str]) -> tuple[FloatArray, IntArray]:
    """Check probabilities (n, C) and labels (n,) against the C classes; return both, with labels as indices.

    Raises
    ------
    ValueError
        When shapes differ, there are no sources, a label is not a class, or a row does not hold probabilities.
    """
    p, y = np.asarray(probabilities, dtype=np.float64), np.asarray(labels)
    if p.ndim != 2 or p.shape[1] != len(classes) or y.shape != p.shape[:1]:
        raise ValueError(
            f"probabilities of shape {p.shape} and labels of shape {y.shape} do not fit {len(classes)} classes: "
            "expected (n, C) and (n,)"
        )
    if not len(p):
        raise ValueError("there are no sources to score: give at least one source")
    wrong = ~np.isfinite(p).all(axis=1) | (p < 0).any(axis=1) | (np.abs(p.sum(axis=1) - 1) > 1e-4)
    if np.any(wrong):
        row = int(np.argmax(wrong))
        raise ValueError(f"row {row} of the probabilities is {p[row]}: expected non-negative values that sum to 1")
    indices = {name: k for k, name in enumerate(classes)}
    strange = sorted({str(label) for label in y.tolist()} - set(indices))
    if strange:
        raise ValueError(f"labels {', '.join(map(repr, strange))} are not among the classes {', '.join(classes)}")
    return p, np.array([indices[label] for label in y.tolist()], dtype=np.intp)


def nll_per_source(p: FloatArray, y: IntArray) -> FloatArray:
    """Return −ln p_{i,y_i}, ``(n,)``, with probabilities clipped at `CLIP`."""
    loss: FloatArray = -np.log(np.clip(p[np.arange(len(p)), y], CLIP, 1.0))
    return loss


def bootstrap_se(values: FloatArray, seed: int = 0, num_resamples: int = _NUM_RESAMPLES) -> float:
    """Return the standard error of the mean of `values` (n,), by resampling the sources with replacement."""
    n = len(values)
    rng = np.random.default_rng(seed)
    block = max(1, _BLOCK // n)
    sizes = [min(block, num_resamples - start) for start in range(0, num_resamples, block)]
    means = [values[rng.integers(n, size=(size, n))].mean(axis=1) for size in sizes]
    return float(np.std(np.concatenate(means)))


def paired_difference(nll: ArrayLike, other: ArrayLike) -> Difference:
    """Return the mean over the same n sources of the NLL of one method minus the NLL of another.

    The standard error is s/√n, with s the standard deviation of the differences (divisor n − 1). It is NaN for a
    single source.

    Raises
    ------
    ValueError
        When the numbers of sources differ, or there are none.
    """
    a, b = np.asarray(nll, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or not len(a):
        raise ValueError(f"shapes {a.shape} and {b.shape} are not pairs: give the NLL of the same sources, (n,) each")
    d = a - b
    se = float(d.std(ddof=1) / np.sqrt(len(d))) if len(d) > 1 else float("nan")
    return Difference(float(d.mean()), se, len(d))


def brier(p: FloatArray, y: IntArray) -> float:
    """Return the mean of Σ_c (p_c − [y = c])², from 0 to 2 (Brier 1950)."""
    return float(np.mean(np.sum((p - np.eye(p.shape[1])[y]) ** 2, axis=1)))


def reliability(p: FloatArray, y: IntArray, num_bins: int = NUM_BINS) -> tuple[ReliabilityBin, ...]:
    """Return confidence and accuracy of the most probable class, in bins of about equal count.

    The quantiles of the confidence are the edges of the bins. Sources of the same confidence share a bin, so the order
    of the sources does not matter, and there may be fewer than `num_bins` bins.
    """
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    bins = _confidence_bins(confidence, num_bins)
    return tuple(
        ReliabilityBin(int(chosen.sum()), float(confidence[chosen].mean()), float(right[chosen].mean()))
        for chosen in (bins == k for k in range(bins.max() + 1))
    )


def expected_calibration_error(table: Sequence[ReliabilityBin]) -> float:
    """Return Σ_b (n_b/n) |accuracy_b − confidence_b| (Naeini, Cooper & Hauskrecht 2015)."""
    n = sum(row.n for row in table)
    return sum(row.n / n * abs(row.accuracy - row.confidence) for row in table)


def chance_calibration_error(p: FloatArray, num_bins: int = NUM_BINS, *, seed: int = 0, num_draws: int = 200) -> float:
    """Return the mean calibration error that perfectly calibrated probabilities have by chance.

    Labels are drawn from p itself. With few sources the accuracy of a bin scatters, so this error is well above 0: it
    is about 0.03 with 300 sources and ten bins.
    """
    rng = np.random.default_rng(seed)
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    # The classes divide (0, 1). The drawn label is the most probable class if a uniform number falls into its part.
    end = np.full((len(p), 1), np.inf)
    edges = np.hstack([-end, np.cumsum(p, axis=1)[:, :-1], end])
    low, high = edges[rows, top], edges[rows, top + 1]
    bins = _confidence_bins(p.max(axis=1), num_bins)
    n, confidence = np.array([(row.n, row.confidence) for row in reliability(p, top, num_bins)]).T
    errors = []
    for _ in range(num_draws):
        u = rng.random(len(p))
        accuracy = np.bincount(bins, (low < u) & (u <= high)) / n
        errors.append(sum((n / len(p) * np.abs(accuracy - confidence)).tolist()))
    return float(np.mean(errors))


def per_class(p: FloatArray, y: IntArray, classes: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return precision, recall, area under the precision-recall curve (average precision) and n of each class.

    None stands for an undefined number: the precision of a class that is never predicted, the recall of a class without
    sources.
    """
    from sklearn.metrics import average_precision_score, precision_recall_fscore_support

    precision, recall, _, n = precision_recall_fscore_support(
        y, p.argmax(axis=1), labels=np.arange(len(classes)), zero_division=np.nan
    )
    area = [average_precision_score(y == c, p[:, c]) if n[c] else np.nan for c in range(len(classes))]
    return {
        name: {
            "precision": _number(precision[c]),
            "recall": _number(recall[c]),
            "n": int(n[c]),
            "pr_auc": _number(area[c]),
        }
        for c, name in enumerate(classes)
    }


def confusion(p: FloatArray, y: IntArray) -> tuple[tuple[int, ...], ...]:
    """Return numbers of sources by true class (rows) and most probable class (columns), ``(C, C)``."""
    from sklearn.metrics import confusion_matrix

    counts = confusion_matrix(y, p.argmax(axis=1), labels=np.arange(p.shape[1]))
    return tuple(tuple(row) for row in counts.tolist())


def _confidence_bins(confidence: FloatArray, num_bins: int) -> IntArray:
    """Return the bin of each source (n,), counted from 0 without gaps; see `reliability`."""
    inner = np.unique(np.quantile(confidence, np.arange(1, num_bins) / num_bins))
    return np.unique(np.searchsorted(inner, confidence, side="left"), return_inverse=True)[1]


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
