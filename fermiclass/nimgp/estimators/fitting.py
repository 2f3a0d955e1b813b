"""Fitting: from prepared rows to classifiers that predict."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.nimgp.estimators.preparation import Prepared, Scaling, expected_inputs
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.names import AVERAGING, FIRST_ORDER
from fermiclass.nimgp.processes import is_broken_fork
from fermiclass.nimgp.settings import Settings

if TYPE_CHECKING:
    from fermiclass.nimgp.model import NoisyInputGP
    from fermiclass.nimgp.prediction.predictor import ClassPredictor, Prediction
    from fermiclass.nimgp.training.checkpoints import Checkpoint
    from fermiclass.nimgp.training.feeds import Data
    from fermiclass.nimgp.training.loop import Schedule, TrainingState

_LOG = logging.getLogger(__name__)

Progress = Callable[["TrainingState"], None]

_PRIOR = ("input_prior.weights", "input_prior.mean", "input_prior.precision")
_OTHERS = ("mean", "scale", "objective", "temperature", *_PRIOR)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained classifier, which predicts.

    Attributes
    ----------
    settings
        Settings of the training.
    classes
        Class labels ``(C,)``, sorted.
    scaling
        Mean and scale of the inputs.
    prior
        Prior p(x) of the noiseless inputs.
    temperature
        Temperature T of the predictions.
    objective
        Objective during training.
    parameters
        Parameters of the model by name.
    predictor
        Predictor with the trained model.
    """

    settings: Settings
    classes: np.ndarray
    scaling: Scaling
    prior: InputPrior
    temperature: float
    objective: np.ndarray
    parameters: Mapping[str, np.ndarray]
    predictor: ClassPredictor

    def predict(self, X: np.ndarray, X_var: np.ndarray, ratio: np.ndarray | None = None) -> Iterator[Prediction]:
        """Predict rows in the units of the training, block by block; see `ClassPredictor.blocks`."""
        settings, num_draws = self.settings, self.settings.num_draws
        X, X_var = self.scaling.apply(X, X_var, settings)
        if settings.method not in (*AVERAGING, *FIRST_ORDER):
            X_var, num_draws = np.zeros_like(X_var), 1
        elif settings.noise != "given":
            X_var = np.broadcast_to(self.parameters["noise.variance"], X.shape)
        X, X_var = expected_inputs(settings, self.prior, X, X_var)
        return self.predictor.blocks(X, X_var, num_draws=num_draws, ratio=ratio, temperature=self.temperature)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return all that was learned but the classes as arrays by name, for files and pickles."""
        prior = dict(zip(_PRIOR, (self.prior.weights, self.prior.mean, self.prior.precision), strict=True))
        found = {"mean": self.scaling.mean, "scale": self.scaling.scale, "objective": self.objective}
        return {**found, "temperature": np.array(self.temperature), **prior, **self.parameters}

    @classmethod
    def from_arrays(cls, settings: Settings, classes: np.ndarray, arrays: Mapping[str, np.ndarray]) -> Fitted:
        """Return the classifier of :meth:`to_arrays`.

        Raises
        ------
        ValueError
            When the arrays do not fit the settings or each other, or have values that are not possible.
        """
        from fermiclass.nimgp.build import assign_weights, build_model, type_of
        from fermiclass.nimgp.prediction.predictor import ClassPredictor

        missing = [name for name in (*_OTHERS, "posterior.Z") if name not in arrays]
        if missing:
            raise ValueError(f"the arrays lack {', '.join(missing)}")
        parameters = {name: array for name, array in arrays.items() if name not in _OTHERS}
        Z, mean, scale = arrays["posterior.Z"], arrays["mean"], arrays["scale"]
        if Z.ndim != 3 or mean.shape != Z.shape[2:] or scale.shape != mean.shape or not np.all(scale > 0):
            raise ValueError(f"posterior.Z has shape {Z.shape}, which does not fit mean and scale")
        prior = _checked_prior(InputPrior(*(arrays[name] for name in _PRIOR)), len(mean))
        temperature = arrays["temperature"]
        if temperature.shape != () or not temperature > 0:
            raise ValueError(f"the temperature is {temperature}, not one positive number")
        model = build_model(settings, Z[0], num_classes=len(classes), num_data=0, dtype=type_of(settings))
        assign_weights(model, parameters)
        predictor = ClassPredictor(model.for_prediction(), input_prior=prior, first_order=settings.first_order)
        scaling = Scaling(mean, scale)
        return cls(settings, classes, scaling, prior, float(temperature), arrays["objective"], parameters, predictor)

    def __reduce__(self) -> Any:
        return _unpickled, (self.settings, self.classes, self.to_arrays())


def _unpickled(settings: Settings, classes: np.ndarray, arrays: Mapping[str, np.ndarray]) -> Fitted | None:
    # An error here would leave a pool of processes waiting: prediction refuses instead.
    return None if is_broken_fork() else Fitted.from_arrays(settings, classes, arrays)


def _checked_prior(prior: InputPrior, input_dim: int) -> InputPrior:
    weights, mean, precision = prior.weights, prior.mean, prior.precision
    components = len(weights) if weights.ndim == 1 else 0
    fits = (mean.shape, precision.shape) == ((components, input_dim), (components, input_dim, input_dim))
    if not components or not fits:
        raise ValueError(f"p(x) has arrays of other shapes than a mixture of Gaussians of {input_dim} inputs")
    if np.any(weights <= 0) or abs(weights.sum() - 1.0) > 1e-6:
        raise ValueError("the components of p(x) have weights that are not positive, or do not sum to one")
    least = np.linalg.eigvalsh(precision).min()
    if least < -1e-9 * np.abs(precision).max() or (components > 1 and least <= 0):
        raise ValueError("p(x) has a negative precision along some direction")
    return prior


def schedule(settings: Settings, num_data: int, seed: int, *, batch_size: int | None = None) -> Schedule:
    """Return the steps of training with `num_data` sources; `batch_size` replaces that of the settings."""
    from fermiclass.nimgp.training.loop import Schedule

    size = settings.batch_size if batch_size is None else batch_size
    steps = settings.steps
    if settings.epochs is not None:
        steps = settings.epochs * max(1, round(num_data / min(size or num_data, num_data)))
    options = settings.training
    return Schedule(steps, size, settings.learning_rate, options.decay, seed, options.natural_gradient)


def run_training(
    model: NoisyInputGP,
    data: Data,
    steps: Schedule,
    *,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Train a model in place, and return the objective during training."""
    from fermiclass.nimgp.training.loop import maximise

    _LOG.info("training: at most %d steps", steps.steps)
    with checkpoint or nullcontext():
        for state in maximise(model, data, steps, checkpoint=checkpoint):
            history = state.history
            _LOG.debug("step %d of %d: objective %.6g", state.step, state.steps, np.mean(state.value))
            if progress is not None:
                progress(state)
    _LOG.info("trained: %d steps", state.step)
    return history.astype(np.float64)


