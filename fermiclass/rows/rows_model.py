"""Training on rows: a classifier with its columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.catalog.classes import MOST_LETTERS
from fermiclass.errors import RowsError
from fermiclass.io.files import check_place
from fermiclass.io.plain import typed, versions
from fermiclass.nimgp.arrays import usual_range, warn_of_outliers
from fermiclass.nimgp.domain import TrainingDomain
from fermiclass.rows.chunk import Columns, Rows
from fermiclass.rows.opening import ArrayRows, open_rows, reader_of
from fermiclass.rows.passes import RowStatistics, row_statistics, shuffled_minibatches

if TYPE_CHECKING:
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
    from fermiclass.nimgp.estimators.fitted import Fitted
    from fermiclass.nimgp.training.loop import TrainingState

_SAMPLE_ROWS = 20_000  # rows that give inducing points and p(x)
_DOMAIN_ROWS = 2000  # rows that others are compared with: more would cost more time for each row than its label


@dataclass(frozen=True)
class RowsProvenance:
    """Training rows of a model."""

    #: Name of the file of the training rows, without its folder, and the number of those with a label.
    rows: str = ""
    num_rows: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)  #: Versions of the packages.


@dataclass(frozen=True, eq=False)
class RowsModel:
    """A classifier that labels rows in files of any size."""

    fitted: Fitted  #: What was learned, which predicts.
    columns: Columns  #: Columns of features, uncertainties and label.
    provenance: RowsProvenance = field(default_factory=RowsProvenance)
    #: A sample of the training rows, which others are compared with; None for labels without ``OOD_SCORE``.
    domain: TrainingDomain | None = None

    @cached_property
    def estimator(self) -> NIMGPClassifier:
        """The fitted classifier, with the interface of scikit-learn."""
        from fermiclass.nimgp.estimators.classifier import NIMGPClassifier

        return NIMGPClassifier.of(self.fitted)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the D features."""
        return self.columns.features

    def to_entries(self) -> dict[str, Any]:
        """Return what a model folder has beside classifier and domain, as JSON holds it."""
        return {
            "features": list(self.columns.features),
            "uncertainties": list(self.columns.uncertainties),
            "label": self.columns.label,
            "provenance": asdict(self.provenance),
        }

    @classmethod
    def from_entries(cls, entries: Mapping[str, Any], fitted: Fitted, domain: TrainingDomain | None) -> RowsModel:
        """Return the model with the entries of :meth:`to_entries`."""
        columns = typed(Columns, {name: entries[name] for name in ("features", "uncertainties", "label")})
        return cls(fitted, columns, typed(RowsProvenance, entries["provenance"]), domain)

    def open(self, path: str | os.PathLike[str], *, keep: Sequence[str] = (), hdu: int | str = 1) -> Rows:
        """Open rows with the features to be labelled, which need no labels: :func:`fermiclass.open_rows`."""
        noise = None if reader_of(Path(path)) is ArrayRows else self.columns.uncertainties
        return open_rows(path, self.columns.features, uncertainties=noise, keep=keep, hdu=hdu)


def fit_rows(
    estimator: NIMGPClassifier,
    rows: Rows,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[TrainingState], None] | None = None,
) -> RowsModel:
    """Train a copy of a classifier on any number of rows on disk, in memory that does not grow with them.

    One pass finds mean, spread, classes, and a sample for inducing points and p(x). Then shuffled minibatches have
    `batch_size` rows, or 1,024 if it is None.

    Parameters
    ----------
    estimator
        The classifier. The methods 'nimgp' and 'mgp-aug' cannot be used: they have parameters for every source.
    rows
        Rows with labels, as :func:`fermiclass.open_rows` returns them. A label such as ``bll|fsrq`` stands for either
        class, if other rows have these classes.
    checkpoint
        File, ``.npz``, in which the training is saved once a minute and when it is interrupted. If it exists, training
        continues from it, with the same result as without the interruption, if settings and rows are the same and
        `random_state` is a whole number.
    progress
        Called with the state of training every few steps.

    Raises
    ------
    ValueError
        When the method cannot be used, or the checkpoint belongs to another training.
    RowsError
        When rows cannot be read, have no labels or only one class, or columns cannot be named after their classes.
    """
    from fermiclass.nimgp.estimators.preparation import random_seed
    from fermiclass.nimgp.estimators.streams import StreamStatistics, check_streamable, fit_stream
    from fermiclass.nimgp.settings import Settings

    settings = Settings(**estimator.get_params(deep=False))
    check_streamable(settings, checkpoint=checkpoint is not None)
    place = None if checkpoint is None else check_place(checkpoint)
    samples = [(_SAMPLE_ROWS, random_seed(settings)), (_DOMAIN_ROWS, 0)]
    found = row_statistics(rows, samples)
    known = np.concatenate([found.samples[0].X, found.extremes])
    usual, outliers_from = usual_range(known)
    limits = usual if np.any(usual != found.extremes) else None
    if limits is not None:
        found = row_statistics(rows, samples, (limits, outliers_from))
        warn_of_outliers(found.num_outliers, limits[0], limits[1], rows.columns.features)
    if found.labels is None:
        raise RowsError("a classifier needs rows of at least two classes; found no labels")
    joined = _joined_labels(found)
    sets = {*joined, *(settings.label_sets or {})}
    check_classes([label for label in found.labels.tolist() if label not in sets])
    sample, typical = found.samples

    def minibatches(batch_size: int, seed: int, first: int) -> Iterator[tuple[Any, Any, Any]]:
        for chunk in shuffled_minibatches(rows, batch_size, seed=seed, first=first):
            yield chunk.X, chunk.X_var, chunk.y

    statistics = StreamStatistics(
        found.num_labelled,
        found.mean,
        found.std,
        found.labels,
        (sample.X, sample.X_var),
        joined,
        limits,
        {"features": rows.columns.features, "contents": found.digest},
    )
    told = estimator._observer(progress)
    fitted = fit_stream(settings, minibatches, statistics, checkpoint=place, progress=told)
    provenance = RowsProvenance(Path(rows.source).name, found.num_labelled, versions())
    y = np.asarray(typical.y)
    of_one = np.isin(y, fitted.target.classes)  # not those that stand for several classes
    domain = TrainingDomain.fit(typical.X[of_one], typical.X_var[of_one], y[of_one])
    return RowsModel(fitted, rows.columns, provenance, domain)


def check_classes(classes: Sequence[Any]) -> None:
    """Raise RowsError unless the classes give columns ``P_<class>`` that differ by more than case, also from P_MAX."""
    named = {"max": "P_MAX"}
    for name in classes:
        text = str(name)
        if isinstance(name, bool):
            raise RowsError(f"the class {name} is a truth value: give texts or whole numbers")
        if len(text) > MOST_LETTERS or not text.isprintable():
            raise RowsError(f"the class {text!r} cannot be printed in {MOST_LETTERS} letters: rename it")
        if text.lower() in named:
            raise RowsError(f"the class {text!r} and {named[text.lower()]} name the same column: rename the class")
        named[text.lower()] = repr(text)


def _joined_labels(found: RowStatistics) -> dict[str, tuple[str, ...]]:
    """Return the classes of labels such as ``bll|fsrq``, of 'features', if other rows have them."""
    labels = {str(label) for label in (() if found.labels is None else found.labels)}
    joined = {label: tuple(label.split("|")) for label in sorted(labels) if "|" in label}
    return {label: parts for label, parts in joined.items() if labels.issuperset(parts)}
