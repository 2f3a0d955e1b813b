"""Warnings to a reader of labels, for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fermiclass.labelling.class_priors import WAY_KEY
from fermiclass.labelling.labels import LABEL_FLAGS


def prior_caveats(meta: Mapping[str, Any]) -> list[str]:
    """Return sentences on the class priors of labels with these metadata; none if there was no correction."""
    way = meta.get(WAY_KEY)
    if way == "selection":
        return [
            "AGN are corrected for how completely they are associated, by Galactic latitude and significance "
            "(--class-priors trained: no correction)."
        ]
    if way == "given":
        return ["The class priors are given, on the assumption that every source is of one of these classes."]
    return []


def flag_caveat(flagged: int, total: int, counts: Sequence[int]) -> str:
    """Return how many sources are flagged, and by which bits of `LABEL_FLAGS`, `counts` sources each."""
    parts = [f"{meaning} ({count})" for count, meaning in zip(counts, LABEL_FLAGS.values(), strict=True) if count]
    return f"{flagged} of {total} sources are flagged: {'; '.join(parts) or 'none'}."
