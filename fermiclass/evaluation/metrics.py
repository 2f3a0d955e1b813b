"""How good probabilities are: n sources, C classes, p (n, C), and for each source the index of its true class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermiclass.features.transforms import FloatArray

#: Probabilities are clipped here before their logarithm is taken.
CLIP = 1e-5

#: Bins of equal count in which confidence is compared with accuracy.
NUM_BINS = 10

_NUM_RESAMPLES = 1000
_BLOCK = 2**16  # values that are resampled at a time: they stay in the cache

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
    """Sources of similar confidence: how many, their mean top probability, and the fraction that is right."""

    n: int
    confidence: float
    accuracy: float


def label_indices(probabilities: ArrayLike, labels: ArrayLike, classes: Sequence[str]) -> tuple[FloatArray, IntArray]:
    """Check probabilities (n, C) and labels (n,) against the C classes; return them with labels as indices.

    Raises
    ------
    ValueError
        When shapes differ, there are no sources, a label is no class, or a row of probabilities is none.
    """
    p, y = np.asarray(probabilities, dtype=np.float64), np.asarray(labels)
    if p.ndim != 2 or p.shape[1] != len(classes) or y.shape != p.shape[:1]:
        raise ValueError(
            f"probabilities of shape {p.shape} and labels of shape {y.shape} do not fit {len(classes)} classes: "
            "expected (n, C) and (n,)"
        )
    if not len(p):
        raise ValueError("there are no sources to score: give at least one")
    wrong = ~np.isfinite(p).all(axis=1) | (p < 0).any(axis=1) | (np.abs(p.sum(axis=1) - 1) > 1e-4)
    if np.any(wrong):
        row = int(np.argmax(wrong))
        raise ValueError(f"row {row} of the probabilities is {p[row]}: expected non-negative values that sum to 1")
    indices = {name: k for k, name in enumerate(classes)}
    strange = sorted({str(label) for label in y.tolist()} - set(indices))
    if strange:
        raise ValueError(f"labels {', '.join(map(repr, strange))} are none of the classes {', '.join(classes)}")
    return p, np.array([indices[label] for label in y.tolist()], dtype=np.intp)


def nll_per_source(p: FloatArray, y: IntArray) -> FloatArray:
    """Return −ln p_{i,y_i}, probabilities clipped at `CLIP`, ``(n,)``."""
    loss: FloatArray = -np.log(np.clip(p[np.arange(len(p)), y], CLIP, 1.0))
    return loss


def bootstrap_se(values: FloatArray, seed: int = 0, num_resamples: int = _NUM_RESAMPLES) -> float:
    """Return the standard error of the mean of `values`, from resampling the n sources with replacement."""
    n = len(values)
    rng = np.random.default_rng(seed)
    block = max(1, _BLOCK // n)
    sizes = [min(block, num_resamples - start) for start in range(0, num_resamples, block)]
    means = [values[rng.integers(n, size=(size, n))].mean(axis=1) for size in sizes]
    return float(np.std(np.concatenate(means)))


def paired_difference(nll: ArrayLike, other: ArrayLike) -> Difference:
    """Return the mean over the same n sources of the NLL of one method minus that of another.

    Its standard error is s/√n, with s the standard deviation of the differences (n − 1); NaN for a single source.

    Raises
    ------
    ValueError
        When the two are not of the same sources.
    """
    a, b = np.asarray(nll, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or not len(a):
        raise ValueError(f"shapes {a.shape} and {b.shape} are no pairs: give the NLL of the same sources, (n,) each")
    d = a - b
    se = float(d.std(ddof=1) / np.sqrt(len(d))) if len(d) > 1 else float("nan")
    return Difference(float(d.mean()), se, len(d))


def brier(p: FloatArray, y: IntArray) -> float:
    """Return the mean of Σ_c (p_c − [y = c])², from 0 to 2 (Brier 1950)."""
    return float(np.mean(np.sum((p - np.eye(p.shape[1])[y]) ** 2, axis=1)))


def reliability(p: FloatArray, y: IntArray, num_bins: int = NUM_BINS) -> tuple[ReliabilityBin, ...]:
    """Return confidence against accuracy of the most probable class, in bins of about equal count.

    Bins are bounded by the quantiles of the confidence; sources of the same confidence share a bin, so that the order
    of the sources does not matter. There may therefore be fewer bins than asked for.
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
    """Return the mean calibration error that perfectly calibrated probabilities would have by chance.

    Labels are drawn from p itself. With few sources a bin's accuracy scatters, so that this is well above 0: with 300
    sources and ten bins it is about 0.03.
    """
    rng = np.random.default_rng(seed)
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    # The classes divide (0, 1): the drawn label is the most probable class if a uniform number falls within its part.
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
    """Return for each class precision, recall, area under the precision-recall curve (average precision), and n.

    None stands for what is undefined: precision of a class that is never predicted, recall of one without sources.
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
    """Return how many sources of each true class (rows) have which most probable class (columns), ``(C, C)``."""
    from sklearn.metrics import confusion_matrix

    counts = confusion_matrix(y, p.argmax(axis=1), labels=np.arange(p.shape[1]))
    return tuple(tuple(row) for row in counts.tolist())


def _confidence_bins(confidence: FloatArray, num_bins: int) -> IntArray:
    """Return for each source (n,) its bin, counted from 0 without gaps; see `reliability`."""
    inner = np.unique(np.quantile(confidence, np.arange(1, num_bins) / num_bins))
    return np.unique(np.searchsorted(inner, confidence, side="left"), return_inverse=True)[1]


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