def fit_prepared(
    prepared: Sequence[Prepared], *, start: Sequence[Fitted] | None = None, progress: Progress | None = None
) -> list[Fitted]:
    """Train classifiers with the same settings. Those whose arrays have the same shapes are trained at once.

    Small matrices leave a machine idle: twenty classifiers of 300 rows together take a third of the time that they take
    one after the other. With thousands of rows there is no gain. Except for rounding, each result is the same as from
    training alone. If one classifier fails, its whole group raises the jitter; if one diverges, its whole group starts
    again with a fifth of the step size.
    """
    from fermiclass.nimgp.training.feeds import TrainingData

    groups: dict[Any, list[int]] = {}
    for k, one in enumerate(prepared):
        groups.setdefault(_group(one), []).append(k)
    fitted: dict[int, Fitted] = {}
    for members in groups.values():
        group = [prepared[k] for k in members]
        counts = np.array([len(one.y) for one in group])
        X, X_var, y = (_stacked([getattr(one, name) for one in group]) for name in ("X", "X_var", "y"))
        alone, first, known = len(group) == 1, group[0], None
        if start is not None:
            names = start[members[0]].parameters
            known = {name: _stacked([start[k].parameters[name] for k in members]) for name in names}
        found = fit_data(
            group,
            TrainingData(X, X_var, y, None if alone else counts),
            schedule(first.settings, int(counts[0]), first.seed),
            num_data=int(counts[0]) if alone else counts,
            start=known,
            progress=progress,
        )
        fitted |= zip(members, found, strict=True)
    return [fitted[k] for k in range(len(prepared))]


