"""A classifier in scikit-learn style that knows that labels may be wrong."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import entr, expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fermiclass.estimator_settings import check_variances, forget, mean_and_scale, wrong_label_probabilities
from fermiclass.nimgp.ep.inference import Rules
from fermiclass.nimgp.ep.prediction import Predictor
from fermiclass.nimgp.ep.sites import LabelNoise, Labels
from fermiclass.nimgp.ep.training import Trained, TrainingSettings, train

if TYPE_CHECKING:
    from fermiclass.nimgp.prediction import Prediction


class RobustGPClassifier(ClassifierMixin, BaseEstimator):
    """Multi-class Gaussian process classifier, robust to wrong labels (RMGPC).

    Hernández-Lobato, Hernández-Lobato & Dupont (2011). A label is that of the largest of C latent functions or, with
    probability ρ, random, wherever its row lies. Inference is by expectation propagation with the covariances of all
    rows, in ``O(C N³)`` time a round and ``O(C N²)`` memory: for some hundred rows. Inputs are standardised inside.

    Parameters
    ----------
    robust : bool
        Whether labels may be wrong. Without it this is the standard classifier that the paper calls SMGPC.
    ard : bool
        A length-scale for each feature, not one for all.
    latent_noise : bool or None
        Whether latent functions have Gaussian noise, one variance a class; None: if not `robust`, as in the paper.
    label_noise_prior : tuple of float
        a and b of ``ρ ~ Beta(a, b)``.
    damping : float
        The power, up to 1, to which a new approximate factor counts; the old one has the rest.
    tol : float
        No mean, variance or probability changes by more in a round at a fixed point.
    max_rounds : int
        Of expectation propagation, for each set of hyper-parameters; then its approximate factors are limited to those
        without negative precisions.
    max_iter : int
        Steps of L-BFGS, which finds the hyper-parameters that maximise the evidence, from each of two starts.

    Attributes
    ----------
    classes_ : ndarray (C,)
        Class labels, sorted.
    n_features_in_ : int
        D.
    mean_, scale_ : ndarray (D,)
        By which inputs are standardised.
    lengthscale_ : ndarray (D,)
        Length-scales, in the units of X.
    latent_noise_ : ndarray (C,)
        Variances of the latent functions' noise, in units of their own.
    outlier_probability_ : ndarray (N,) or None
        For each training row the posterior probability that its label is random; NaN where it has none. None if not
        `robust`.
    label_noise_ : float
        Posterior mean of ρ; 0 if not `robust`.
    log_evidence_ : float
        Logarithm of the marginal likelihood.
    converged_ : bool
        Whether there is a fixed point, and the search for the hyper-parameters came to its end.
    n_iter_ : int
        Steps of L-BFGS from the better start.
    """

    def __init__(
        self,
        robust: bool = True,
        *,
        ard: bool = False,
        latent_noise: bool | None = None,
        label_noise_prior: tuple[float, float] = (1.0, 9.0),
        damping: float = 0.5,
        tol: float = 1e-5,
        max_rounds: int = 200,
        max_iter: int = 100,
    ) -> None:
        self.robust = robust
        self.ard = ard
        self.latent_noise = latent_noise
        self.label_noise_prior = label_noise_prior
        self.damping = damping
        self.tol = tol
        self.max_rounds = max_rounds
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, *, X_var: Any = None) -> RobustGPClassifier:
        """Train.

        Parameters
        ----------
        X
            Inputs, ``(N, D)``.
        y
            Labels, ``(N,)``. Rows whose label is the empty string have none and are left out.
        X_var
            Noise variances of X, ``(N, D)``; they are checked, and ignored: this model takes inputs as they are.

        Returns
        -------
        RobustGPClassifier
            Itself.

        Raises
        ------
        ValueError
            When a parameter does not do, shapes differ, values are not finite, or there is only one class.

        Warns
        -----
        ConvergenceWarning
            When no fixed point was found, or `max_iter` was too few.
        """
        prior, settings = _read(self)
        forget(self)
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_variances(X, X_var)
        check_classification_targets(y)
        labelled = y != "" if y.dtype.kind in "UO" else np.ones(len(y), bool)
        X = X[labelled]
        self.classes_, labels = np.unique(y[labelled], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"a classifier needs rows of at least two classes; found only {len(self.classes_)} class")
        self.mean_, self.scale_ = mean_and_scale(X)
        X = (X - self.mean_) / self.scale_
        trained = train(X, Labels.of(labels, len(self.classes_)), prior, settings)
        self._keep(X, labelled, trained)
        return self

    def _keep(self, X: np.ndarray, labelled: np.ndarray, trained: Trained) -> None:
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
        self._predictor = Predictor.of(trained.covariance, X, posterior)
        if not trained.found.converged:
            _warn(f"no fixed point after {trained.found.rounds} rounds", "max_rounds, or lower damping")
        elif not trained.ended:
            _warn(f"hyper-parameters still change after {self.max_iter} steps", "max_iter")

    def predict_proba(self, X: Any, *, X_var: Any = None) -> np.ndarray:
        """Class probabilities, ``(n, C)`` in the order of ``classes_``: ``ρ̄ / C + (1 − ρ̄) P_y`` (equation 19).

        Parameters
        ----------
        X
            Inputs, ``(n, D)``.
        X_var
            Their noise variances, ignored as in :meth:`fit`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        check_variances(X, X_var)
        return self._predictor.probabilities((X - self.mean_) / self.scale_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_predictor")  # the last thing that fit sets

    def predict_distribution(self, X: Any, *, X_var: Any = None) -> Prediction:
        """Probabilities of :meth:`predict_proba` with their uncertainty, and entropies with what they are made of.

        Given the latent functions, one class has the probability ``1 − ρ̄ + ρ̄/C`` and the others ``ρ̄/C`` each. Input
        noise plays no part, so that its entropy is zero.

        Parameters
        ----------
        X, X_var
            As for :meth:`predict_proba`.
        """
        from fermiclass.nimgp.prediction import Prediction

        probabilities = self.predict_proba(X, X_var=X_var)
        num_classes, rate = len(self.classes_), self.label_noise_
        guess = rate / num_classes
        wins = (probabilities - guess) / (1.0 - rate)
        entropy = entr(probabilities).sum(axis=1)
        known = float(entr(1.0 - rate + guess) + (num_classes - 1) * entr(guess))  # once the winner is
        return Prediction(
            probabilities=probabilities,
            std=(1.0 - rate) * np.sqrt(np.clip(wins * (1.0 - wins), 0.0, None)),
            entropy=entropy,
            information=np.maximum(entropy - known, 0.0),
            noise_entropy=np.zeros(len(probabilities)),
        )

    def predict_wrong_label(self, X: Any, y: Any, *, X_var: Any = None) -> np.ndarray:
        """Probabilities ``(n,)`` that labels are wrong, of rows that were not learned from.

        As :meth:`fermiclass.NIMGPClassifier.predict_wrong_label` has it, with the probability that a right label would
        be what the label is. Of the rows that were learned from, see ``outlier_probability_``.

        Parameters
        ----------
        X, X_var
            As for :meth:`predict_proba`.
        y
            Their labels, ``(n,)``, each one of `classes_`.

        Raises
        ------
        ValueError
            When all labels are trusted (`robust` is False), or one is of no class.
        """
        probabilities = self.predict_proba(X, X_var=X_var)
        if not self.robust:
            raise ValueError("robust=False trusts every label: it cannot tell which are wrong")
        right = (probabilities - self.label_noise_ / len(self.classes_)) / (1.0 - self.label_noise_)
        return wrong_label_probabilities(self, np.clip(right, 0.0, 1.0), y)

    def predict(self, X: Any, *, X_var: Any = None) -> np.ndarray:
        """Most probable classes, ``(n,)``; see :meth:`predict_proba`."""
        best = np.argmax(self.predict_proba(X, X_var=X_var), axis=1)
        return self.classes_[best]


def _read(estimator: RobustGPClassifier) -> tuple[LabelNoise | None, TrainingSettings]:
    """Check the parameters, and return what they say."""

    def check(good: bool, name: str, expected: str) -> None:
        if not good:
            raise ValueError(f"{name}={getattr(estimator, name)!r} does not do: expected {expected}")

    for name in ("robust", "ard"):
        check(isinstance(getattr(estimator, name), (bool, np.bool_)), name, "True or False")
    check(estimator.latent_noise in (None, False, True), "latent_noise", "True, False or None")
    for name in ("max_rounds", "max_iter"):
        value = getattr(estimator, name)
        check(isinstance(value, Integral) and int(value) > 0, name, "a whole number above 0")
    check(isinstance(estimator.tol, Real) and estimator.tol > 0, "tol", "a number above 0")
    check(isinstance(estimator.damping, Real) and 0 < estimator.damping <= 1, "damping", "a number in (0, 1]")
    prior = estimator.label_noise_prior
    pair = isinstance(prior, (tuple, list)) and len(prior) == 2 and all(isinstance(x, Real) and x > 0 for x in prior)
    check(pair, "label_noise_prior", "two numbers above 0")
    latent_noise = not estimator.robust if estimator.latent_noise is None else bool(estimator.latent_noise)
    settings = TrainingSettings(
        ard=bool(estimator.ard),
        latent_noise=latent_noise,
        max_steps=int(estimator.max_iter),
        rules=Rules(estimator.damping, estimator.tol, int(estimator.max_rounds)),
    )
    return LabelNoise(float(prior[0]), float(prior[1])) if estimator.robust else None, settings


def _warn(what: str, remedy: str) -> None:
    warnings.warn(f"{what}: the classifier is less than it could be. Raise {remedy}.", ConvergenceWarning, stacklevel=4)
