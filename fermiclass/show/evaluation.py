"""Printed tables of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from fermiclass.evaluation.comparisons import (
    NOISELESS_INPUTS,
    NOISY_INPUTS,
    BaselineComparison,
    correction_effects,
    noise_gains,
    versus_baselines,
)
from fermiclass.evaluation.method_results import FEATURES_MARK, SHARES_SUFFIX
from fermiclass.evaluation.metrics import Difference
from fermiclass.evaluation.results import Evaluation
from fermiclass.evaluation.scores import Scores, significance_bins
from fermiclass.features import FEATURE_SETS
from fermiclass.show.confusion import confusion_table, definitions
from fermiclass.show.summaries import console_for_tables

_MAX_ROWS = 20  # largest number of rows in a table that shows all baselines
_BASELINES_SHOWN = 3  # number of baselines of each group in a longer table
_OWN, _HEADING = "bold", "italic"
_METHOD_WIDTH = 20  # width of the longest name of a baseline, so that all tables look alike


def evaluation_table(evaluation: Evaluation, *, all_rows: bool = False) -> Table:
    """Return methods, best NLL first, with NLL, error, Brier score, calibration error and time of training.

    Methods with the same features and the same correction form a group, the best group first. If the protocol has
    sources that had no association, the table shows their NLL and error too.

    Parameters
    ----------
    evaluation
        The evaluation.
    all_rows
        Whether to show all baselines of a long table. Otherwise a table of more than 20 methods shows the best three
        baselines of each group, and all other methods.
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
                style=None if result.variant.is_baseline else _OWN,
            )
    return table


def baselines_table(evaluation: Evaluation) -> Table | None:
    """Return NLL differences to the best baselines, as numbers and in % of the baseline's NLL.

    The first part compares with the best baseline as users run it, with any features and no correction. With several
    groups of methods, the second part compares with the best baseline of the same features and the same correction. See
    :func:`fermiclass.evaluation.comparisons.versus_baselines`. Returns None if there are no baselines, or no other
    methods.
    """
    against = versus_baselines(evaluation)
    if not against:
        return None
    populations = list(evaluation.methods[next(iter(against))].populations)
    sizes = [evaluation.methods[next(iter(against))].populations[population].n for population in populations]
    titles = [
        f"all {size}" if population == "all" else f"*no association, {size}"
        for population, size in zip(populations, sizes, strict=True)
    ]
    table = _table("NLL minus the baseline's", *titles)

    def add_baselines(title: str, comparisons: dict[str, BaselineComparison], full_name: bool) -> None:
        cells = []
        for population in populations:
            found = comparisons.get(population)
            if found is None:
                cells.append("")
                continue
            name = found.baseline if full_name else evaluation.methods[found.baseline].variant.method
            cells.append(f"{name} {found.baseline_nll:.3f}")
        table.add_row(title, *cells, style=_HEADING)

    def add_own(name: str, comparisons: dict[str, BaselineComparison]) -> None:
        cells = (comparisons.get(population) for population in populations)
        table.add_row(f"  {name}", *("" if found is None else _relative(found) for found in cells))

    first = next(iter(against.values()))
    add_baselines("best as users run it", dict(first.as_used), full_name=True)
    for name, found in against.items():
        add_own(name, dict(found.as_used))
    if len(evaluation.groups) > 1:
        for group, names in evaluation.groups.items():
            own = [name for name in names if name in against]
            if own and against[own[0]].like_for_like:
                table.add_section()
                add_baselines(f"best {_group_title(group)}", dict(against[own[0]].like_for_like), full_name=False)
                for name in own:
                    add_own(evaluation.methods[name].variant.method, dict(against[name].like_for_like))
    return table


