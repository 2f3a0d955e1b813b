"""Classifier with the interface of scikit-learn for labels that may be wrong."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import entr, expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from fermiclass.nimgp.arrays import mean_and_scale, without_outliers
from fermiclass.nimgp.ep.evidence import EPSettings, fit_evidence
from fermiclass.nimgp.ep.factors import LabelNoise, Labels
from fermiclass.nimgp.ep.inference import Rules
from fermiclass.nimgp.ep.posterior import EPPredictor
from fermiclass.nimgp.estimators.mixins import NoisyClassifierMixin, keep, new_rows, training_rows
from fermiclass.nimgp.settings import Number, check_setting
from fermiclass.nimgp.targets import LabelTable, has_label

if TYPE_CHECKING:
    from fermiclass.nimgp.prediction.prediction import Prediction

_WHOLE = Number(whole=True)
_ALLOWED: dict[str, tuple[Any, ...]] = {"robust": (bool,), "ard": (bool,), "latent_noise": (bool, None)}
_ALLOWED |= {"damping": (Number(high=1),), "tol": (Number(),), "max_rounds": (_WHOLE,), "max_iter": (_WHOLE,)}


class RobustGPClassifier(NoisyClassifierMixin, BaseEstimator):
    """Multi-class Gaussian process classifier, robust to wrong labels (RMGPC).

    Hernández-Lobato, Hernández-Lobato & Dupont (2011). A label belongs to the largest of C latent functions or, with
    probability ρ, it is random. Inference uses expectation propagation with the covariances of all rows, in ``O(C N³)``
    time for each round and ``O(C N²)`` memory, so that it suits some hundred rows. The classifier standardises inputs
    itself.

    Parameters
    ----------
    robust : bool
        Whether labels may be wrong. If not, this is the standard classifier that the paper calls SMGPC.
    ard : bool
        Whether each feature has a length-scale of its own.
    latent_noise : bool or None
        Whether latent functions have Gaussian noise, one variance per class. None, as in the paper: if not `robust`.
    label_noise_prior : tuple of float
        Parameters a and b of ``ρ ~ Beta(a, b)``.
    damping : float
        Exponent of a new approximate factor, up to 1; the old factor has one minus this exponent.
    tol : float
        At a fixed point, no mean, variance or probability changes by more than this in a round.
    max_rounds : int
        Largest number of rounds for each set of hyper-parameters. After them, approximate factors with negative
        precisions are excluded.
    max_iter : int
        Largest number of L-BFGS steps that maximise the evidence over the hyper-parameters, for each of two starts.

    Attributes
    ----------
    classes_ : ndarray (C,)
        Class labels, sorted.
    n_features_in_, mean_, scale_
        As for :class:`fermiclass.NIMGPClassifier`.
    lengthscale_ : ndarray (D,)
        Length-scales, in the units of X.
    latent_noise_ : ndarray (C,)
        Noise variances of the latent functions, in units of the functions.
    outlier_probability_ : ndarray (N,) or None
        Posterior probability that the label of each training row is random (equation 21); NaN for rows without a label.
        None if not `robust`.
    label_noise_ : float
        Posterior mean of ρ; 0 if not `robust`.
    log_evidence_ : float
        Logarithm of the marginal likelihood.
    converged_ : bool
        Whether a fixed point was found and the search for the hyper-parameters converged.
    n_iter_ : int
        Number of L-BFGS steps from the better start.
    """

    def __init__(
        self,
        *,
        robust: bool = True,
        ard: bool = False,
        latent_noise: bool | None = None,
        label_noise_prior: tuple[float, float] = (1.0, 9.0),
        damping: float = 0.5,
        tol: float = 1e-5,
        max_rounds: int = 200,
        max_iter: int = 100,
    ) -> None:
        keep(self, locals())

    def fit(self, X: Any, y: Any, *, X_var: Any = None) -> RobustGPClassifier:
        """Train the classifier.

        Parameters
        ----------
        X
            Inputs, ``(N, D)``.
        y
            Labels, ``(N,)``. Rows whose label is the empty string are left out.
        X_var
            Noise variances of X, ``(N, D)``. They are checked but not used: this model treats inputs as exact.

        Raises
        ------
        ValueError
            When a parameter is not valid, shapes differ, values are not finite, or there is only one class.

        Warns
        -----
        ConvergenceWarning
            When no fixed point is found, or `max_iter` is too small.
        """
        prior, settings = _read(self)
        self.__dict__.pop("_predictor", None)
        X, _, y = training_rows(self, X, X_var, y)
        labelled = has_label(y)
        check_classification_targets(y)
        X, y = X[labelled], y[labelled]
        table = LabelTable.of(y)
        self.classes_ = table.classes
        X = without_outliers(X, getattr(self, "feature_names_in_", None))
        self.mean_, self.scale_ = mean_and_scale(X)
        X = (X - self.mean_) / self.scale_
        trained = fit_evidence(X, Labels.of(table.codes(y), len(self.classes_)), prior, settings)
        posterior = trained.found.posterior
        self.lengthscale_ = np.sqrt(trained.covariance.gamma) * self.scale_
        self.latent_noise_ = trained.covariance.noise
        self.outlier_probability_ = None
        if self.robust:
            self.outlier_probability_ = np.full(len(labelled), np.nan)
            self.outlier_probability_[labelled] = expit(posterior.log_odds)
        self.label_noise_ = posterior.rate
        self.log_evidence_ = trained.log_evidence
        self.converged_ = trained.found.converged and trained.ended
        self.n_iter_ = max(trained.steps, 1)
        self._predictor = EPPredictor.of(trained.covariance, X, posterior)
        if not trained.found.converged:
            _warn(f"no fixed point after {trained.found.rounds} rounds", "max_rounds, or lower damping")
        elif not trained.ended:
            _warn(f"hyper-parameters still change after {self.max_iter} steps", "max_iter")
        return self

    def predict_proba(self, X: Any, *, X_var: Any = None) -> np.ndarray:
        """Return class probabilities, ``(n, C)`` in the order of ``classes_``: ``ρ̄ / C + (1 − ρ̄) P_y`` (eq. 19).

        `X` is ``(n, D)``. `X_var`, its noise variances, is not used; see :meth:`fit`.
        """
        check_is_fitted(self)
        X, _ = new_rows(self, X, X_var)
        return self._predictor.probabilities((X - self.mean_) / self.scale_)

    def predict_distribution(self, X: Any, *, X_var: Any = None) -> Prediction:
        """Return the probabilities of :meth:`predict_proba` with their uncertainties, and entropies with their parts.

        Given the latent functions, one class has the probability ``1 − ρ̄ + ρ̄/C`` and the others have ``ρ̄/C`` each.
        `X` and `X_var` are as for :meth:`predict_proba`. Input noise is not used, so its entropy is zero.
        """
        from fermiclass.nimgp.prediction.prediction import Prediction

        probabilities = self.predict_proba(X, X_var=X_var)
        num_classes, rate = len(self.classes_), self.label_noise_
        guess = rate / num_classes
        wins = (probabilities - guess) / (1.0 - rate)
        entropy = entr(probabilities).sum(axis=1)
        known = float(entr(1.0 - rate + guess) + (num_classes - 1) * entr(guess))  # given which function is largest
        return Prediction(
            probabilities=probabilities,
            std=(1.0 - rate) * np.sqrt(np.clip(wins * (1.0 - wins), 0.0, None)),
            entropy=entropy,
            information=np.maximum(entropy - known, 0.0),
            noise_entropy=np.zeros(len(probabilities)),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_predictor")  # the last thing that fit sets

    def _of_right_labels(self, p: np.ndarray) -> np.ndarray:
        return np.clip((p - self.label_noise_ / len(self.classes_)) / (1.0 - self.label_noise_), 0.0, 1.0)


def _read(estimator: RobustGPClassifier) -> tuple[LabelNoise | None, EPSettings]:
    """Check the parameters, and return label noise and settings of expectation propagation."""
    for name, allowed in _ALLOWED.items():
        check_setting(name, getattr(estimator, name), *allowed)
    prior = estimator.label_noise_prior
    if not (isinstance(prior, (tuple, list)) and len(prior) == 2 and all(Number().accepts(x) for x in prior)):
        raise ValueError(f"label_noise_prior={prior!r} is not valid: expected two numbers above 0")
    latent_noise = not estimator.robust if estimator.latent_noise is None else bool(estimator.latent_noise)
    settings = EPSettings(
        ard=bool(estimator.ard),
        latent_noise=latent_noise,
        max_steps=int(estimator.max_iter),
        rules=Rules(estimator.damping, estimator.tol, int(estimator.max_rounds)),
    )
    return LabelNoise(float(prior[0]), float(prior[1])) if estimator.robust else None, settings


def _warn(what: str, remedy: str) -> None:
    warnings.warn(f"{what}: the classifier is not at its best. Raise {remedy}.", ConvergenceWarning, stacklevel=3)
