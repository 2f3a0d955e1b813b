"""What an estimator's parameters mean: their checks, the model they ask for, and what is kept beside its weights."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array

from fermiclass.nimgp.inducing import INDUCING
from fermiclass.nimgp.input_prior import InputPrior
from fermiclass.nimgp.names import AVERAGING, FIRST_ORDER

if TYPE_CHECKING:
    from fermiclass.estimators import NIMGPClassifier
    from fermiclass.nimgp.build import ModelSettings
    from fermiclass.nimgp.model import NoisyInputGP
    from fermiclass.nimgp.prediction_graphs import PredictionGraphs
    from fermiclass.nimgp.training import TrainingSettings

INPUT_PRIORS = ("isotropic", "population", "mixture")
#: Names, among the weights, of what is not the model's.
TEMPERATURE = "temperature"
_MAX_BY_FRACTION = 100
_MOST_SPREAD = 1e100  # of inputs, whose squares are finite then
_GRAPHS_KEPT = 8
_GRAPHS: dict[Any, PredictionGraphs] = {}
_PRIOR = ("input_prior.weights", "input_prior.mean", "input_prior.precision")


def check_parameters(estimator: NIMGPClassifier) -> None:
    """Check all parameters but for the names that `ModelSettings` checks.

    Raises
    ------
    ValueError
        When a parameter has a value that does not do; the message says which do.
    """

    def number(kind: Any, *names: str, zero: bool = False, optional: bool = False) -> None:
        check_numbers(estimator, kind, *names, zero=zero, optional=optional)

    number(Integral, "steps", "num_draws", "components", "hidden_units", "hidden_layers", "degree")
    number(Integral, "batch_size", "epochs", "patience", optional=True)
    number(Real, "learning_rate", "num_inducing", "initial_noise", "initial_white", "initial_spread")
    number(Real, "input_prior_variance", "initial_lengthscale", optional=True)
    number(Real, "jitter", zero=True)
    number(Real, "clip", "epsilon", "natural_gradient", optional=True)
    number(Real, "max_noise", zero=True, optional=True)
    if estimator.temperature != "folds":
        number(Real, "temperature")
    if estimator.temperature != 1 and estimator.likelihood == "step":
        raise ValueError(f"temperature={estimator.temperature!r} does not do: the step likelihood knows no scale of f")
    if estimator.epsilon is not None and estimator.epsilon >= 1:
        raise ValueError(f"epsilon={estimator.epsilon!r} does not do: expected a number between 0 and 1, or None")
    if estimator.natural_gradient is not None and estimator.natural_gradient > 1:
        raise ValueError(
            f"natural_gradient={estimator.natural_gradient!r} does not do: expected a number up to 1, or None"
        )
    if not isinstance(estimator.num_inducing, Integral) and estimator.num_inducing >= 1:
        raise ValueError(
            f"num_inducing={estimator.num_inducing!r} does not do: expected a whole number, or a fraction below 1"
        )
    for name, known in (("inducing", INDUCING), ("input_prior", INPUT_PRIORS)):
        if getattr(estimator, name) not in known:
            raise ValueError(f"{name}={getattr(estimator, name)!r} is unknown: choose one of {', '.join(known)}")
    tensor_type(estimator.precision)


def check_numbers(estimator: Any, kind: Any, *names: str, zero: bool = False, optional: bool = False) -> None:
    """Check that parameters are numbers of a kind, above 0.

    Raises
    ------
    ValueError
        When one is not; 0 does where ``zero``, and None where ``optional``.
    """
    for name in names:
        value = getattr(estimator, name)
        good = isinstance(value, kind) and not isinstance(value, bool) and (value > 0 or (zero and value == 0))
        if not (good or (optional and value is None)):
            what = "whole number" if kind is Integral else "number"
            extra = ", or None" if optional else ""
            limit = "of 0 or more" if zero else "above 0"
            raise ValueError(f"{name}={value!r} does not do: expected a {what} {limit}{extra}")


def model_settings(estimator: NIMGPClassifier) -> ModelSettings:
    """Return the settings of the model: the estimator's parameters of the same names."""
    from dataclasses import fields

    from fermiclass.nimgp.build import ModelSettings

    return ModelSettings(**{field.name: getattr(estimator, field.name) for field in fields(ModelSettings)})


