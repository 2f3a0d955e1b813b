"""The printed explanation of one source."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from fermiclass.analysis.explain import IMPUTED_MARK, Explanation, measured
from fermiclass.analysis.followup import LEAST_NOISE_ENTROPY
from fermiclass.labelling.counterparts import strengths_of
from fermiclass.labelling.labels import (
    FLAG_CATALOGUE,
    FLAG_UNCERTAINTY_IMPUTED,
    LABEL_FLAGS,
    LASTS,
    Labels,
    counterparts_of,
    shown,
)
from fermiclass.labelling.prediction_columns import FLAG_OUTSIDE_DOMAIN
from fermiclass.show.summaries import rich_table
from fermiclass.show.terminal import say

if TYPE_CHECKING:
    from astropy.table import Table
    from rich.table import Table as RichTable

    from fermiclass.io import FloatArray

_MOST_EFFECTS = 3  # classes whose log-odds fit into 80 columns
_BAR = 4  # letters on each side of a bar


def print_counterpart(labels: Labels, name: str, candidates: Table | None = None) -> None:
    """Print the candidate counterparts of a labelled source, and what the tables of counterparts change."""
    for row in labels.table[np.asarray(labels.table["Source_Name"]) == name]:
        kinds = sorted({kind for each in strengths_of(labels.table) for kind in each.completeness})
        after = ", ".join(f"{each} {shown(row[f'P_{each}'])}" for each in labels.classes)
        say(
            f"The tables of counterparts move the log-odds of {' and '.join(kinds) or 'nothing'} by "
            f"{np.log(row['BF_CPT']):+.2f}. With them: {after}. Candidates, the most probable first:"
        )
        for found in counterparts_of(row, candidates) or ["none"]:
            say(f"  {found}")


def print_explanation(explained: Explanation) -> None:
    """Print probabilities, effects of the features, values of the features, neighbours and flags of a source."""
    say(_title(explained), wrap=False)
    say(_probabilities_table(explained))
    for sentence in _costs(explained):
        say(sentence)
    say(_effects_table(explained))
    best, groups = explained.classes[explained.best], [explained.names[k] for k in explained.first[1:]]
    together = "".join(f" {name} is the sum of both: what tells them from the rest." for name in groups)
    say(
        f"Each value moves the log-odds ln(P / (1 − P)) of a class by this much, compared with the value expected from "
        f"the source's other features. The bars are those of {best}; +1 multiplies its odds by 2.7.{together} Features "
        "of one kind share what they say: together they move more than one by one."
    )
    say(_features_table(explained))
    note = "Ranges hold 68 % of a class's training sources."
    if np.any(explained.imputed_value | explained.imputed_uncertainty):
        note += f" {IMPUTED_MARK} Imputed, because the catalogue gives no usable value or error."
    say(note)
    near = [(row["Source_Name"], row["CLASS"], row["ASSOC1"], f"{row['DISTANCE']:.3g}") for row in explained.neighbours]
    say(rich_table("nearest training sources", "class", "association", ">distance", rows=near))
    for sentence in _flags(explained):
        say(sentence)


def _title(explained: Explanation) -> Text:
    label = explained.label
    parts = [f": {'; '.join(explained.catalogued)}"]
    if {"GLON", "GLAT"} <= set(label.colnames) and np.isfinite(label["GLAT"]):
        parts.append(f"l = {label['GLON']:.2f}°, b = {label['GLAT']:.2f}°".replace("-", "−"))
    if "Signif_Avg" in label.colnames and np.isfinite(label["Signif_Avg"]):
        parts.append(f"{label['Signif_Avg']:.1f} σ")
    return Text.assemble((explained.name, "bold"), "; ".join(parts))


def _probabilities_table(explained: Explanation) -> RichTable:
    C, members = len(explained.classes), explained.members
    numbers = zip(explained.names, members @ explained.probabilities, members @ explained.without_errors, strict=True)
    rows = [(name, shown(with_errors), shown(without)) for name, with_errors, without in numbers]
    best_first = np.argsort(-explained.probabilities, kind="stable")
    lines = [*(rows[k] for k in best_first), (), *rows[C:]]
    return rich_table("class", ">probability", ">without error bars", rows=lines)


def _costs(explained: Explanation) -> list[str]:
    label = explained.label
    p = np.maximum(explained.without_errors, 1e-300)
    without = -float(np.sum(explained.without_errors * np.log(p)))
    by_labels, by_noise = label["INFORMATION"], label["NOISE_ENTROPY"]
    parts = (
        f"More labels could remove {by_labels:.3f}; the error bars add {by_noise:.3f}."
        if by_noise > LEAST_NOISE_ENTROPY
        else f"More labels and smaller error bars together could remove {by_labels:.3f}."
    )
    sentences = [
        f"Entropy {label['ENTROPY']:.3f} nats (maximum {math.log(len(explained.classes)):.3f}). {parts} Without error "
        f"bars the entropy would be {without:.3f}."
    ]
    if explained.trained_on:
        sentences.append("This source is a training source: the model has seen its class.")
    if explained.known and explained.known != explained.classes[explained.best]:
        p_known = explained.probabilities[explained.classes.index(explained.known)]
        sentences.append(
            f"The catalogue has it as {explained.known}, to which the model gives {shown(p_known)}. Either can be "
            "wrong: 'fermiclass outliers' judges such sources by a model that has not seen them."
        )
    return sentences


def _effects_table(explained: Explanation) -> RichTable:
    """Return the effects on the log-odds of the classes that are considered, with bars for the most probable one."""
    best, moved = explained.best, explained.log_odds
    first = explained.first
    shown = [*first, *(k for k in explained.considered if k not in first)][:_MOST_EFFECTS]
    names = [explained.names[k] for k in shown]
    headings = (">value", "?>expected", f">{names[0]}", "", *(f"?>{name}" for name in names[1:]))
    kinds, lines = explained.kinds, list[tuple[str, ...]]()

    def add(name: str, value: str, expected: str, effect: FloatArray, largest: float) -> None:
        first, *others = (f"{round(effect[c], 2) + 0.0:+.2f}".replace("-", "−") for c in shown)
        lines.append((name, value, expected, first, _bar(effect[best], largest), *others))

    largest = max((abs(effect[best]) for effect in kinds.values()), default=0.0)
    for kind, effect in kinds.items():
        add(kind, "", "", effect, largest)
    lines.append(())
    largest = np.abs(moved[:, best]).max()
    for j in explained.order:
        expected = measured(explained.expected[j], explained.expected_error[j]).partition("±")[0]  # 80 columns
        add(explained.features[j], explained.feature_text(j), expected, moved[j], largest)
    return rich_table("feature", *headings, rows=lines, padding=(0, 1, 0, 0))


def _bar(value: float, largest: float) -> str:
    """Return a bar to the left or right of a line, in steps of half a letter; the largest value fills its side."""
    halves = round(2 * _BAR * abs(value) / largest) if largest > 0 else 0
    full, half = divmod(halves, 2)
    left = ("▐" * half + "█" * full).rjust(_BAR) if value < 0 else " " * _BAR
    right = ("█" * full + "▌" * half).ljust(_BAR) if value > 0 else " " * _BAR
    return f"{left}│{right}"


def _features_table(explained: Explanation) -> RichTable:
    """Return the values of the features and the ranges of the classes."""
    few = len(explained.classes) <= 3  # which fit into 80 characters; else lines can break at a space between numbers
    gap, padding = ("", (0, 1)) if few else (" ", (0, 1, 0, 0))
    lines = []
    for j, name in enumerate(explained.features):
        low, high = explained.population[:, [1, 3], j].T
        narrowest = float(np.min(high - low))
        digits = max(0, 1 - math.floor(math.log10(narrowest))) if narrowest > 0 else 2
        form = f".{digits}f" if digits <= 5 else ".3g"
        ranges = [f"{a:{form}}{gap}…{gap}{b:{form}}".replace("-", "−") for a, b in zip(low, high, strict=True)]
        lines.append((name, explained.feature_text(j, gap), *ranges))
    return rich_table("feature", ">value", *(f"?>{name}" for name in explained.classes), rows=lines, padding=padding)


def _flags(explained: Explanation) -> list[str]:
    label = explained.label
    score = float(label["OOD_SCORE"])
    sentences = [f"OOD_SCORE {score:.3f}: {1000 * score:.0f} of 1000 training sources are more typical."]
    sentences.append(f"{LASTS} {float(label[LASTS]):.2f}: the probability that a later list has the source.")
    bits = int(label["LABEL_FLAGS"])
    words = []
    for bit, meaning in LABEL_FLAGS.items():
        if not bits & bit:
            continue
        if bit == FLAG_CATALOGUE:
            meaning += f" (Flags = {int(label['Flags'])})"
        elif bit != FLAG_OUTSIDE_DOMAIN:
            which = explained.imputed_uncertainty if bit == FLAG_UNCERTAINTY_IMPUTED else explained.imputed_value
            meaning += f" ({', '.join(np.array(explained.features)[which])})"
        words.append(meaning)
    sentences.append(f"Flags: {'; '.join(words) or 'none'}.")
    return sentences
