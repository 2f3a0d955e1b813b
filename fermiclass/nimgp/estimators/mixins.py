"""What estimators share: checks by scikit-learn, scores, what was fitted, and probabilities of wrong labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from fermiclass.nimgp.arrays import align_columns, part_frame
from fermiclass.nimgp.estimators.preparation import refuse_rescaled
from fermiclass.nimgp.targets import has_label

if TYPE_CHECKING:
    from fermiclass.nimgp.estimators.fitted import Fitted
    from fermiclass.nimgp.estimators.fitting import Progress
    from fermiclass.nimgp.training.loop import TrainingState


def keep(estimator: Any, given: Mapping[str, Any]) -> None:
    """Set the parameters of an estimator, from the local variables of ``__init__``."""
    estimator.__dict__.update({name: value for name, value in given.items() if name != "self"})


def check_variances(X: Any, X_var: Any, *, name: str = "X", ensure_all_finite: bool | str = True) -> np.ndarray:
    """Return the variances of X, zeros for None; ValueError when they do not fit, are negative or not finite."""
    if X_var is None:
        return np.zeros_like(X)
    if np.ndim(X_var) == X.ndim:
        options = {"input_name": f"{name}_var", "ensure_2d": X.ndim > 1, "ensure_all_finite": ensure_all_finite}
        X_var = check_array(X_var, dtype=np.float64, order="C", **options)
    if np.shape(X_var) != X.shape:
        where = f"{name}_var has shape {np.shape(X_var)}, {name} has {X.shape}"
        raise ValueError(f"{where}: every value of {name} needs its variance")
    if np.any(X_var < 0):
        where = ", column ".join(map(str, np.argwhere(X_var < 0)[0]))
        raise ValueError(f"{name}_var is negative in row {where}: variances are zero or positive")
    return np.asarray(X_var)


def training_rows(
    estimator: Any,
    X: Any,
    X_var: Any,
    y: Any,
    *,
    y_var: Any = None,
    check: Any = check_variances,
    ensure_all_finite: bool | str = True,
    **options: Any,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, variances and labels of training rows: a frame that has both or X and X_var, with aligned columns.

    The estimator keeps the names of the columns of standard deviations. `check` is like :func:`check_variances`;
    `options` are for :func:`sklearn.utils.validation.validate_data`. Raises ValueError as what is called here.
    """
    X, X_var, errors = part_frame(X, X_var)
    estimator.uncertainties_in_ = errors
    X_var = align_columns(X, X_var, y=y, y_var=y_var)
    if X_var is not None and np.shape(X_var) == np.shape(X) and np.size(X):
        refuse_rescaled(np.asarray(X, np.float64), np.asarray(X_var, np.float64), as_columns=bool(errors))
    options |= {"dtype": np.float64, "order": "C", "ensure_all_finite": ensure_all_finite}
    X, y = validate_data(estimator, X, y, **options)
    return X, check(X, X_var, ensure_all_finite=ensure_all_finite), y


def new_rows(
    estimator: Any, X: Any, X_var: Any, *, check: Any = check_variances, ensure_all_finite: bool | str = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return values and variances of new rows as :func:`training_rows`.

    Raises ValueError, too, when columns of standard deviations are missing that the training had, or variances though
    scikit-learn was asked to pass them to `fit`: then ``cross_val_predict`` and others have lost them.
    """
    given = X_var is not None
    X, X_var, errors = part_frame(X, X_var)
    missing = [name for name in getattr(estimator, "uncertainties_in_", ()) if name not in errors]
    if missing and not given:
        raise ValueError(f"X lacks {', '.join(missing)}, which the training had: give it, or zeros for exact values")
    if X_var is None and get_config()["enable_metadata_routing"]:
        requested = estimator.get_metadata_routing().fit.requests.get("X_var")
        if requested not in (None, False):
            raise ValueError(
                "X_var is requested in fit, but did not come to the prediction. cross_val_predict and scorers pass "
                "none on: give X as a frame with columns Unc_x, or predict with X_var, zeros for exact inputs"
            )
    X_var = align_columns(X, X_var, features=getattr(estimator, "feature_names_in_", None))
    X = validate_data(estimator, X, dtype=np.float64, order="C", reset=False, ensure_all_finite=ensure_all_finite)
    return X, check(X, X_var, ensure_all_finite=ensure_all_finite)


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
    method: str
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def wrong_label_probabilities(right: np.ndarray, y: Any, classes: np.ndarray, rate: float) -> np.ndarray:
    """Return the probabilities ``(n,)`` that labels are wrong, for rows outside the training set.

    See :meth:`NoisyClassifierMixin.predict_wrong_label`; `right` has the probabilities of right labels, ``(n, C)``, and
    `rate` is ρ. The order is that of P(z = 1 | y), by which the paper ranks.
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
