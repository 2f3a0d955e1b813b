"""Later classes of earlier candidates: the file that ``fermiclass evaluate --open LATER --json`` writes."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fermiclass.errors import ReportError


@dataclass(frozen=True)
class Candidates:
    """Purity and completeness of pulsar candidates.

    Attributes
    ----------
    catalog, future
        The earlier and the later release.
    found
        Number of pulsars that the later release finds among the sources without an association.
    rows
        By threshold: ``threshold``, ``n``, ``purity``, ``completeness``; None for a fraction of no sources.
    """

    catalog: str
    future: str
    found: int
    rows: tuple[dict[str, Any], ...]


def read_candidates(path: str | os.PathLike[str]) -> Candidates:
    """Read an evaluation in the open world.

    Raises
    ------
    ReportError
        When the file cannot be read or does not hold such an evaluation.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        methods = content["methods"]
        own = next(about for about in methods.values() if not about["is_baseline"])
        rows = tuple(
            {
                "threshold": float(row["threshold"]),
                "n": int(row["n"]),
                **{key: None if row[key] is None else float(row[key]) for key in ("purity", "completeness")},
            }
            for row in own["candidates"]["psr"]
        )
        return Candidates(str(content["catalog"]), str(content["later"]), int(content["found"]["psr"]), rows)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration, RecursionError) as error:
        raise ReportError(
            f"'{path}' is no evaluation in the open world ({type(error).__name__}: {error}). Give a file that "
            "'fermiclass evaluate CATALOG --open LATER --json FILE' wrote."
        ) from error
