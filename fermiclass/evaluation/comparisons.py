"""Comparisons within an evaluation: with baselines, with and without input noise, with and without a correction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from fermiclass.evaluation.method_results import MethodResult, Variant
from fermiclass.evaluation.metrics import Difference, paired_difference
from fermiclass.evaluation.scores import significance_bins
from fermiclass.io.arrays import FloatArray

#: The method that uses the errors of the inputs, and the same model without them.
NOISY_INPUTS, NOISELESS_INPUTS = "nimgp", "mgp"


class Compared(Protocol):
    """The parts of :class:`fermiclass.evaluation.results.Evaluation` that the comparisons need."""

    @property
    def features(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the features, by the name of their set."""
        ...

    @property
    def significance(self) -> FloatArray:
        """(n,) Signif_Avg, NaN where it is unknown."""
        ...

    @property
    def methods(self) -> Mapping[str, MethodResult]:
        """Results by the names of the variants."""
        ...

    @property
    def ranking(self) -> list[str]:
        """The methods, best NLL first."""
        ...

    @property
    def groups(self) -> dict[str, list[str]]:
        """Methods with the same features and the same correction, best NLL first."""
        ...

    def difference(self, method: str, other: str, population: str = "all") -> Difference:
        """Return the NLL of a method minus that of another on the same sources."""
        ...


