"""Labels of more sources than are wanted in memory, written a part of the catalogue at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fermiclass.label_counts import LabelCounts
from fermiclass.rows.writers import open_writer

if TYPE_CHECKING:
    from fermiclass.catalog import Catalog, CatalogParts
    from fermiclass.group_shares import GroupShares
    from fermiclass.pipeline import TrainedModel

#: Endings of files that can grow.
GROWING = (".fits", ".parquet")


def write_labels(
    model: TrainedModel,
    parts: CatalogParts,
    path: str | os.PathLike[str],
    targets: str = "uncertain",
    *,
    shares: str | GroupShares = "trained",
    progress: Callable[[int, int], None] | None = None,
) -> tuple[LabelCounts, Mapping[str, Any]]:
    """Label the sources of a catalogue's parts, and write the same table as :meth:`TrainedModel.label` returns.

    The parts are read before for the number of sources, and for shares that are to be estimated. Only the widths of
    text in a FITS file are others: those of the catalogue.

    Parameters
    ----------
    model, targets, shares
        As for :meth:`fermiclass.pipeline.TrainedModel.label`.
    parts
        Of the catalogue.
    path
        With one of the endings `GROWING`; the file is whole in the end, or not there.
    progress
        Called with the number of sources done and of all, a source twice where shares are estimated.

    Returns
    -------
    tuple
        The counts and the metadata of the table.

    Raises
    ------
    CatalogError
        When a part cannot be read.
    ClassError
        As by :meth:`~fermiclass.pipeline.TrainedModel.label`.
    OutputError
        When the file cannot be written.
    """
    estimates = isinstance(shares, str) and shares != "trained"
    num_estimated = int(model.grouping.is_target(parts.classes, "uncertain").sum()) if estimates else 0
    num_rows = int(model.grouping.is_target(parts.classes, targets).sum())
    seen = _Progress(progress, num_estimated + num_rows)
    way, groups = model.group_shares(shares, seen.of_parts(parts), seen)
    first = next(iter(parts))
    meta = model.label_metadata(first, targets, way, groups)
    template = model.label_sources(first[:0], targets, groups, meta)
    counts = LabelCounts.of(template)
    with open_writer(path, template, num_rows=num_rows) as writer:
        for part in seen.of_parts(parts):
            labels = model.label_sources(part, targets, groups, meta, seen)
            writer.write(labels)
            counts += LabelCounts.of(labels)
    return counts, template.meta


class _Progress:
    """The number of sources done in all parts, from that of each."""

    def __init__(self, progress: Callable[[int, int], None] | None, total: int):
        self._progress, self._total, self._before, self._done = progress, total, 0, 0

    def of_parts(self, parts: Iterable[Catalog]) -> Iterator[Catalog]:
        """Yield the parts; what was done before adds to what is done of each."""
        for part in parts:
            self._before, self._done = self._before + self._done, 0
            yield part
        self._before, self._done = self._before + self._done, 0

    def __call__(self, done: int, _: int) -> None:
        """Tell that so many sources of the part are done."""
        self._done = done
        if self._progress is not None:
            self._progress(self._before + done, self._total)
