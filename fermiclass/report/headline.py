"""The numbers at the top of the page, and how the labels were made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.catalog import CLASS_CODES, ClassGrouping
from fermiclass.errors import ClassError
from fermiclass.label_counts import CONFIDENT
from fermiclass.labels import LABEL_FLAGS, OOD_LIMIT, classes_of
from fermiclass.report.sources import floats, whole_numbers

if TYPE_CHECKING:
    from astropy.table import Table

#: What each bit of LABEL_FLAGS means for the reader, beside the few words of `LABEL_FLAGS`.
FLAG_ADVICE = {
    1: "The catalogue gives no error for a feature. What is usual at the source's significance was put in its place: "
    "the probabilities are somewhat less sure than a measured error would let them be.",
    2: "The catalogue gives no usable value for a feature. The catalogue's median with the variance of all sources was "
    "put in its place: that feature says nothing of the source.",
    4: f"OOD_SCORE is above {OOD_LIMIT}, as it is for 1 in 200 training sources: the source is like none that was "
    "learned from. Do not rely on its probabilities.",
    8: "The catalogue itself warns of the source, in its column Flags: position, flux or spectrum may depend on the "
    "model of the diffuse emission, or on a bright neighbour.",
}

_MOST_NAMED = 6  # classes of the group of all others

#: Keys of the metadata that say where the shares of the classes hold.
_SHARES = {
    "w_unass": "unassociated sources",
    "w_low": "unassociated sources near the Galactic plane",
    "w_high": "unassociated sources far from the Galactic plane",
    "w_bcu": "blazars of uncertain type (bcu)",
    "w_unk": "associated sources of unknown nature (unk)",
}

#: Of the provenance, what comes first and what it is called.
_PROVENANCE = {
    "catalog": "Catalogue",
    "release": "Release",
    "sha256": "SHA-256 of the catalogue",
    "targets": "Labelled sources",
    "train_on": "Learned from",
    "trainsha": "SHA-256 of that",
    "counts": "Training sources",
    "classes": "Classes",
    "features": "Features",
    "method": "Method",
    "likelihood": "Likelihood",
    "shares": "Shares of the classes",
    "random_state": "Seed",
    "creator": "Made by",
    "versions": "Versions",
}


def class_summary(labels: Table) -> list[dict[str, Any]]:
    """Return for each class how many sources it is most probable of, of how many surely, and how many are expected."""
    meanings = _meanings(labels)
    best, top = np.asarray(labels["PRED_CLASS"], str), floats(labels, "P_MAX")
    return [
        {
            "name": name,
            "most_probable": int(np.sum(best == name)),
            "sure": int(np.sum((best == name) & (top >= CONFIDENT))),
            "expected": float(np.nansum(floats(labels, f"P_{name}"))),
            "meaning": meanings.get(name, ""),
        }
        for name in classes_of(labels)
    ]


def _meanings(labels: Table) -> dict[str, str]:
    """Say what each class gathers, from the catalogue's classes, or nothing where the metadata do not tell."""
    try:
        grouping = ClassGrouping.parse(str(labels.meta.get("classes", "")))
    except ClassError:
        return {}
    meanings = {}
    for item, (name, codes) in zip(grouping.spec.split(","), grouping.members.items(), strict=True):
        written = [code.strip().lower() for code in item.rpartition("=")[2].split("+")]
        is_rest = "other" in written and len(codes) > _MOST_NAMED
        meanings[name] = "all other classes" if is_rest else ", ".join(CLASS_CODES[code] for code in codes)
    return meanings


def flag_summary(labels: Table) -> list[dict[str, Any]]:
    """Return for each bit of LABEL_FLAGS its meaning, advice, and the number of sources that have it."""
    flags = [value or 0 for value in whole_numbers(labels, "LABEL_FLAGS")]
    return [
        {"bit": bit, "meaning": meaning, "advice": FLAG_ADVICE[bit], "n": sum(1 for value in flags if value & bit)}
        for bit, meaning in LABEL_FLAGS.items()
    ]


def shares_summary(meta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return by kind of source the estimated shares of the classes, as text by class."""
    return [
        {"kind": kind, "shares": {name: value.replace("+-", " ± ") for name, value in _pairs(str(meta[key]))}}
        for key, kind in _SHARES.items()
        if key in meta
    ]


def provenance(meta: Mapping[str, Any]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return what is worth knowing first, with its names in words, and all other metadata: settings."""
    first = [(words, _spaced(str(meta[key]))) for key, words in _PROVENANCE.items() if key in meta]
    rest = [(str(key), _spaced(str(value))) for key, value in meta.items() if key not in {*_PROVENANCE, *_SHARES}]
    return first, rest


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (part.partition("=") for part in text.split(","))]


def _spaced(text: str) -> str:
    return ", ".join(text.split(","))
