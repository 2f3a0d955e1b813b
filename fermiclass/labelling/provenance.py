"""Provenance of a model, written and read in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class Provenance:
    """Training catalogue of a model, and versions of the packages.

    Attributes
    ----------
    catalog, sha256, release
        File of the training catalogue, its checksum, and the release.
    min_significance
        Lower limit of the training sources' Signif_Avg; None for no limit.
    training_counts
        Number of training sources of each class.
    versions
        Versions of the packages.
    """

    catalog: str = ""
    sha256: str = ""
    release: str = ""
    min_significance: float | None = None
    training_counts: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the entries in a form that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Provenance:
        """Return the provenance from the entries of :meth:`to_dict`.

        Raises
        ------
        ValueError
            When an entry is missing, unknown, or of another kind.
        """
        names = {each.name for each in fields(cls)}
        odd = sorted(names ^ set(content))
        if odd:
            raise ValueError(f"the provenance has missing or unknown entries: {', '.join(odd)}")
        for name in ("training_counts", "versions"):
            if not isinstance(content[name], Mapping):
                raise ValueError(f"{name} is {content[name]!r}, expected names with values")
        return cls(**content)

    def counts_text(self) -> str:
        """Return the training counts as text for the metadata of a label table."""
        return ",".join(f"{name}={count}" for name, count in self.training_counts.items())

    def versions_text(self) -> str:
        """Return the versions as text for the metadata of a label table."""
        return ",".join(f"{name}={version}" for name, version in self.versions.items())
