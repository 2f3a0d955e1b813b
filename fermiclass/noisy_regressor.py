"""Regression with noisy inputs and any likelihood in scikit-learn style: ``fit(X, y, *, X_var=None)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from fermiclass.estimator_settings import (
    INPUT_PRIORS,
    check_numbers,
    check_variances,
    forget,
    input_prior,
    mean_and_scale,
    num_inducing_points,
    training_settings,
)
from fermiclass.nimgp.inducing import INDUCING, initial_inducing_points
from fermiclass.nimgp.names import AVERAGING, FIRST_ORDER

if TYPE_CHECKING:
    from fermiclass.nimgp.build import ModelSettings
    from fermiclass.nimgp.training import TrainingState


class NIMGPRegressor(RegressorMixin, BaseEstimator):
    """Sparse Gaussian process regression on inputs with known noise variances: numbers, counts, grades.

    Villacampa-Calvo, Zaldívar, Garrido-Merchán & Hernández-Lobato (2021), section 3.5: the methods of
    :class:`fermiclass.NIMGPClassifier` with any likelihood of GPflow's. Inputs, and outputs that are measured in units,
    are standardised inside. The order of the training rows changes nothing. It learns from any number of rows;
    :class:`fermiclass.UncertainGPRegressor` is exact, for a thousand or so.

    Parameters
    ----------
    likelihood : {'gaussian', 'student-t', 'poisson', 'bernoulli', 'ordinal', 'heteroskedastic'} or a GPflow likelihood
        p(y | f); see :func:`fermiclass.nimgp.response_likelihoods.make_response`. An object is copied, sees y as it is,
        and must be of one output a row; with one, an estimator can be neither pickled nor compared.
    method : {'nimgp', 'nimgp-psi', 'nimgp-nn', 'nimgp-fo', 'nimgp-fo-marginal', 'mgp', 'mgp-aug', 'mgp-sampling'}
        How input noise is treated, as by the classifier; 'mgp' ignores it.
    kernel : str
        'se', 'matern32', 'matern52', 'linear', 'polynomial', or several joined by '+'; white noise is always added.
    num_inducing, inducing, steps, batch_size, learning_rate, decay, epochs, natural_gradient, patience
        As of the classifier.
    input_prior, input_prior_variance, components
        p(x) of the noiseless inputs, as of the classifier; by default that of the training rows, deconvolved.
    initial_lengthscale : float or None
        Where length-scales start, for standardised inputs; None for the median of their prior, √D.
    hyper_priors, initial_white, initial_spread, jitter, hidden_units, hidden_layers, degree
        As of the classifier.
    num_draws : int
        Quasi-Monte Carlo draws of each noisy input in prediction, best a power of 2.
    random_state : int, RandomState or None
        The same integer gives the same regressor.

    Attributes
    ----------
    n_features_in_ : int
        D.
    mean_, scale_ : ndarray (D,)
        By which inputs are standardised.
    y_mean_, y_scale_ : float
        The same of outputs; 0 and 1 where they are not.
    weights_ : dict of ndarray
        Trained parameters, by name.
    elbo_ : ndarray
        The bound as training went on.
    """

    def __init__(
        self,
        likelihood: Any = "gaussian",
        *,
        method: str = "nimgp",
        kernel: str = "se+linear",
        num_inducing: int | float = 60,
        inducing: str = "kmeans",
        steps: int = 1000,
        batch_size: int | None = None,
        learning_rate: float = 0.03,
        decay: bool = True,
        epochs: int | None = None,
        natural_gradient: float | None = None,
        patience: int | None = None,
        input_prior: str = "population",
        input_prior_variance: float | None = 1.0,
        components: int = 3,
        hyper_priors: bool = True,
        initial_lengthscale: float | None = None,
        initial_white: float = 0.01,
        initial_spread: float = 0.5,
        jitter: float = 1e-6,
        hidden_units: int = 50,
        hidden_layers: int = 1,
        degree: int = 3,
        num_draws: int = 128,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.likelihood = likelihood
        self.method = method
        self.kernel = kernel
        self.num_inducing = num_inducing
        self.inducing = inducing
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.decay = decay
        self.epochs = epochs
        self.natural_gradient = natural_gradient
        self.patience = patience
        self.input_prior = input_prior
        self.input_prior_variance = input_prior_variance
        self.components = components
        self.hyper_priors = hyper_priors
        self.initial_lengthscale = initial_lengthscale
        self.initial_white = initial_white
        self.initial_spread = initial_spread
        self.jitter = jitter
        self.hidden_units = hidden_units
        self.hidden_layers = hidden_layers
        self.degree = degree
        self.num_draws = num_draws
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, X_var: Any = None, progress: Callable[[TrainingState], None] | None = None
    ) -> NIMGPRegressor:
        """Learn.

        Parameters
        ----------
        X
            Observed inputs, ``(N, D)``.
        y
            Outputs, ``(N,)``.
        X_var
            Noise variances of X, ``(N, D)``, non-negative; None for noiseless inputs.
        progress
            Called with the state of training every few steps.

        Raises
        ------
        ValueError
            When shapes differ, values are not finite or too large to square, a variance is negative, y is not what the
            likelihood is of, or a parameter does not do.
        TrainingError
            When the bound becomes no number.
        """
        from fermiclass.nimgp.build import weights_of
        from fermiclass.nimgp.feeds import TrainingData
        from fermiclass.nimgp.training import train

        self._check_parameters()
        forget(self)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        y, X_var = np.asarray(y, np.float64), check_variances(X, X_var)
        order = np.lexsort((*X_var.T, *X.T, y))  # one order for all permutations of the same rows
        X, X_var, y = X[order], X_var[order], y[order]
        self.mean_, self.scale_ = mean_and_scale(X)
        self._read_scale_of(y)
        X, X_var, y = (X - self.mean_) / self.scale_, X_var / self.scale_**2, (y - self.y_mean_) / self.y_scale_
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._prior = input_prior(self, X, X_var, seed)
        Z = initial_inducing_points(X, num_inducing_points(self, len(X)), self.inducing, np.random.default_rng(seed))
        self._y = y
        model = self._build(Z, len(y), seed)
        for state in train(model, TrainingData(X, X_var, y), training_settings(self, len(y), seed)):
            history = state.history
            if progress is not None:
                progress(state)
        self.elbo_ = history.astype(np.float64)
        self.weights_ = weights_of(model)
        self._get_ready(model)
        return self

    def predict(self, X: Any, *, X_var: Any = None, return_std: bool = False) -> Any:
        """Mean, and standard deviation, of the outputs of new rows, averaged over what their error bars leave open.

        Parameters
        ----------
        X
            Observed inputs, ``(n, D)``.
        X_var
            Their noise variances, ``(n, D)``; None for noiseless inputs. `method='mgp'` ignores them.
        return_std
            Whether standard deviations of y, the likelihood's noise included, are returned, too; infinite, or NaN,
            where the likelihood has none.

        Returns
        -------
        ndarray or tuple of ndarray
            Means ``(n,)``, or these and standard deviations ``(n,)``. Of GPflow's likelihoods of classes (Softmax,
            MultiClass) both are of the classes' probabilities, ``(n, C)``.
        """
        mean, var = self._predict("moments", X, X_var)
        mean, std = self.y_mean_ + self.y_scale_ * mean, self.y_scale_ * np.sqrt(np.maximum(var, 0.0))
        if mean.shape[1] == 1:
            mean, std = mean[:, 0], std[:, 0]
        return (mean, std) if return_std else mean

    def predict_quantiles(self, X: Any, levels: Sequence[float] = (0.025, 0.5, 0.975), *, X_var: Any = None) -> Any:
        """Quantiles of the outputs of new rows, ``(n, Q)``, by default the median and a central 95 %.

        Of counts and grades the least one up to which there is so much.

        Raises
        ------
        ValueError
            When a level is not between 0 and 1.
        NotImplementedError
            When the likelihood is of classes, or its distribution function is not known.
        """
        wanted = np.atleast_1d(np.asarray(levels, np.float64))
        if wanted.ndim != 1 or not np.all((wanted > 0) & (wanted < 1)):
            raise ValueError(f"the levels {levels!r} do not do: expected numbers between 0 and 1")
        return self.y_mean_ + self.y_scale_ * self._predict("quantiles", X, X_var, wanted)

    def log_density(self, X: Any, y: Any, *, X_var: Any = None) -> np.ndarray:
        """Natural logarithm of the predictive density (or probability) of outputs, ``(n,)``, in the units of y.

        The average over the noiseless inputs and the latent functions stands inside the logarithm.

        Raises
        ------
        ValueError
            As by :meth:`fit`.
        """
        from fermiclass.nimgp.response_likelihoods import check_outputs

        check_is_fitted(self)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, reset=False)
        y = np.asarray(y, np.float64)
        if isinstance(self.likelihood, str):
            check_outputs(self.likelihood, y)
            if self.likelihood == "ordinal" and y.max() > self._y.max():
                raise ValueError(f"y has the grade {y.max():g}: the largest in training was {self._y.max():g}")
        found = self._predict("log_density", X, X_var, (y - self.y_mean_) / self.y_scale_)
        return np.asarray(found - np.log(self.y_scale_))

    def _predict(self, what: str, X: Any, X_var: Any, *rest: np.ndarray) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        X_var = check_variances(X, X_var)
        if self.method not in (*AVERAGING, *FIRST_ORDER):
            X_var = np.zeros_like(X_var)
        X, X_var = (X - self.mean_) / self.scale_, X_var / self.scale_**2
        return getattr(self._predictor, what)(X, X_var, *rest, num_draws=self.num_draws)

    def _read_scale_of(self, y: np.ndarray) -> None:
        from fermiclass.nimgp.response_likelihoods import STANDARDISED

        measured = isinstance(self.likelihood, str) and self.likelihood in STANDARDISED
        mean, scale = mean_and_scale(y, "y")
        self.y_mean_, self.y_scale_ = (float(mean), float(scale)) if measured else (0.0, 1.0)

    def _build(self, Z: np.ndarray, num_data: int, seed: int) -> Any:
        from fermiclass.nimgp.build import compose_model
        from fermiclass.nimgp.network import Standardised
        from fermiclass.nimgp.response_likelihoods import make_response

        response = make_response(self.likelihood, self._y)
        mean, scale = mean_and_scale(self._y, "y")
        return compose_model(
            self._settings(),
            Z,
            response.adapted(),
            response.num_functions,
            Standardised(float(mean), float(scale)),
            num_data=num_data,
            scales=response.scales,
            input_priors=[self._prior],
            seed=seed,
        )

    def _get_ready(self, model: Any) -> None:
        from fermiclass.nimgp.responses import ResponsePredictor

        self._predictor = ResponsePredictor(model, input_prior=self._prior, first_order=self.method in FIRST_ORDER)

    def _settings(self) -> ModelSettings:
        from fermiclass.nimgp.build import ModelSettings

        names = {field.name for field in fields(ModelSettings)} & self.get_params(deep=False).keys()
        return ModelSettings(**{name: getattr(self, name) for name in names - {"likelihood"}})

    def _check_parameters(self) -> None:
        self._settings()  # checks the names
        check_numbers(self, Integral, "steps", "num_draws", "components", "hidden_units", "hidden_layers", "degree")
        check_numbers(self, Integral, "batch_size", "epochs", "patience", optional=True)
        check_numbers(self, Real, "learning_rate", "num_inducing", "initial_white", "initial_spread")
        check_numbers(self, Real, "input_prior_variance", "initial_lengthscale", "natural_gradient", optional=True)
        check_numbers(self, Real, "jitter", zero=True)
        for name, known in (("inducing", INDUCING), ("input_prior", INPUT_PRIORS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is unknown: choose one of {', '.join(known)}")
        if not isinstance(self.num_inducing, Integral) and self.num_inducing >= 1:
            raise ValueError(
                f"num_inducing={self.num_inducing!r} does not do: expected a whole number, or a fraction below 1"
            )
        if self.natural_gradient is not None and self.natural_gradient > 1:
            raise ValueError(
                f"natural_gradient={self.natural_gradient!r} does not do: expected a number up to 1, or None"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_predictor")  # the last thing that fit sets

    # The TensorFlow model can be neither copied nor sent elsewhere: it is rebuilt from weights_.
    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_predictor"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "weights_"):
            from fermiclass.nimgp.build import assign_weights

            model = self._build(self.weights_["posterior.Z"][0], 0, 0)
            assign_weights(model, self.weights_)
            self._get_ready(model)
