"""Labels of more rows than memory holds."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from astropy.table import Table
from threadpoolctl import threadpool_limits

from fermiclass.errors import ClusterError, RowsError, in_one_line
from fermiclass.io import FloatArray
from fermiclass.labelling.prediction_columns import add_domain, add_prediction
from fermiclass.nimgp.prediction.prediction import Prediction, join
from fermiclass.rows.chunk import Chunk, Rows
from fermiclass.rows.parquet import parquet_writer
from fermiclass.rows.rows_model import RowsModel, check_classes

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_SECONDS, _WORKER_SECONDS = 10, 30
_PART = 4096  # rows that a thread labels at a time


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
        File ``.parquet``, with one row for each row: the kept columns, and those of the label table from ``P_<class>``
        to ``NOISE_ENTROPY``, ``OOD_SCORE`` and ``LABEL_FLAGS``.
    block_rows
        Number of rows in memory at a time.
    client
        Client of a Dask cluster. Each of its workers labels a block, and must be able to read the rows.
    progress
        Called with the number of rows done.

    Raises
    ------
    RowsError
        When rows cannot be read, lack features or error bars of the training, or keep a column with the name of a
        result; or columns cannot be named after the classes.
    ClusterError
        When the cluster loses its workers or its scheduler, or its workers run TensorFlow with other settings.
    OutputError
        When the file cannot be written.
    """
    learned, found = model.columns.features, rows.columns.features
    if learned != found:
        raise RowsError(f"the classifier learned from {', '.join(learned)}, these rows have {', '.join(found)}")
    both = zip(learned, model.columns.uncertainties, rows.columns.uncertainties, strict=True)
    if exact := [name for name, noise, given in both if noise is not None and given is None]:
        raise RowsError(
            f"the classifier learned from error bars of {', '.join(exact)}, which '{rows.source}' lacks: give them, in "
            "X_var.npy beside X.npy and the folder as the input, or variances of 0 for exact values"
        )
    spans = [(a, min(a + block_rows, rows.num_rows)) for a in range(0, rows.num_rows, block_rows)]
    with parquet_writer(path, _template(model, rows)) as write:
        for (_, stop), table in zip(spans, _labelled(model, rows, spans, client), strict=True):
            write(table)
            if progress is not None:
                progress(stop)


def label_block(model: RowsModel, rows: Rows, span: tuple[int, int]) -> Table:
    """Return the label table of rows `span[0]` to `span[1]` − 1."""
    chunk = rows.read(*span)

    def label(part: slice) -> tuple[Prediction, FloatArray | None]:
        X, X_var = chunk.X[part], chunk.X_var[part]
        return join(list(model.fitted.blocks(X, X_var))), None if domain is None else domain.score(X, X_var)

    domain = model.domain
    first, *others = (slice(start, start + _PART) for start in range(0, len(chunk.X), _PART))
    with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [label(first), *pool.map(label, others)]  # the first makes what is made once
    predictions, scores = zip(*found, strict=True)
    return _table(model, chunk, join(predictions), None if domain is None else np.concatenate(scores))


def _template(model: RowsModel, rows: Rows) -> Table:
    """Return a label table without rows."""
    classes = [str(name) for name in model.fitted.target.classes]
    check_classes(classes)
    none, nothing = np.empty((0, len(classes))), rows.read(0, 0)
    prediction, score = Prediction(none, none, *np.empty((3, 0))), None if model.domain is None else np.empty(0)
    template = _table(model, nothing._replace(kept={}), prediction, score)
    both = sorted(set(nothing.kept) & set(template.colnames))
    if both:
        raise RowsError(f"kept columns have names of results: {', '.join(both)}. Rename them, or leave them out.")
    for k, (name, values) in enumerate(nothing.kept.items()):
        template.add_column(values, name=name, index=k)
    return template


def _table(model: RowsModel, chunk: Chunk, prediction: Prediction, score: FloatArray | None) -> Table:
    table = Table(dict(chunk.kept))
    add_prediction(table, [str(name) for name in model.fitted.target.classes], prediction)
    if score is not None:
        add_domain(table, score, 0)
    return table


def _labelled(model: RowsModel, rows: Rows, spans: list[tuple[int, int]], client: Any) -> Iterator[Any]:
    """Yield label tables in order. On a cluster, two blocks for each thread are in progress at a time."""
    if client is None:
        yield from (label_block(model, rows, span) for span in spans)
        return
    client.register_plugin(_settings_of_tensorflow())
    shared, opened = client.scatter([model, rows], broadcast=True)
    ahead = 2 * max(1, sum(client.nthreads().values()))
    waiting: list[Any] = []
    for span in spans:
        waiting.append(client.submit(label_block, shared, opened, span, pure=False))
        if len(waiting) >= ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def _settings_of_tensorflow() -> Any:
    """Return a plugin that gives workers the settings of TensorFlow here, so that they label alike to the last bit."""
    distributed: Any = import_module("distributed")
    settings = {name: os.environ.get(name) for name in ("TF_ENABLE_ONEDNN_OPTS", "TF_NUM_INTRAOP_THREADS")}

    class SettingsOfTensorFlow(distributed.WorkerPlugin):
        name = "fermiclass"

        def setup(self, worker: Any) -> None:
            differ = [name for name, value in settings.items() if os.environ.get(name) != value]
            if differ and "tensorflow" in sys.modules:
                raise ClusterError(
                    f"the Dask worker {worker.address} has TensorFlow with other settings ({', '.join(differ)}), and "
                    "would label otherwise: start it again"
                )
            for name in differ:
                os.environ.pop(name, None)
            os.environ.update({name: value for name, value in settings.items() if value is not None})

    return SettingsOfTensorFlow()


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield a client of the Dask scheduler at ``address`` when it has a worker. Raises ClusterError."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise ClusterError(
            "--dask needs the package distributed: pip install '.[dask]' in the folder of the clone"
        ) from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it shows tracebacks of what is said below
    try:
        client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:  # a TimeoutError is an OSError
        raise ClusterError(f"there is no Dask scheduler at '{address}' ({error}): start 'dask scheduler'") from error
    with client, client.as_current():
        try:
            client.wait_for_workers(1, timeout=_WORKER_SECONDS)
        except TimeoutError as error:
            raise ClusterError(
                f"the Dask scheduler at '{address}' has no workers. Start some with 'dask worker {address}'."
            ) from error
        lost = distributed.KilledWorker, CancelledError, distributed.comm.CommClosedError
        try:
            yield client
        except lost as error:
            raise ClusterError(
                f"the Dask cluster lost its workers or its scheduler ({in_one_line(error)}): start them again, with "
                "more memory, or give smaller blocks (--block-rows)"
            ) from error
