"""What stands beside labels, in words: what to keep in mind of them, flags, class priors, and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fermiclass.catalog import CLASS_CODES
from fermiclass.catalog.releases import RELEASES
from fermiclass.io.target_lists import angles
from fermiclass.labelling.class_priors import NUMBERS_KEY, WAY_KEY, stated_priors
from fermiclass.labelling.labels import BF_CLAIM, CONFIDENT, LABEL_FLAGS, LABELLED, LASTS, STATUS, Labels
from fermiclass.labelling.prediction_columns import OOD_LIMIT

#: A summary names a class if at least this fraction of its confident unassociated sources will vanish.
MANY_VANISH = 0.2

_OF_PRIORS = {
    "selection": "AGN are corrected for how completely they are associated, by {} "
    "(--class-priors trained: no correction){}.",
    "unknown selection": "How completely AGN are associated is not known here: the odds of AGN against other sources "
    "are those of the training sources.",
    "given": "The class priors are given, on the assumption that every source is of one of these classes.",
}

#: Quantities that may correct AGN: column, and how the JSON of the priors shows that it does.
_CORRECTING = {"Galactic latitude": ("GLAT", '"intercept"'), "significance": ("Signif_Avg", '"slope": -')}

#: Advice to the reader for each bit of LABEL_FLAGS, in addition to the short meaning in `LABEL_FLAGS`.
FLAG_ADVICE = {
    1: "The catalogue gives no error for a feature. The usual error at the source's significance was used instead, so "
    "the probabilities are a little less certain than with a measured error.",
    2: "The catalogue gives no usable value for a feature. The probabilities are an average over the values that "
    "training sources with such other features have, so this feature gives no information on the source.",
    4: f"The source is out of distribution: its OOD_SCORE is above {OOD_LIMIT}, as for 1 in 200 training sources. It "
    "is unlike all training sources. Do not rely on its probabilities.",
    8: "The catalogue itself warns of the source in its column Flags: position, flux or spectrum may depend on the "
    "model of the diffuse emission, or on a bright neighbour.",
    16: "A value of the source is implausible, as in another unit. It counts as not known, and its other values are in "
    "doubt, too: no class has a probability of 0.9 and more.",
}

_MOST_NAMED = 6  # classes of the group 'other' that are listed

#: Groups of sources with class priors of their own, in words.
_GROUPS = {
    "unassociated": "unassociated sources",
    "bcu": "blazars of uncertain type (bcu)",
    "unk": "associated sources of unknown nature (unk)",
}

#: The first entries of the provenance, and their names on the page.
_PROVENANCE = {
    "catalog": "Catalogue",
    "release": "Release",
    "sha256": "SHA-256 of the catalogue",
    "targets": "Labelled sources",
    "train_on": "Training catalogue",
    "trainsha": "SHA-256 of the training catalogue",
    "counts": "Training sources",
    "classes": "Classes",
    "features": "Features",
    "method": "Method",
    "likelihood": "Likelihood",
    WAY_KEY: "Class priors",
    "random_state": "Seed",
    "creator": "Made by",
    "versions": "Versions",
}


def caveats(about: Labels) -> list[str]:
    """Return sentences on the class priors of labels if they are corrected, on claims, vanishing sources and flags."""
    way = str(about.meta.get(WAY_KEY))
    numbers = str(about.meta.get(NUMBERS_KEY))
    used = {words: column for words, (column, shown) in _CORRECTING.items() if shown in numbers}
    way = "unknown selection" if way == "selection" and not used else way
    lacking = np.asarray(about.table[STATUS]) == "unassociated"
    lacking &= np.isnan(np.sum([angles(about.table, column, np.inf) for column in used.values()], axis=0))
    rest = f", but for {lacking.sum()} without a value of these" if lacking.any() else ""
    of_priors = [_OF_PRIORS[way].format(" and ".join(used), rest)] if way in _OF_PRIORS else []
    if share := about.meta.get("also_share"):
        of_priors.append(f"Classes of your own: {share:g} of the unassociated sources are expected (also_share).")
    if BF_CLAIM in about.table.colnames and (claimed := np.sum(np.asarray(about.table[BF_CLAIM]) > 1.0)):
        of_priors.append(
            f"Blazars of 3HSP speak for an AGN in {claimed} sources (CLAIM; --set evidence=class2: without)."
        )
    return [*of_priors, lasting_caveat(about), _flag_caveat(about)]


def lasting_caveat(about: Labels) -> str:
    """Return how many sources a later list will lack, and the classes whose unassociated sources mostly vanish."""
    labels = about.table
    lasts, bare = np.asarray(labels[LASTS], float), np.asarray(labels[STATUS]) == "unassociated"
    lost = np.where(np.isfinite(lasts), 1.0 - lasts, 0.0)
    sure = bare & (np.asarray(labels["P_MAX"]) >= CONFIDENT)
    unassociated = "" if bare.all() else "unassociated "
    text = f"A later list will lack about {lost.sum():.0f} of these sources"
    if unassociated:
        text += f", {lost[bare].sum():.0f} of them unassociated"
    for name in about.classes:
        chosen = sure & (np.asarray(labels["PRED_CLASS"]) == name)
        number, gone = chosen.sum(), lost[chosen].sum()
        if gone >= max(1.0, MANY_VANISH * number):
            text += f"; of {number} {unassociated}{name} with P ≥ {CONFIDENT} it will lack {gone:.0f}"
    of = str(about.meta.get(LABELLED[2], "4FGL-DR4"))
    known = any(each.name == of and LASTS in (each.facts or ()) for each in RELEASES)
    return f"{text} ({LASTS}{'' if known else ', by the rule of 4FGL-DR4'})."


def flag_counts(about: Labels) -> dict[int, int]:
    """Return the number of sources with each bit of `LABEL_FLAGS`, and with any of them under 0."""
    given: np.ndarray = np.ma.filled(np.ma.asarray(about.table["LABEL_FLAGS"], float), 0.0)
    flags = np.where(np.abs(given) < 2.0**31, given, 0.0).astype(int)  # NaN and what is no bits count as none
    return {0: int(np.sum(flags > 0))} | {bit: int(np.sum(flags & bit > 0)) for bit in LABEL_FLAGS}


def _flag_caveat(about: Labels) -> str:
    flagged, *counts = flag_counts(about).values()
    parts = [f"{meaning} ({count})" for meaning, count in zip(LABEL_FLAGS.values(), counts, strict=True) if count]
    if not parts:
        return f"None of {len(about)} sources is flagged."
    return f"{flagged} of {len(about)} sources are flagged: {'; '.join(parts)}."


def class_meanings(labels: Labels) -> dict[str, str]:
    """Return the catalogue's classes that each class contains, in words; empty if the metadata do not give them."""
    grouping = labels.grouping
    if grouping is None or "classes" not in labels.meta:
        return {}
    return {
        name: "all classes in no other group"
        if name == grouping.rest and len(codes) > _MOST_NAMED
        else ", ".join(CLASS_CODES.get(code, "of your own") for code in codes)
        for name, codes in grouping.members.items()
    }


def flag_summary(about: Labels) -> list[dict[str, Any]]:
    """Return the meaning, the advice and the number of sources of each bit of LABEL_FLAGS."""
    n = flag_counts(about)
    return [
        {"bit": bit, "meaning": meaning, "advice": FLAG_ADVICE[bit], "n": n[bit]}
        for bit, meaning in LABEL_FLAGS.items()
    ]


def priors_summary(meta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the given class priors of each group of sources, as text by class. Raises CatalogError."""
    return [
        {"kind": _GROUPS.get(group, group), "priors": {name: f"{p:.4g}" for name, p in priors.items()}}
        for group, priors in stated_priors(meta).items()
    ]


def provenance(meta: Mapping[str, Any]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the first entries of the provenance with their names in words, and all other metadata (settings)."""
    texts = {str(key): str(value).replace(",", ", ") for key, value in meta.items() if key != NUMBERS_KEY}
    first = [(words, texts.pop(key)) for key, words in _PROVENANCE.items() if key in texts]
    return first, list(texts.items())
