"""An evaluation for the eye: what the terminal shows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from fermiclass.evaluation.comparisons import (
    NOISELESS_INPUTS,
    NOISY_INPUTS,
    PeerComparison,
    correction_effects,
    noise_gains,
    versus_peers,
)
from fermiclass.evaluation.metrics import Difference
from fermiclass.evaluation.results import FEATURES_MARK, SHARES_SUFFIX, Evaluation
from fermiclass.evaluation.scores import Scores, significance_bins
from fermiclass.features import FEATURE_SETS
from fermiclass.summaries import console_for_tables

_MAX_ROWS = 20  # a longer table shows
_PEERS_SHOWN = 3  # so many peers of each group only
_OWN, _HEADING = "bold", "italic"
_METHOD_WIDTH = 20  # the longest name of a peer, so that tables look alike


def evaluation_table(evaluation: Evaluation, *, all_rows: bool = False) -> Table:
    """Return methods, best NLL first, with NLL, error, Brier score, calibration error and time of training.

    Methods with the same features and the same correction are together, best such group first, under what ends their
    names. Where the protocol has sources that had no association at all, the NLL and error of these are shown too.

    Parameters
    ----------
    evaluation
        What to show.
    all_rows
        Whether to show all peers even if these are many. Otherwise a table of more than 20 methods has the best three
        peers of each group, and all methods that are no peers.
    """
    bare = any(result.unassociated is not None for result in evaluation.methods.values())
    headings = ["NLL", "error", "Brier", "ECE", *(["NLL*", "error*"] if bare else []), "fit, s"]
    table = _table("method", *headings)
    groups = evaluation.groups
    for group, names in groups.items():
        if len(groups) > 1:
            table.add_section()
            table.add_row(_group_title(group), style=_HEADING)
        for name in names if all_rows else _shown(evaluation, names):
            result = evaluation.methods[name]
            scores, alone = result.scores, result.unassociated
            cells = [_nll(scores), f"{scores.error:.3f}", f"{scores.brier:.3f}", f"{scores.ece:.3f}"]
            if bare:
                cells += [_nll(alone), f"{alone.error:.3f}"] if alone is not None else ["", ""]
            table.add_row(
                result.variant.method,
                *cells,
                f"{result.fit_seconds:.1f}",
                style=None if result.variant.is_peer else _OWN,
            )
    return table


def peers_table(evaluation: Evaluation) -> Table | None:
    """Return NLL differences to the best peers, in numbers and in % of the peer's NLL; None without peers or others.

    First to the best peer as users run it, with any of the features and no correction; then, where that is another
    question, to the best peer with the same features and the same correction. See
    :func:`fermiclass.evaluation.comparisons.versus_peers`.
    """
    against = versus_peers(evaluation)
    if not against:
        return None
    populations = list(evaluation.methods[next(iter(against))].populations)
    sizes = [evaluation.methods[next(iter(against))].populations[population].n for population in populations]
    titles = [
        f"all {size}" if population == "all" else f"*no association, {size}"
        for population, size in zip(populations, sizes, strict=True)
    ]
    table = _table("NLL minus the peer's", *titles)

    def add_peers(title: str, comparisons: dict[str, PeerComparison], full_name: bool) -> None:
        cells = []
        for population in populations:
            found = comparisons.get(population)
            if found is None:
                cells.append("")
                continue
            name = found.peer if full_name else evaluation.methods[found.peer].variant.method
            cells.append(f"{name} {found.peer_nll:.3f}")
        table.add_row(title, *cells, style=_HEADING)

    def add_own(name: str, comparisons: dict[str, PeerComparison]) -> None:
        cells = (comparisons.get(population) for population in populations)
        table.add_row(f"  {name}", *("" if found is None else _relative(found) for found in cells))

    first = next(iter(against.values()))
    add_peers("best as users run it", dict(first.as_used), full_name=True)
    for name, found in against.items():
        add_own(name, dict(found.as_used))
    if len(evaluation.groups) > 1:
        for group, names in evaluation.groups.items():
            own = [name for name in names if name in against]
            if own and against[own[0]].like_for_like:
                table.add_section()
                add_peers(f"best {_group_title(group)}", dict(against[own[0]].like_for_like), full_name=False)
                for name in own:
                    add_own(evaluation.methods[name].variant.method, dict(against[name].like_for_like))
    return table


def significance_table(evaluation: Evaluation) -> Table | None:
    """Return the NLL in bins of Signif_Avg, and what knowing the errors of the inputs changes; None without Signif_Avg.

    Of each group of methods with the same features and the same correction: those that are no peers, and the best
    peer. Where NIMGP and MGP were run, the difference of their NLL on the same sources, over its standard error.
    """
    bins = significance_bins(evaluation.significance)
    if not bins:
        return None
    headings = (f"{_range(low, high)}\nn={int(rows.sum())}" for low, high, rows in bins)
    table = _table("NLL by Signif_Avg", *headings, f"all\nn={len(evaluation)}")
    gains = {gain.method: gain for gain in noise_gains(evaluation)}
    groups = evaluation.groups
    for group, names in groups.items():
        if len(groups) > 1:
            table.add_section()
            table.add_row(_group_title(group), style=_HEADING)
        for name in _shown(evaluation, names, peers=1):
            result = evaluation.methods[name]
            cells = [f"{loss:.3f}" for loss in (*(row.nll for row in result.scores.by_significance), result.scores.nll)]
            table.add_row(result.variant.method, *cells, style=None if result.variant.is_peer else _OWN)
        for name in names:
            if name in gains:
                differences = (*(row.difference for row in gains[name].by_significance), gains[name].difference)
                table.add_row(f"{NOISY_INPUTS} − {NOISELESS_INPUTS}\n± s.e.", *map(_stacked, differences))
    return table


def shares_table(evaluation: Evaluation) -> Table | None:
    """Return the shares of the classes that the first method found that is no peer; None if none were estimated.

    Of the best peer, if there are only peers. A row for each status of the sources to be labelled, with standard
    deviations, below the shares among the sources that were learned from; for every set of features.
    """
    results = [evaluation.methods[name] for name in _with_shares(evaluation)]
    if not results:
        return None
    table = _table(f"shares by {results[0].variant.method}", "sources", *evaluation.classes)
    meta = evaluation.meta
    if "training_shares" in meta:
        trained = [f"{meta['training_shares'][name]:.3f}      " for name in evaluation.classes]
        table.add_row("learned from", str(meta.get("n_train", "")), *trained)
    for result in results:
        if len(evaluation.features) > 1:
            table.add_section()
            table.add_row(result.variant.group(several_sets=True), style=_HEADING)
        for status, shares in result.shares.items():
            title = status or "unassociated"
            cells = [f"{mean:.3f}±{std:.3f}" for mean, std in zip(shares.mean, shares.std, strict=True)]
            table.add_row(title, str(meta.get("targets_by_status", {}).get(title, "")), *cells)
    return table


def print_evaluation(evaluation: Evaluation, console: Console | None = None, *, all_rows: bool = False) -> None:
    """Print what was scored, the tables, and what to keep in mind when reading them.

    Parameters
    ----------
    evaluation
        What to print.
    console
        Where; by default the terminal.
    all_rows
        Whether to show all peers even if these are many: see `evaluation_table`.
    """
    console = console or console_for_tables()
    shares = shares_table(evaluation)

    def say(text: str) -> None:
        console.print(text, markup=False)

    say(
        f"{evaluation.catalog}, {evaluation.protocol}: {len(evaluation)} sources ({_counts(evaluation.y)}), "
        f"{_features(evaluation)}."
    )
    console.print(evaluation_table(evaluation, all_rows=all_rows))
    bare = evaluation.status == ""
    if np.any(bare):
        say(f"* of the {np.sum(bare)} sources that had no association at all ({_counts(evaluation.y[bare])}).")
    if not all_rows and (hidden := _hidden(evaluation)):
        say(f"{hidden} more rows of peers, of larger NLL than those shown beside them: --all.")
    if shares is not None:
        say(f"{SHARES_SUFFIX}: corrected for the shares of the classes among the sources to be labelled, shown below.")
    best, *others = evaluation.ranking
    chance = evaluation.methods[best].scores.ece_chance
    say(f"Were {best} perfectly calibrated, its ECE on so many sources would be {chance:.3f}.")
    against = peers_table(evaluation)
    if against is not None:
        console.print(against)
        say("± is the standard error of the mean difference on the same sources; less than 0 is better than the peer.")
    elif others:
        say(f"NLL of {others[0]} above that of {best}, on the same sources: {evaluation.difference(others[0], best)}.")
    by_significance = significance_table(evaluation)
    if by_significance is not None:
        console.print(by_significance)
    if shares is not None:
        console.print(shares)
        for sentence in _effects(evaluation):
            say(sentence)


def _table(first: str, *numbers: str) -> Table:
    from rich import box

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    table.add_column(first, overflow="fold", min_width=_METHOD_WIDTH)
    for heading in numbers:
        table.add_column(heading, justify="right", overflow="fold")
    return table


def _group_title(group: str) -> str:
    return group or "as trained"


def _shown(evaluation: Evaluation, names: Iterable[str], peers: int | None = None) -> list[str]:
    """Return those of a group that are no peers, and its best peers: `peers` of them, or as many as are not too many.

    `names` are sorted, best first.
    """
    limit = peers
    if limit is None:
        limit = _PEERS_SHOWN if len(evaluation.methods) > _MAX_ROWS else len(evaluation.methods)
    shown = []
    for name in names:
        if evaluation.methods[name].variant.is_peer:
            if limit == 0:
                continue
            limit -= 1
        shown.append(name)
    return shown


def _hidden(evaluation: Evaluation) -> int:
    return sum(len(names) - len(_shown(evaluation, names)) for names in evaluation.groups.values())


def _with_shares(evaluation: Evaluation) -> list[str]:
    """Return the names of the first method that is no peer, or else of the best, for which shares were estimated."""
    estimated = {name: result.variant for name, result in evaluation.methods.items() if result.shares}
    own = [name for name, variant in estimated.items() if not variant.is_peer]
    chosen = own or [name for name in evaluation.ranking if name in estimated]
    if not chosen:
        return []
    return [name for name, variant in estimated.items() if variant.method == estimated[chosen[0]].method]


def _effects(evaluation: Evaluation) -> list[str]:
    """Return sentences: what the correction for shares changes for the method whose shares are shown."""
    effects = correction_effects(evaluation)
    sentences = []
    for name in _with_shares(evaluation):
        if name in effects:
            parts = []
            for population, difference in effects[name].differences.items():
                before, after = (
                    evaluation.methods[key].populations[population].nll for key in (effects[name].uncorrected, name)
                )
                where = "" if population == "all" else ", of those without association "
                parts.append(f"{where}from {before:.3f} to {after:.3f} ({difference.mean:+.3f}±{difference.se:.3f})")
            sentences.append(f"These shares change the NLL of {effects[name].uncorrected} {''.join(parts)}.")
    return sentences


def _nll(scores: Scores) -> str:
    return f"{scores.nll:.3f}±{scores.nll_se:.3f}"


def _relative(comparison: PeerComparison) -> str:
    percent = "" if comparison.relative is None else _percent(comparison.relative)
    return f"{comparison.difference.mean:+.3f}±{comparison.difference.se:.3f} {percent:>5}"


def _percent(fraction: float) -> str:
    return f"{fraction:+.1%}" if abs(fraction) < 0.0995 else f"{fraction:+.0%}"


def _stacked(difference: Difference) -> str:
    return f"{difference.mean:+.3f}\n±{difference.se:.3f}"


def _range(low: float, high: float | None) -> str:
    if high is None:
        return f"≥{low:g}"
    return f"<{high:g}" if low == 0 else f"{low:g}–{high:g}"


def _features(evaluation: Evaluation) -> str:
    sets = evaluation.features
    if len(sets) == 1:
        (names,) = sets.values()
        return f"{len(names)} feature{'s' if len(names) > 1 else ''}"
    parts = []
    for label, names in sets.items():
        what = "" if names == (label,) else f" ({len(names) if label in FEATURE_SETS else ', '.join(names)})"
        parts.append(f"{FEATURES_MARK}{label}{what}")
    return f"features {', '.join(parts)}"


def _counts(y: NDArray[np.str_]) -> str:
    groups, numbers = np.unique(y, return_counts=True)
    return ", ".join(f"{number} {group}" for group, number in zip(groups, numbers, strict=True))
