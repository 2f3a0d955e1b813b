"""Training on minibatches from a stream, of rows that memory need not hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from fermiclass.nimgp.arrays import scale_of
from fermiclass.nimgp.errors import LabelsError
from fermiclass.nimgp.estimators.fitted import Fitted, Scaling
from fermiclass.nimgp.estimators.fitting import Progress, fit_prepared
from fermiclass.nimgp.estimators.preparation import Prepared, inducing_points, input_prior, random_seed
from fermiclass.nimgp.names import PER_SOURCE
from fermiclass.nimgp.quiet import start_tensorflow
from fermiclass.nimgp.settings import Settings
from fermiclass.nimgp.targets import LabelTable

BATCH_SIZE = 1024  #: Number of rows in a step, if the settings do not give one.

#: Inputs, their variances (n, D), and labels (n,), as for `NIMGPClassifier.fit`.
Minibatch = tuple[np.ndarray, np.ndarray, np.ndarray]
#: Given batch size, seed, and the number of the first one: minibatches without end, the same for the same seed.
Minibatches = Callable[[int, int, int], Iterator[Minibatch]]


@dataclass(frozen=True, eq=False)
class StreamStatistics:
    """What has to be known of all rows with a label before training."""

    num_rows: int  #: Number of rows.
    #: Mean and standard deviation of the inputs, ``(D,)``.
    mean: np.ndarray
    std: np.ndarray
    labels: np.ndarray  #: Distinct labels.
    #: Inputs and variances of a random sample, which give inducing points and p(x).
    sample: tuple[np.ndarray, np.ndarray]
    #: Classes of labels that stand for sets, beside those of the settings.
    label_sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Least and largest value of each feature without outliers, ``(2, D)``; None if there are no outliers.
    limits: np.ndarray | None = None
    #: More that must be the same for training to continue from a checkpoint, such as a digest of the rows.
    about: Mapping[str, Any] = field(default_factory=dict)


def check_streamable(settings: Settings, *, checkpoint: bool = False) -> None:
    """Raise ValueError if the settings are not for training on a stream, with or without a checkpoint."""
    if settings.method in PER_SOURCE:
        raise ValueError(
            f"method={settings.method!r} has parameters for every source in memory: choose 'nimgp-nn', 'nimgp-fo', "
            "'nimgp-fo-marginal', 'mgp' or 'mgp-sampling'"
        )
    if settings.expected_inputs:
        raise ValueError(
            f"the prior {settings.inputs.prior!r} is not for {settings.method!r} with rows on disk: choose "
            "'isotropic', or the method 'nimgp-nn'"
        )
    if checkpoint and not isinstance(settings.random_state, Integral):
        raise ValueError("a checkpoint needs a whole number as random_state: give one")


def fit_stream(
    settings: Settings,
    minibatches: Minibatches,
    statistics: StreamStatistics,
    *,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Train on minibatches, in memory that does not grow with the number of rows.

    The training is saved in the checkpoint, ``.npz``, once a minute and when it is interrupted, and goes on from there.
    Raises CheckpointError when it belongs to another training; see also :func:`check_streamable`.
    """
    start_tensorflow()
    from fermiclass.nimgp.training.checkpoints import Checkpoint
    from fermiclass.nimgp.training.loop import StreamedData

    table, weights = _label_table(settings, statistics), settings.label_weights or {}
    scaling = Scaling.of(statistics.mean, scale_of(statistics.mean, statistics.std), statistics.sample[1])
    seed, num_rows = random_seed(settings), statistics.num_rows
    batch_size = min(settings.batch_size if isinstance(settings.batch_size, Integral) else BATCH_SIZE, num_rows)
    low, high = (-np.inf, np.inf) if statistics.limits is None else statistics.limits
    X, X_var = scaling.apply(np.clip(statistics.sample[0], low, high), statistics.sample[1], settings)
    Z, prior = inducing_points(settings, X, num_rows, seed), input_prior(settings, X, X_var, seed)
    prepared = Prepared(settings, table, scaling, X, X_var, Z, prior, num_rows, seed)

    def standardised(first: int) -> Iterator[tuple[np.ndarray, ...]]:
        for X, X_var, y in minibatches(batch_size, seed, first):
            codes = table.codes(y)
            yield (*scaling.apply(np.clip(X, low, high), X_var, settings), codes, table.weights(codes, weights))

    kept: Checkpoint | None = None
    if checkpoint is not None:
        known = {"rows": num_rows, "classes": table.names.tolist()}
        kept = Checkpoint(checkpoint, {**vars(settings), **known, **statistics.about})
    return fit_prepared(prepared, StreamedData(standardised), batch_size=batch_size, checkpoint=kept, progress=progress)


def _label_table(settings: Settings, statistics: StreamStatistics) -> LabelTable:
    """Return the classes that each label stands for."""
    sets = {**statistics.label_sets, **(settings.label_sets or {})}
    try:
        table = LabelTable.of(statistics.labels, sets, statistics.num_rows)
    except ValueError as error:
        raise LabelsError(str(error)) from error
    silent = np.setdiff1d(statistics.labels, table.names)
    if silent.size:
        text = ", ".join(map(str, silent))
        raise LabelsError(f"the labels {text} stand for every class, and have no information: leave these rows out")
    return table
