"""Measured reliability of the labels, and what became of earlier candidates: from ``evaluate --json``."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fermiclass.errors import ReportError

_SCORES = ("n", "nll", "nll_se", "error", "ece", "brier")
_OTHERS = ("per_class", "reliability", "confusion")

#: Settings that must be those of the labels.
_SETTINGS = ("method", "objective", "likelihood", "kernel", "temperature")


@dataclass(frozen=True)
class PastCandidates:
    """Purity and completeness of pulsar candidates."""

    #: The earlier and the later release.
    catalog: str
    future: str
    found: int  #: Number of pulsars that the later release finds among the sources without an association.
    #: By threshold, from 0 for all sources: ``threshold``; ``n``; ``purity``, ``spiders`` (the purity with binaries and
    #: globular clusters as pulsars) and ``completeness``, each a fraction and its interval, or None.
    rows: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Trust:
    """The scores of one method."""

    #: Catalogue and protocol of the evaluation, and name of the method in it.
    catalog: str
    protocol: str
    method: str
    #: Whether it is the method of the labels, with their features, classes, settings and class priors.
    same_method: bool
    classes: tuple[str, ...]  #: The C classes.
    #: Scores by population (``all``; ``unassociated`` if scored): n, nll, nll_se, error, ece, brier, others if known.
    scores: Mapping[str, Mapping[str, Any]]
    past: PastCandidates | None  #: What became of earlier candidates; None if the evaluation has none of them.

    @property
    def per_class(self) -> Mapping[str, Mapping[str, Any]]:
        """Precision, recall and n by class."""
        return self.scores["all"].get("per_class", {})

    @property
    def reliability(self) -> list[dict[str, float]]:
        """Bins: n, confidence, accuracy and its binomial standard error."""
        return [
            {**row, "se": (row["accuracy"] * (1.0 - row["accuracy"]) / row["n"]) ** 0.5}
            for row in self.scores["all"].get("reliability", [])
        ]

    @property
    def confusion(self) -> list[list[int]] | None:
        """Numbers of sources by true class (rows) and predicted class (columns), ``(C, C)``; None if unknown."""
        return self.scores["all"].get("confusion")


def read_metrics(path: str | os.PathLike[str], labels_meta: Mapping[str, Any]) -> Trust:
    """Read the file that ``fermiclass evaluate --json`` wrote, for :func:`report_page`.

    Parameters
    ----------
    path
        The file. It may contain several methods: the result is that of the labels, or else the most similar one.
    labels_meta
        Metadata of the label table.

    Raises
    ------
    ReportError
        When the file cannot be read or does not hold an evaluation.
    """
    try:
        return _trust(json.loads(Path(path).read_text(encoding="utf-8")), labels_meta)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ReportError(
            f"'{path}' is not an evaluation ({type(error).__name__}: {error}). Give a file that 'fermiclass evaluate "
            "CATALOG --json FILE' wrote."
        ) from error


def _trust(content: Mapping[str, Any], meta: Mapping[str, Any]) -> Trust:
    methods = content["methods"]

    def rank(name: str) -> tuple[bool, int, bool, float]:
        about = methods[name]
        settings = about["settings"]
        compared = [key for key in _SETTINGS if key in settings and key in meta]
        differ = sum(str(settings[key]) != str(meta[key]) for key in compared)
        other_priors = about["class_priors"] != str(meta.get("class_priors", "trained"))
        return "method" not in compared, differ, other_priors, float(about["nll"])

    chosen = min(methods, key=rank)
    found = methods[chosen]
    same_features = set(content["features"]) == _names(meta.get("features"))
    same_classes = _names(content["grouping"].lower()) == _names(str(meta.get("classes") or "").lower())
    own = [of for of in methods.values() if content["protocol"] == "open" and not of["is_baseline"]]
    populations = {"all": found} | ({"unassociated": found["unassociated"]} if "unassociated" in found else {})
    return Trust(
        catalog=content["catalog"],
        protocol=f"{content['protocol']}: {content['description']}",
        method=chosen,
        same_method=same_features and same_classes and not any(rank(chosen)[:-1]),
        classes=tuple(content["classes"]),
        scores={
            name: {key: of[key] for key in _SCORES} | {key: of[key] for key in _OTHERS if key in of}
            for name, of in populations.items()
        },
        past=_past(content, own[0]) if own else None,
    )


def _names(listed: Any) -> set[str]:
    """Return the names of features or classes that metadata of labels list as text, without the members of a class."""
    return {part.partition("=")[0].strip() for part in str(listed or "").split(",")}


def _past(content: Mapping[str, Any], own: Mapping[str, Any]) -> PastCandidates:
    face, spiders = (own[reading]["candidates"]["pulsar"] for reading in ("face", "spiders"))
    rows = tuple(
        {key: row[key] for key in ("threshold", "n")}
        | {key: _measured(row, key) for key in ("purity", "completeness")}
        | {"spiders": _measured(other, "purity")}
        for row, other in zip(face, spiders, strict=True)
    )
    return PastCandidates(content["catalog"], content["later"], content["found"]["pulsar"], rows)


def _measured(row: Mapping[str, Any], key: str) -> tuple[float, float, float] | None:
    """Return a fraction and the limits of its interval; None for a fraction of no sources."""
    return None if row[key] is None else (row[key], *row[f"{key}_interval"])
