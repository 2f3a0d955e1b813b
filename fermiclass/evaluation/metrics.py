"""Metrics of class probabilities: each is a function of p (n, C) and of the truth (n, C) of n sources.

A row of `truth` is true for each class that the source may have: one where the class is known, several where it is one
of these, all where nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from astropy.stats import binom_conf_interval
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from sklearn.metrics import average_precision_score

from fermiclass.io import FloatArray

IntArray = NDArray[np.intp]
Truth = NDArray[np.bool_]

NUM_BINS = 10  #: Number of bins, of equal count, that compare confidence with accuracy.

#: Probabilities from which on a source is a candidate. All sources are the first: their purity is the base rate.
THRESHOLDS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95)

LEVEL = 0.9  #: Probability of the binomial intervals.

_FLOOR = 1e-5


@dataclass(frozen=True)
class Column:
    """A metric."""

    compute: Callable[[FloatArray, Truth], float]  #: Function of p and truth; lower is better, NaN is not defined.
    heading: str = ""  #: Of the printed column; a metric without a heading is not printed.
    meaning: str = ""  #: What the number is.
    by_latitude: bool = False  #: Whether it is the mean of those below and above 10 degrees of Galactic latitude.


@dataclass(frozen=True)
class ReliabilityBin:
    """Sources of similar confidence: their number, mean top probability, and fraction that is right."""

    n: int
    confidence: float
    accuracy: float


def as_truth(labels: ArrayLike, classes: Sequence[str]) -> Truth:
    """Return the truth (n, C) of labels (n,), each one of the C classes. Raises ValueError for other labels."""
    y = np.asarray(labels)
    truth = y[:, None] == np.asarray(classes)
    strange = sorted({str(label) for label in y[~truth.any(axis=1)].tolist()})
    if strange:
        raise ValueError(f"labels {', '.join(map(repr, strange))} are not among the classes {', '.join(classes)}")
    return np.asarray(truth, dtype=bool)


def checked(probabilities: ArrayLike, labels: ArrayLike, classes: Sequence[str]) -> tuple[FloatArray, Truth]:
    """Return probabilities (n, C) and labels (n,) as p and truth. Raises ValueError where they are none."""
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
    return p, as_truth(y, classes)


def known(truth: Truth) -> NDArray[np.bool_]:
    """Return of which sources anything is known, ``(n,)``."""
    return np.asarray(~truth.all(axis=1))


def nll_per_source(p: FloatArray, truth: Truth) -> FloatArray:
    """Return −ln Σ_{c true} p_ic, ``(n,)``. Smaller sums count as 10⁻⁵."""
    return -np.log(np.clip((p * truth).sum(axis=1), _FLOOR, 1.0))


def nll(p: FloatArray, truth: Truth) -> float:
    """Return the mean of `nll_per_source`."""
    return float(nll_per_source(p, truth).mean())


def nll_se(p: FloatArray, truth: Truth, *, num_resamples: int = 1000) -> float:
    """Return the standard error of `nll`, by resampling the sources with replacement."""
    loss, rng = nll_per_source(p, truth), np.random.default_rng(0)
    return float(np.std([loss[rng.integers(len(loss), size=len(loss))].mean() for _ in range(num_resamples)]))


def nll_after_best_priors(p: FloatArray, truth: Truth) -> float:
    """Return the NLL after the class priors that are best for the truth: what selection does not touch."""
    present = np.flatnonzero(truth.any(axis=0))
    if len(present) < 2:
        return 0.0
    log_p, possible = np.log(np.maximum(p[:, present], 1e-300)), truth[:, present]

    def loss(offset: FloatArray) -> float:
        z = log_p + np.r_[0.0, offset]
        of_truth = np.logaddexp.reduce(np.where(possible, z, -np.inf), axis=1)
        return float(np.sum(np.logaddexp.reduce(z, axis=1) - of_truth))

    return float(minimize(loss, np.zeros(len(present) - 1), method="BFGS").fun) / len(p)


def error(p: FloatArray, truth: Truth) -> float:
    """Return the fraction of sources whose most probable class is wrong."""
    return float(np.mean(~_right(p, truth)))


def brier(p: FloatArray, truth: Truth) -> float:
    """Return the mean of (1 − P(true))² + Σ_{c wrong} p_c², from 0 to 2 (Brier 1950)."""
    return float(np.mean((1.0 - (p * truth).sum(axis=1)) ** 2 + np.sum((p * ~truth) ** 2, axis=1)))


def ece(p: FloatArray, truth: Truth) -> float:
    """Return Σ_b (n_b/n) |accuracy_b − confidence_b| (Naeini, Cooper & Hauskrecht 2015)."""
    table = reliability(p, truth)
    return sum(row.n * abs(row.accuracy - row.confidence) for row in table) / len(p)


def ece_by_chance(p: FloatArray, truth: Truth, *, num_draws: int = 200) -> float:
    """Return the mean `ece` when the truth is drawn from p: about 0.03 with 300 sources and ten bins."""
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    # The classes divide (0, 1). The drawn class is the most probable one if a uniform number falls into its part.
    edges = np.hstack([np.full((len(p), 1), -np.inf), np.cumsum(p, axis=1)[:, :-1], np.full((len(p), 1), np.inf)])
    low, high = edges[rows, top], edges[rows, top + 1]
    confidence = p.max(axis=1)
    bins = _confidence_bins(confidence, NUM_BINS)
    u = np.random.default_rng(0).random((num_draws, len(p)))
    right = np.stack([np.bincount(bins, each) for each in (low < u) & (u <= high)])
    return float(np.mean(np.abs(right - np.bincount(bins, confidence)).sum(axis=1)) / len(p))


#: The metrics, in the order of the printed table.
COLUMNS: Mapping[str, Column] = {
    "nll": Column(nll, "NLL", "mean of −ln P(true class); a confident wrong answer costs most"),
    "nll_se": Column(nll_se),
    "nll_after_best_priors": Column(
        nll_after_best_priors,
        "best priors",
        "NLL after the class priors by latitude that are best for the truth; it tells how good the spectra are",
        True,
    ),
    "error": Column(error, "error", "fraction of sources whose most probable class is wrong"),
    "brier": Column(brier, "Brier", "mean squared distance of the probabilities from the truth, 0 to 2"),
    "ece": Column(ece, "ECE", "mean distance of confidence and accuracy: 0 is calibrated"),
    "ece_by_chance": Column(ece_by_chance),
}


def figures(p: FloatArray, truth: Truth, low: NDArray[np.bool_] | None = None) -> dict[str, float]:
    """Return all columns for the sources of which anything is known. `low` says which are close to the plane, (n,)."""
    rows = known(truth)
    p, truth = p[rows], truth[rows]
    low = np.zeros(len(p), bool) if low is None else low[rows]
    found = {}
    for name, column in COLUMNS.items():
        parts = [part for part in (low, ~low) if part.any()] if column.by_latitude else [np.ones(len(p), bool)]
        found[name] = sum(float(part.sum()) * column.compute(p[part], truth[part]) for part in parts) / len(p)
    return found


def per_class(
    p: FloatArray, truth: Truth, classes: Sequence[str], *, together: Sequence[str] = ()
) -> dict[str, dict[str, Any]]:
    """Return by class: n (of this class alone), Σ p ± √Σ p(1 − p), precision, recall and average precision, or None.

    The average precision counts all sources, those of unknown class as negatives. Classes that are counted `together`
    are one class more, named like ``pulsar|other``.
    """
    rows = known(truth)
    top = p.argmax(axis=1)
    members = {name: [name] for name in classes} | ({"|".join(together): list(together)} if together else {})
    found = {}
    for name, inside in members.items():
        columns = np.isin(classes, inside)
        possible = np.asarray(truth[:, columns].any(axis=1))
        positive = rows & ~truth[:, ~columns].any(axis=1)
        said, q = columns[top], p[:, columns].sum(axis=1)
        found[name] = {
            "n": int(positive.sum()),
            "expected": float(q[rows].sum()),
            "expected_se": float(np.sqrt(np.sum(q[rows] * (1.0 - q[rows])))),
            "precision": _fraction(possible[rows & said]),
            "recall": _fraction(said[positive]),
            "average_precision": float(average_precision_score(positive, q)) if positive.any() else None,
        }
    return found


def candidates(p: FloatArray, truth: Truth, classes: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return purity and completeness of each class's candidates by threshold; None for a fraction of no sources.

    A candidate is right if it may be of the class; completeness is of sources of this class alone. The intervals are
    Wilson's (Brown, Cai & DasGupta 2001).
    """
    rows = known(truth)
    q, possible = p[rows], truth[rows]
    single = possible.sum(axis=1) == 1
    chosen = q >= np.array(THRESHOLDS)[:, None, None]
    return {
        name: [
            {"threshold": threshold, "n": int(of_class.sum())}
            | _share("purity", possible[of_class, c])
            | _share("completeness", of_class[possible[:, c] & single])
            for threshold, of_class in zip(THRESHOLDS, chosen[:, :, c], strict=True)
        ]
        for c, name in enumerate(classes)
    }


