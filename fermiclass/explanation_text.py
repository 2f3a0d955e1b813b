"""An explanation for the eye: what the terminal shows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from fermiclass.labels import FLAG_CATALOGUE, FLAG_OUTSIDE_DOMAIN, LABEL_FLAGS
from fermiclass.summaries import console_for_tables, plain_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from fermiclass.explaining import Explanation

_IMPUTED = "*"


def print_explanation(explained: Explanation, console: Console | None = None) -> None:
    """Print a source's probabilities, what moves them, its features beside the classes', its neighbours and flags."""
    console = console or console_for_tables()
    console.print(_title(explained), soft_wrap=True)
    console.print(_probabilities_table(explained))
    for sentence in _costs(explained):
        console.print(sentence, markup=False)
    console.print(_effects_table(explained))
    console.print(
        "By how much the value moves each probability, against what the source's other features say that it should be."
    )
    console.print(_features_table(explained))
    note = "Ranges hold 68 % of a class's training sources."
    if np.any(explained.imputed_value | explained.imputed_uncertainty):
        note += f" {_IMPUTED} The catalogue gives no usable value or error: imputed."
    console.print(note)
    console.print(_neighbours_table(explained))
    for sentence in _flags(explained):
        console.print(sentence, markup=False)


def measured(value: float, error: float, gap: str = "") -> str:
    """Return a value with its error, to a digit of it, two if the first is 1 or 2; four digits of one without error.

    Before the sign ± comes the `gap`: where there is one, a narrow column may break the line.
    """
    if not error > 0 or not math.isfinite(error):
        text = f"{value:.4g}"
    else:
        exponent = math.floor(math.log10(error))
        digits = max(0, (1 if error < 3 * 10.0**exponent else 0) - exponent)
        if abs(value) >= 10 and digits == 4:
            digits = 3  # a narrow column
        text = (
            f"{value:.{digits}f}{gap}±{error:.{digits}f}"
            if digits <= 5 and error < 1e4
            else f"{value:.3g}{gap}±{error:.1g}"
        )
    return text.replace("-", "−")


def _title(explained: Explanation) -> Text:
    label = explained.label
    known = [str(label[name]) for name in ("CLASS1", "ASSOC1") if name in label.colnames and label[name]]
    parts = [f": {', '.join(known) or 'unassociated'}"]
    if "GLON" in label.colnames and "GLAT" in label.colnames:
        parts.append(f"l = {label['GLON']:.2f}°, b = {label['GLAT']:.2f}°".replace("-", "−"))
    if "Signif_Avg" in label.colnames:
        parts.append(f"{label['Signif_Avg']:.1f} σ")
    return Text.assemble((explained.name, "bold"), "; ".join(parts))


def _probabilities_table(explained: Explanation) -> RichTable:
    table = plain_table("class", "probability", "were there no error bars", right=(1, 2))
    for c in np.argsort(-explained.probabilities, kind="stable"):
        cells = f"{explained.probabilities[c]:.3f} ± {explained.std[c]:.3f}", f"{explained.without_errors[c]:.3f}"
        table.add_row(explained.classes[c], *cells)
    return table


def _costs(explained: Explanation) -> list[str]:
    label = explained.label
    p = np.maximum(explained.without_errors, 1e-300)
    without = -float(np.sum(explained.without_errors * np.log(p)))
    sentences = [
        f"Entropy {label['ENTROPY']:.3f} nats of at most {math.log(len(explained.classes)):.3f}: more labels could "
        f"remove {label['INFORMATION']:.3f}, the error bars add {label['NOISE_ENTROPY']:.3f}. Were there none, it "
        f"would be {without:.3f}."
    ]
    if explained.trained_on:
        sentences.append("The model has learned from this source: it knows its class.")
    return sentences


def _effects_table(explained: Explanation) -> RichTable:
    table, gap = _wide_table(explained, "what moves it", "value", "others say")
    for j in explained.order:
        cells = [f"{effect:+.3f}".replace("-", "−") for effect in explained.effects[j]]
        expected = measured(explained.expected[j], explained.expected_error[j], gap)
        table.add_row(explained.features[j], measured_feature(explained, j, gap), expected, *cells)
    return table


def _features_table(explained: Explanation) -> RichTable:
    table, gap = _wide_table(explained, "feature", "value")
    for j, name in enumerate(explained.features):
        low, high = explained.population[:, [1, 3], j].T
        narrowest = float(np.min(high - low))
        digits = max(0, 1 - math.floor(math.log10(narrowest))) if narrowest > 0 else 2
        form = f".{digits}f" if digits <= 5 else ".3g"
        ranges = [f"{a:{form}}{gap}…{gap}{b:{form}}".replace("-", "−") for a, b in zip(low, high, strict=True)]
        table.add_row(name, measured_feature(explained, j, gap), *ranges)
    return table


def _wide_table(explained: Explanation, *columns: str) -> tuple[RichTable, str]:
    """Return an empty table with a column for each class, and what comes between numbers in its cells.

    Few classes fit into 80 characters on a line each; for more there is a space, at which lines break.
    """
    table = plain_table(*columns, *explained.classes, right=tuple(range(1, len(columns) + len(explained.classes))))
    few = len(explained.classes) <= 3
    if not few:
        table.padding = (0, 1, 0, 0)
    return table, "" if few else " "


def measured_feature(explained: Explanation, j: int, gap: str = "") -> str:
    """Return a feature as it was measured, with a star if the catalogue does not give it or its error."""
    mark = _IMPUTED if explained.imputed_value[j] or explained.imputed_uncertainty[j] else ""
    return measured(explained.value[j], explained.error[j], gap) + mark


def _neighbours_table(explained: Explanation) -> RichTable:
    table = plain_table("nearest training sources", "class", "association", "distance", right=(3,))
    for row in explained.neighbours:
        table.add_row(str(row["Source_Name"]), str(row["CLASS"]), str(row["ASSOC1"]), f"{row['DISTANCE']:.3g}")
    return table


def _flags(explained: Explanation) -> list[str]:
    label = explained.label
    score = float(label["OOD_SCORE"])
    sentences = [f"OOD_SCORE {score:.3f}: of 1000 training sources {1000 * score:.0f} are more typical."]
    bits = int(label["LABEL_FLAGS"])
    words = []
    for bit, meaning in LABEL_FLAGS.items():
        if not bits & bit:
            continue
        if bit == FLAG_CATALOGUE:
            meaning += f" (Flags = {int(label['Flags'])})"
        elif bit != FLAG_OUTSIDE_DOMAIN:
            which = explained.imputed_uncertainty if bit == 1 else explained.imputed_value
            meaning += f" ({', '.join(np.array(explained.features)[which])})"
        words.append(meaning)
    sentences.append(f"Flags: {'; '.join(words) or 'none'}.")
    return sentences
