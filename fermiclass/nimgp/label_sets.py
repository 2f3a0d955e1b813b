"""Labels that stand for sets of classes, and weights of labels, as texts; importable without NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, nan


def parse_label_sets(text: str | None) -> dict[str, tuple[str, ...]]:
    """Parse ``bcu=bll+fsrq,unk=psr+other``: labels, and the classes of which one is right.

    Raises
    ------
    ValueError
        When the text is malformed, or names a label twice.
    """
    found: dict[str, tuple[str, ...]] = {}
    for item in (text or "").split(",") if text else ():
        label, equals, right = (part.strip() for part in item.partition("="))
        members = tuple(part.strip() for part in right.split("+"))
        if not label or not equals or not all(members) or len(set(members)) < len(members) or label in found:
            raise ValueError(f"the label sets are malformed at {item!r}: write label=a+b, separated by commas")
        found[label] = members
    return found


def format_label_sets(sets: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return the text that :func:`parse_label_sets` parses; None for no sets."""
    return ",".join(f"{label}={'+'.join(classes)}" for label, classes in sets.items()) or None


def parse_label_weights(text: str | None) -> dict[str, float]:
    """Parse ``bll=0.5,bcu=0.5``: labels, and the weights of their rows.

    Raises
    ------
    ValueError
        When the text is malformed, names a label twice, or a weight is not a finite number above 0.
    """
    found: dict[str, float] = {}
    for item in (text or "").split(",") if text else ():
        label, equals, right = (part.strip() for part in item.partition("="))
        try:
            weight = float(right)
        except ValueError:
            weight = nan
        if not label or not equals or not 0 < weight < inf or label in found:
            raise ValueError(f"the label weights are malformed at {item!r}: write label=0.5, separated by commas")
        found[label] = weight
    return found
