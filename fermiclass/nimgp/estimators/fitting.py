"""Fitting: from prepared rows to what predicts."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.nimgp.estimators.fitted import Fitted, of_graphs, predictor_of, untrained
from fermiclass.nimgp.estimators.preparation import Prepared, Rows, prepare
from fermiclass.nimgp.names import AVERAGING, PER_SOURCE
from fermiclass.nimgp.quiet import start_tensorflow
from fermiclass.nimgp.settings import AUTO, Settings

if TYPE_CHECKING:
    from fermiclass.nimgp.model import NoisyInputGP
    from fermiclass.nimgp.training.checkpoints import Checkpoint
    from fermiclass.nimgp.training.loop import Data, TrainingState
    from fermiclass.nimgp.training.optimisers import Schedule

BATCH_SIZE = 512  #: Number of sources in a step, with methods that have no parameters for every source.
_FEWEST_STEPS, _PASSES, _MOST_STEPS = 500, 10, 10_000

Progress = Callable[["TrainingState"], None]


def schedule(settings: Settings, num_data: int, seed: int, *, batch_size: int | None = None) -> Schedule:
    """Return the steps of training with `num_data` sources; `batch_size` replaces that of the settings."""
    from fermiclass.nimgp.training.optimisers import Schedule

    size: Any = settings.batch_size if batch_size is None else batch_size
    if size == AUTO:
        size = None if settings.method in PER_SOURCE else BATCH_SIZE
    per_pass = num_data / min(size or num_data, num_data)
    steps: Any = settings.steps
    if steps == AUTO:
        steps = min(max(_FEWEST_STEPS, round(_PASSES * per_pass)), _MOST_STEPS)
    if settings.epochs is not None:
        steps = settings.epochs * ceil(per_pass)  # as in the authors' code, the last batch counts
    options = settings.training
    return Schedule(steps, size, settings.learning_rate, options.decay, options.mean, seed, options.natural_gradient)


def fit_classes(
    settings: Settings, rows: Rows, *, start: Fitted | None = None, progress: Progress | None = None
) -> Fitted:
    """Train on labelled rows; see :meth:`fermiclass.NIMGPClassifier.fit`. Raises ValueError as `check_start`."""
    start_tensorflow()
    from fermiclass.nimgp.training.loop import TrainingData

    if start is not None:
        check_start(settings, rows.target.classes, rows.X.shape[1], start)
    prepared = prepare(settings, rows, start)
    data = TrainingData(prepared.X, prepared.X_var, rows.y, rows.weight)
    return fit_prepared(prepared, data, start=start, progress=progress)


def fit_prepared(
    prepared: Prepared,
    data: Data,
    *,
    batch_size: int | None = None,
    start: Fitted | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Train on standardised rows, from the parameters of `start` if it is given (:func:`check_start`)."""
    from fermiclass.nimgp.model import assign_weights
    from fermiclass.nimgp.training.loop import maximise

    settings = prepared.settings
    options = {"num_data": prepared.num_data, "input_prior": prepared.prior, "seed": prepared.seed}
    model = untrained(settings, prepared.target, prepared.Z, **options)
    if start is not None:
        assign_weights(model, start.parameters)
        _keep_inputs(model, start, prepared)
    steps = schedule(settings, prepared.num_data, prepared.seed, batch_size=batch_size)
    for state in maximise(model, data, steps, checkpoint=checkpoint, alike=_alike(prepared)):
        if progress is not None:
            progress(state)
    return _fitted(prepared, model, state.history)


def _fitted(prepared: Prepared, model: NoisyInputGP, history: np.ndarray) -> Fitted:
    from fermiclass.nimgp.model import weights_of
    from fermiclass.nimgp.modules import parameters_of

    settings, target, prior, parameters = prepared.settings, prepared.target, prepared.prior, weights_of(model)
    predictor = predictor_of(settings, target, prior, parameters, model=model)
    known = settings, target, prepared.scaling, prior, float(settings.temperature)
    found = history.astype(np.float64), parameters, predictor
    return Fitted(*known, *found, prepared.X if parameters_of(model.input_model) else None)


def _alike(prepared: Prepared) -> Hashable:
    """Return all but numbers and shapes by which graphs of training differ, as :func:`of_graphs`."""
    settings, p = prepared.settings, prepared.prior
    known = of_graphs(settings, prepared.target)
    if known is None or settings.method == "mgp-aug":  # whose draws are constants
        return None
    sets = getattr(prepared.target, "sets", None)
    constants = (sets, p.weights, p.mean, p.precision) if settings.method in AVERAGING else (sets,)
    return *known, *(None if each is None else each.tobytes() for each in constants)


def _keep_inputs(model: NoisyInputGP, start: Fitted, prepared: Prepared) -> None:
    """Go on with the network of `start`, or with its q(x) of rows that it has learned from; others begin anew."""
    from fermiclass.nimgp.modules import parameters_of

    theirs, ours = start.settings.inputs, prepared.settings.inputs
    if start.learned_from is None or (theirs.units, theirs.hidden) != (ours.units, ours.hidden):
        return
    known = parameters_of(start.predictor.model.input_model)
    places = {row.tobytes(): place for place, row in enumerate(start.learned_from)}
    place = np.array([places.get(row.tobytes(), -1) for row in prepared.X])
    for name, parameter in parameters_of(model.input_model).items():
        values = known[name].numpy()
        if prepared.settings.method in PER_SOURCE:
            values = np.where(place[:, None] < 0, parameter.numpy(), values[place])
        parameter.assign(values)


def check_start(settings: Settings, classes: np.ndarray, input_dim: int, start: Fitted) -> None:
    """Raise ValueError when training with these settings, classes and features cannot start from a classifier."""
    for name in ("method", "likelihood", "kernel", "noise"):
        theirs, ours = getattr(start.settings, name), getattr(settings, name)
        if theirs != ours and isinstance(theirs, str) and isinstance(ours, str):  # clones have other objects
            raise ValueError(f"a classifier with {name}={theirs!r} cannot be the start of one with {name}={ours!r}")
    if len(start.scaling.mean) != input_dim:
        raise ValueError(
            f"a classifier of {len(start.scaling.mean)} features cannot be the start of one of {input_dim} features"
        )
    theirs = np.asarray(start.classes)
    if not np.array_equal(theirs, classes):
        raise ValueError(
            f"a classifier of {', '.join(map(str, theirs))} cannot be the start of one of "
            f"{', '.join(map(str, classes))}"
        )
