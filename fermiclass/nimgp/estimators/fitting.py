"""Fitting: from prepared rows to what predicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fermiclass.nimgp.estimators.preparation import Prepared, Scaling
from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.label_sets import LabelTable
from fermiclass.nimgp.names import AVERAGING, FIRST_ORDER, PER_SOURCE
from fermiclass.nimgp.outputs import Outputs
from fermiclass.nimgp.processes import is_broken_fork
from fermiclass.nimgp.settings import AUTO, Settings

if TYPE_CHECKING:
    from fermiclass.nimgp.model import NoisyInputGP
    from fermiclass.nimgp.training.checkpoints import Checkpoint
    from fermiclass.nimgp.training.loop import Data, TrainingState
    from fermiclass.nimgp.training.optimisers import Schedule

#: Number of sources in a step, with methods that have no parameters for every source.
BATCH_SIZE = 512
_FEWEST_STEPS, _PASSES, _MOST_STEPS = 500, 10, 10_000

Progress = Callable[["TrainingState"], None]

_PRIOR = ("input_prior.weights", "input_prior.mean", "input_prior.precision")
_OUTPUTS = tuple(f"outputs.{name}" for name in Outputs._fields)
_OTHERS = (*Scaling._fields, "objective", "temperature", *_PRIOR)


@dataclass(frozen=True, eq=False)
class Fitted:
    """What was learned, which predicts: names as in `Prepared`, and the parameters of the model by name."""

    settings: Settings
    target: Any  #: What labels or outputs mean: a `LabelTable`, or `Outputs`.
    scaling: Scaling
    prior: InputPrior
    temperature: float
    objective: np.ndarray
    parameters: Mapping[str, np.ndarray]
    predictor: Any  #: ``ClassPredictor``, or ``ResponsePredictor`` of outputs.
    #: Inputs that were learned from, standardised, ``(N, D)``; None where there is no q(x), and after a restoration.
    learned_from: np.ndarray | None = None

    @property
    def classes(self) -> np.ndarray | None:
        """Class labels ``(C,)``, sorted; None of outputs."""
        return self.target.classes if isinstance(self.target, LabelTable) else None

    def inputs(self, X: np.ndarray, X_var: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rows in the units of the training as the predictor takes them, without variances that it ignores."""
        settings = self.settings
        X, X_var = self.scaling.apply(X, X_var, settings)
        if settings.method not in (*AVERAGING, *FIRST_ORDER):
            X_var = np.zeros_like(X_var)
        elif settings.noise != "given":
            X_var = np.broadcast_to(self.parameters["noise"], X.shape)
        return self.prior.moments(X, X_var) if settings.expected_inputs else (X, X_var)

    @property
    def num_draws(self) -> int:
        """Number of draws of each noisy input."""
        return self.settings.num_draws if self.settings.method in (*AVERAGING, *FIRST_ORDER) else 1

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return all that was learned but the classes as arrays by name, for files and pickles."""
        prior = dict(zip(_PRIOR, (self.prior.weights, self.prior.mean, self.prior.precision), strict=True))
        found = {**self.scaling._asdict(), "objective": self.objective}
        if isinstance(self.target, Outputs):
            found |= {name: np.asarray(value) for name, value in zip(_OUTPUTS, self.target, strict=True)}
        return {**found, "temperature": np.array(self.temperature), **prior, **self.parameters}

    @classmethod
    def from_arrays(cls, settings: Settings, classes: np.ndarray | None, arrays: Mapping[str, np.ndarray]) -> Fitted:
        """Return what :meth:`to_arrays` was of; `classes` is None of outputs.

        Raises ValueError when the arrays do not fit the settings or each other, or have values that are not possible.
        """
        from fermiclass.nimgp.model import assign_weights

        others = _OTHERS if classes is not None else (*_OTHERS, *_OUTPUTS)
        missing = [name for name in (*others, "posterior.Z") if name not in arrays]
        if missing:
            raise ValueError(f"the arrays lack {', '.join(missing)}")
        parameters = {name: array for name, array in arrays.items() if name not in others}
        Z, scaling = arrays["posterior.Z"], Scaling(*(arrays[name] for name in Scaling._fields))
        fitting = Z.ndim == 3 and {each.shape for each in scaling} == {Z.shape[2:]}
        if not fitting or not np.all(scaling.scale > 0) or not np.all(scaling.usual_var >= 0):
            raise ValueError(f"posterior.Z has shape {Z.shape}, which does not fit mean and scale")
        prior = _checked_prior(InputPrior(*(arrays[name] for name in _PRIOR)), len(scaling.mean))
        temperature = arrays["temperature"]
        if temperature.shape != () or not temperature > 0:
            raise ValueError(f"the temperature is {temperature}, not one positive number")
        target: LabelTable | Outputs
        if classes is None:
            target = Outputs.from_arrays(*(arrays[name] for name in _OUTPUTS))
        else:
            target = LabelTable(classes, classes)
        model = _untrained(settings, target, Z[0], num_data=0)
        assign_weights(model, parameters)
        known = settings, target, scaling, prior, float(temperature), arrays["objective"], parameters
        return cls(*known, _predictor(settings, target, prior, model))

    def __reduce__(self) -> Any:
        return _unpickled, (self.settings, self.classes, self.to_arrays())


def _unpickled(settings: Settings, classes: np.ndarray | None, arrays: Mapping[str, np.ndarray]) -> Fitted | None:
    # An error here would leave a pool of processes waiting: prediction refuses instead.
    return None if is_broken_fork() else Fitted.from_arrays(settings, classes, arrays)


def _untrained(settings: Settings, target: LabelTable | Outputs, Z: np.ndarray, **options: Any) -> NoisyInputGP:
    from fermiclass.nimgp.model import build_model, build_output_model

    if isinstance(target, Outputs):
        return build_output_model(settings, Z, target, **options)
    options |= {"num_classes": len(target.classes), "sets": target.sets}
    return build_model(settings, Z, dtype=settings.precision, **options)


def _predictor(settings: Settings, target: LabelTable | Outputs, prior: InputPrior, model: NoisyInputGP) -> Any:
    from fermiclass.nimgp.prediction.predictor import ClassPredictor, ResponsePredictor

    kind = ResponsePredictor if isinstance(target, Outputs) else ClassPredictor
    return kind(model, input_prior=prior, first_order=settings.method in FIRST_ORDER)


def _checked_prior(prior: InputPrior, input_dim: int) -> InputPrior:
    components = len(prior.weights) if prior.weights.ndim == 1 else 0
    shapes = (components, input_dim), (components, input_dim, input_dim)
    if not components or (prior.mean.shape, prior.precision.shape) != shapes:
        raise ValueError(f"p(x) has arrays of other shapes than a mixture of Gaussians of {input_dim} inputs")
    return prior


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
        steps = settings.epochs * max(1, round(per_pass))
    options = settings.training
    return Schedule(steps, size, settings.learning_rate, options.decay, options.mean, seed, options.natural_gradient)


def fit_prepared(
    prepared: Prepared,
    data: Data,
    *,
    batch_size: int | None = None,
    start: Fitted | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Train on standardised rows, from the parameters of `start` if it is given.

    See :meth:`fermiclass.NIMGPClassifier.fit_stream` for `checkpoint` and `progress`, and :func:`check_start`.
    """
    from fermiclass.nimgp.model import assign_weights, weights_of
    from fermiclass.nimgp.modules import parameters_of
    from fermiclass.nimgp.training.loop import maximise

    settings, target, prior = prepared.settings, prepared.target, prepared.prior
    options = {"num_data": prepared.num_data, "input_prior": prior, "seed": prepared.seed}
    model = _untrained(settings, target, prepared.Z, **options)
    if start is not None:
        assign_weights(model, start.parameters)
        _keep_inputs(model, start, prepared)
    steps = schedule(settings, prepared.num_data, prepared.seed, batch_size=batch_size)
    for state in maximise(model, data, steps, checkpoint=checkpoint):
        if progress is not None:
            progress(state)
    parameters = weights_of(model)
    assign_weights(model, parameters)  # as they are rounded in a model that is restored
    known = settings, target, prepared.scaling, prior, prepared.temperature
    found = state.history.astype(np.float64), parameters, _predictor(settings, target, prior, model)
    return Fitted(*known, *found, prepared.X if parameters_of(model.input_model) else None)


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