def _group(one: Prepared) -> tuple[object, ...]:
    """Return what must be the same for two classifiers to be trained at once: shapes, draws and meaning of labels."""
    settings, num_data = one.settings, len(one.y)
    shapes = len(one.labels.classes), *one.Z.shape, len(one.prior.weights)
    full_batch = (settings.batch_size or num_data) >= num_data
    meanings = [None if part is None else part.tobytes() for part in (one.labels.sets, one.labels.weights)]
    alone = id(one) if settings.of_gpflow else 0  # objects of GPflow know one model only
    return (alone, *shapes, one.seed, schedule(settings, num_data, one.seed).steps, full_batch, *meanings)


def fit_data(
    group: Sequence[Prepared],
    data: Data,
    steps: Schedule,
    *,
    num_data: int | np.ndarray,
    start: Mapping[str, np.ndarray] | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
) -> list[Fitted]:
    """Train one classifier, or several at once, whose arrays then have a leading axis."""
    from fermiclass.nimgp.build import assign_weights, build_model, type_of, weights_of
    from fermiclass.nimgp.prediction.predictor import ClassPredictor

    first, alone = group[0], len(group) == 1
    model = build_model(
        first.settings,
        _stacked([one.Z for one in group]),
        num_classes=len(first.labels.classes),
        num_data=num_data,
        input_priors=[one.prior for one in group],
        seed=first.seed,
        dtype=type_of(first.settings),
        labels=first.labels,
    )
    if start is not None:
        assign_weights(model, start)
    objective = run_training(model, data, steps, checkpoint=checkpoint, progress=progress)
    parameters = weights_of(model)
    assign_weights(model, parameters)  # rounds as a file does, so that a restored model is the same
    fitted: list[Fitted] = []
    for k, one in enumerate(group):
        predictor = ClassPredictor(
            model.for_prediction(None if alone else k),
            input_prior=one.prior,
            first_order=one.settings.first_order,
            graphs=fitted[0].predictor.graphs if fitted else None,
        )
        fitted.append(
            Fitted(
                one.settings,
                one.labels.classes,
                one.scaling,
                one.prior,
                one.temperature,
                objective if alone else objective[:, k],
                parameters if alone else {name: values[k] for name, values in parameters.items()},
                predictor,
            )
        )
    return fitted


def check_start(settings: Settings, classes: np.ndarray, start: Fitted) -> None:
    """Raise ValueError when training with these settings and classes cannot start from a classifier."""
    for name in ("method", "likelihood", "kernel", "noise"):
        theirs, ours = getattr(start.settings, name), getattr(settings, name)
        if theirs != ours and isinstance(theirs, str) and isinstance(ours, str):  # clones have other objects
            raise ValueError(f"a classifier with {name}={theirs!r} cannot be the start of one with {name}={ours!r}")
    if not np.array_equal(start.classes, classes):
        raise ValueError(
            f"a classifier of {', '.join(map(str, start.classes))} cannot be the start of one of "
            f"{', '.join(map(str, classes))}"
        )


def _stacked(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return a single array as it is, and stack several; copies of the last row fill up the shorter ones."""
    if len(arrays) == 1:
        return arrays[0]
    longest = max(a.shape[0] if a.ndim else 0 for a in arrays)
    return np.stack(
        [np.pad(a, [(0, longest - len(a))] + [(0, 0)] * (a.ndim - 1), mode="edge") if a.ndim else a for a in arrays]
    )
