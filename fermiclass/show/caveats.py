"""Warnings to a reader of labels, for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fermiclass.labelling.class_priors import ERRORS_KEY, stated_priors
from fermiclass.labelling.labels import LABEL_FLAGS

_WAYS = {"estimated": "estimated", "latitude": "estimated by Galactic latitude", "given": "given"}


def prior_caveats(meta: Mapping[str, Any]) -> list[str]:
    """Return sentences on the class priors of labels with these metadata; none if there was no correction."""
    shares = str(meta.get("shares", ""))
    sentences = []
    if shares == "selection":
        sentences.append(
            "AGN are corrected for how completely they are associated, by Galactic latitude and significance "
            "(--shares trained: no correction)."
        )
    if stated_priors(meta) and shares in _WAYS:
        sentences.append(
            f"The class priors are {_WAYS[shares]}, on the assumption that every source is of one of these classes."
        )
    if ERRORS_KEY in meta:
        sentences.append(f"{meta[ERRORS_KEY]}.")
    if shares == "estimated":
        sentences.append(
            "The same class priors at all latitudes make pulsars too probable far from the Galactic plane. To look for "
            "pulsars there, use --shares latitude."
        )
    return sentences


def flag_caveat(flagged: int, total: int, counts: Sequence[int]) -> str:
    """Return how many sources are flagged, and by which bits of `LABEL_FLAGS`, `counts` sources each."""
    parts = [f"{meaning} ({count})" for count, meaning in zip(counts, LABEL_FLAGS.values(), strict=True) if count]
    return f"{flagged} of {total} sources are flagged: {'; '.join(parts) or 'none'}."
