"""Labels of more rows than memory holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.catalog.classes import MOST_LETTERS
from fermiclass.errors import OutputError, RowsError
from fermiclass.io.prediction_columns import add_domain, add_prediction
from fermiclass.rows.chunk import RowReader
from fermiclass.rows.writers import open_writer

if TYPE_CHECKING:
    from astropy.table import Table
    from distributed import Client

    from fermiclass.nimgp.domain import TrainingDomain
    from fermiclass.nimgp.estimators.classifier import NIMGPClassifier
    from fermiclass.nimgp.prediction.predictor import Prediction


def predict_rows(
    estimator: NIMGPClassifier,
    rows: RowReader,
    path: str | os.PathLike[str],
    *,
    block_rows: int = 65536,
    domain: TrainingDomain | None = None,
    client: Client | None = None,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Label rows one block at a time, and append the labels to a file.

    Parameters
    ----------
    estimator
        The fitted classifier.
    rows
        Any number of rows.
    path
        File, ``.parquet`` or ``.fits``, with one row for each row: the kept columns, and ``P_<class>``,
        ``Unc_P_<class>``, ``PRED_CLASS``, ``P_MAX``, ``ENTROPY``, ``INFORMATION`` and ``NOISE_ENTROPY`` of the label
        table.
    block_rows
        Number of rows in memory at a time.
    domain
        Training rows; with them there are also ``OOD_SCORE`` and ``LABEL_FLAGS``.
    client
        Client of a Dask cluster. Each of its workers labels a block, and must be able to read the rows.
    progress
        Called with the number of rows done.

    Raises
    ------
    RowsError
        When rows cannot be read, their features are not those of the classifier, columns cannot be named after the
        classes, or a kept column has the name of a result.
    OutputError
        When the file cannot be written; nothing is left behind.
    """
    spans = [(a, min(a + block_rows, rows.num_rows)) for a in range(0, rows.num_rows, block_rows)]
    learned = getattr(estimator, "row_features_", rows.feature_names)
    if learned != rows.feature_names:
        raise RowsError(
            f"the classifier learned from {', '.join(learned)}, these rows have {', '.join(rows.feature_names)}"
        )
    template = _template(estimator, rows, domain, os.fspath(path))
    with open_writer(path, template, num_rows=rows.num_rows) as writer:
        for (_, stop), table in zip(spans, _labelled(estimator, rows, domain, spans, client), strict=True):
            writer.write(table)
            if progress is not None:
                progress(stop)


def check_classes(classes: Sequence[Any]) -> None:
    """Check that labels of these classes can be written and saved.

    Raises
    ------
    RowsError
        When a class is a truth value, has too long a name or letters that cannot be printed, or when the columns of two
        have the same name but for case, as FITS reads them, or that of ``P_MAX``.
    """
    folded = {"max": "P_MAX"}
    for name in classes:
        text = str(name)
        found = repr(text[:MOST_LETTERS]) + "..." * (len(text) > MOST_LETTERS)
        problems = (
            (isinstance(name, bool), "is a truth value: give texts or whole numbers"),
            (len(text) > MOST_LETTERS, f"has {len(text)} letters, expected up to {MOST_LETTERS}: shorten it"),
            (not text.isprintable(), "has letters that cannot be printed: rename it"),
            (text.lower() in folded, f"and {folded.get(text.lower())} name the same column: rename the class"),
        )
        for is_so, what in problems:
            if is_so:
                raise RowsError(f"the class {found} {what}")
        folded[text.lower()] = found


def label_block(
    estimator: NIMGPClassifier, rows: RowReader, domain: TrainingDomain | None, span: tuple[int, int]
) -> Table:
    """Return the label table of rows `span[0]` to `span[1]` − 1."""
    chunk = rows.read(*span)
    table = _table(estimator, chunk.kept, estimator.predict_distribution(chunk.X, X_var=chunk.X_var))
    if domain is not None:
        add_domain(table, domain.score(chunk.X.astype(np.float64), chunk.X_var.astype(np.float64)), 0)
    return table


def _template(estimator: NIMGPClassifier, rows: RowReader, domain: TrainingDomain | None, path: str) -> Table:
    from fermiclass.nimgp.prediction.predictor import Prediction

    check_classes([str(name) for name in estimator.classes_])
    # One row, because no rows have no most probable class.
    one = np.full((1, len(estimator.classes_)), 1.0)
    template = _table(estimator, {}, Prediction(one, one, *np.zeros((3, 1))))[:0]
    if domain is not None:
        add_domain(template, np.empty(0), 0)
    kept = rows.read(0, 0).kept
    results = {name.lower() for name in template.colnames}  # FITS does not tell cases apart
    both = sorted(name for name in kept if name.lower() in results)
    if both:
        raise RowsError(f"kept columns have names of results: {', '.join(both)}. Rename them, or leave them out.")
    no_width = [name for name, values in kept.items() if values.dtype == "<U1"]
    if no_width and not path.lower().endswith(".parquet"):
        raise OutputError(
            f"'{path}' needs the width of texts in advance, which is unknown for {', '.join(no_width)}. "
            "Write a .parquet file."
        )
    for k, (name, values) in enumerate(kept.items()):
        template.add_column(values, name=name, index=k)
    return template


def _table(estimator: NIMGPClassifier, kept: Mapping[str, np.ndarray], prediction: Prediction) -> Table:
    from astropy.table import Table

    table = Table(dict(kept))
    add_prediction(table, [str(name) for name in estimator.classes_], prediction)
    return table


def _labelled(
    estimator: NIMGPClassifier,
    rows: RowReader,
    domain: TrainingDomain | None,
    spans: list[tuple[int, int]],
    client: Any,
) -> Iterator[Any]:
    """Yield label tables in order. On a cluster, two blocks for each thread are in progress at a time."""
    if client is None:
        yield from (label_block(estimator, rows, domain, span) for span in spans)
        return
    shared, opened, known = client.scatter([estimator, rows, domain], broadcast=True)
    ahead = 2 * max(1, sum(client.nthreads().values()))
    waiting: list[Any] = []
    for span in spans:
        waiting.append(client.submit(label_block, shared, opened, known, span, pure=False))
        if len(waiting) >= ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()