def significance_table(evaluation: Evaluation) -> Table | None:
    """Return the NLL in bins of Signif_Avg, and the effect of the errors of the inputs; None without Signif_Avg.

    The table shows each group of methods with the same features and the same correction: its best baseline, and all
    other methods. If NIMGP and MGP were run, it shows the difference of their NLL on the same sources above its
    standard error.
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
        for name in _shown(evaluation, names, baselines=1):
            result = evaluation.methods[name]
            cells = [f"{loss:.3f}" for loss in (*(row.nll for row in result.scores.by_significance), result.scores.nll)]
            table.add_row(result.variant.method, *cells, style=None if result.variant.is_baseline else _OWN)
        for name in names:
            if name in gains:
                differences = (*(row.difference for row in gains[name].by_significance), gains[name].difference)
                table.add_row(f"{NOISY_INPUTS} − {NOISELESS_INPUTS}\n± s.e.", *map(_stacked, differences))
    return table


def shares_table(evaluation: Evaluation) -> Table | None:
    """Return the class priors estimated by the first method that is not a baseline; None if none were estimated.

    If there are only baselines, the table shows those of the best one. It has a row for each status of the sources to
    be labelled, with standard deviations, for every feature set, below the class frequencies of the training sources.
    """
    results = [evaluation.methods[name] for name in _with_shares(evaluation)]
    if not results:
        return None
    table = _table(f"class priors by {results[0].variant.method}", "sources", *evaluation.classes)
    meta = evaluation.meta
    if "training_shares" in meta:
        trained = [f"{meta['training_shares'][name]:.3f}      " for name in evaluation.classes]
        table.add_row("training sources", str(meta.get("n_train", "")), *trained)
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
    """Print the protocol, the tables, and notes on how to read them.

    Parameters
    ----------
    evaluation
        The evaluation.
    console
        Console to print on; by default the terminal.
    all_rows
        Whether to show all baselines of a long table: see `evaluation_table`.
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
    say(definitions())
    bare = evaluation.status == ""
    if np.any(bare):
        say(f"* {np.sum(bare)} sources that had no association ({_counts(evaluation.y[bare])}).")
    if not all_rows and (hidden := _hidden(evaluation)):
        say(f"{hidden} more rows of baselines have a larger NLL and are not shown. Show them with --all.")
    if shares is not None:
        say(f"{SHARES_SUFFIX}: corrected for the class priors of the sources to be labelled, shown below.")
    best, *others = evaluation.ranking
    chance = evaluation.methods[best].scores.ece_chance
    say(f"If {best} were perfectly calibrated, its ECE for this number of sources would be {chance:.3f}.")
    say(f"\nTrue classes and the most probable ones by {best}:")
    console.print(confusion_table(evaluation.methods[best].scores.confusion, evaluation.classes))
    against = baselines_table(evaluation)
    if against is not None:
        console.print(against)
        say(
            "± is the standard error of the mean difference on the same sources. A negative difference is better than "
            "the baseline."
        )
    elif others:
        say(f"NLL of {others[0]} minus NLL of {best}, on the same sources: {evaluation.difference(others[0], best)}.")
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


def _shown(evaluation: Evaluation, names: Iterable[str], baselines: int | None = None) -> list[str]:
    """Return the methods of a group to show: all that are not baselines, and the best `baselines` of the baselines.

    `names` are sorted, best first. By default, a long table shows three baselines of each group, a short one all.
    """
    limit = baselines
    if limit is None:
        limit = _BASELINES_SHOWN if len(evaluation.methods) > _MAX_ROWS else len(evaluation.methods)
    shown = []
    for name in names:
        if evaluation.methods[name].variant.is_baseline:
            if limit == 0:
                continue
            limit -= 1
        shown.append(name)
    return shown


def _hidden(evaluation: Evaluation) -> int:
    return sum(len(names) - len(_shown(evaluation, names)) for names in evaluation.groups.values())


def _with_shares(evaluation: Evaluation) -> list[str]:
    """Return the variants of the method whose class priors are shown: the first own method, else the best baseline."""
    estimated = {name: result.variant for name, result in evaluation.methods.items() if result.shares}
    own = [name for name, variant in estimated.items() if not variant.is_baseline]
    chosen = own or [name for name in evaluation.ranking if name in estimated]
    if not chosen:
        return []
    return [name for name, variant in estimated.items() if variant.method == estimated[chosen[0]].method]


def _effects(evaluation: Evaluation) -> list[str]:
    """Return sentences on the effect of the correction, for the method whose class priors are shown."""
    effects = correction_effects(evaluation)
    sentences = []
    for name in _with_shares(evaluation):
        if name in effects:
            parts = []
            for population, difference in effects[name].differences.items():
                before, after = (
                    evaluation.methods[key].populations[population].nll for key in (effects[name].uncorrected, name)
                )
                where = "" if population == "all" else ", and for sources without association "
                parts.append(f"{where}from {before:.3f} to {after:.3f} ({difference.mean:+.3f}±{difference.se:.3f})")
            sentences.append(f"These class priors change the NLL of {effects[name].uncorrected} {''.join(parts)}.")
    return sentences


def _nll(scores: Scores) -> str:
    return f"{scores.nll:.3f}±{scores.nll_se:.3f}"


def _relative(comparison: BaselineComparison) -> str:
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
