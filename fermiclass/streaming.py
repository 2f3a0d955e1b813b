"""Training and labelling with more rows than memory holds: estimators and rows on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from fermiclass.errors import OutputError, RowsError
from fermiclass.estimator_settings import (
    TEMPERATURE,
    check_parameters,
    forget,
    input_prior,
    model_settings,
    num_inducing_points,
    scale_of,
    standardise,
    takes_expected_inputs,
    tensor_type,
    training_settings,
    written_prior,
)
from fermiclass.files import check_place
from fermiclass.nimgp.inducing import initial_inducing_points
from fermiclass.nimgp.names import PER_SOURCE
from fermiclass.rows import Chunk, Rows, open_writer, sample, shuffled_minibatches, summarise

if TYPE_CHECKING:
    from astropy.table import Table
    from distributed import Client

    from fermiclass.estimators import NIMGPClassifier
    from fermiclass.nimgp.prediction import Prediction
    from fermiclass.nimgp.training import TrainingState

BATCH_SIZE = 1024  # where the estimator says that all rows are in every step
_SAMPLE = 20_000  # rows that inducing points and p(x) are chosen from


def fit_rows(
    estimator: NIMGPClassifier,
    rows: Rows,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[TrainingState], None] | None = None,
) -> NIMGPClassifier:
    """Train on rows that are read as they are needed; memory does not grow with their number.

    One pass finds their mean, spread and classes; another draws the rows that inducing points and p(x) are chosen from;
    then come shuffled minibatches of `batch_size` rows, 1,024 if that is None.

    Parameters
    ----------
    estimator
        Its method must not keep anything for every source: not 'nimgp', 'nimgp-psi' or 'mgp-aug'.
    rows
        With labels; see :func:`fermiclass.rows.open_rows`.
    checkpoint
        A file, ``.npz``, that training is kept in once a minute and when it is broken off. If it is there, training
        goes on from it and ends as it would have without the interruption; `random_state` must be a whole number.
    progress
        Called with the state of training every few steps.

    Returns
    -------
    NIMGPClassifier
        The estimator, fitted.

    Raises
    ------
    ValueError
        When the method does not do, or the checkpoint is of another training.
    RowsError
        When rows cannot be read, or have no labels or only one class.
    """
    check_parameters(estimator)
    settings = model_settings(estimator)
    if estimator.method in PER_SOURCE:
        raise ValueError(
            f"method={estimator.method!r} keeps something for every source in memory: choose 'nimgp-nn', 'nimgp-fo', "
            "'nimgp-fo-marginal', 'mgp' or 'mgp-sampling'"
        )
    if takes_expected_inputs(estimator):
        raise ValueError(
            f"input_prior={estimator.input_prior!r} is not for {estimator.method!r} with rows on disk: choose "
            "'isotropic', or the method 'nimgp-nn'"
        )
    if checkpoint is not None:
        check_place(checkpoint)
        if not isinstance(estimator.random_state, Integral):
            raise ValueError("a training that may be resumed needs a whole number as random_state")
    if not isinstance(estimator.temperature, float | int):
        raise ValueError("temperature='folds' needs the rows in memory: give a number")
    summary = summarise(rows)
    if summary.classes is None or len(summary.classes) < 2:
        found = "no labels" if summary.classes is None else "only 1 class"
        raise RowsError(f"a classifier needs rows of at least two classes; found {found}")
    forget(estimator)
    estimator.n_features_in_ = len(rows.feature_names)
    estimator.row_features_ = rows.feature_names
    estimator.classes_ = summary.classes
    estimator.mean_, estimator.scale_ = summary.mean, scale_of(summary.mean, summary.std)
    seed = int(check_random_state(estimator.random_state).randint(2**31 - 1))
    X, X_var, _ = _numbers(estimator, sample(rows, _SAMPLE, seed=seed))
    num_inducing = num_inducing_points(estimator, summary.num_labelled)
    Z = initial_inducing_points(X, num_inducing, estimator.inducing, np.random.default_rng(seed))
    prior = input_prior(estimator, X, X_var, seed)

    from fermiclass.nimgp.build import build_model, weights_of
    from fermiclass.nimgp.checkpoints import Checkpoint
    from fermiclass.nimgp.feeds import StreamedData
    from fermiclass.nimgp.training import train

    batch_size = min(estimator.batch_size or BATCH_SIZE, summary.num_labelled)
    model = build_model(
        settings,
        Z,
        num_data=summary.num_labelled,
        num_classes=len(summary.classes),
        input_priors=[prior],
        seed=seed,
        dtype=tensor_type(estimator.precision),
    )

    def minibatches(first: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        for chunk in shuffled_minibatches(rows, batch_size, seed=seed, first=first):
            yield _numbers(estimator, chunk)

    schedule = training_settings(estimator, summary.num_labelled, seed, batch_size=batch_size)
    kept: Checkpoint | None = None
    if checkpoint is not None:
        about = {
            **estimator.get_params(),
            "features": rows.feature_names,
            "rows": summary.num_labelled,
            "classes": estimator.classes_.tolist(),
            "mean": summary.mean.tolist(),
            "std": summary.std.tolist(),
        }
        kept = Checkpoint(Path(checkpoint), about)
    with kept or nullcontext():
        for state in train(model, StreamedData(minibatches), schedule, checkpoint=kept):
            history = state.history
            if progress is not None:
                progress(state)
    estimator.elbo_ = history.astype(np.float64)
    temperature = {TEMPERATURE: np.array(float(estimator.temperature))}
    return estimator.restore(weights_of(model) | written_prior(prior) | temperature)


def _numbers(estimator: NIMGPClassifier, chunk: Chunk) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return standardised inputs, their variances, and labels 0 … C − 1."""
    y = np.zeros(len(chunk.X), int) if chunk.y is None else np.searchsorted(estimator.classes_, chunk.y)
    return (*standardise(estimator, chunk.X.astype(np.float64), chunk.X_var.astype(np.float64)), y)


