"""Regression with the interface of scikit-learn, noisy inputs and any likelihood: ``fit(X, y, *, X_var=None)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from fermiclass.nimgp.arrays import align_columns, part_frame
from fermiclass.nimgp.estimators.fitted import Fitted
from fermiclass.nimgp.estimators.fitting import fit_prepared
from fermiclass.nimgp.estimators.mixins import NoisyRegressorMixin, SparseGP, keep, new_rows, training_rows
from fermiclass.nimgp.estimators.preparation import measured_rows, prepare
from fermiclass.nimgp.processes import refuse_after_fork
from fermiclass.nimgp.quiet import start_tensorflow
from fermiclass.nimgp.settings import HyperOptions, InputOptions, RegressorSettings, TrainingOptions
from fermiclass.nimgp.targets import check_outputs

if TYPE_CHECKING:
    from fermiclass.nimgp.training.loop import TrainingState


_UNKNOWN: dict[str, Any] = {"ensure_all_finite": "allow-nan"}  # values of X and X_var


class NIMGPRegressor(NoisyRegressorMixin, SparseGP):
    """Sparse Gaussian process regression on inputs with known noise variances: numbers, counts, labels.

    It has the methods of :class:`fermiclass.NIMGPClassifier` with any likelihood of GPflow (Villacampa-Calvo, Zaldívar,
    Garrido-Merchán & Hernández-Lobato 2021, section 3.5). It standardises inputs itself, and outputs that are measured
    in units. The order of the training rows has no effect. It can train on any number of rows;
    :class:`fermiclass.UncertainGPRegressor` is exact, for about a thousand rows.

    Parameters
    ----------
    likelihood : str or gpflow.likelihoods.Likelihood
        p(y | f): 'gaussian', 'student-t', 'poisson', 'bernoulli', or a likelihood of GPflow; see
        :func:`fermiclass.nimgp.likelihoods.outputs.make_output_likelihood`. A GPflow object is copied, and gets y
        without standardisation. It must have one output per row.
    method, kernel, num_inducing, steps, epochs, batch_size, learning_rate, num_draws
        As for :class:`fermiclass.NIMGPClassifier`.
    hyper, training, random_state, verbose
        As for :class:`fermiclass.NIMGPClassifier`. Training always uses double precision.
    inputs : InputOptions, dict or None
        As for the classifier, but the default is a prior p(x) of the population of the training inputs with scale 1,
        and inputs and variances are not clipped. A dict changes some of these.

    Attributes
    ----------
    n_features_in_, mean_, scale_, weights_, objective_
        As for :class:`fermiclass.NIMGPClassifier`.
    y_mean_, y_scale_ : float
        Mean and scale by which outputs are standardised; 0 and 1 if they are not.
    """

    def __init__(
        self,
        *,
        likelihood: Any = "gaussian",
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
        verbose: int = 0,
    ) -> None:
        keep(self, locals())

    def fit(
        self, X: Any, y: Any, *, X_var: Any = None, progress: Callable[[TrainingState], None] | None = None
    ) -> Self:
        """Train the regressor.

        Parameters
        ----------
        X
            Observed inputs, ``(N, D)``; NaN is a value that is not known.
        y
            Outputs, ``(N,)``.
        X_var
            Noise variances of X, ``(N, D)``, non-negative; None for noiseless inputs. NaN, an error that is not known,
            counts as for :meth:`fermiclass.NIMGPClassifier.fit`.
        progress
            Called with the state of training every few steps.

        Raises
        ------
        ValueError
            When shapes differ, values are infinite or too large to square, a variance is negative, y does not fit the
            likelihood, or a parameter is not valid.
        TrainingError
            When the objective becomes NaN.
        """
        start_tensorflow()
        from fermiclass.nimgp.training.loop import TrainingData

        settings = RegressorSettings(**self.get_params(deep=False))
        self.__dict__.pop("fitted_", None)  # a fit that fails leaves nothing of an earlier one
        X, X_var, y = training_rows(self, X, X_var, y, y_numeric=True, **_UNKNOWN)
        names = getattr(self, "feature_names_in_", None)
        rows = measured_rows(settings, X, X_var, np.asarray(y, np.float64), names)
        prepared = prepare(settings, rows)
        data = TrainingData(prepared.X, prepared.X_var, rows.y)
        return self._adopt(fit_prepared(prepared, data, progress=self._observer(progress)))

    def restore(self, weights: Mapping[str, np.ndarray]) -> Self:
        """Use ``weights_`` of a fitted regressor with the same parameters; ValueError when they do not fit."""
        settings = RegressorSettings(**self.get_params(deep=False))
        return self._adopt(Fitted.from_arrays(settings, None, weights))

    def _adopt(self, fitted: Fitted) -> Self:
        """Show what was fitted as attributes."""
        self.y_mean_, self.y_scale_ = fitted.target.mean, fitted.target.scale
        return super()._adopt(fitted)

    def predict(self, X: Any, *, X_var: Any = None, return_std: bool = False) -> Any:
        """Return mean and standard deviation of the outputs of new rows, averaged over their error bars.

        Parameters
        ----------
        X
            Observed inputs, ``(n, D)``, NaN where not known.
        X_var
            Noise variances of X, ``(n, D)``, NaN where not known; None for noiseless inputs. `method='mgp'` ignores
            them.
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

        For counts, a quantile is the least value whose cumulative probability is at least the level. They
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
            When the likelihood is neither one by name nor GPflow's class of it.
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
        check_is_fitted(self)
        align_columns(X, y=y)
        options = {"dtype": np.float64, "order": "C", "y_numeric": True, "reset": False, **_UNKNOWN}
        _, y = validate_data(self, part_frame(X, X_var)[0], y, **options)
        y = np.asarray(y, np.float64)
        check_outputs(self.fitted_.settings.likelihood, y)
        found = self._predict("log_density", X, X_var, (y - self.y_mean_) / self.y_scale_)
        return np.asarray(found - np.log(self.y_scale_))

    def _predict(self, what: str, X: Any, X_var: Any, *rest: np.ndarray) -> Any:
        refuse_after_fork()
        check_is_fitted(self)
        inputs = self.fitted_.inputs(*new_rows(self, X, X_var, **_UNKNOWN))
        return getattr(self.fitted_.predictor, what)(*inputs, *rest, num_draws=self.fitted_.num_draws)