@dataclass(frozen=True)
class BaselineComparison:
    """A method compared with a baseline on the same sources.

    Attributes
    ----------
    baseline
        Name of the baseline in the evaluation.
    baseline_nll
        Mean NLL of the baseline on these sources.
    difference
        NLL of the method minus NLL of the baseline: negative where the method is better.
    """

    baseline: str
    baseline_nll: float
    difference: Difference

    @property
    def relative(self) -> float | None:
        """The difference as a fraction of the baseline's NLL; None if that NLL is 0."""
        return self.difference.mean / self.baseline_nll if self.baseline_nll > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the JSON."""
        return {
            "peer": self.baseline,
            "peer_nll": self.baseline_nll,
            **difference_to_dict(self.difference),
            "relative": self.relative,
        }


@dataclass(frozen=True)
class VersusBaselines:
    """A method compared with the best baselines, by population: ``all`` and ``unassociated``.

    Attributes
    ----------
    as_used
        Comparison with the best baseline as users run it: with any features and without a correction.
    like_for_like
        Comparison with the best baseline that has the same features and the same correction.
    """

    as_used: Mapping[str, BaselineComparison]
    like_for_like: Mapping[str, BaselineComparison]


@dataclass(frozen=True)
class BinDifference:
    """A paired difference over the sources with low <= Signif_Avg < high; None if there is no upper limit."""

    low: float
    high: float | None
    difference: Difference


@dataclass(frozen=True)
class NoiseGain:
    """The effect of the errors of the inputs: the NLL of NIMGP minus the NLL of MGP with the same features.

    Attributes
    ----------
    method, other
        Names of NIMGP and MGP in the evaluation.
    difference
        Paired difference over all sources.
    by_significance
        Paired differences in bins of Signif_Avg; empty if Signif_Avg is unknown.
    """

    method: str
    other: str
    difference: Difference
    by_significance: tuple[BinDifference, ...]


@dataclass(frozen=True)
class CorrectionEffect:
    """The effect of a correction: the NLL with it minus the NLL without it.

    Attributes
    ----------
    uncorrected
        Name of the same method with the same features and without the correction.
    differences
        Paired differences by population, ``all`` and ``unassociated``.
    """

    uncorrected: str
    differences: Mapping[str, Difference]


def best_baseline(evaluation: Compared, wanted: Callable[[Variant], bool], population: str = "all") -> str | None:
    """Return the baseline with the lowest NLL over a population among those `wanted`; None if there is none.

    The choice uses the same sources as the comparison, which favours the baseline.
    """
    losses = {
        name: result.populations[population].nll
        for name, result in evaluation.methods.items()
        if result.variant.is_baseline and wanted(result.variant) and population in result.populations
    }
    return min(losses, key=lambda name: losses[name]) if losses else None


def versus_baselines(evaluation: Compared) -> dict[str, VersusBaselines]:
    """Compare every method that is not a baseline with the best baselines, the best method first.

    Each population has its own best baseline. Differences are paired: the mean over the sources of

        d_i = −ln p_i(y_i) + ln q_i(y_i)

    with p of the method and q of the baseline, and its standard error s_d/√n
    (:func:`fermiclass.evaluation.metrics.paired_difference`). The result is empty if no baseline was run.
    """
    if not any(result.variant.is_baseline for result in evaluation.methods.values()):
        return {}
    found = {}
    for name in evaluation.ranking:
        own = evaluation.methods[name]
        if own.variant.is_baseline:
            continue
        found[name] = VersusBaselines(
            as_used=_against(evaluation, name, own, lambda baseline: not baseline.correction),
            like_for_like=_against(evaluation, name, own, _alike(own.variant)),
        )
    return found


def noise_gains(evaluation: Compared) -> list[NoiseGain]:
    """Compare NIMGP with MGP where both have the same features and the same correction, the best NIMGP first."""
    gains = []
    for names in evaluation.groups.values():
        of = {evaluation.methods[name].variant.method: name for name in names}
        if NOISY_INPUTS not in of or NOISELESS_INPUTS not in of:
            continue
        method, other = of[NOISY_INPUTS], of[NOISELESS_INPUTS]
        a, b = (evaluation.methods[name].scores.nll_per_source for name in (method, other))
        bins = tuple(
            BinDifference(low, high, paired_difference(a[rows], b[rows]))
            for low, high, rows in significance_bins(evaluation.significance)
        )
        gains.append(NoiseGain(method, other, paired_difference(a, b), bins))
    return sorted(gains, key=lambda gain: evaluation.methods[gain.method].scores.nll)


def correction_effects(evaluation: Compared) -> dict[str, CorrectionEffect]:
    """Compare every corrected method with its uncorrected form; by the name of the corrected method."""
    several = len(evaluation.features) > 1
    effects = {}
    for name, result in evaluation.methods.items():
        before = replace(result.variant, correction="").name(several)
        if before != name and before in evaluation.methods:
            differences = {key: evaluation.difference(name, before, key) for key in result.populations}
            effects[name] = CorrectionEffect(before, differences)
    return effects


def comparisons_to_dict(evaluation: Compared) -> dict[str, Any]:
    """Return the keys ``versus_baselines``, ``input_noise`` and ``correction`` of the JSON.

    A key is left out if there is nothing to compare.
    """
    result: dict[str, Any] = {}
    if against := versus_baselines(evaluation):
        result["versus_peers"] = {
            name: {
                kind: {population: comparison.to_dict() for population, comparison in getattr(found, kind).items()}
                for kind in ("as_used", "like_for_like")
            }
            for name, found in against.items()
        }
    if gains := noise_gains(evaluation):
        result["input_noise"] = [
            {
                "method": gain.method,
                "other": gain.other,
                **difference_to_dict(gain.difference),
                "by_significance": [
                    {"low": row.low, "high": row.high, **difference_to_dict(row.difference)}
                    for row in gain.by_significance
                ],
            }
            for gain in gains
        ]
    if effects := correction_effects(evaluation):
        result["correction"] = {
            name: {
                "uncorrected": effect.uncorrected,
                **{population: difference_to_dict(found) for population, found in effect.differences.items()},
            }
            for name, effect in effects.items()
        }
    return result


def difference_to_dict(difference: Difference) -> dict[str, Any]:
    """Return the mean as ``difference``, ``se`` and ``n``; ``se`` is None for a single source."""
    se = difference.se if np.isfinite(difference.se) else None
    return {"difference": difference.mean, "se": se, "n": difference.n}


def _alike(own: Variant) -> Callable[[Variant], bool]:
    return lambda baseline: (baseline.features, baseline.correction) == (own.features, own.correction)


def _against(
    evaluation: Compared, name: str, own: MethodResult, wanted: Callable[[Variant], bool]
) -> dict[str, BaselineComparison]:
    found = {}
    for population in own.populations:
        baseline = best_baseline(evaluation, wanted, population)
        if baseline is not None:
            loss = evaluation.methods[baseline].populations[population].nll
            found[population] = BaselineComparison(baseline, loss, evaluation.difference(name, baseline, population))
    return found
