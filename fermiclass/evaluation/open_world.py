"""The open world: sources without an association, scored by any class that a later release gives them.

Every later class but ``unk`` counts, at its own level of the tree of classes (:data:`fermiclass.catalog.CLASS_TREE`): a
``bcu`` is an AGN, and says no more. What gets a class is selected: AGN are associated more easily than others, so the
numbers found say as much of that as of the sources. The *evidence* is the part of the score that selection does not
touch: the NLL after the best class priors, by Galactic latitude.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import CLASS_TREE, Catalog, ClassGrouping
from fermiclass.errors import CatalogError
from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources
from fermiclass.evaluation.metrics import (
    brier,
    expected_calibration_error,
    nll_per_source,
    paired_difference,
    reliability,
)
from fermiclass.io.arrays import FloatArray

if TYPE_CHECKING:
    from astropy.table import Table

#: The groups that are told apart.
TOPS = tuple(CLASS_TREE)

#: Probabilities below this count as this: a method that calls something impossible is wrong for good, but not without
#: limit.
CLIP = 1e-4

#: |GLAT| in degrees that parts the sources near the Galactic plane from the others.
LATITUDE_EDGE = 10.0

#: Probabilities from which on a source is a candidate.
THRESHOLDS = (0.5, 0.7, 0.8, 0.9, 0.95)

_CELL = 15.0  # degrees


@dataclass(frozen=True, eq=False)
class OpenTargets:
    """The n sources without an association in an earlier release that have a class in a later one.

    Attributes
    ----------
    rows
        Indices in the earlier catalogue, ``(n,)``.
    top
        Index in :data:`TOPS` of the later class, ``(n,)``.
    code
        Later class, ``(n,)``.
    low
        Whether |GLAT| is below :data:`LATITUDE_EDGE`, ``(n,)``.
    significance
        Signif_Avg in the earlier release, ``(n,)``.
    candidates
        Indices of all sources without an association, ``(N,)``: in the chosen cells of the sky.
    typed
        Indices of the sources that are bcu earlier, and bll or fsrq later, ``(m,)``.
    is_fsrq
        Whether these are fsrq later, ``(m,)``.
    """

    rows: NDArray[np.intp]
    top: NDArray[np.intp]
    code: NDArray[np.str_]
    low: NDArray[np.bool_]
    significance: FloatArray
    candidates: NDArray[np.intp]
    typed: NDArray[np.intp]
    is_fsrq: NDArray[np.bool_]

    @classmethod
    def of(cls, earlier: Catalog, later: Catalog, *, cells: str = "all", radius_deg: float = 0.15) -> OpenTargets:
        """Match two releases on the sky.

        Parameters
        ----------
        earlier, later
            The releases.
        cells
            ``'all'`` of the sky, or the ``'even'`` or ``'odd'`` ones of a chessboard with cells of 15 degrees,
            ``(⌊RAJ2000/15⌋ + ⌊(DEJ2000 + 90)/15⌋) mod 2``: half of the sky to choose a method on, half to test it on.
        radius_deg
            Largest separation of the two positions, in degrees.

        Raises
        ------
        CatalogError
            When no source has a later class, or the cells are unknown.
        """
        if cells not in ("all", "even", "odd"):
            raise CatalogError(f"cells='{cells}' is unknown: choose one of all, even, odd")
        counterpart, by_name = match_sources(earlier, later, radius_deg=radius_deg)
        # By position alone: a source that the later release moves further may be another one.
        code = np.where((counterpart == UNMATCHED) | by_name, "", later.classes[counterpart])
        inside = np.ones(len(earlier), bool)
        if cells != "all":
            ra, dec = (np.asarray(earlier.table[name], float) for name in ("RAJ2000", "DEJ2000"))
            inside = (np.floor(ra / _CELL) + np.floor((dec + 90.0) / _CELL)).astype(int) % 2 == (cells == "odd")
        unassociated = (earlier.classes == "") & inside
        top = top_of(code)
        rows = np.flatnonzero(unassociated & (top >= 0))
        if not len(rows):
            raise CatalogError(
                f"{later.source} gives a class to no source that {earlier.source} leaves unassociated: give a later "
                "release"
            )
        typed = np.flatnonzero((earlier.classes == "bcu") & inside & np.isin(code, ("bll", "fsrq")))
        low = np.abs(np.asarray(earlier.table["GLAT"], float)) < LATITUDE_EDGE
        return cls(
            rows,
            top[rows],
            code[rows],
            low[rows],
            np.asarray(earlier.table["Signif_Avg"], float)[rows],
            np.flatnonzero(unassociated),
            typed,
            code[typed] == "fsrq",
        )

    def __len__(self) -> int:
        return len(self.rows)


def top_of(codes: NDArray[np.str_]) -> NDArray[np.intp]:
    """Return the index in :data:`TOPS` of class codes, ``(n,)``, −1 for codes without a place."""
    found = np.full(len(codes), -1, dtype=np.intp)
    for k, members in enumerate(CLASS_TREE.values()):
        found[np.isin(codes, members)] = k
    return found


@dataclass(frozen=True, eq=False)
class OpenScores:
    """Predictions of a method for the targets, and their scores.

    Attributes
    ----------
    targets
        The sources.
    p
        Probabilities ``(n, 3)`` of :data:`TOPS`.
    p_candidates
        Probability of a pulsar of all sources without an association, ``(N,)``.
    p_fsrq
        Probability of fsrq against bll of the typed bcu, ``(m,)``.
    is_baseline
        Whether other methods are compared with this one.
    """

    targets: OpenTargets
    p: FloatArray
    p_candidates: FloatArray
    p_fsrq: FloatArray
    is_baseline: bool = False

    @property
    def clipped(self) -> FloatArray:
        """Probabilities of at least :data:`CLIP`."""
        p = np.clip(self.p, CLIP, 1.0)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    @property
    def nll_per_source(self) -> FloatArray:
        """−ln p of the later group, ``(n,)``."""
        return nll_per_source(self.clipped, self.targets.top)

    @property
    def two_groups(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """−ln p of AGN against pulsar alone, and which targets are one of them."""
        two = self.targets.top < 2
        q = self.clipped[two, :2]
        return nll_per_source(q / q.sum(axis=1, keepdims=True), self.targets.top[two]), two

    def evidence(self) -> float:
        """NLL after the best class priors, chosen below and above :data:`LATITUDE_EDGE` apart with the truth known."""
        from scipy.optimize import minimize

        total = 0.0
        for stratum in (self.targets.low, ~self.targets.low):
            present = np.unique(self.targets.top[stratum])
            if len(present) < 2:
                continue
            log_p = np.log(self.clipped[stratum][:, present])
            truth = np.searchsorted(present, self.targets.top[stratum])

            def loss(offset: FloatArray, log_p: FloatArray = log_p, truth: NDArray[np.intp] = truth) -> float:
                z = log_p + np.r_[0.0, offset]
                z -= np.logaddexp.reduce(z, axis=1)[:, None]
                return float(-z[np.arange(len(truth)), truth].sum())

            total += minimize(loss, np.zeros(len(present) - 1), method="BFGS").fun
        return total / len(self.targets)

    def numbers(self, stratum: NDArray[np.bool_]) -> dict[str, dict[str, float]]:
        """Return the expected number of each group with its standard error, and the number found."""
        p, truth = self.p[stratum], self.targets.top[stratum]
        return {
            name: {
                "expected": float(p[:, k].sum()),
                "se": float(np.sqrt(np.sum(p[:, k] * (1.0 - p[:, k])))),
                "found": int(np.sum(truth == k)),
            }
            for k, name in enumerate(TOPS)
        }

    def candidates(self, group: str) -> list[dict[str, float | None]]:
        """Return purity and completeness of a group's candidates by threshold, among all that have a later class.

        None stands for a fraction of no sources.
        """
        k = TOPS.index(group)
        is_one = self.targets.top == k
        found: list[dict[str, float | None]] = []
        for threshold in THRESHOLDS:
            chosen = self.p[:, k] >= threshold
            right = int(np.sum(chosen & is_one))
            found.append(
                {
                    "threshold": threshold,
                    "n": int(chosen.sum()),
                    "purity": right / int(chosen.sum()) if chosen.any() else None,
                    "completeness": right / int(is_one.sum()) if is_one.any() else None,
                }
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, as JSON can hold them; None stands for an undefined number."""
        from sklearn.metrics import average_precision_score, roc_auc_score

        low, top = self.targets.low, self.targets.top
        loss, (loss2, two) = self.nll_per_source, self.two_groups
        low2 = low[two]
        q = self.clipped
        is_found = np.isin(self.targets.candidates, self.targets.rows[top == TOPS.index("psr")])
        figures: dict[str, Any] = {
            "nll": _mean(loss),
            "nll_se": _se(loss),
            "nll_low": _mean(loss[low]),
            "nll_high": _mean(loss[~low]),
            "agn_psr": _mean(loss2),
            "agn_psr_se": _se(loss2),
            "agn_psr_high": _mean(loss2[~low2]),
            "evidence": self.evidence(),
            "brier": brier(self.p, top),
            "error": float(np.mean(self.p.argmax(axis=1) != top)),
            "ece": expected_calibration_error(reliability(self.p, top)),
            "auc_psr": _defined(roc_auc_score, top[two] == 1, q[two, 1] / q[two, :2].sum(axis=1)),
            "auc_other": _defined(roc_auc_score, top == 2, q[:, 2]),
            "ap_psr": _defined(average_precision_score, is_found, self.p_candidates),
            "numbers": {
                name: self.numbers(stratum)
                for name, stratum in (("all", np.ones(len(low), bool)), ("low", low), ("high", ~low))
            },
            "by_significance": {
                f"{a:g}-{b:g}": {"n": int(chosen.sum()), "nll": _mean(loss[chosen])}
                for a, b in ((0.0, 5.0), (5.0, 7.0), (7.0, np.inf))
                if (chosen := (self.targets.significance >= a) & (self.targets.significance < b)).any()
            },
            "candidates": {group: self.candidates(group) for group in ("psr", "agn")},
            "is_baseline": self.is_baseline,
        }
        types = _loss_of_types(self.p_fsrq, self.targets.is_fsrq)
        figures["bll_fsrq"] = {
            "n": len(types),
            "nll": _mean(types),
            "nll_se": _se(types),
            "expected_fsrq": float(self.p_fsrq.sum()),
            "found_fsrq": int(self.targets.is_fsrq.sum()),
        }
        return figures


