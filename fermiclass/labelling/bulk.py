"""Labels of catalogues that are larger than memory, written one part of the catalogue at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fermiclass.labelling.counts import LabelCounts
from fermiclass.rows.writers import open_writer

if TYPE_CHECKING:
    from fermiclass.catalog import Catalog, CatalogParts
    from fermiclass.labelling.class_priors import GroupShares
    from fermiclass.labelling.model import TrainedModel

#: Endings of files to which rows can be appended.
GROWING = (".fits", ".parquet")


def write_labels(
    model: TrainedModel,
    parts: CatalogParts,
    path: str | os.PathLike[str],
    targets: str = "uncertain",
    *,
    shares: str | GroupShares | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[LabelCounts, Mapping[str, Any]]:
    """Label the sources of a catalogue's parts, and write the table that :meth:`TrainedModel.label` returns.

    Class priors that are estimated need a first pass over all parts. Columns of text in a FITS file are as wide as in
    the catalogue; this is the only difference to the table of :meth:`TrainedModel.label`.

    Parameters
    ----------
    model, targets, shares
        As for :meth:`fermiclass.labelling.model.TrainedModel.label`.
    parts
        Parts of the catalogue.
    path
        The file, with one of the endings `GROWING`. It appears when it is complete, or not at all.
    progress
        Called with the number of sources done and of all. Estimated class priors count each source twice.

    Returns
    -------
    tuple
        The counts and the metadata of the table.

    Raises
    ------
    CatalogError
        When a part cannot be read.
    ClassError
        As for :meth:`~fermiclass.labelling.model.TrainedModel.label`.
    OutputError
        When the file cannot be written.
    """
    estimates = shares in ("estimated", "latitude")
    num_estimated = int(model.grouping.is_target(parts.classes, "uncertain").sum()) if estimates else 0
    num_rows = int(model.grouping.is_target(parts.classes, targets).sum())
    seen = _Progress(progress, num_estimated + num_rows)
    priors = model.class_priors(shares, seen.of_parts(parts), seen)
    first = next(iter(parts))
    meta = model.label_metadata(first, targets, priors)
    template = model.label_sources(first[:0], targets, priors, meta)
    counts = LabelCounts.of(template)
    with open_writer(path, template, num_rows=num_rows) as writer:
        for part in seen.of_parts(parts):
            labels = model.label_sources(part, targets, priors, meta, seen)
            writer.write(labels)
            counts += LabelCounts.of(labels)
    return counts, template.meta


class _Progress:
    """Adds up the numbers of sources done in each part."""

    def __init__(self, progress: Callable[[int, int], None] | None, total: int):
        self._progress, self._total, self._before, self._done = progress, total, 0, 0

    def of_parts(self, parts: Iterable[Catalog]) -> Iterator[Catalog]:
        """Yield the parts, and add the sources of each finished part to the total."""
        for part in parts:
            self._before, self._done = self._before + self._done, 0
            yield part
        self._before, self._done = self._before + self._done, 0

    def __call__(self, done: int, _: int) -> None:
        """Report the number of sources of this part that are done."""
        self._done = done
        if self._progress is not None:
            self._progress(self._before + done, self._total)
