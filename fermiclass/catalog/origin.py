"""Where a catalogue comes from, and what a user brought into it: enough to know it again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from astropy.table import Table

from fermiclass.errors import CatalogError

#: Kinds of what is brought in, and the option that brings it.
OPTIONS = {kind: f"--{kind}" for kind in ("columns", "join", "labels", "also")} | {"bins": "--variability-bins"}


@dataclass(frozen=True, order=True)
class Brought:
    """What a user brought into a catalogue. Without it, labels that were made from it cannot be made again."""

    kind: str  #: One of :data:`OPTIONS`: what columns are and mean, tables of columns, labels or sources; or ``rows``.
    name: str  #: Name of the table; of columns ``A=a,B=b``; a number of bins; of rows ``600 of 7195``.
    sha256: str = ""  #: Checksum of the table's content, or of the chosen rows.

    def __str__(self) -> str:
        option = OPTIONS.get(self.kind, "")
        return f"{option} {self.name}" if option else f"{self.name} {self.kind}, as chosen in Python"


@dataclass(frozen=True)
class Origin:
    """Where a catalogue comes from."""

    source: str = ""  #: Name of the file, or the kind of object.
    sha256: str = ""  #: Checksum of the file on disk, or of the content of a table.
    release: str = ""  #: Name of the release.
    brought: tuple[Brought, ...] = ()  #: What was brought in. The order of joined tables counts, of others not.

    @property
    def columns(self) -> dict[str, str]:
        """Names of columns that were brought in, by those of the catalogue."""
        said = [each.name for each in self.brought if each.kind == "columns"]
        return dict(pair.split("=", 1) for name in said for pair in re.split(r",(?=\w+=)", name))

    @property
    def bins(self) -> int | None:
        """Number of time bins of Variability_Index that was said, None if none was."""
        return next((int(each.name) for each in self.brought if each.kind == "bins"), None)

    @property
    def has_labels(self) -> bool:
        """Whether labels of one's own, or further sources to learn from, were brought in."""
        return any(each.kind in ("labels", "also") for each in self.brought)

    def check(self, found: Origin, what: str) -> None:
        """Raise CatalogError unless another origin is the same; `what`, for the message, is made of this one."""
        if found.sha256 != self.sha256:
            raise CatalogError(
                f"{found.source} has SHA-256 {found.sha256}, but {what} was made with {self.source} of SHA-256 "
                f"{self.sha256}. Give that file."
            )
        missing, more = sorted({*self.brought} - {*found.brought}), sorted({*found.brought} - {*self.brought})
        named = {(each.kind, each.name) for each in more}
        changed = [each for each in missing if each.kind != "rows" and (each.kind, each.name) in named]
        if changed:
            raise CatalogError(f"{changed[0].name} has changed since {what} was made with it. Give that file.")
        if missing:
            raise CatalogError(
                f"{what} was made with {self.source} and {' '.join(map(str, missing))}: give the same "
                "(in Python: read_sources with columns, join, relabel, learn_also)."
            )
        joined, wanted = ([each for each in one.brought if each.kind == "join"] for one in (found, self))
        if not more and joined != wanted:  # a value of two tables is that of the first
            raise CatalogError(f"{what} was made with {' '.join(map(str, wanted))}, in this order. Give the same.")
        if more:
            raise CatalogError(f"{what} was made without {' '.join(map(str, more))}: leave it out.")

    def to_meta(self, *keys: str) -> dict[str, str]:
        """Return name, checksum, release and what was brought in under these four keys; '' for no key, and no entry."""
        brought = json.dumps([asdict(each) for each in self.brought]) if self.brought else ""
        values = (self.source, self.sha256, self.release, brought)
        return {key: value for key, value in zip(keys, values, strict=True) if key and (value or key != keys[3])}

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any], *keys: str) -> Self:
        """Return what :meth:`to_meta` wrote. Raises CatalogError where what was brought in cannot be read."""
        source, sha256, release, brought = (str(meta.get(key, "")) for key in keys)
        try:
            return cls(source, sha256, release, tuple(Brought(**each) for each in json.loads(brought or "[]")))
        except (TypeError, ValueError) as error:
            raise CatalogError(f"the metadata '{keys[3]}' are damaged ({error}). Label the sources again.") from error


def digest(table: Table) -> str:
    """Return a checksum of the content of a table: names of columns, numbers and texts, whatever their widths."""
    found = hashlib.sha256()
    for name in table.colnames:
        found.update(name.encode())
        data = np.ma.getdata(table[name])
        kind = data.dtype.kind
        if kind in "biuf" and kind + str(data.dtype.itemsize) != "f16":
            found.update(np.ascontiguousarray(data, dtype=np.float64 if kind == "f" else np.int64).tobytes())
        else:
            found.update("\n".join(data.astype(str).ravel().tolist()).encode())
    return found.hexdigest()
