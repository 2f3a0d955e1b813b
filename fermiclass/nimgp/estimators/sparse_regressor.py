"""Regression with the interface of scikit-learn, noisy inputs and any likelihood: ``fit(X, y, *, X_var=None)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from fermiclass.nimgp.arrays import without_outliers
from fermiclass.nimgp.estimators.fitting import schedule
from fermiclass.nimgp.estimators.mixins import NoisyRegressorMixin, RebuiltModelMixin
from fermiclass.nimgp.estimators.preparation import (
    Scaling,
    inducing_points,
    input_prior,
    mean_and_scale,
    new_rows,
    random_seed,
    training_rows,
)
from fermiclass.nimgp.names import AVERAGING, FIRST_ORDER, FULL_BATCH
from fermiclass.nimgp.processes import refuse_after_fork
from fermiclass.nimgp.settings import HyperOptions, InputOptions, Settings, TrainingOptions
from fermiclass.nimgp.validation import align_columns, part_frame

if TYPE_CHECKING:
    from fermiclass.nimgp.training.loop import TrainingState

_JITTER = 1e-6  # enough for double precision

#: Options that differ from those of the classifier.
_INPUTS: Mapping[str, Any] = {"prior": "population", "prior_variance": 1.0, "clip": None, "max_noise": None}


class NIMGPRegressor(NoisyRegressorMixin, RebuiltModelMixin, BaseEstimator):
    """Sparse Gaussian process regression on inputs with known noise variances: numbers, counts, grades.

    It has the methods of :class:`fermiclass.NIMGPClassifier` with any likelihood of GPflow (Villacampa-Calvo, Zaldívar,
    Garrido-Merchán & Hernández-Lobato 2021, section 3.5). It standardises inputs itself, and outputs that are measured
    in units. The order of the training rows has no effect. It can train on any number of rows;
    :class:`fermiclass.UncertainGPRegressor` is exact, for about a thousand rows.

    Parameters
    ----------
    likelihood : str or gpflow.likelihoods.Likelihood
        p(y | f): 'gaussian', 'student-t', 'poisson', 'bernoulli', 'ordinal', 'heteroskedastic', or a likelihood of
        GPflow; see :func:`fermiclass.nimgp.likelihoods.outputs.make_output_model`. A GPflow object is copied, and gets
        y without standardisation. It must have one output per row.
    method, kernel, num_inducing, steps, epochs, batch_size, learning_rate, num_draws, hyper, training, random_state
        As for :class:`fermiclass.NIMGPClassifier`. Training always uses double precision.
    inputs : InputOptions, dict or None
        As for the classifier, but the default is a prior p(x) of the population of the training inputs with scale 1,
        and inputs and variances are not clipped. A dict changes some of these.

    Attributes
    ----------
    n_features_in_ : int
        Number of features, D.
    mean_, scale_ : ndarray (D,)
        Mean and scale by which inputs are standardised.
    y_mean_, y_scale_ : float
        Mean and scale by which outputs are standardised; 0 and 1 if they are not.
    weights_ : dict of ndarray
        Trained parameters, by name.
    objective_ : ndarray
        Objective during training.
    """

    _of_model = ("_predictor",)

    def __init__(
        self,
        likelihood: Any = "gaussian",
        *,
        method: str = "nimgp",
        kernel: str = "se+linear",
        num_inducing: float = 60,
        steps: int = 1000,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float = 0.03,
        num_draws: int = 128,
        inputs: InputOptions | Mapping[str, Any] | None = None,
        hyper: HyperOptions | Mapping[str, Any] | None = None,
        training: TrainingOptions | Mapping[str, Any] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.likelihood = likelihood
        self.method = method
        self.kernel = kernel
        self.num_inducing = num_inducing
        self.steps = steps
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.num_draws = num_draws
        self.inputs = inputs
        self.hyper = hyper
        self.training = training
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, X_var: Any = None, progress: Callable[[TrainingState], None] | None = None
    ) -> NIMGPRegressor:
        """Train the regressor.

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
            When shapes differ, values are not finite or too large to square, a variance is negative, y does not fit the
            likelihood, or a parameter is not valid.
        TrainingError
            When the objective becomes NaN.
        """
        from fermiclass.nimgp.likelihoods.outputs import STANDARDISED
        from fermiclass.nimgp.model import weights_of
        from fermiclass.nimgp.training.loop import TrainingData, maximise

        settings = self._fitted_settings = self._settings()
        for name in ("_predictor", "weights_"):  # a failing fit leaves nothing of an earlier fit
            self.__dict__.pop(name, None)
        self._fitted_likelihood = self.likelihood
        X, X_var, y = training_rows(self, X, X_var, y, y_numeric=True)
        y = np.asarray(y, np.float64)
        order = np.lexsort((*X_var.T, *X.T, y))  # one order for all permutations of the same rows
        X, X_var, y = X[order], X_var[order], y[order]
        X = without_outliers(X, getattr(self, "feature_names_in_", None))
        self.mean_, self.scale_ = mean_and_scale(X)
        y_scaling, measured = (
            mean_and_scale(y, "y"),
            isinstance(self.likelihood, str) and self.likelihood in STANDARDISED,
        )
        self.y_mean_, self.y_scale_ = map(float, y_scaling) if measured else (0.0, 1.0)
        X, X_var = Scaling(self.mean_, self.scale_).apply(X, X_var, settings)
        y = (y - self.y_mean_) / self.y_scale_
        seed = random_seed(settings)
        self._prior = input_prior(settings, X, X_var, seed)
        Z = inducing_points(settings, X, len(X), seed)
        self._y = y
        model = self._build(Z, len(y), seed)
        steps = schedule(settings, len(y), seed)
        for state in maximise(model, TrainingData(X, X_var, y), steps):
            if progress is not None:
                progress(state)
        self.objective_ = state.history.astype(np.float64)
        self.weights_ = weights_of(model)
        self._get_ready(model)
        return self

    def predict(self, X: Any, *, X_var: Any = None, return_std: bool = False) -> Any:
        """Return mean and standard deviation of the outputs of new rows, averaged over their error bars.

        Parameters
        ----------
        X
            Observed inputs, ``(n, D)``.
        X_var
            Noise variances of X, ``(n, D)``; None for noiseless inputs. `method='mgp'` ignores them.
        return_std
            Whether to return standard deviations of y too. They contain the noise of the likelihood, and are infinite
            or NaN if the likelihood has no standard deviation.

        Returns
        -------
        ndarray or tuple of ndarray
            Means ``(n,)``, or means and standard deviations ``(n,)``. For GPflow's likelihoods of classes (Softmax,
            MultiClass), those of the class probabilities, ``(n, C)``.
        """
        mean, var = self._predict("moments", X, X_var)
        mean, std = self.y_mean_ + self.y_scale_ * mean, self.y_scale_ * np.sqrt(np.maximum(var, 0.0))
        if mean.shape[1] == 1:
            mean, std = mean[:, 0], std[:, 0]
        return (mean, std) if return_std else mean

    def predict_quantiles(self, X: Any, levels: Sequence[float] = (0.025, 0.5, 0.975), *, X_var: Any = None) -> Any:
        """Return quantiles of the outputs of new rows, ``(n, Q)``, by default the median and the central 95 %.

        For counts and grades, a quantile is the least value whose cumulative probability is at least the level. They
        are quantiles of draws of the output: 8,000 and more for each row.

        Parameters
        ----------
        X, X_var
            As for :meth:`predict`.
        levels
            The Q levels, between 0 and 1.

        Raises
        ------
        ValueError
            When a level is not between 0 and 1.
        NotImplementedError
            When the likelihood is one of classes, or its distribution function is not known.
        """
        wanted = np.atleast_1d(np.asarray(levels, np.float64))
        if wanted.ndim != 1 or not np.all((wanted > 0) & (wanted < 1)):
            raise ValueError(f"the levels {levels!r} are not valid: expected numbers between 0 and 1")
        return self.y_mean_ + self.y_scale_ * self._predict("quantiles", X, X_var, wanted)

    def log_density(self, X: Any, y: Any, *, X_var: Any = None) -> np.ndarray:
        """Return the natural logarithm of the predictive density (or probability) of outputs, ``(n,)``, in units of y.

        This is ``log E_x E_f p(y | f(x))``: the average over the noiseless inputs and the latent functions is inside.

        Parameters
        ----------
        X, X_var
            As for :meth:`predict`.
        y
            Outputs, ``(n,)``.

        Raises
        ------
        ValueError
            As for :meth:`fit`.
        """
        from fermiclass.nimgp.likelihoods.outputs import check_outputs

        check_is_fitted(self)
        align_columns(X, y=y)
        _, y = validate_data(self, part_frame(X, X_var)[0], y, dtype=np.float64, order="C", y_numeric=True, reset=False)
        y = np.asarray(y, np.float64)
        likelihood = self._fitted_likelihood
        if isinstance(likelihood, str):
            check_outputs(likelihood, y)
            if likelihood == "ordinal" and y.max() > self._y.max():
                raise ValueError(f"y has the grade {y.max():g}: the largest in training was {self._y.max():g}")
        found = self._predict("log_density", X, X_var, (y - self.y_mean_) / self.y_scale_)
        return np.asarray(found - np.log(self.y_scale_))

    def _predict(self, what: str, X: Any, X_var: Any, *rest: np.ndarray) -> Any:
        refuse_after_fork()
        check_is_fitted(self)
        X, X_var = new_rows(self, X, X_var)
        settings = self._fitted_settings
        if settings.method not in (*AVERAGING, *FIRST_ORDER):
            X_var = np.zeros_like(X_var)
        X, X_var = Scaling(self.mean_, self.scale_).apply(X, X_var, settings)
        return getattr(self._predictor, what)(X, X_var, *rest, num_draws=settings.num_draws)

    def _build(self, Z: np.ndarray, num_data: int, seed: int) -> Any:
        from fermiclass.nimgp.inputs.models import Standardised
        from fermiclass.nimgp.likelihoods.outputs import make_output_model
        from fermiclass.nimgp.model import compose_model

        refuse_after_fork()
        settings, response = self._fitted_settings, make_output_model(self._fitted_likelihood, self._y)
        return compose_model(
            settings,
            Z,
            response.adapted(2 * settings.training.draw_pairs),
            response.num_functions,
            Standardised(*map(float, mean_and_scale(self._y, "y"))),
            num_data=num_data,
            scales=response.scales,
            input_prior=self._prior,
            seed=seed,
            jitter=_JITTER,
        )

    def _get_ready(self, model: Any) -> None:
        """Predict with a model that gets the weights, rounded as those of a pickle."""
        from fermiclass.nimgp.model import assign_weights
        from fermiclass.nimgp.prediction.responses import ResponsePredictor

        assign_weights(model, self.weights_)
        first_order = self._fitted_settings.method in FIRST_ORDER
        self._predictor = ResponsePredictor(model, input_prior=self._prior, first_order=first_order)

    def _settings(self) -> Settings:
        own = self.get_params(deep=False)
        del own["likelihood"]  # make_output_model checks it
        for name, defaults in {"training": FULL_BATCH["training"], "inputs": _INPUTS}.items():
            if own[name] is None or isinstance(own[name], Mapping):
                own[name] = {**defaults, **(own[name] or {})}
        return Settings(**own, objective="elbo")

    def _rebuild(self) -> None:
        self._get_ready(self._build(self.weights_["posterior.Z"][0], 0, 0))
