"""Training with more rows than memory holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fermiclass.errors import RowsError
from fermiclass.io.files import check_place
from fermiclass.nimgp.estimators.fitting import Problem, Trained, finished, label_table, maximise, random_seed
from fermiclass.nimgp.estimators.scaling import Scaling, scale_of
from fermiclass.nimgp.estimators.start import inducing_points, input_prior, schedule, takes_expected_inputs
from fermiclass.nimgp.label_sets import format_label_sets, parse_label_sets
from fermiclass.nimgp.labels import LabelTable
from fermiclass.nimgp.names import PER_SOURCE
from fermiclass.nimgp.settings import FOLDS, Settings
from fermiclass.rows.chunk import Chunk, RowReader
from fermiclass.rows.labelling import check_classes
from fermiclass.rows.minibatches import shuffled_minibatches
from fermiclass.rows.summary import Summary, sample, summarise

if TYPE_CHECKING:
    from fermiclass.nimgp.training.loop import TrainingState

#: Number of rows in a step, if the settings do not give one.
BATCH_SIZE = 1024
_SAMPLE = 20_000  # number of rows that give inducing points and p(x)


def train_on_rows(
    settings: Settings,
    rows: RowReader,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[TrainingState], None] | None = None,
) -> Trained:
    """Train on rows that are read when they are needed. Memory does not grow with their number.

    The first pass finds mean, spread and classes. The second draws a sample, which gives inducing points and p(x). Then
    training uses shuffled minibatches of `batch_size` rows, or 1,024 rows if it is None.

    Parameters
    ----------
    settings
        The methods 'nimgp', 'nimgp-psi' and 'mgp-aug' cannot be used: they have parameters for every source.
    rows
        Rows with labels; see :func:`fermiclass.rows.open_rows`. A label such as ``bll|fsrq`` stands for either class,
        if other rows have these classes.
    checkpoint
        File, ``.npz``, in which the training is saved once a minute and when it is interrupted. If the file exists,
        training continues from it, with the same result as without the interruption. `random_state` must be a whole
        number, and settings, features, error bars and labels must be the same.
    progress
        Called with the state of training every few steps.

    Raises
    ------
    ValueError
        When the method cannot be used, or the checkpoint belongs to another training.
    RowsError
        When rows cannot be read, have no labels or only one class, or columns cannot be named after their classes.
    """
    _check(settings, checkpoint)
    summary = summarise(rows)
    settings = _with_joined_labels(settings, summary)
    table = _table(settings, summary)
    check_classes(table.classes.tolist())
    scaling, seed = Scaling(summary.mean, scale_of(summary.mean, summary.std)), random_seed(settings)

    def numbers(chunk: Chunk) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return standardised inputs, their variances, and labels 0 … C − 1."""
        y = np.zeros(len(chunk.X), int) if chunk.y is None else table.codes(chunk.y)
        return (*scaling.apply(chunk.X.astype(np.float64), chunk.X_var.astype(np.float64), settings), y)

    X, X_var, labels = numbers(sample(rows, _SAMPLE, seed=seed))
    Z = inducing_points(settings, X, summary.num_labelled, seed)
    prior = input_prior(settings, X, X_var, seed)
    problem = Problem(settings, table, scaling, X, X_var, labels, Z, prior, seed, float(settings.temperature))

    from fermiclass.nimgp.build import build_model, type_of
    from fermiclass.nimgp.training.checkpoints import Checkpoint
    from fermiclass.nimgp.training.feeds import StreamedData

    batch_size = min(settings.batch_size or BATCH_SIZE, summary.num_labelled)
    model = build_model(
        settings,
        Z,
        num_data=summary.num_labelled,
        num_classes=len(table.classes),
        input_priors=[prior],
        seed=seed,
        dtype=type_of(settings),
        labels=table,
    )

    def minibatches(first: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        for chunk in shuffled_minibatches(rows, batch_size, seed=seed, first=first):
            yield numbers(chunk)

    kept: Checkpoint | None = None
    if checkpoint is not None:
        about = {
            **vars(settings),
            "features": rows.feature_names,
            "rows": summary.num_labelled,
            "classes": table.names.tolist(),
            "contents": summary.contents,
        }
        kept = Checkpoint(Path(checkpoint), about)
    weights, trace = maximise(
        model,
        StreamedData(minibatches),
        schedule(settings, summary.num_labelled, seed, batch_size=batch_size),
        checkpoint=kept,
        progress=progress,
    )
    return finished(problem, weights, trace)


def _check(settings: Settings, checkpoint: str | os.PathLike[str] | None) -> None:
    """Check that the settings can be used with rows on disk."""
    if settings.method in PER_SOURCE:
        raise ValueError(
            f"method={settings.method!r} has parameters for every source in memory: choose 'nimgp-nn', 'nimgp-fo', "
            "'nimgp-fo-marginal', 'mgp' or 'mgp-sampling'"
        )
    if takes_expected_inputs(settings):
        raise ValueError(
            f"input_prior={settings.input_prior!r} is not for {settings.method!r} with rows on disk: choose "
            "'isotropic', or the method 'nimgp-nn'"
        )
    if checkpoint is not None:
        check_place(checkpoint)
        if not isinstance(settings.random_state, Integral):
            raise ValueError("a checkpoint needs a whole number as random_state: give one")
    if settings.temperature == FOLDS:
        raise ValueError("temperature='folds' needs the rows in memory: give a number")


def _with_joined_labels(settings: Settings, summary: Summary) -> Settings:
    """Return settings in which a label such as ``bll|fsrq`` stands for either class, if other rows have both.

    ``fermiclass features`` writes such labels. Sets in the settings have priority.
    """
    labels = {str(label) for label in (() if summary.classes is None else summary.classes)}
    joined = {label: tuple(label.split("|")) for label in sorted(labels) if "|" in label}
    sets = {label: parts for label, parts in joined.items() if labels.issuperset(parts)}
    sets |= parse_label_sets(settings.label_sets)
    return replace(settings, label_sets=format_label_sets(sets))


def _table(settings: Settings, summary: Summary) -> LabelTable:
    """Return the classes that each label stands for."""
    if summary.classes is None:
        raise RowsError("a classifier needs rows of at least two classes; found no labels")
    try:
        table = label_table(settings, summary.classes)
    except ValueError as error:
        raise RowsError(str(error)) from error
    if not np.all(table.says_something()):
        silent = ", ".join(map(str, table.names[~table.says_something()]))
        raise RowsError(f"the labels {silent} stand for every class, so they have no information: leave these rows out")
    return table
