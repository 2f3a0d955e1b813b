"""The numbers at the top of the page, and the provenance of the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fermiclass.catalog import CLASS_CODES
from fermiclass.labelling.class_priors import NUMBERS_KEY, WAY_KEY, stated_priors
from fermiclass.labelling.labels import LABEL_FLAGS, Labels
from fermiclass.labelling.prediction_columns import OOD_LIMIT
from fermiclass.show.caveats import flag_counts

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