def reliability(p: FloatArray, truth: Truth, num_bins: int = NUM_BINS) -> tuple[ReliabilityBin, ...]:
    """Return confidence and accuracy of the most probable class, in bins of about equal count, `num_bins` at most."""
    confidence, right = p.max(axis=1), _right(p, truth)
    bins = _confidence_bins(confidence, num_bins)
    n, *sums = (np.bincount(bins, each) for each in (np.ones(len(p)), confidence, right))
    return tuple(ReliabilityBin(int(k), float(c), float(a)) for k, c, a in zip(n, *(s / n for s in sums), strict=True))


def confusion(p: FloatArray, truth: Truth) -> IntArray:
    """Return numbers of sources whose truth is one class, by it and by the most probable class, ``(C, C)``."""
    single, C = truth.sum(axis=1) == 1, p.shape[1]
    pairs = C * truth[single].argmax(axis=1) + p[single].argmax(axis=1)
    return np.bincount(pairs, minlength=C * C).reshape(C, C)


def _right(p: FloatArray, truth: Truth) -> NDArray[np.bool_]:
    return truth[np.arange(len(p)), p.argmax(axis=1)]


def _confidence_bins(confidence: FloatArray, num_bins: int) -> IntArray:
    """Return the bin of each source, ``(n,)``, counted from 0 without gaps: equal ones share a bin."""
    inner = np.unique(np.quantile(confidence, np.arange(1, num_bins) / num_bins))
    return np.unique(np.searchsorted(inner, confidence, side="left"), return_inverse=True)[1]


def _fraction(chosen: NDArray[np.bool_]) -> float | None:
    return float(chosen.mean()) if len(chosen) else None


def _share(name: str, chosen: NDArray[np.bool_]) -> dict[str, Any]:
    """Return a fraction and the limits of its interval; None without any."""
    if not len(chosen):
        return {name: None, f"{name}_interval": None}
    low, high = binom_conf_interval(chosen.sum(), len(chosen), confidence_level=LEVEL, interval="wilson")
    return {name: float(chosen.mean()), f"{name}_interval": (float(low), float(high))}
