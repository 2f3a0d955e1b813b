"""Variances in scikit-learn's metadata routing: scores use them, and a prediction without them is refused."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score

from fermiclass.nimgp.frames import line_up


class NoisyClassifierMixin(ClassifierMixin):
    """A classifier whose score takes variances."""

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, X_var: Any = None) -> float:
        """Return the share of right labels, weighted by `sample_weight`."""
        line_up(X, y=y)
        return float(accuracy_score(y, self.predict(X, X_var=X_var), sample_weight=sample_weight))


class NoisyRegressorMixin(RegressorMixin):
    """A regressor whose score takes variances."""

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, X_var: Any = None) -> float:
        """Return R², the share of the variance of y that the mean explains, weighted by `sample_weight`."""
        line_up(X, y=y)
        return float(r2_score(y, self.predict(X, X_var=X_var), sample_weight=sample_weight))


def new_variances(estimator: Any, X: Any, X_var: Any) -> Any:
    """Return variances of new rows with their columns in the order of X's.

    Raises
    ------
    ValueError
        As by :func:`fermiclass.nimgp.frames.line_up`; or when they are missing though scikit-learn was asked to pass
        them to `fit`: then what it calls next, such as ``cross_val_predict``, has lost them.
    """
    if X_var is None and get_config()["enable_metadata_routing"]:
        requested = estimator.get_metadata_routing().fit.requests.get("X_var")
        if requested not in (None, False):
            raise ValueError(
                "X_var is requested in fit, but did not come to the prediction. cross_val_predict and scorers pass "
                "none on: use cross_validate or GridSearchCV after set_score_request(X_var=True), or predict with "
                "X_var, zeros for exact inputs"
            )
    return line_up(X, X_var, features=getattr(estimator, "feature_names_in_", None))
