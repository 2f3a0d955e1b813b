"""Exact regression with the interface of scikit-learn and known noise: ``fit(X, y, *, X_var=None, y_var=None)``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fermiclass.nimgp.arrays import mean_and_scale, without_outliers
from fermiclass.nimgp.estimators.mixins import NoisyRegressorMixin, check_variances, keep, new_rows, training_rows
from fermiclass.nimgp.expected import KERNELS
from fermiclass.nimgp.names import LEARNED
from fermiclass.nimgp.processes import is_broken_fork, refuse_after_fork
from fermiclass.nimgp.quiet import start_tensorflow
from fermiclass.nimgp.settings import Number, check_setting

if TYPE_CHECKING:
    from fermiclass.nimgp.expected.kernels import Sources

_WHOLE, _FROM_ZERO = Number(whole=True), Number(low_counts=True)
_ALLOWED: dict[str, tuple[Any, ...]] = {"hyper_priors": (bool,), "starts": (_WHOLE,), "steps": (_WHOLE,)}
_ALLOWED |= {"noise_variance": (LEARNED, _FROM_ZERO), "jitter": (_FROM_ZERO,)}
_OF_MODEL = ("_model", "_solution")  # attributes of TensorFlow, which cannot be pickled: they are built again
_TOLERANCE = 1e-9  # error of symmetry and eigenvalues, relative to the largest entry


class UncertainGPRegressor(NoisyRegressorMixin, BaseEstimator):
    """Gaussian process regression on inputs and outputs with known noise, by expected covariances.

    The method of Dallaire, Besse & Chaib-draa (2011), "An approximate inference with Gaussian process to latent
    functions from uncertain data". With x_i ~ N(u_i, Σ_i) the outputs have covariances ``E k(x_i, x_j)`` and variances
    ``E k(x_i, x_i) + σ_yi² + σ_ε²``. Everything else is exact Gaussian process regression. Each row is a separate
    source, even if two rows are equal. The hyper-parameters maximise the posterior (MAP), from several starts. The
    regressor standardises inputs and outputs itself.

    Time grows with N³, and with N² D³ for full noise covariances; memory grows with N² D, or N² D².

    Parameters
    ----------
    kernel : str
        Expected kernels 'se' (squared exponential with ARD length-scales), 'linear' and 'quadratic'; 'plain-se', which
        treats observed inputs as exact; or a sum, joined by '+'. 'se+plain-se' is equation 20 of the paper.
    noise_variance : float or 'learned'
        Variance σ_ε² of the white noise, in the units of y². The paper uses 0 if output variances are known.
    hyper_priors : bool
        Whether the hyper-parameters have log-normal priors; without them, maximum likelihood. As the paper advises,
        the priors penalise large noise and length-scales, which would explain everything as noise.
    starts : int
        Number of starts. The first is at the modes of the priors, the others are drawn around it.
    steps : int
        Largest number of L-BFGS steps for each start.
    jitter : float
        Number that is added to the diagonal, relative to its mean.
    random_state : int, RandomState or None
        The same integer gives the same regressor.

    Attributes
    ----------
    n_features_in_, mean_, scale_, y_mean_, y_scale_
        As for :class:`fermiclass.NIMGPRegressor`.
    parameters_ : dict of ndarray
        Hyper-parameters for standardised inputs and outputs, by name (``kernel.variance``, …).
    noise_variance_ : float
        Variance σ_ε² of the white noise, in the units of y².
    log_posterior_ : float
        Logarithm of marginal likelihood times prior, for standardised outputs.
    converged_ : bool
        Whether the best start ended at a maximum.
    n_steps_ : int
        Number of L-BFGS steps of the best start.
    """

    def __init__(
        self,
        *,
        kernel: str = "se",
        noise_variance: float | str = LEARNED,
        hyper_priors: bool = True,
        starts: int = 5,
        steps: int = 200,
        jitter: float = 1e-10,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        keep(self, locals())

    def fit(self, X: Any, y: Any, *, X_var: Any = None, y_var: Any = None) -> UncertainGPRegressor:
        """Train the regressor.

        Parameters
        ----------
        X
            Observed inputs u, ``(N, D)``.
        y
            Outputs, ``(N,)``.
        X_var
            Noise variances of X, ``(N, D)``, or covariances, ``(N, D, D)``; None for exact inputs.
        y_var
            Known noise variances of y, ``(N,)``; None for exact outputs.

        Raises
        ------
        ValueError
            When shapes differ, values are not finite or too large to square, a variance is negative, a covariance is
            not symmetric or not positive semi-definite, or a parameter is not valid.
        TrainingError
            When the covariance matrix of the outputs is not numerically positive definite for any start.

        Warns
        -----
        ConvergenceWarning
            When the best start does not end at a maximum.
        """
        start_tensorflow()
        from fermiclass.nimgp.expected.regression import ExpectedGPR, fit_starts
        from fermiclass.nimgp.modules import parameters_of

        if not isinstance(self.kernel, str) or not set(self.kernel.split("+")) <= set(KERNELS):
            raise ValueError(f"kernel={self.kernel!r} is unknown: join some of {', '.join(KERNELS)} by '+'")
        for name, allowed in _ALLOWED.items():
            check_setting(name, getattr(self, name), *allowed)
        self.__dict__.pop("parameters_", None)
        X, noise, y = training_rows(self, X, X_var, y, y_var=y_var, check=check_input_noise, y_numeric=True)
        y = np.asarray(y, np.float64)
        output_noise = check_variances(y, y_var, name="y")
        X = without_outliers(X, getattr(self, "feature_names_in_", None))
        self.mean_, self.scale_ = mean_and_scale(X)
        self.y_mean_, self.y_scale_ = map(float, mean_and_scale(y, "y"))
        self._problem = {
            "kernel": self.kernel,
            "sources": self._standardised(X, noise),
            "y": (y - self.y_mean_) / self.y_scale_,
            "y_var": output_noise / self.y_scale_**2,
            "noise_variance": None if self.noise_variance == LEARNED else float(self.noise_variance) / self.y_scale_**2,
            "hyper_priors": self.hyper_priors,
            "jitter": self.jitter,
        }
        model = ExpectedGPR(**self._problem)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        best = fit_starts(model, starts=self.starts, steps=self.steps, rng=rng)
        self.converged_, self.n_steps_, self.log_posterior_ = not best.failure, best.steps, -best.loss
        if best.failure:
            warnings.warn(
                f"the best of {self.starts} starts is not at a maximum ({best.failure}): raise steps, now "
                f"{self.steps}, or starts",
                ConvergenceWarning,
                stacklevel=2,
            )
        found = {name: parameter.numpy() for name, parameter in parameters_of(model).items()}
        self.noise_variance_ = float(found["noise_variance"] * self.y_scale_**2)
        self._model, self._solution = model, model.solve()
        self.parameters_ = found
        return self

    def predict(self, X: Any, *, X_var: Any = None, return_std: bool = False) -> Any:
        """Return mean and standard deviation of the noiseless output f(x*) of new sources.

        They are the moments of ``∫ p(f* | x*, y) N(x* | u*, Σ*) dx*`` for x* ~ N(u*, Σ*): the mean is exact, the
        variance an average over 1,024 draws of x*, right to about a per cent. For Σ* = 0 both are equations (4) and (5)
        of the paper, and only then the distribution is Gaussian. 'plain-se' is a function of u*. A row is a new source
        even if a training source has the same inputs. Raises ValueError as :meth:`fit`.

        Parameters
        ----------
        X
            Observed inputs u*, ``(n, D)``.
        X_var
            Noise variances of X, ``(n, D)``, or covariances, ``(n, D, D)``; None for exact inputs.
        return_std
            Whether to return standard deviations too. They take 1,024 (N² + N D) operations for each source with X_var.

        Returns
        -------
        ndarray or tuple of ndarray
            Means ``(n,)``, or means and standard deviations ``(n,)``.
        """
        refuse_after_fork()
        check_is_fitted(self)
        new = self._standardised(*new_rows(self, X, X_var, check=check_input_noise))
        mean = self.y_mean_ + self.y_scale_ * self._model.predict_mean(new, self._solution)
        if not return_std:
            return mean
        return mean, self.y_scale_ * np.sqrt(self._model.predict_variance(new, self._solution))

    def _standardised(self, X: np.ndarray, noise: np.ndarray) -> Sources:
        from fermiclass.nimgp.expected.kernels import Sources

        squares = self.scale_**2 if noise.ndim == 2 else self.scale_[:, None] * self.scale_
        return Sources.of((X - self.mean_) / self.scale_, noise / squares)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "parameters_")  # the last thing that fit sets

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name not in _OF_MODEL}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if is_broken_fork() or not self.__sklearn_is_fitted__():  # an error here would leave a pool waiting
            return
        from fermiclass.nimgp.expected.regression import ExpectedGPR
        from fermiclass.nimgp.modules import parameters_of

        self._model = ExpectedGPR(**self._problem)
        for name, parameter in parameters_of(self._model).items():
            parameter.assign(self.parameters_[name])
        self._solution = self._model.solve()


def check_input_noise(X: np.ndarray, X_var: Any, *, ensure_all_finite: bool = True) -> np.ndarray:
    """Return variances ``(N, D)`` or covariances ``(N, D, D)`` of inputs; ValueError when they are none."""
    V = np.asarray(0.0 if X_var is None else X_var, np.float64)
    if V.ndim != 3:
        return check_variances(X, X_var, ensure_all_finite=ensure_all_finite)
    if V.shape != (*X.shape, X.shape[1]) or not np.all(np.isfinite(V)):
        raise ValueError(f"X_var has shape {V.shape}, X has {X.shape}: every row of X needs a matrix of finite numbers")
    limit = _TOLERANCE * np.abs(V).max(axis=(1, 2), initial=0.0)
    skew = np.abs(V - V.swapaxes(1, 2)).max(axis=(1, 2), initial=0.0) > limit
    negative = np.linalg.eigvalsh(V).min(axis=1, initial=np.inf) < -limit
    for odd, what in ((skew, "symmetric"), (negative, "positive semi-definite")):
        if np.any(odd):
            raise ValueError(f"X_var: the matrix of row {np.argmax(odd)} is not {what}")
    return V
