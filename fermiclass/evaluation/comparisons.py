"""What an evaluation says of fermiclass: against what users would pick, and of knowing the errors of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.evaluation.metrics import Difference, paired_difference
from fermiclass.evaluation.scores import significance_bins

if TYPE_CHECKING:
    from fermiclass.evaluation.results import Evaluation, MethodResult, Variant

#: The method that knows the errors of the inputs, and the same model that does not.
NOISY_INPUTS, NOISELESS_INPUTS = "nimgp", "mgp"


@dataclass(frozen=True)
class PeerComparison:
    """A method against a peer on the same sources.

    Attributes
    ----------
    peer
        Its name in the evaluation.
    peer_nll
        Its mean NLL on these sources.
    difference
        The method's NLL minus the peer's: negative where the method is better.
    """

    peer: str
    peer_nll: float
    difference: Difference

    @property
    def relative(self) -> float | None:
        """The difference as a fraction of the peer's NLL; None if that is 0."""
        return self.difference.mean / self.peer_nll if self.peer_nll > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            "peer": self.peer,
            "peer_nll": self.peer_nll,
            **difference_to_dict(self.difference),
            "relative": self.relative,
        }


@dataclass(frozen=True)
class VersusPeers:
    """A method against the best peers; each by population, ``all`` and ``unassociated``.

    Attributes
    ----------
    as_used
        Against the best peer as users run it: with any of the features, its probabilities as they are.
    like_for_like
        Against the best peer with the same features and the same correction.
    """

    as_used: Mapping[str, PeerComparison]
    like_for_like: Mapping[str, PeerComparison]


@dataclass(frozen=True)
class BinDifference:
    """A paired difference over the sources with low <= Signif_Avg < high; None for an open end."""

    low: float
    high: float | None
    difference: Difference


@dataclass(frozen=True)
class NoiseGain:
    """What knowing the errors of the inputs changes: the NLL of NIMGP minus that of MGP, all else being the same.

    Attributes
    ----------
    method, other
        Their names in the evaluation.
    difference
        Over all sources.
    by_significance
        In bins of Signif_Avg; empty if that is not known.
    """

    method: str
    other: str
    difference: Difference
    by_significance: tuple[BinDifference, ...]


@dataclass(frozen=True)
class CorrectionEffect:
    """What a correction changes: the NLL with it minus that without.

    Attributes
    ----------
    uncorrected
        The name of the same method with the same features and its probabilities as trained.
    differences
        By population, ``all`` and ``unassociated``.
    """

    uncorrected: str
    differences: Mapping[str, Difference]


def best_peer(evaluation: Evaluation, wanted: Callable[[Variant], bool], population: str = "all") -> str | None:
    """Return the peer with the least NLL over a population among those `wanted`; None if there is none.

    It is chosen on the sources that it is then compared on, which flatters the peer.
    """
    losses = {
        name: result.populations[population].nll
        for name, result in evaluation.methods.items()
        if result.variant.is_peer and wanted(result.variant) and population in result.populations
    }
    return min(losses, key=lambda name: losses[name]) if losses else None


def versus_peers(evaluation: Evaluation) -> dict[str, VersusPeers]:
    """Compare every method that is no peer with the best peers, best method first; empty if no peers were run.

    The best peer is another for every population. Differences are paired: the mean over the sources of

        d_i = −ln p_i(y_i) + ln q_i(y_i)

    with p of the method and q of the peer, and its standard error s_d/√n
    (:func:`fermiclass.evaluation.metrics.paired_difference`).
    """
    if not any(result.variant.is_peer for result in evaluation.methods.values()):
        return {}
    found = {}
    for name in evaluation.ranking:
        own = evaluation.methods[name]
        if own.variant.is_peer:
            continue
        found[name] = VersusPeers(
            as_used=_against(evaluation, name, own, lambda peer: not peer.correction),
            like_for_like=_against(evaluation, name, own, _alike(own.variant)),
        )
    return found


def noise_gains(evaluation: Evaluation) -> list[NoiseGain]:
    """Compare NIMGP with MGP wherever both have the same features and the same correction, the best NIMGP first."""
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


def correction_effects(evaluation: Evaluation) -> dict[str, CorrectionEffect]:
    """Compare every corrected method with itself uncorrected, by the name of the corrected."""
    several = len(evaluation.features) > 1
    effects = {}
    for name, result in evaluation.methods.items():
        before = replace(result.variant, correction="").name(several)
        if before != name and before in evaluation.methods:
            differences = {key: evaluation.difference(name, before, key) for key in result.populations}
            effects[name] = CorrectionEffect(before, differences)
    return effects


def comparisons_to_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Return the keys ``versus_peers``, ``input_noise`` and ``correction`` of the JSON.

    Each is there only if there is something to compare.
    """
    result: dict[str, Any] = {}
    if against := versus_peers(evaluation):
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
    """Return the mean as ``difference``, ``se`` and ``n``; the error of a single source is unknown: None."""
    se = difference.se if np.isfinite(difference.se) else None
    return {"difference": difference.mean, "se": se, "n": difference.n}


def _alike(own: Variant) -> Callable[[Variant], bool]:
    return lambda peer: (peer.features, peer.correction) == (own.features, own.correction)


def _against(
    evaluation: Evaluation, name: str, own: MethodResult, wanted: Callable[[Variant], bool]
) -> dict[str, PeerComparison]:
    found = {}
    for population in own.populations:
        peer = best_peer(evaluation, wanted, population)
        if peer is not None:
            loss = evaluation.methods[peer].populations[population].nll
            found[population] = PeerComparison(peer, loss, evaluation.difference(name, peer, population))
    return found
