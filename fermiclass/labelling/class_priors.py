"""Class priors of the sources to be labelled: how they are chosen, applied, written and read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermiclass.catalog import SOURCE_STATUSES, UNCERTAIN_CLASSES
from fermiclass.errors import CatalogError, ClassError
from fermiclass.io import FloatArray
from fermiclass.io.plain import typed

GROUPS = (SOURCE_STATUSES[0], *UNCERTAIN_CLASSES)  #: Groups of sources that can have class priors of their own.

WAYS = ("trained", "selection")  #: Named ways to choose the class priors.

DEFAULT_WAY = "selection"  #: The way where none is chosen.

GroupPriors = Mapping[str, Mapping[str, float]]  #: Class priors as numbers by group of sources and class.

#: Keys of a label table's metadata: the way, and the numbers as JSON.
WAY_KEY, NUMBERS_KEY = "class_priors", "priors"

_LEAST = 1e-6  # no class is ruled out entirely


def given_ratios(
    groups: GroupPriors, status: NDArray[np.str_], classes: Sequence[str], training: FloatArray
) -> FloatArray:
    """Return the factors w_c/π_c of the probabilities of n sources, ``(n, C)``, by the given priors w of their group.

    π are the frequencies in the `training`, ``(C,)``. A source of no group, by its `status`, has 1.
    """
    ratios = np.ones((len(status), len(classes)))
    for name, priors in groups.items():
        w = np.array([priors[c] for c in classes], float)
        ratios[status == name] = np.maximum(w / w.sum(), _LEAST) / training
    return ratios


def stated_priors(meta: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the class priors that a label table states as numbers, or {}. Raises CatalogError for damaged ones."""
    if meta.get(WAY_KEY) != "given":
        return {}
    try:
        return read_priors(str(meta[NUMBERS_KEY]))
    except (KeyError, ValueError) as error:
        raise CatalogError(
            f"the class priors in the labels' metadata are damaged ({error}). Label the sources again."
        ) from error


def read_priors(text: str) -> dict[str, dict[str, float]]:
    """Return class priors from JSON such as ``{"bcu": {"bll": 0.6, "fsrq": 0.4}}``. Raises ValueError if damaged."""
    try:
        content = json.loads(text, object_pairs_hook=_without_repetition)
    except RecursionError as error:
        raise ValueError(f"expected numbers by group and class, {error}") from error
    return typed(GroupPriors, content, "class_priors")


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(content := dict(pairs)) < len(pairs):
        raise ValueError(f"a name occurs twice among {', '.join(name for name, _ in pairs)}")
    return content


def check_class_priors(chosen: str | GroupPriors | None, classes: Sequence[str]) -> None:
    """Raise ClassError unless the priors are a way, None, or a positive number for each of the classes by group."""
    if isinstance(chosen, str) and chosen not in WAYS:
        raise ClassError(f"class_priors='{chosen}' is unknown: choose one of {', '.join(WAYS)}, or give numbers")
    if chosen is None or isinstance(chosen, str):
        return
    try:
        groups: GroupPriors = typed(GroupPriors, chosen, "class priors")
    except ValueError as error:
        raise ClassError(str(error)) from error
    expected = f"expected a positive number for each of {', '.join(classes)}, for one or more of {', '.join(GROUPS)}"
    if not groups or not set(groups) <= set(GROUPS):
        raise ClassError(f"the class priors are given for {', '.join(groups) or 'no group'}: {expected}")
    for group, priors in groups.items():
        if set(priors) != set(classes) or not all(0 < p < np.inf for p in priors.values()):
            raise ClassError(f"the class priors of '{group}' do not fit ({dict(priors)}): {expected}")
