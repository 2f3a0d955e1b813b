"""What estimators share: scores with variances, what was fitted, and probabilities of wrong labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from fermiclass.nimgp.label_sets import has_label
from fermiclass.nimgp.validation import align_columns

if TYPE_CHECKING:
    from fermiclass.nimgp.estimators.fitted import Fitted
    from fermiclass.nimgp.estimators.fitting import Progress
    from fermiclass.nimgp.training.loop import TrainingState


class NoisyClassifierMixin(ClassifierMixin):
    """A classifier that takes variances, and judges labels."""

    classes_: np.ndarray
    label_noise_: float

    def predict(self, X: Any, *, X_var: Any = None) -> np.ndarray:
        """Return the most probable classes, ``(n,)``; see :meth:`predict_proba`."""
        best = np.argmax(self.predict_proba(X, X_var=X_var), axis=1)
        return self.classes_[best]

    def predict_wrong_label(self, X: Any, y: Any, *, X_var: Any = None) -> np.ndarray:
        """Return the probabilities that labels are wrong, ``(n,)``: ``(ρ/C) (1 − P_y) / [ρ/C + (1 − ρ) P_y]``.

        ρ is the label noise, and P_y is the probability that a right label would be y. The sources should not be
        training sources, because the model has learned their labels.

        Parameters
        ----------
        X, X_var
            As for :meth:`predict_proba`.
        y
            Labels, ``(n,)``, each one of `classes_`.

        Raises
        ------
        ValueError
            When all labels are trusted (``label_noise_`` is 0), or a label is not one of the classes.
        """
        align_columns(X, y=y)
        right = self._of_right_labels(self.predict_proba(X, X_var=X_var))
        if not self.label_noise_:
            raise ValueError("the classifier trusts every label: train with label_noise='learned', or robust=True")
        return wrong_label_probabilities(right, y, self.classes_, self.label_noise_)

    def _of_right_labels(self, p: np.ndarray) -> np.ndarray:
        """Return the probabilities of right labels, ``(n, C)``, from those that are predicted."""
        return p

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, X_var: Any = None) -> float:
        """Return the share of right labels, weighted by `sample_weight`."""
        align_columns(X, y=y)
        return float(accuracy_score(y, self.predict(X, X_var=X_var), sample_weight=sample_weight))


class NoisyRegressorMixin(RegressorMixin):
    """A regressor whose score takes variances."""

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, X_var: Any = None) -> float:
        """Return R², the share of the variance of y that the mean explains, weighted by `sample_weight`."""
        align_columns(X, y=y)
        return float(r2_score(y, self.predict(X, X_var=X_var), sample_weight=sample_weight))


class SparseGP(BaseEstimator):
    """An estimator that predicts by what was fitted, and shows it as attributes."""

    fitted_: Fitted
    verbose: int

    def _observer(self, progress: Progress | None) -> Progress | None:
        """Return an observer of training that prints the objective, where it is verbose, and calls `progress`."""

        def tell(state: TrainingState) -> None:
            print(f"{type(self).__name__}: step {state.step} of {state.steps}, objective {state.value:.6g}")
            if progress is not None:
                progress(state)

        return tell if self.verbose else progress

    @classmethod
    def of(cls, fitted: Fitted) -> Self:
        """Return the estimator of what was fitted."""
        return cls(**fitted.settings.params())._adopt(fitted)

    def _adopt(self, fitted: Fitted) -> Self:
        self.mean_, self.scale_ = fitted.scaling[:2]
        self.n_features_in_ = len(self.mean_)
        self.objective_ = fitted.objective
        self.fitted_ = fitted
        return self

    @property
    def weights_(self) -> dict[str, np.ndarray]:
        """All that was learned but the classes, as arrays by name; :meth:`restore` takes them."""
        check_is_fitted(self)
        return self.fitted_.to_arrays()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")  # the last thing that fit sets


def wrong_label_probabilities(right: np.ndarray, y: Any, classes: np.ndarray, rate: float) -> np.ndarray:
    """Return the probabilities ``(n,)`` that labels are wrong, for rows outside the training set.

    ``P(the label is wrong | label) = (ρ/C) (1 − p) / [ρ/C + (1 − ρ) p]`` is P(z = 1 | y), by which the paper ranks,
    minus the probability that a random label is right. The order is the same. `right` has probabilities ``(n, C)`` of
    right labels, from a model that was not trained with them; p is that of the label, and `rate` is ρ.

    Raises ValueError when a label is of no class, or the number of labels differs from the number of rows, and
    TypeError when labels are bytes.
    """
    labels = np.asarray(y)
    if labels.shape != (len(right),):
        raise ValueError(f"y has shape {labels.shape}; expected a label for each of {len(right)} rows")
    has_label(labels)  # refuses bytes
    # A label names its class as it is, or in text: "1" and 1.0 are the class 1.
    numbers = {str(name): k for k, name in enumerate(classes)} | {name: k for k, name in enumerate(classes.tolist())}
    found = [numbers.get(label, numbers.get(str(label))) for label in labels.tolist()]
    unknown = sorted({str(label) for label, number in zip(labels, found, strict=True) if number is None})
    if unknown:
        raise ValueError(
            f"y has labels of no class: {', '.join(unknown[:5])}; expected some of {', '.join(map(str, classes))}"
        )
    p = right[np.arange(len(labels)), np.array(found, np.intp)]
    guess = rate / len(classes)
    return np.asarray(guess * (1.0 - p) / (guess + (1.0 - rate) * p))
