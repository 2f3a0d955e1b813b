"""Regression in scikit-learn style with known noise: ``fit(X, y, *, X_var=None, y_var=None)``."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from fermiclass.estimator_settings import forget, mean_and_scale
from fermiclass.nimgp.expected.names import KERNELS
from fermiclass.nimgp.names import LEARNED


class UncertainGPRegressor(RegressorMixin, BaseEstimator):
    """Gaussian process regression on inputs and outputs with known noise, by expected covariances.

    The method of Dallaire, Besse & Chaib-draa (2011), "An approximate inference with Gaussian process to latent
    functions from uncertain data": with x_i ~ N(u_i, Σ_i) the outputs have covariances ``E k(x_i, x_j)``, variances
    ``E k(x_i, x_i) + σ_yi² + σ_ε²``, and all else is exact Gaussian process regression. Every row is a source of its
    own, also where two lie at one place. Hyper-parameters maximise the posterior (MAP), from several starts. Inputs and
    outputs are standardised inside.

    Time grows with N³, and with N² D³ where noise covariances are full; memory with N² D, or N² D².

    Parameters
    ----------
    kernel : str
        'se' (squared exponential with ARD length-scales), 'linear' or 'quadratic', expected, 'plain-se', which takes
        observed inputs for exact, or several joined by '+'. 'se+plain-se' is the paper's equation 20.
    noise_variance : float or 'learned'
        σ_ε² of the white noise, in the units of y²; the paper fixes 0 where output variances are known.
    hyper_priors : bool
        Log-normal priors on the hyper-parameters, or none (maximum likelihood). As the paper advises they penalise
        large noise and length-scales, by which everything is explained as noise.
    starts : int
        The first at the modes of the priors, the others drawn around it.
    steps : int
        L-BFGS steps a start, at most.
    jitter : float
        Added to the diagonal, relative to its mean.
    random_state : int, RandomState or None
        The same integer gives the same regressor.

    Attributes
    ----------
    n_features_in_ : int
        D.
    mean_, scale_ : ndarray (D,)
        By which inputs are standardised.
    y_mean_, y_scale_ : float
        The same of outputs.
    parameters_ : dict of ndarray
        Hyper-parameters for standardised inputs and outputs, by name (``kernel.variance``, …).
    noise_variance_ : float
        σ_ε², in the units of y².
    log_posterior_ : float
        Logarithm of marginal likelihood times prior, of standardised outputs.
    converged_ : bool
        Whether the best start ended at a maximum.
    n_steps_ : int
        Its steps.
    """

    def __init__(
        self,
        kernel: str = "se",
        *,
        noise_variance: float | str = LEARNED,
        hyper_priors: bool = True,
        starts: int = 5,
        steps: int = 200,
        jitter: float = 1e-10,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.hyper_priors = hyper_priors
        self.starts = starts
        self.steps = steps
        self.jitter = jitter
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, X_var: Any = None, y_var: Any = None) -> UncertainGPRegressor:
        """Learn.

        Parameters
        ----------
        X
            Observed inputs u, ``(N, D)``.
        y
            Outputs, ``(N,)``.
        X_var
            Noise variances of X, ``(N, D)``, or covariances, ``(N, D, D)``; None for exact inputs.
        y_var
            Known noise variances of y, ``(N,)``; None for none.

        Returns
        -------
        UncertainGPRegressor
            Itself.

        Raises
        ------
        ValueError
            When shapes differ, values are not finite or too large to square, a variance is negative, a covariance is
            not symmetric or not positive semi-definite, or a parameter does not do.
        TrainingError
            When the covariance matrix of the outputs is not positive definite in floating point, from any start.

        Warns
        -----
        ConvergenceWarning
            When the best start did not end at a maximum.
        """
        from fermiclass.nimgp.expected.build import SPREAD
        from fermiclass.nimgp.expected.sources import check_input_noise
        from fermiclass.nimgp.expected.training import train

        self._check_parameters()
        forget(self)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        y = np.asarray(y, np.float64)
        noise = check_input_noise(X, X_var)
        output_noise = _check_output_noise(y, y_var)
        self.mean_, self.scale_ = mean_and_scale(X)
        self.y_mean_, self.y_scale_ = map(float, mean_and_scale(y, "y"))
        self._rows = self._standardised(X, noise)
        self._y, self._y_var = (y - self.y_mean_) / self.y_scale_, output_noise / self.y_scale_**2
        model = self._build()
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        best = train(model, starts=self.starts, steps=self.steps, spread=SPREAD, rng=rng)
        self.converged_, self.n_steps_, self.log_posterior_ = not best.failure, best.steps, -best.loss
        if best.failure:
            warnings.warn(
                f"the best of {self.starts} starts is not at a maximum ({best.failure}): raise steps, now "
                f"{self.steps}, or starts",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.parameters_ = _parameters(model)
        self.noise_variance_ = float(self.parameters_["noise_variance"] * self.y_scale_**2)
        self._model, self._solution = model, model.solve()
        return self

    def predict(self, X: Any, *, X_var: Any = None, return_std: bool = False) -> Any:
        """Mean, and standard deviation, of the noiseless output f(x*) of new sources.

        With x* ~ N(u*, Σ*) they are those of ``∫ p(f* | x*, y) N(x* | u*, Σ*) dx*``, exact but for the process being
        that of the expected covariances: with ``k_i(x*) = E k(x_i, x*)``, k and V mean and covariance of k(x*) over x*,
        A the covariance matrix of the training outputs, noise included, and ``α = A⁻¹ y``,

            mean = kᵀ α,    variance = E k(x*, x*) − kᵀ A⁻¹ k + Σ_ij (α_i α_j − (A⁻¹)_ij) V_ij.

        For Σ* = 0 they are the paper's (4) and (5). The distribution is Gaussian only there. Noise of outputs is not
        part of f; 'plain-se' is a function of u*. A row is taken for a new source even where a training source lies.

        Parameters
        ----------
        X
            Observed inputs u*, ``(n, D)``.
        X_var
            Their noise variances, ``(n, D)``, or covariances, ``(n, D, D)``; None for exact inputs.
        return_std
            Whether standard deviations are returned, too: N² D operations a source where X_var is given, N² D³ with
            covariances.

        Returns
        -------
        ndarray or tuple of ndarray
            Means ``(n,)``, or these and standard deviations ``(n,)``.

        Raises
        ------
        ValueError
            As for :meth:`fit`.
        """
        from fermiclass.nimgp.expected.sources import check_input_noise

        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        rows = self._standardised(X, check_input_noise(X, X_var))
        mean = self.y_mean_ + self.y_scale_ * self._model.predict_mean(rows, self._solution)
        if not return_std:
            return mean
        return mean, self.y_scale_ * np.sqrt(self._model.predict_variance(rows, self._solution))

    def _standardised(self, X: np.ndarray, noise: np.ndarray) -> np.ndarray:
        from fermiclass.nimgp.expected.sources import pack

        scale = self.scale_ if noise.ndim == 2 else np.sqrt(self.scale_[:, None] * self.scale_)
        return pack((X - self.mean_) / self.scale_, noise / scale**2)

    def _build(self) -> Any:
        from fermiclass.nimgp.expected.build import build_regression

        fixed = None if self.noise_variance == LEARNED else float(self.noise_variance) / self.y_scale_**2
        return build_regression(
            self.kernel,
            len(self.mean_),
            self._rows,
            self._y,
            y_var=self._y_var,
            noise_variance=fixed,
            hyper_priors=self.hyper_priors,
            jitter=self.jitter,
        )

    def _check_parameters(self) -> None:
        if not isinstance(self.kernel, str) or not set(self.kernel.split("+")) <= set(KERNELS):
            raise ValueError(f"kernel={self.kernel!r} is unknown: join some of {', '.join(KERNELS)} by '+'")
        for name in ("starts", "steps"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name}={value!r} does not do: expected a whole number above 0")
        if not _is_number(self.jitter):
            raise ValueError(f"jitter={self.jitter!r} does not do: expected a number of 0 or more")
        if self.noise_variance != LEARNED and not _is_number(self.noise_variance):
            raise ValueError(
                f"noise_variance={self.noise_variance!r} does not do: expected '{LEARNED}', or a number of 0 or more"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_solution")  # the last thing that fit sets

    # The TensorFlow model can be neither copied nor sent elsewhere: it is rebuilt from its parameters.
    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key not in ("_model", "_solution")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "parameters_"):
            from gpflow.utilities import multiple_assign

            self._model = self._build()
            multiple_assign(self._model, {f".{name}": value for name, value in self.parameters_.items()})
            self._solution = self._model.solve()


def _parameters(model: Any) -> dict[str, np.ndarray]:
    from gpflow.utilities import parameter_dict

    return {path.lstrip("."): np.asarray(parameter) for path, parameter in parameter_dict(model).items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < np.inf


def _check_output_noise(y: np.ndarray, y_var: Any) -> np.ndarray:
    """Return the variances of y, zeros for None."""
    if y_var is None:
        return np.zeros_like(y)
    variances = np.asarray(y_var, np.float64)
    if variances.shape != y.shape:
        raise ValueError(f"y_var has shape {variances.shape}, y has {y.shape}: every output needs its variance")
    odd = np.flatnonzero(~(np.isfinite(variances) & (variances >= 0)))
    if odd.size:
        raise ValueError(f"y_var is {variances[odd[0]]} in row {odd[0]}: variances are zero or positive, and finite")
    return variances
