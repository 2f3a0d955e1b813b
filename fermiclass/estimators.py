"""Classifiers in scikit-learn style that take the inputs' noise variances: ``fit(X, y, *, X_var=None)``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fermiclass.nimgp.inducing import INDUCING, initial_inducing_points
from fermiclass.nimgp.input_prior import InputPrior

if TYPE_CHECKING:
    from fermiclass.nimgp.build import ModelSettings
    from fermiclass.nimgp.prediction import Prediction
    from fermiclass.nimgp.training import TrainingState

INPUT_PRIORS = ("isotropic", "population")

_MAX_BY_FRACTION = 100
_INPUT_MEAN, _INPUT_PRECISION, _TEMPERATURE = "input_prior.mean", "input_prior.precision", "temperature"


class NIMGPClassifier(ClassifierMixin, BaseEstimator):
    """Multi-class Gaussian process classifier whose inputs have known noise variances.

    A sparse variational GP for each class (Villacampa-Calvo, Zaldívar, Garrido-Merchán & Hernández-Lobato 2021).
    Inputs and variances are standardised inside. The order of the training rows changes nothing.

    Parameters
    ----------
    method : {'nimgp', 'mgp'}
        'nimgp' infers the noiseless input of every training source; 'mgp' ignores input noise.
    likelihood : {'softmax', 'step'}
        Softmax, or the robust step likelihood of the paper.
    kernel : {'se+linear', 'se'}
        ARD squared exponential with white noise, with or without a linear kernel.
    epsilon : float or None
        Label noise of the step likelihood: fixed, or learned (None). The paper fixes 10⁻³.
    num_inducing : int or float
        Inducing points a class; never more than there are distinct training inputs. A fraction is one of the training
        sources, up to 100 points (the paper's rule, 0.05).
    inducing : {'kmeans', 'random'}
        Where they start.
    steps, batch_size, learning_rate, decay
        Adam steps, sources a step (None: all), the first step size, and whether it falls along a cosine or stays.
    epochs : int or None
        Passes over the training sources, instead of ``steps``.
    input_prior : {'isotropic', 'population'}
        p(x) for standardised inputs: N(0, a I), or N(m, a Σ) with the mean and covariance of the training sources'
        noiseless inputs (:meth:`fermiclass.nimgp.input_prior.InputPrior.population`).
    input_prior_variance : float or None
        a; None is flat. The paper takes 1000 in training and a flat prior in prediction.
    hyper_priors : bool
        Log-normal priors on the hyper-parameters, or none.
    clip : float or None
        Standardised inputs are limited to ±clip, so that no single wild value rules a prediction.
    max_noise : float or None
        Limit of a noise variance, in units of the input's variance over the training sources.
    precision : {'float32', 'float64'}
        Of training and prediction.
    jitter : float
        Relative to the diagonal of the inducing points' covariance.
    average_noise : bool
        Whether predictions are averaged over x* ~ p(x* | x̃*), or made at the observed inputs.
    num_draws : int
        Quasi-Monte Carlo draws of each x*, best a power of 2.
    temperature : float or 'folds'
        T of ``softmax(f/T)`` in prediction; 'folds' finds it on held-out sources
        (:func:`fermiclass.calibration.fold_temperature`), which takes five trainings more. The step likelihood knows
        no scale of f: leave it at 1.
    random_state : int, RandomState or None
        The same integer gives the same classifier.

    Attributes
    ----------
    classes_ : ndarray (C,)
        Class labels, sorted.
    n_features_in_ : int
        D.
    mean_, scale_ : ndarray (D,)
        By which inputs are standardised.
    weights_ : dict of ndarray
        Trained parameters, with mean and precision of p(x) for standardised inputs, and the temperature.
    temperature_ : float
        T.
    elbo_ : ndarray
        The bound as training went on.
    """

    def __init__(
        self,
        method: str = "nimgp",
        *,
        likelihood: str = "softmax",
        kernel: str = "se+linear",
        epsilon: float | None = None,
        num_inducing: int | float = 60,
        inducing: str = "kmeans",
        steps: int = 500,
        batch_size: int | None = None,
        learning_rate: float = 0.03,
        decay: bool = True,
        epochs: int | None = None,
        input_prior: str = "isotropic",
        input_prior_variance: float | None = 3.0,
        hyper_priors: bool = True,
        clip: float | None = 4.0,
        max_noise: float | None = 2.0,
        precision: str = "float32",
        jitter: float = 1e-3,
        average_noise: bool = True,
        num_draws: int = 256,
        temperature: float | str = 1.0,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.method = method
        self.likelihood = likelihood
        self.kernel = kernel
        self.epsilon = epsilon
        self.num_inducing = num_inducing
        self.inducing = inducing
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.decay = decay
        self.epochs = epochs
        self.input_prior = input_prior
        self.input_prior_variance = input_prior_variance
        self.hyper_priors = hyper_priors
        self.clip = clip
        self.max_noise = max_noise
        self.precision = precision
        self.jitter = jitter
        self.average_noise = average_noise
        self.num_draws = num_draws
        self.temperature = temperature
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        X_var: Any = None,
        progress: Callable[[TrainingState], None] | None = None,
    ) -> NIMGPClassifier:
        """Train.

        Parameters
        ----------
        X
            Observed inputs, ``(N, D)``.
        y
            Labels, ``(N,)``. Rows whose label is the empty string have none and are left out.
        X_var
            Noise variances of X, ``(N, D)``, non-negative; None for noiseless inputs.
        progress
            Called with the state of training every few steps.

        Returns
        -------
        NIMGPClassifier
            Itself.

        Raises
        ------
        ValueError
            When shapes differ, values are not finite, a variance is negative, or there is only one class.
        """
        from fermiclass.calibration import fold_temperature
        from fermiclass.nimgp.build import build_model, weights_of
        from fermiclass.nimgp.training import TrainingSettings, train

        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        X_var = self._check_variances(X, X_var)
        if y.dtype.kind in "UO" and np.any(y == ""):
            labelled = y != ""
            X, y, X_var = X[labelled], y[labelled], X_var[labelled]
        # One order for all permutations of the same rows, so that sums, minibatches and draws are the same, bit by bit.
        order = np.lexsort((*X_var.T, *X.T, np.unique(y, return_inverse=True)[1]))
        X, y, X_var = X[order], y[order], X_var[order]
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"a classifier needs sources of at least two classes; found only {len(self.classes_)} class"
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        temperature = self.temperature
        if temperature == "folds":
            temperature = fold_temperature(self, X, y, X_var, seed=seed)
        self.mean_ = X.mean(axis=0)
        spread = X.std(axis=0)
        self.scale_ = np.where(spread > 1e-12 * np.abs(self.mean_), spread, 1.0)  # a constant input is left as it is
        X, X_var = self._standardise(X, X_var)
        num_inducing = self.num_inducing
        if not isinstance(num_inducing, Integral):
            num_inducing = max(2, min(_MAX_BY_FRACTION, round(num_inducing * len(X))))
        steps = self.steps
        if self.epochs is not None:
            steps = self.epochs * max(1, round(len(X) / min(self.batch_size or len(X), len(X))))
        Z = initial_inducing_points(X, num_inducing, self.inducing, np.random.default_rng(seed))
        prior = self._input_prior(X, X_var)
        model = build_model(
            self._settings(),
            Z,
            num_classes=len(self.classes_),
            num_data=len(X),
            input_prior=prior,
            dtype=self._dtype(),
        )
        history = []
        schedule = TrainingSettings(steps, self.batch_size, self.learning_rate, self.decay, seed)
        for state in train(model, X, X_var, labels, schedule):
            history.append(state.elbo)
            if progress is not None:
                progress(state)
        self.elbo_ = np.array(history)
        known = {_INPUT_MEAN: prior.mean, _INPUT_PRECISION: prior.precision, _TEMPERATURE: np.array(float(temperature))}
        return self.restore(weights_of(model) | known)

    def restore(self, weights: Mapping[str, np.ndarray]) -> NIMGPClassifier:
        """Take trained parameters, such as ``weights_`` of another of the same settings, and get ready to predict."""
        from fermiclass.nimgp.build import model_from_weights
        from fermiclass.nimgp.prediction import Predictor

        self.weights_ = dict(weights)
        parameters = dict(weights)
        mean, precision, temperature = (
            parameters.pop(name, np.empty(0)) for name in (_INPUT_MEAN, _INPUT_PRECISION, _TEMPERATURE)
        )
        model = model_from_weights(self._settings(), parameters, dtype=self._dtype())
        input_dim = parameters["posterior.Z"].shape[-1]
        if (mean.shape, precision.shape, temperature.shape) != ((input_dim,), (input_dim, input_dim), ()):
            raise ValueError(f"the weights lack p(x) of {input_dim} inputs, or the temperature")
        if np.linalg.eigvalsh(precision).min() < -1e-9 * np.abs(precision).max():
            raise ValueError("the p(x) has a negative precision along some direction")
        if not temperature > 0:
            raise ValueError(f"the temperature is {temperature}, not positive")
        self._predictor = Predictor(model, input_prior=InputPrior(mean, precision))
        return self.at_temperature(float(temperature))

    def at_temperature(self, temperature: float) -> NIMGPClassifier:
        """Set the temperature of a fitted classifier; see the parameter."""
        check_is_fitted(self)
        self.weights_[_TEMPERATURE] = np.array(float(temperature))
        self.temperature_ = self._predictor.temperature = float(temperature)
        return self

    def predict_proba(self, X: Any, *, X_var: Any = None) -> np.ndarray:
        """Class probabilities, ``(n, C)`` in the order of ``classes_``; see :meth:`predict_distribution`."""
        return self.predict_distribution(X, X_var=X_var).probabilities

    def predict(self, X: Any, *, X_var: Any = None) -> np.ndarray:
        """Most probable classes, ``(n,)``; see :meth:`predict_distribution`."""
        best = np.argmax(self.predict_proba(X, X_var=X_var), axis=1)
        return self.classes_[best]

    def predict_distribution(self, X: Any, *, X_var: Any = None) -> Prediction:
        """Probabilities with their uncertainty, and entropies with what they are made of.

        Parameters
        ----------
        X
            Observed inputs, ``(n, D)``.
        X_var
            Their noise variances, ``(n, D)``; None for noiseless inputs.
        """
        from fermiclass.nimgp.prediction import join

        return join(list(self.predict_blocks(X, X_var=X_var)))

    def predict_blocks(self, X: Any, *, X_var: Any = None, ratio: np.ndarray | None = None) -> Iterator[Prediction]:
        """Predict as :meth:`predict_distribution` does, a block of rows at a time.

        ``ratio`` (n, C) corrects for other shares of the classes; see
        :meth:`fermiclass.nimgp.prediction.Predictor.blocks`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        X, X_var = self._standardise(X, self._check_variances(X, X_var))
        if not self.average_noise or self.method == "mgp":
            X_var = np.zeros_like(X_var)
        return self._predictor.blocks(X, X_var, num_draws=self.num_draws, ratio=ratio)

    def _check_parameters(self) -> None:
        def number(kind: Any, *names: str, least: float = 0.0, optional: bool = False) -> None:
            for name in names:
                value = getattr(self, name)
                good = isinstance(value, kind) and not isinstance(value, bool) and value > least
                if not (good or (optional and value is None)):
                    what = "whole number" if kind is Integral else "number"
                    extra = ", or None" if optional else ""
                    raise ValueError(f"{name}={value!r} does not do: expected a {what} above {least:g}{extra}")

        number(Integral, "steps", "num_draws")
        number(Integral, "batch_size", "epochs", optional=True)
        number(Real, "learning_rate", "num_inducing")
        number(Real, "input_prior_variance", optional=True)
        number(Real, "jitter", least=-1e-300)
        number(Real, "clip", "epsilon", optional=True)
        number(Real, "max_noise", least=-1e-300, optional=True)
        if self.temperature != "folds":
            number(Real, "temperature")
        if self.temperature != 1 and self.likelihood == "step":
            raise ValueError(f"temperature={self.temperature!r} does not do: the step likelihood knows no scale of f")
        if self.epsilon is not None and self.epsilon >= 1:
            raise ValueError(f"epsilon={self.epsilon!r} does not do: expected a number between 0 and 1, or None")
        if not isinstance(self.num_inducing, Integral) and self.num_inducing >= 1:
            raise ValueError(
                f"num_inducing={self.num_inducing!r} does not do: expected a whole number, or a fraction below 1"
            )
        for name, known in (("inducing", INDUCING), ("input_prior", INPUT_PRIORS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is unknown: choose one of {', '.join(known)}")

    def _settings(self) -> ModelSettings:
        from fermiclass.nimgp.build import ModelSettings

        return ModelSettings(
            method=self.method,
            likelihood=self.likelihood,
            kernel=self.kernel,
            epsilon=self.epsilon,
            hyper_priors=self.hyper_priors,
            jitter=self.jitter,
        )

    def _input_prior(self, X: np.ndarray, X_var: np.ndarray) -> InputPrior:
        if self.input_prior == "population":
            prior = InputPrior.population(X, X_var)
        else:
            prior = InputPrior.isotropic(X.shape[1], 1.0)
        return prior.widened(self.input_prior_variance)

    def _dtype(self) -> Any:
        import tensorflow as tf

        if self.precision not in ("float32", "float64"):
            raise ValueError(f"precision={self.precision!r} is unknown: choose 'float32' or 'float64'")
        return tf.dtypes.as_dtype(self.precision)

    def _check_variances(self, X: np.ndarray, X_var: Any) -> np.ndarray:
        if X_var is None:
            return np.zeros_like(X)
        X_var = check_array(X_var, dtype=np.float64, input_name="X_var")
        if X_var.shape != X.shape:
            raise ValueError(f"X_var has shape {X_var.shape}, X has {X.shape}: every value of X needs its variance")
        if np.any(X_var < 0):
            row, column = np.argwhere(X_var < 0)[0]
            raise ValueError(f"X_var is negative in row {row}, column {column}: variances are zero or positive")
        return X_var

    def _standardise(self, X: np.ndarray, X_var: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        X, X_var = (X - self.mean_) / self.scale_, X_var / self.scale_**2
        if self.clip is not None:
            X = np.clip(X, -self.clip, self.clip)
        if self.max_noise is not None:
            X_var = np.minimum(X_var, self.max_noise)
        return X, X_var

    # The TensorFlow model can be neither copied nor sent elsewhere: it is rebuilt from weights_.
    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_predictor"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "weights_"):
            self.restore(self.weights_)
