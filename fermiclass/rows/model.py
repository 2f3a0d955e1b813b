"""A classifier of rows on disk, with its columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.errors import RowsError
from fermiclass.nimgp.domain import TrainingDomain
from fermiclass.rows import Rows, open_rows
from fermiclass.rows.columns import Columns
from fermiclass.rows.opening import column_names, holds_arrays
from fermiclass.rows.summary import sample, summarise

if TYPE_CHECKING:
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
    from fermiclass.nimgp.training.loop import TrainingState

#: Prefix of the column with a feature's standard deviation, as in the catalogue.
UNCERTAINTY_PREFIX = "Unc_"
#: Column of the label in the feature tables that ``fermiclass features`` writes.
DEFAULT_LABEL = "CLASS"
#: Rows that others are compared with: more would cost more time for each row than its label.
_DOMAIN_ROWS = 2000


@dataclass(frozen=True)
class RowsProvenance:
    """Training rows of a model.

    Attributes
    ----------
    rows, num_rows
        File of the training rows, and the number of those with a label.
    versions
        Versions of the packages.
    """

    rows: str = ""
    num_rows: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RowsModel:
    """A classifier that labels rows in files of any size.

    Attributes
    ----------
    estimator
        The fitted classifier.
    columns
        Columns of features, uncertainties and label.
    provenance
        Training file, its number of rows with a label, and versions of the packages.
    domain
        A sample of the training rows, which others are compared with; None in models of earlier versions.
    """

    estimator: NIMGPClassifier
    columns: Columns
    provenance: RowsProvenance = field(default_factory=RowsProvenance)
    domain: TrainingDomain | None = None

    def open(self, path: str | os.PathLike[str], *, keep: Sequence[str] = (), hdu: int | str = 1) -> Rows:
        """Open rows to be labelled; they need no labels.

        Parameters
        ----------
        path, hdu
            As for :func:`fermiclass.rows.open_rows`. A table needs the columns of the features and uncertainties.
        keep
            Columns to copy into the results.

        Raises
        ------
        RowsError
            As for :func:`fermiclass.rows.open_rows`; also when arrays have another number of columns.
        """
        if holds_arrays(Path(path)):
            return open_rows(path, self.columns.features, keep=keep)
        return open_rows(path, self.columns.features, uncertainties=self.columns.uncertainties, keep=keep, hdu=hdu)

    def label(self, rows: Rows, path: str | os.PathLike[str], **options: Any) -> None:
        """Label rows, and append the labels to a file; see :func:`fermiclass.rows.labelling.predict_rows`."""
        self.estimator.predict_rows(rows, path, domain=self.domain, **options)


def find_columns(
    path: str | os.PathLike[str],
    features: Sequence[str] | None = None,
    *,
    uncertainties: Sequence[str | None] | None = None,
    label: str | None = None,
    hdu: int | str = 1,
) -> Columns:
    """Return the roles of a table's columns. Roles that are not given follow from the names.

    A column is a feature if there is a column of the same name with `UNCERTAINTY_PREFIX`, which has its standard
    deviations. The label is the column `DEFAULT_LABEL`.

    Parameters
    ----------
    path, hdu
        A Parquet or FITS table.
    features, uncertainties, label
        Columns that do not follow from the names. By default, a feature without such a column has no error.

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
                f"'{path}' has no pair of columns such as LP_Index and Unc_LP_Index, so the features are unknown. "
                "Name them (--features)."
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
    """Open training rows, with the columns that :func:`find_columns` finds. Columns of .npy files have no names.

    Raises
    ------
    RowsError
        As for :func:`find_columns` and :func:`fermiclass.rows.open_rows`.
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
    """Train a copy of the estimator on rows; see :meth:`fermiclass.NIMGPClassifier.fit_rows`.

    Raises
    ------
    RowsError, ValueError
        As for :func:`fermiclass.rows.fitting.train_on_rows`.
    """
    from sklearn.base import clone

    from fermiclass.io.versions import versions

    fitted = clone(estimator).fit_rows(rows, checkpoint=checkpoint, progress=progress)
    provenance = RowsProvenance(source, summarise(rows).num_labelled, versions())
    return RowsModel(fitted, columns, provenance, _domain(rows, fitted))


def _domain(rows: Rows, fitted: NIMGPClassifier) -> TrainingDomain:
    chunk = sample(rows, _DOMAIN_ROWS, seed=0)
    y = np.asarray(chunk.y)
    known = np.isin(y, fitted.classes_)  # not those that stand for several classes
    X, X_var = (np.asarray(values[known], np.float64) for values in (chunk.X, chunk.X_var))
    return TrainingDomain.fit(X, X_var, y[known])
