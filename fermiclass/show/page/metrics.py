"""Measured reliability of the labels, and what became of earlier candidates: from ``evaluate --json``."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fermiclass.errors import ReportError

_REMEDY = "Give a file that 'fermiclass evaluate CATALOG --json FILE' wrote."
_SCORES = ("n", "nll", "nll_se", "error", "ece", "brier")

#: Settings that must be those of the labels.
_SETTINGS = ("method", "objective", "likelihood", "kernel", "temperature")


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

    @property
    def per_class(self) -> Mapping[str, Mapping[str, Any]]:
        """Precision, recall and n by class."""
        found: Mapping[str, Mapping[str, Any]] = self.scores["all"].get("per_class", {})
        return found

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
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ReportError(f"there is no file '{path}'. Check the name and the folder.") from error
    except OSError as error:
        raise ReportError(f"'{path}' cannot be read: {error.strerror}. {_REMEDY}") from error
    except (ValueError, RecursionError) as error:
        raise ReportError(f"'{path}' is not a JSON file ({error}). {_REMEDY}") from error
    try:
        return _trust(content, labels_meta)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ReportError(f"'{path}' is not an evaluation ({type(error).__name__}: {error}). {_REMEDY}") from error


def _trust(content: Mapping[str, Any], meta: Mapping[str, Any]) -> Trust:
    classes = tuple(_text(name) for name in content["classes"])
    if not classes:
        raise ValueError("it has no classes")
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
    same_data = set(content["features"]) == _names(meta.get("features")) and {
        name.lower() for name in _names(content["grouping"])
    } == {name.lower() for name in _names(meta.get("classes"))}
    populations = {"all": found} | ({"unassociated": found["unassociated"]} if "unassociated" in found else {})
    return Trust(
        catalog=_text(content["catalog"]),
        protocol=f"{_text(content['protocol'])}: {_text(content['description'])}",
        method=_text(chosen),
        same_method=same_data and not any(rank(chosen)[:-1]),
        classes=classes,
        scores={name: _checked(scores, len(classes)) for name, scores in populations.items()},
    )


def _names(listed: Any) -> set[str]:
    """Return the names of features or classes that metadata of labels list as text, without the members of a class."""
    return {part.partition("=")[0].strip() for part in str(listed or "").split(",")}


def _checked(scores: Mapping[str, Any], num_classes: int) -> dict[str, Any]:
    """Return the scores that the page shows, as numbers. Nothing else of the file gets into the page."""
    checked: dict[str, Any] = {name: _number(scores[name]) for name in _SCORES}
    checked["n"] = _count(scores["n"])
    checked["per_class"] = {
        _text(name): {key: None if row.get(key) is None else _number(row[key]) for key in ("n", "precision", "recall")}
        for name, row in scores.get("per_class", {}).items()
    }
    checked["reliability"] = [
        {"n": _count(row["n"]), "confidence": _number(row["confidence"]), "accuracy": _number(row["accuracy"])}
        for row in scores.get("reliability", [])
    ]
    if any(row["n"] < 1 or not 0 <= row["accuracy"] <= 1 for row in checked["reliability"]):
        raise ValueError("the reliability has a bin without sources, or with an accuracy outside 0 to 1")
    confusion = scores.get("confusion")
    if confusion is not None:
        checked["confusion"] = [[_count(count) for count in row] for row in confusion]
        if [len(row) for row in checked["confusion"]] != [num_classes] * num_classes:
            raise ValueError(f"the confusion matrix is not {num_classes} x {num_classes}")
    return checked


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a valid score")
    return number


def _count(value: Any) -> int:
    return int(_number(value))


def _text(value: Any) -> str:
    """Return the value as text. JSON may hold half a character, which raises ValueError: UTF-8 cannot encode it."""
    text = str(value)
    text.encode("utf-8")
    return text


@dataclass(frozen=True)
class Candidates:
    """Purity and completeness of pulsar candidates."""

    #: The earlier and the later release.
    catalog: str
    future: str
    found: int  #: Number of pulsars that the later release finds among the sources without an association.
    #: By threshold, from 0 for all sources: ``threshold``; ``n``; ``purity``, ``spiders`` (the purity with binaries and
    #: globular clusters as pulsars) and ``completeness``, each a fraction and its interval, or None.
    rows: tuple[dict[str, Any], ...]


def read_candidates(path: str | os.PathLike[str]) -> Candidates:
    """Read an evaluation in the open world.

    Raises ReportError when the file cannot be read or does not hold such an evaluation.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        methods = content["methods"]
        own = next(about for about in methods.values() if not about["is_baseline"])
        face, spiders = (own[reading]["candidates"]["psr"] for reading in ("face", "spiders"))
        rows = tuple(
            {
                "threshold": float(row["threshold"]),
                "n": int(row["n"]),
                "purity": _measured(row, "purity"),
                "spiders": _measured(other, "purity"),
                "completeness": _measured(row, "completeness"),
            }
            for row, other in zip(face, spiders, strict=True)
        )
        return Candidates(str(content["catalog"]), str(content["later"]), int(content["found"]["psr"]), rows)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration, RecursionError) as error:
        raise ReportError(
            f"'{path}' is no evaluation in the open world ({type(error).__name__}: {error}). Give a file that "
            "'fermiclass evaluate CATALOG --open LATER --json FILE' wrote."
        ) from error


def _measured(row: Mapping[str, Any], key: str) -> tuple[float, float, float] | None:
    """Return a fraction and the limits of its interval; None for a fraction of no sources."""
    if row[key] is None:
        return None
    low, high = row[f"{key}_interval"]
    return _number(row[key]), _number(low), _number(high)