def num_inducing_points(estimator: NIMGPClassifier, num_data: int) -> int:
    """Return the number of inducing points a class with `num_data` sources."""
    if isinstance(estimator.num_inducing, Integral):
        return int(estimator.num_inducing)
    return max(2, min(_MAX_BY_FRACTION, round(estimator.num_inducing * num_data)))


def num_steps(estimator: NIMGPClassifier, num_data: int, batch_size: int | None = None) -> int:
    """Return the number of training steps with `num_data` sources; the estimator's batch size may be replaced."""
    if estimator.epochs is None:
        return estimator.steps
    batch_size = min(batch_size or estimator.batch_size or num_data, num_data)
    return estimator.epochs * max(1, round(num_data / batch_size))


def training_settings(
    estimator: NIMGPClassifier, num_data: int, seed: int, *, batch_size: int | None = None
) -> TrainingSettings:
    """Return how the bound is maximised: the estimator's parameters of the same names."""
    from fermiclass.nimgp.training import TrainingSettings

    return TrainingSettings(
        num_steps(estimator, num_data, batch_size),
        estimator.batch_size if batch_size is None else batch_size,
        estimator.learning_rate,
        estimator.decay,
        seed,
        estimator.natural_gradient,
        estimator.patience,
    )


def shared_graphs(settings: ModelSettings, model: NoisyInputGP) -> PredictionGraphs:
    """Return the graphs of prediction for models like this one, traced once and used by the next of its kind, too."""
    from fermiclass.nimgp.prediction_graphs import PredictionGraphs

    kind = (settings, tuple(model.posterior.Z.shape), model.posterior.q_mu.dtype)
    if kind not in _GRAPHS:
        while len(_GRAPHS) >= _GRAPHS_KEPT:
            del _GRAPHS[next(iter(_GRAPHS))]
        _GRAPHS[kind] = PredictionGraphs(model, first_order=settings.first_order)
    return _GRAPHS[kind]


def tensor_type(precision: str) -> Any:
    """Return the TensorFlow type of a precision."""
    if precision not in ("float32", "float64"):
        raise ValueError(f"precision={precision!r} is unknown: choose 'float32' or 'float64'")
    import tensorflow as tf

    return tf.dtypes.as_dtype(precision)


def check_variances(X: np.ndarray, X_var: Any) -> np.ndarray:
    """Return the variances of X, zeros for None.

    Raises
    ------
    ValueError
        When their shape is not that of X, or one is negative or not finite.
    """
    if X_var is None:
        return np.zeros_like(X)
    X_var = check_array(X_var, dtype=np.float64, input_name="X_var")
    if X_var.shape != X.shape:
        raise ValueError(f"X_var has shape {X_var.shape}, X has {X.shape}: every value of X needs its variance")
    if np.any(X_var < 0):
        row, column = np.argwhere(X_var < 0)[0]
        raise ValueError(f"X_var is negative in row {row}, column {column}: variances are zero or positive")
    return X_var


def wrong_label_probabilities(estimator: Any, right: np.ndarray, y: Any) -> np.ndarray:
    """Return how probably labels are wrong, ``(n,)``, of rows that were not learned from.

    See :func:`fermiclass.nimgp.contaminated.probability_of_wrong_label`.

    Parameters
    ----------
    estimator
        Fitted, with ``classes_`` and the rate ``label_noise_``.
    right
        Probabilities ``(n, C)`` of right labels.
    y
        Labels, ``(n,)``.

    Raises
    ------
    ValueError
        When a label is of no class, or there are more or fewer.
    """
    from fermiclass.nimgp.contaminated import probability_of_wrong_label

    labels = np.asarray(y)
    unknown = sorted({str(name) for name in labels} - {str(name) for name in estimator.classes_})
    if unknown or labels.shape != (len(right),):
        raise ValueError(
            f"labels of shape {labels.shape} do not fit {len(right)} sources of the classes "
            f"{', '.join(map(str, estimator.classes_))}" + f"; unknown: {', '.join(unknown)}" * bool(unknown)
        )
    p = right[np.arange(len(labels)), np.searchsorted(estimator.classes_, labels)]
    return probability_of_wrong_label(p, estimator.label_noise_, len(estimator.classes_))


def forget(estimator: Any) -> None:
    """Drop what an earlier fit learned: one that fails, or is broken off, is to leave no mixture of both."""
    for name in ("weights_", "parameters_", "_predictor", "_solution", "row_features_"):
        vars(estimator).pop(name, None)