@dataclass(frozen=True, eq=False)
class OpenEvaluation:
    """Several methods on the same targets.

    Attributes
    ----------
    earlier, later
        Files of the two releases.
    cells
        Cells of the sky.
    targets
        The sources.
    methods
        Scores by name.
    meta
        Features, classes, seed.
    """

    earlier: str
    later: str
    cells: str
    targets: OpenTargets
    methods: Mapping[str, OpenScores]
    meta: Mapping[str, Any] = field(default_factory=dict)

    def best_baseline(self, figure: str) -> str | None:
        """Return the baseline with the lowest figure of :meth:`OpenScores.to_dict`; None without baselines."""
        found = {name: scores.to_dict()[figure] for name, scores in self.methods.items() if scores.is_baseline}
        return min(found, key=found.__getitem__) if found else None

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, as JSON can hold them; with baselines also ratios to the best of them."""
        methods = {name: scores.to_dict() for name, scores in self.methods.items()}
        for name, scores in self.methods.items():
            if scores.is_baseline:
                continue
            for figure in ("nll", "nll_high", "agn_psr", "agn_psr_high", "evidence"):
                best = self.best_baseline(figure)
                if best is not None and methods[best][figure]:
                    ratio = methods[name][figure] / methods[best][figure]
                    methods[name].setdefault("ratio", {})[figure] = {"baseline": best, "ratio": ratio}
            best = self.best_baseline("nll")
            if best is not None:
                difference = paired_difference(scores.nll_per_source, self.methods[best].nll_per_source)
                methods[name]["versus_best"] = {"baseline": best, "mean": difference.mean, "se": difference.se}
        return {
            "catalog": self.earlier,
            "future": self.later,
            "protocol": "open",
            "cells": self.cells,
            "n": len(self.targets),
            "found": {name: int(np.sum(self.targets.top == k)) for k, name in enumerate(TOPS)},
            **self.meta,
            "methods": methods,
        }


def scores_of_labels(targets: OpenTargets, catalog: Catalog, labels: Table, grouping: ClassGrouping) -> OpenScores:
    """Score a label table of the earlier catalogue.

    Raises
    ------
    CatalogError
        When a target has no label.
    """
    row = {str(name): k for k, name in enumerate(labels["Source_Name"])}
    wanted = np.concatenate([targets.candidates, targets.typed])
    missing = [str(name) for name in catalog.names[wanted] if str(name) not in row]
    if missing:
        raise CatalogError(f"{len(missing)} sources have no label, such as {missing[0]}: label all targets")
    index = np.array([row[str(name)] for name in catalog.names[wanted]], dtype=np.intp)
    P = np.stack([np.asarray(labels[f"P_{name}"], float)[index] for name in grouping.names], axis=1)
    of_top = np.array([top_of(np.array(grouping.members[name][:1]))[0] for name in grouping.names])
    p = np.stack([P[:, of_top == k].sum(axis=1) for k in range(len(TOPS))], axis=1)
    num = len(targets.candidates)
    at = np.searchsorted(targets.candidates, targets.rows)
    p_fsrq = np.full(len(targets.typed), 0.5)
    if {"bll", "fsrq"} <= set(grouping.names):
        bll, fsrq = (P[num:, grouping.names.index(name)] for name in ("bll", "fsrq"))
        p_fsrq = fsrq / (bll + fsrq)
    return OpenScores(targets, p[at], p[:num, TOPS.index("psr")], p_fsrq)


def mean_scores(scores: Sequence[OpenScores]) -> OpenScores:
    """Return the scores of the mean probabilities of several methods."""
    return OpenScores(
        scores[0].targets,
        np.mean([each.p for each in scores], axis=0),
        np.mean([each.p_candidates for each in scores], axis=0),
        np.mean([each.p_fsrq for each in scores], axis=0),
        is_baseline=all(each.is_baseline for each in scores),
    )


def _loss_of_types(p_fsrq: FloatArray, is_fsrq: NDArray[np.bool_]) -> FloatArray:
    p = np.clip(np.stack([1.0 - p_fsrq, p_fsrq], axis=1), CLIP, 1.0)
    return nll_per_source(p / p.sum(axis=1, keepdims=True), is_fsrq.astype(np.intp))


def _mean(values: FloatArray) -> float | None:
    return float(values.mean()) if len(values) else None


def _se(values: FloatArray) -> float | None:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def _defined(metric: Any, truth: NDArray[np.bool_], score: FloatArray) -> float | None:
    return float(metric(truth, score)) if 0 < truth.sum() < len(truth) else None
