"""What is known of sources beyond their labels: by whom, since which list, and what became of earlier candidates."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from astropy.table import Table
from numpy.typing import NDArray

from fermiclass.brought.joining import same_sources
from fermiclass.brought.other_list import OtherList
from fermiclass.catalog import CLASS_TREE
from fermiclass.catalog.classes import CODE_NATURES
from fermiclass.io.tables import read_table

_HERE = Path(__file__).parent
#: Tables of facts, by ``catalogs/make_known.py`` and ``docs/development/open-world/past_candidates.py``.
KNOWN, FIRST_LISTS, PAST = (_HERE / f"{name}.csv" for name in ("known", "first_lists", "past_candidates"))

#: Lists of the LAT by which a source can be known first, as names have them: those of 4FGL have a number, DataRelease.
_LISTS = re.compile(r"[0-4]FGL|DR\d+")

JUDGE, GONE = "4FGL-DR4", "gone"  #: Release that says what became of the earlier candidates, and if it has none.

#: Kinds of claims of :data:`KNOWN`: a pulsar of any kind; a millisecond pulsar in the error ellipse, of 8 about 3 by
#: chance; a candidate, mostly a spider; a counterpart that others claim; a class, or no source, in a later list.
CLAIMS = (PULSAR, AT_PLACE, CANDIDATE, COUNTERPART, LATER_CLASS, GONE_SINCE) = (
    *("identified pulsar", "pulsar at the position", "pulsar candidate"),
    *("claimed counterpart", "later class", "no source"),
)

PAST_SCORE = "Sum_P_pulsar"  #: The column of their probability: of a pulsar of any kind.


def known_as(labels: Table) -> NDArray[np.str_]:
    """Return what others say of each source, with a reference, ``(n,)``; '' where nothing is known to fermiclass."""
    facts = read_table(KNOWN)
    said: list[list[str]] = [[] for _ in range(len(labels))]
    mine, theirs = same_sources(labels, OtherList.of(facts))
    for i, j in sorted(zip(mine.tolist(), theirs.tolist(), strict=True)):
        said[i].append(f"{facts['known'][j]} ({facts['reference'][j]})")
    return np.array(["; ".join(texts) for texts in said], str)


def known_pulsars(labels: Table) -> NDArray[np.intp]:
    """Return the rows of labelled sources that are pulsars by others, no candidates, ``(n,)``."""
    facts = read_table(KNOWN)
    return np.unique(same_sources(labels, OtherList.of(facts[facts["claim"] == PULSAR]))[0])


def first_list_of(labels: Table) -> NDArray[np.str_]:
    """Return the oldest list of the LAT that has each source, ``(n,)``, such as 1FGL or DR2; '' where nothing says.

    It follows from ASSOC_FGL, and from the names that 3FGL gives; else from DataRelease.
    """
    nothing = np.full(len(labels), "")
    older = dict(read_table(FIRST_LISTS).iterrows())
    earlier, release = (
        np.asarray(labels[name]).astype(str) if name in labels.colnames else nothing
        for name in ("ASSOC_FGL", "DataRelease")
    )
    if "DataRelease" not in labels.colnames and str(labels.meta.get("release", "")) == "4FGL-DR1":
        release = np.full(len(labels), "1")
    found = [
        older.get(name.strip(), name.strip()[:4]) if name.strip() else f"DR{number}"
        for name, number in zip(earlier, release, strict=True)
    ]
    return np.array([name if _LISTS.fullmatch(name) else "" for name in found], str)


def past_candidates(chosen: Callable[[Table], Table], before: str) -> dict[str, dict[str, float]]:
    """Return what became of the pulsar candidates of the releases of 4FGL before one, by release.

    `chosen` takes some of those of a release, by its default model: unassociated, without flags 4 and 8, P from 0.5.
    The numbers are those of ``sources``, the ``expected`` pulsars Σ P, those that last, Σ P · LASTS (``lasting``), and
    how many :data:`JUDGE` calls ``pulsars``, ``spiders`` (bin, lmb, glc), ``others``, ``unassociated``, or ``gone``.
    """
    table = read_table(PAST) if before.startswith(("4FGL", "FL16Y")) else read_table(PAST)[:0]
    kinds = {
        "pulsars": CLASS_TREE["pulsar"],
        "spiders": [code for code, natures in CODE_NATURES.items() if natures == ("msp", "other")],
        "unassociated": [""],
        "gone": [GONE],
    }
    found: dict[str, dict[str, float]] = {}
    for release in dict.fromkeys(table["release"].tolist()):
        if release == before:
            break
        some = chosen(table[table["release"] == release])
        numbers = {name: int(np.isin(np.asarray(some["later"], str), codes).sum()) for name, codes in kinds.items()}
        p, lasts = (np.asarray(some[name], float) for name in (PAST_SCORE, "LASTS"))
        sums = {"expected": round(float(p.sum()), 1), "lasting": round(float(p @ lasts), 1)}
        others = len(some) - sum(numbers.values())
        found[release] = {"sources": len(some), **sums, **numbers, "others": others}
    return found