def mean_and_scale(values: np.ndarray, name: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of columns and by what to divide them, as :func:`scale_of` has it."""
    with np.errstate(over="ignore", invalid="ignore"):  # refused next
        mean, spread = values.mean(axis=0), values.std(axis=0)
    return mean, scale_of(mean, spread, name)


def scale_of(mean: np.ndarray, spread: np.ndarray, name: str | None = None) -> np.ndarray:
    """Return by what to divide numbers of these means and standard deviations; the constant stay as wide as they are.

    Parameters
    ----------
    mean, spread
        Of each feature, ``(D,)``, or of one column, ``()``.
    name
        What the numbers are called, if not by the number of the feature.

    Raises
    ------
    ValueError
        When the square of a spread overflows.
    """
    odd = np.flatnonzero(~((spread < _MOST_SPREAD) & (np.abs(mean) < _MOST_SPREAD)))
    if odd.size:
        name = name or f"feature {odd[0]} (counted from 0)"
        raise ValueError(
            f"the numbers of {name} spread over {spread.flat[odd[0]]:.1g}, more than double precision can square: "
            "give it in other units, or take its logarithm"
        )
    constant = (spread <= 1e-12 * np.abs(mean)) | (spread < 1.0 / _MOST_SPREAD)
    return np.where(constant, 1.0, spread)


def standardise(estimator: NIMGPClassifier, X: np.ndarray, X_var: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and variances in units of the training inputs' spread, within the estimator's limits."""
    X, X_var = (X - estimator.mean_) / estimator.scale_, X_var / estimator.scale_**2
    if estimator.clip is not None:
        X = np.clip(X, -estimator.clip, estimator.clip)
    if estimator.max_noise is not None:
        X_var = np.minimum(X_var, estimator.max_noise)
    return X, X_var


def input_prior(estimator: NIMGPClassifier, X: np.ndarray, X_var: np.ndarray, seed: int) -> InputPrior:
    """Return p(x) for standardised inputs; the isotropic one, which costs nothing, for methods that use none."""
    if estimator.input_prior == "isotropic" or estimator.method not in (*AVERAGING, *FIRST_ORDER):
        prior = InputPrior.isotropic(X.shape[1], 1.0)
    else:
        components = estimator.components if estimator.input_prior == "mixture" else 1
        prior = InputPrior.population(X, X_var, components=components, seed=seed)
    return prior.widened(estimator.input_prior_variance)


def expected_inputs(
    estimator: NIMGPClassifier, prior: InputPrior, X: np.ndarray, X_var: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what the estimator's method takes standardised inputs to be, and their variances, ``(n, D)``.

    For first-order methods with a p(x) of the population these are means and variances under p(x | x̃); for all others
    x̃ and V.
    """
    if takes_expected_inputs(estimator):
        return prior.moments(X, X_var)
    return X, X_var


def takes_expected_inputs(estimator: NIMGPClassifier) -> bool:
    """Tell whether the method is one of first order, with known noise and a p(x) of the population."""
    return estimator.method in FIRST_ORDER and estimator.noise == "given" and estimator.input_prior != "isotropic"


def written_prior(prior: InputPrior) -> dict[str, np.ndarray]:
    """Return p(x) as arrays to keep among the weights."""
    return dict(zip(_PRIOR, (prior.weights, prior.mean, prior.precision), strict=True))


def read_prior(weights: dict[str, np.ndarray]) -> InputPrior:
    """Take p(x) out of the weights.

    Raises
    ------
    ValueError
        When it is not there, or is no mixture of Gaussians.
    """
    shares, mean, precision = (weights.pop(name, np.empty(0)) for name in _PRIOR)
    components, input_dim = mean.shape if mean.ndim == 2 else (0, 0)
    if not components or (shares.shape, precision.shape) != ((components,), (components, input_dim, input_dim)):
        raise ValueError("the weights lack p(x) of the inputs, or the temperature")
    if np.any(shares <= 0) or abs(shares.sum() - 1.0) > 1e-6:
        raise ValueError("the components of p(x) have weights that are not positive, or do not sum to one")
    least = np.linalg.eigvalsh(precision).min()
    if least < -1e-9 * np.abs(precision).max() or (components > 1 and least <= 0):
        raise ValueError("the p(x) has a negative precision along some direction")
    return InputPrior(shares, mean, precision)
