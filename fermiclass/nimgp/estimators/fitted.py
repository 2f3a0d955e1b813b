"""What was learned, which predicts. Models and their folders need no more, and neither scikit-learn nor TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fermiclass.nimgp.inputs.prior import InputPrior
from fermiclass.nimgp.names import AVERAGING, FIRST_ORDER
from fermiclass.nimgp.prediction.first_order import FirstOrderPredictor, in_numpy
from fermiclass.nimgp.processes import is_broken_fork, refuse_after_fork
from fermiclass.nimgp.settings import Settings
from fermiclass.nimgp.targets import LabelTable, Outputs

if TYPE_CHECKING:
    from fermiclass.nimgp.model import NoisyInputGP
    from fermiclass.nimgp.prediction.prediction import Prediction


class Scaling(NamedTuple):
    """Mean and scale by which inputs are standardised, ``(D,)``."""

    mean: np.ndarray
    scale: np.ndarray
    #: What counts as a variance that is not known: the median of the known ones, or the spread where there are none.
    usual_var: np.ndarray

    @classmethod
    def of(cls, mean: np.ndarray, scale: np.ndarray, X_var: np.ndarray) -> Scaling:
        """Return the scaling of rows with the variances ``X_var`` (N, D)."""
        columns = zip(X_var.T, ~np.isnan(X_var).T, scale**2, strict=True)
        return cls(
            mean, scale, np.array([np.median(v[known]) if known.any() else spread for v, known, spread in columns])
        )

    def apply(self, X: np.ndarray, X_var: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
        """Return standardised inputs and variances, within the limits of the settings."""
        X_var = np.where(np.isnan(X_var), self.usual_var, X_var)
        unknown = np.isnan(X)  # they get mean and variance of all rows
        X, X_var = np.where(unknown, 0.0, (X - self.mean) / self.scale), np.where(unknown, 1.0, X_var / self.scale**2)
        if settings.inputs.clip is not None:
            X = np.clip(X, -settings.inputs.clip, settings.inputs.clip)
        return X, np.minimum(X_var, _SAYS_NOTHING)


_SAYS_NOTHING = 1e9  # noise variance, in units of the input's, from which on a larger one changes nothing but overflows
_PRIOR = ("input_prior.weights", "input_prior.mean", "input_prior.precision")
_OUTPUTS = tuple(f"outputs.{name}" for name in Outputs._fields)
_OTHERS = (*Scaling._fields, "objective", "temperature", *_PRIOR)
_POINTS = "points"  # of a predictor that keeps them: to make them takes longer than to predict


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
    predictor: Any  #: ``FirstOrderPredictor`` or ``ClassPredictor``, or ``ResponsePredictor`` of outputs.
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

    def blocks(self, X: np.ndarray, X_var: np.ndarray, ratio: np.ndarray | None = None) -> Iterator[Prediction]:
        """Predict rows in the units of the training, as :meth:`fermiclass.NIMGPClassifier.predict_blocks`."""
        refuse_after_fork()
        options = {"num_draws": self.num_draws, "ratio": ratio, "temperature": self.temperature}
        blocks: Iterator[Prediction] = self.predictor.blocks(*self.inputs(X, X_var), **options)
        return blocks

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return all that was learned but the classes as arrays by name, for files and pickles."""
        prior = dict(zip(_PRIOR, (self.prior.weights, self.prior.mean, self.prior.precision), strict=True))
        found = {**self.scaling._asdict(), "objective": self.objective}
        if isinstance(self.target, Outputs):
            found |= {name: np.asarray(value) for name, value in zip(_OUTPUTS, self.target, strict=True)}
        if isinstance(self.predictor, FirstOrderPredictor):
            found[_POINTS] = self.predictor.points
        return {**found, "temperature": np.array(self.temperature), **prior, **self.parameters}

    @classmethod
    def from_arrays(cls, settings: Settings, classes: np.ndarray | None, arrays: Mapping[str, np.ndarray]) -> Fitted:
        """Return what :meth:`to_arrays` was of (`classes` is None of outputs); ValueError when it does not fit."""
        others = _OTHERS if classes is not None else (*_OTHERS, *_OUTPUTS)
        missing = [name for name in (*others, "posterior.Z") if name not in arrays]
        if missing:
            raise ValueError(f"the arrays lack {', '.join(missing)}")
        parameters = {name: array for name, array in arrays.items() if name not in (*others, _POINTS)}
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
        known = settings, target, scaling, prior, float(temperature), arrays["objective"], parameters
        return cls(*known, predictor_of(settings, target, prior, parameters, points=arrays.get(_POINTS)))

    def __reduce__(self) -> Any:
        return _unpickled, (self.settings, self.classes, self.to_arrays())


def _unpickled(settings: Settings, classes: np.ndarray | None, arrays: Mapping[str, np.ndarray]) -> Fitted | None:
    # An error here would leave a pool of processes waiting: prediction refuses instead.
    return None if is_broken_fork() else Fitted.from_arrays(settings, classes, arrays)


def untrained(settings: Settings, target: LabelTable | Outputs, Z: np.ndarray, **options: Any) -> NoisyInputGP:
    """Return a model of what labels or outputs mean, with the inducing points ``Z`` (M, D)."""
    from fermiclass.nimgp.model import build_model, build_output_model

    if isinstance(target, Outputs):
        return build_output_model(settings, Z, target, **options)
    options |= {"num_classes": len(target.classes), "sets": target.sets}
    return build_model(settings, Z, dtype=settings.precision, **options)


def predictor_of(
    settings: Settings,
    target: LabelTable | Outputs,
    prior: InputPrior,
    parameters: Mapping[str, np.ndarray],
    *,
    points: np.ndarray | None = None,
    model: NoisyInputGP | None = None,
) -> Any:
    """Return what predicts with these parameters, which may be those of `model`; ValueError if they do not fit."""
    if isinstance(target, LabelTable) and in_numpy(settings):
        return FirstOrderPredictor(settings, len(target.classes), parameters, points)
    from fermiclass.nimgp.model import assign_weights
    from fermiclass.nimgp.prediction.predictor import ClassPredictor, ResponsePredictor

    model = untrained(settings, target, parameters["posterior.Z"][0], num_data=0) if model is None else model
    assign_weights(model, parameters)  # a model that was trained has them as they are rounded in one that is restored
    kind = ResponsePredictor if isinstance(target, Outputs) else ClassPredictor
    options: dict[str, Any] = {"first_order": settings.method in FIRST_ORDER, "alike": of_graphs(settings, target)}
    return kind(model, input_prior=prior, **options)


def of_graphs(settings: Settings, target: LabelTable | Outputs) -> tuple[Any, ...] | None:
    """Return all but numbers and shapes by which graphs of models differ; None with objects of GPflow."""
    if isinstance(target, Outputs) or not all(isinstance(each, str) for each in (settings.kernel, settings.likelihood)):
        return None
    return repr(replace(settings, random_state=None)), len(target.classes)


def _checked_prior(prior: InputPrior, input_dim: int) -> InputPrior:
    components = len(prior.weights) if prior.weights.ndim == 1 else 0
    shapes = (components, input_dim), (components, input_dim, input_dim)
    if not components or (prior.mean.shape, prior.precision.shape) != shapes:
        raise ValueError(f"p(x) has arrays of other shapes than a mixture of Gaussians of {input_dim} inputs")
    return prior
