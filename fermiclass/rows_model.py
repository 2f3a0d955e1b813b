"""A classifier of rows on disk, with the columns that it knows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fermiclass.errors import RowsError
from fermiclass.rows import Rows, open_rows
from fermiclass.rows.columns import Columns
from fermiclass.rows.opening import column_names, holds_arrays

if TYPE_CHECKING:
    from fermiclass.estimators import NIMGPClassifier
    from fermiclass.nimgp.training import TrainingState

#: Begins the name of the column with a feature's standard deviation, as in the catalogue.
UNCERTAINTY_PREFIX = "Unc_"
#: The label's column in the feature tables that ``fermiclass features`` writes.
DEFAULT_LABEL = "CLASS"


@dataclass(frozen=True, eq=False)
class RowsModel:
    """What labels rows in files of any size.

    Attributes
    ----------
    estimator
        Fitted.
    columns
        Features, their uncertainties, and the label that was learned.
    provenance
        File, rows, versions.
    """

    estimator: NIMGPClassifier
    columns: Columns
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def open(self, path: str | os.PathLike[str], *, keep: Sequence[str] = (), hdu: int | str = 1) -> Rows:
        """Open rows to be labelled; they need no labels.

        Parameters
        ----------
        path, hdu
            As for :func:`fermiclass.rows.open_rows`; a table needs the columns that were learned from.
        keep
            Columns to stand beside the results.

        Raises
        ------
        RowsError
            As :func:`fermiclass.rows.open_rows`; or when arrays are not as many columns.
        """
        if holds_arrays(Path(path)):
            return open_rows(path, self.columns.features, keep=keep)
        return open_rows(path, self.columns.features, uncertainties=self.columns.uncertainties, keep=keep, hdu=hdu)

    def label(self, rows: Rows, path: str | os.PathLike[str], **options: Any) -> None:
        """Label rows, to a file that grows; see :func:`fermiclass.streaming.predict_rows`."""
        self.estimator.predict_rows(rows, path, **options)


def find_columns(
    path: str | os.PathLike[str],
    features: Sequence[str] | None = None,
    *,
    uncertainties: Sequence[str | None] | None = None,
    label: str | None = None,
    hdu: int | str = 1,
) -> Columns:
    """Return the roles of a table's columns; those that are not given are found by their names.

    A column beside which there is another of its name after `UNCERTAINTY_PREFIX` is a feature, and that one has its
    standard deviations; the label is the column `DEFAULT_LABEL`.

    Parameters
    ----------
    path, hdu
        A Parquet or FITS table.
    features, uncertainties, label
        What is not to be found by names; without `uncertainties`, a feature with no such column has no error.

    Raises
    ------
    RowsError
        When the table cannot be read, or has no features or no label.
    """
    found = column_names(path, hdu)
    if features is None:
        features = [name for name in found if f"{UNCERTAINTY_PREFIX}{name}" in found]
        if not features:
            raise RowsError(
                f"no column of '{path}' has another with its uncertainties beside it, such as LP_Index and "
                "Unc_LP_Index, so that the features are not known. Name them (--features)."
            )
    if uncertainties is None:
        names = [f"{UNCERTAINTY_PREFIX}{name}" for name in features]
        uncertainties = [name if name in found else None for name in names]
    if label is None and DEFAULT_LABEL not in found:
        raise RowsError(f"'{path}' has no column '{DEFAULT_LABEL}'. Name the one with the labels (--label).")
    return Columns.of(features, uncertainties, DEFAULT_LABEL if label is None else label)


def open_to_learn(
    path: str | os.PathLike[str],
    features: Sequence[str] | None = None,
    *,
    uncertainties: Sequence[str | None] | None = None,
    label: str | None = None,
    hdu: int | str = 1,
) -> tuple[Rows, Columns]:
    """Open rows to learn from, whose columns are found as by :func:`find_columns`; .npy files need no names.

    Raises
    ------
    RowsError
        As :func:`find_columns` and :func:`fermiclass.rows.open_rows`.
    """
    if holds_arrays(Path(path)):
        rows = open_rows(path, features, uncertainties=uncertainties, label=label)
        has_errors = (Path(path) / "X_var.npy").exists()
        noise = [f"{UNCERTAINTY_PREFIX}{name}" if has_errors else None for name in rows.feature_names]
        return rows, Columns.of(rows.feature_names, noise, DEFAULT_LABEL)
    columns = find_columns(path, features, uncertainties=uncertainties, label=label, hdu=hdu)
    opened = open_rows(path, columns.features, uncertainties=columns.uncertainties, label=columns.label, hdu=hdu)
    return opened, columns


def train_rows(
    rows: Rows,
    columns: Columns,
    estimator: NIMGPClassifier,
    *,
    source: str = "",
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[TrainingState], None] | None = None,
) -> RowsModel:
    """Train on rows, as :meth:`fermiclass.NIMGPClassifier.fit_rows`; the estimator is copied, not changed.

    Raises
    ------
    RowsError, ValueError
        As :func:`fermiclass.streaming.fit_rows`.
    """
    from sklearn.base import clone

    from fermiclass.pipeline import versions

    fitted = clone(estimator).fit_rows(rows, checkpoint=checkpoint, progress=progress)
    return RowsModel(fitted, columns, {"rows": source, "num_rows": rows.num_rows, "versions": versions()})