def predict_rows(
    estimator: NIMGPClassifier,
    rows: Rows,
    path: str | os.PathLike[str],
    *,
    block_rows: int = 65536,
    client: Client | None = None,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Label rows a block at a time, to a file that grows.

    Parameters
    ----------
    estimator
        Fitted.
    rows
        Any number, in the file's order.
    path
        ``.parquet`` or ``.fits``: a row for each row, with the columns that the rows keep, and ``P_<class>``,
        ``Unc_P_<class>``, ``PRED_CLASS``, ``P_MAX``, ``ENTROPY``, ``INFORMATION`` and ``NOISE_ENTROPY`` of the label
        table.
    block_rows
        Rows in memory at a time.
    client
        Of a Dask cluster, whose workers label a block each; they must be able to read the rows.
    progress
        Called with the number of rows done.

    Raises
    ------
    RowsError
        When rows cannot be read, have other features than those that were learned from, or a column that they keep has
        the name of a result.
    OutputError
        When the file cannot be written; nothing is left behind.
    """
    spans = [(a, min(a + block_rows, rows.num_rows)) for a in range(0, rows.num_rows, block_rows)]
    learned = getattr(estimator, "row_features_", rows.feature_names)
    if learned != rows.feature_names:
        raise RowsError(
            f"the classifier learned from {', '.join(learned)}, these rows have {', '.join(rows.feature_names)}"
        )
    template = _template(estimator, rows, os.fspath(path))
    with open_writer(path, template, num_rows=rows.num_rows) as writer:
        for (_, stop), table in zip(spans, _labelled(estimator, rows, spans, client), strict=True):
            writer.write(table)
            if progress is not None:
                progress(stop)


def label_block(estimator: NIMGPClassifier, rows: Rows, span: tuple[int, int]) -> Table:
    """Return the label table of rows `span[0]` to `span[1]` − 1."""
    chunk = rows.read(*span)
    return _table(estimator, chunk.kept, estimator.predict_distribution(chunk.X, X_var=chunk.X_var))


def _template(estimator: NIMGPClassifier, rows: Rows, path: str) -> Table:
    from fermiclass.nimgp.prediction import Prediction

    # One row, as no rows have no most probable class.
    one = np.full((1, len(estimator.classes_)), 1.0)
    template = _table(estimator, {}, Prediction(one, one, *np.zeros((3, 1))))[:0]
    kept = rows.read(0, 0).kept
    both = sorted(kept.keys() & set(template.colnames))
    if both:
        raise RowsError(f"columns to be kept have names of the results: {', '.join(both)}. Rename them, or leave out.")
    no_width = [name for name, values in kept.items() if values.dtype == "<U1"]
    if no_width and not path.lower().endswith(".parquet"):
        raise OutputError(
            f"'{path}' needs the width of its texts beforehand, which is not known of {', '.join(no_width)}. "
            "Write a .parquet file."
        )
    for k, (name, values) in enumerate(kept.items()):
        template.add_column(values, name=name, index=k)
    return template


def _table(estimator: NIMGPClassifier, kept: Mapping[str, np.ndarray], prediction: Prediction) -> Table:
    from astropy.table import Table

    from fermiclass.labels import add_prediction

    table = Table(dict(kept))
    add_prediction(table, [str(name) for name in estimator.classes_], prediction)
    return table


def _labelled(estimator: NIMGPClassifier, rows: Rows, spans: list[tuple[int, int]], client: Any) -> Iterator[Any]:
    """Label tables in order; on a cluster, two blocks for each thread of a worker are under way at a time."""
    if client is None:
        yield from (label_block(estimator, rows, span) for span in spans)
        return
    shared, opened = client.scatter([estimator, rows], broadcast=True)
    ahead = 2 * max(1, sum(client.nthreads().values()))
    waiting: list[Any] = []
    for span in spans:
        waiting.append(client.submit(label_block, shared, opened, span, pure=False))
        if len(waiting) >= ahead:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()
