"""What estimators share: checks of their arrays, scores with variances, and pickles."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_array

from fermiclass.nimgp.processes import is_broken_fork
from fermiclass.nimgp.validation import align_columns, part_frame


class NoisyClassifierMixin(ClassifierMixin):
    """A classifier whose score takes variances."""

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


class RebuiltModelMixin:
    """An estimator whose TensorFlow model cannot be copied or pickled: it is built again from its parameters."""

    _of_model: ClassVar[tuple[str, ...]]  # attributes that hold the model; with the last one, the estimator is fitted

    def _rebuild(self) -> None:
        """Set these attributes from the others."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._of_model[-1])

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()  # of BaseEstimator
        fitted = self.__sklearn_is_fitted__()
        return {key: value for key, value in state.items() if key not in self._of_model} | {"_is_fitted": fitted}

    def __setstate__(self, state: dict[str, Any]) -> None:
        fitted = state.pop("_is_fitted")
        super().__setstate__(state)  # type: ignore[misc]
        if fitted and not is_broken_fork():  # an error here would leave a pool of processes waiting
            self._rebuild()


def training_rows(estimator: Any, X: Any, X_var: Any, **beside: Any) -> tuple[Any, Any]:
    """Return values and variances of training rows, of a frame that has both or of X and X_var, with aligned columns.

    The estimator keeps the names of the columns of standard deviations as ``uncertainties_in_``. Raises ValueError as
    :func:`part_frame` and :func:`align_columns`, and when values were standardised and their variances were not.
    """
    X, X_var, estimator.uncertainties_in_ = part_frame(X, X_var)
    X_var = align_columns(X, X_var, **beside)
    if X_var is not None and np.shape(X_var) == np.shape(X):
        values, V = (np.asarray(a, np.float64) for a in (X, X_var))
        exactly = np.allclose(values.mean(axis=0), 0.0, atol=1e-9) and np.allclose(values.std(axis=0), 1.0, atol=1e-9)
        if exactly and np.any(np.median(V, axis=0) > 1.0):
            raise ValueError(
                "X is standardised, and most variances in a column of X_var are larger than 1, that of the values: was "
                "X rescaled without X_var? The estimator standardises both, leave such a step out"
            )
    return X, X_var


def new_rows(estimator: Any, X: Any, X_var: Any) -> tuple[Any, Any]:
    """Return values and variances of new rows as :func:`training_rows`, with columns in the order of X's.

    Raises ValueError when names differ; when columns of standard deviations are missing that the training had; or when
    variances are missing though scikit-learn was asked to pass them to `fit`: then what it calls next, such as
    ``cross_val_predict``, has lost them.
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
    return X, align_columns(X, X_var, features=getattr(estimator, "feature_names_in_", None))


def check_variances(X: np.ndarray, X_var: Any) -> np.ndarray:
    """Return the variances of X; None means zeros.

    Raises ValueError when their shape differs from the shape of X, or a variance is negative or not finite.
    """
    if X_var is None:
        return np.zeros_like(X)
    X_var = check_array(X_var, dtype=np.float64, order="C", input_name="X_var")
    if X_var.shape != X.shape:
        raise ValueError(f"X_var has shape {X_var.shape}, X has {X.shape}: every value of X needs its variance")
    if np.any(X_var < 0):
        row, column = np.argwhere(X_var < 0)[0]
        raise ValueError(f"X_var is negative in row {row}, column {column}: variances are zero or positive")
    return X_var


def refuse_odd_labels(y: np.ndarray) -> None:
    """Raise TypeError when labels are bytes or times, and say what to do."""
    if y.dtype.kind in "mM":
        raise TypeError(f"y holds times ({y.dtype}); expected text or whole numbers: give the class of each source")
    first = next(iter(y.ravel()[:1].tolist()), None)
    if isinstance(first, bytes):
        raise TypeError(
            f"y holds bytes, such as {first!r}; expected text or whole numbers: decode them, as "
            "[label.decode() for label in y]"
        )


def wrong_label_probabilities(right: np.ndarray, y: Any, classes: np.ndarray, rate: float) -> np.ndarray:
    """Return the probabilities ``(n,)`` that labels are wrong, for rows outside the training set.

    `right` has probabilities ``(n, C)`` of right labels, and `rate` is ρ; see
    :func:`fermiclass.nimgp.likelihoods.named.probability_of_wrong_label`.

    Raises
    ------
    ValueError
        When a label is of no class, or the number of labels differs from the number of rows.
    TypeError
        When labels are bytes.
    """
    from fermiclass.nimgp.likelihoods.named import probability_of_wrong_label

    labels = np.asarray(y)
    if labels.shape != (len(right),):
        raise ValueError(f"y has shape {labels.shape}; expected a label for each of {len(right)} rows")
    refuse_odd_labels(labels)
    # A label names its class as it is, or in text: "1" and 1.0 are the class 1.
    numbers = {str(name): k for k, name in enumerate(classes)} | {name: k for k, name in enumerate(classes.tolist())}
    found = [numbers.get(label, numbers.get(str(label))) for label in labels.tolist()]
    unknown = sorted({str(label) for label, number in zip(labels, found, strict=True) if number is None})
    if unknown:
        raise ValueError(
            f"y has labels of no class: {', '.join(unknown[:5])}; expected some of {', '.join(map(str, classes))}"
        )
    p = right[np.arange(len(labels)), np.array(found, np.intp)]
    return probability_of_wrong_label(p, rate, len(classes))
