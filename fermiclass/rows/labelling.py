"""Labels of more rows than memory holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.errors import OutputError, RowsError
from fermiclass.io.prediction_columns import add_domain, add_prediction
from fermiclass.rows.chunk import Chunk, Rows
from fermiclass.rows.rows_model import RowsModel, check_classes
from fermiclass.rows.writers import open_writer

if TYPE_CHECKING:
    from astropy.table import Table
    from distributed import Client


def predict_rows(
    model: RowsModel,
    rows: Rows,
    path: str | os.PathLike[str],
    *,
    block_rows: int = 65536,
    client: Client | None = None,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Label rows one block at a time, and append the labels to a file.

    Parameters
    ----------
    model
        The model, as :func:`fermiclass.fit_rows` returns it.
    rows
        Any number of rows with the features of the training.
    path
        File, ``.parquet`` or ``.fits``, with one row for each row: the kept columns, and ``P_<class>``,
        ``Unc_P_<class>``, ``PRED_CLASS``, ``P_MAX``, ``ENTROPY``, ``INFORMATION``, ``NOISE_ENTROPY``, ``OOD_SCORE`` and
        ``LABEL_FLAGS`` of the label table.
    block_rows
        Number of rows in memory at a time.
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
    learned, found = model.columns.features, rows.columns.features
    if learned != found:
        raise RowsError(f"the classifier learned from {', '.join(learned)}, these rows have {', '.join(found)}")
    spans = [(a, min(a + block_rows, rows.num_rows)) for a in range(0, rows.num_rows, block_rows)]
    with open_writer(path, _template(model, rows, os.fspath(path)), num_rows=rows.num_rows) as writer:
        for (_, stop), table in zip(spans, _labelled(model, rows, spans, client), strict=True):
            writer.write(table)
            if progress is not None:
                progress(stop)


def label_block(model: RowsModel, rows: Rows, span: tuple[int, int]) -> Table:
    """Return the label table of rows `span[0]` to `span[1]` − 1."""
    chunk = rows.read(*span)
    return _table(model, chunk, model.estimator.predict_distribution(chunk.X, X_var=chunk.X_var))


def _template(model: RowsModel, rows: Rows, path: str) -> Table:
    """Return a label table without rows."""
    from fermiclass.nimgp.prediction.predictor import Prediction

    check_classes([str(name) for name in model.estimator.classes_])
    D, C = len(model.columns.features), len(model.estimator.classes_)
    # One row, because no rows have no most probable class.
    one = np.ones((1, C))
    template = _table(model, Chunk(np.zeros((1, D)), np.zeros((1, D)), None), Prediction(one, one, *np.zeros((3, 1))))
    template = template[:0]
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


def _table(model: RowsModel, chunk: Chunk, prediction: Any) -> Table:
    from astropy.table import Table

    table = Table(dict(chunk.kept))
    add_prediction(table, [str(name) for name in model.estimator.classes_], prediction)
    if model.domain is not None:
        add_domain(table, model.domain.score(chunk.X, chunk.X_var), 0)
    return table


def _labelled(model: RowsModel, rows: Rows, spans: list[tuple[int, int]], client: Any) -> Iterator[Any]:
    """Yield label tables in order. On a cluster, two blocks for each thread are in progress at a time."""
    if client is None:
        yield from (label_block(model, rows, span) for span in spans)
        return
    shared, opened = client.scatter([model, rows], broadcast=True)
    ahead = 2 * max(1, sum(client.nthreads().values()))
    waiting: list[Any] = []
    for span in spans:
        waiting.append(client.submit(label_block, shared, opened, span, pure=False))
        if len(waiting) >= ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()
