"""Baselines: the classifiers that a user of scikit-learn would choose, with standardised features.

Most settings are the defaults of the libraries. Those of boosting, XGBoost and the MLPs are among the best by the NLL
of three folds of the associated sources of 4FGL-DR1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from fermiclass.errors import ClassError
from fermiclass.io import FloatArray


def _optional(package: str, name: str, seed: str = "random_state", **settings: Any) -> Callable[[int], Any]:
    """Return the function of a seed that makes a classifier of a package which may not be installed."""
    return lambda value: getattr(import_module(package), name)(**settings, **{seed: value})


def _mlps(seed: int) -> Any:
    seeds = np.random.SeedSequence(seed).generate_state(5).tolist()
    members = [MLPClassifier((50,), alpha=1.0, max_iter=2000, random_state=each) for each in seeds]
    return VotingClassifier([(f"mlp{k}", each) for k, each in enumerate(members)], voting="soft")


#: Functions by name; each returns an unfitted scikit-learn classifier of standardised features for a seed.
BASELINES: Mapping[str, Callable[[int], Any]] = {
    "logistic": lambda seed: LogisticRegression(max_iter=5000, random_state=seed),
    "logistic-squares": lambda seed: make_pipeline(
        PolynomialFeatures(degree=2, include_bias=False), StandardScaler(), BASELINES["logistic"](seed)
    ),
    "forest": lambda seed: RandomForestClassifier(n_estimators=500, min_samples_leaf=2, random_state=seed),
    "boosting": lambda seed: HistGradientBoostingClassifier(learning_rate=0.05, max_leaf_nodes=8, random_state=seed),
    "xgboost": _optional(
        "xgboost", "XGBClassifier", n_estimators=300, max_depth=3, learning_rate=0.03, subsample=0.8,
        colsample_bytree=0.8, n_jobs=1,
    ),
    "catboost": _optional(
        "catboost", "CatBoostClassifier", "random_seed", iterations=400, depth=5, learning_rate=0.05, verbose=0,
        thread_count=1, allow_writing_files=False,
    ),
    "svm": lambda seed: CalibratedClassifierCV(
        SVC(), method="sigmoid", cv=StratifiedKFold(5, shuffle=True, random_state=seed), ensemble=False
    ),
    "mlps": _mlps,
    # The authors' settings for log loss: no label smoothing, and the epoch with the least cross-entropy.
    "realmlp": _optional(
        "pytabkit", "RealMLP_TD_S_Classifier", device="cpu", n_cv=5, n_threads=1, use_ls=False,
        val_metric_name="cross_entropy",
    ),
}  # fmt: skip

_FEWEST_FOLDS = 2
_NEEDS = {name: name for name in ("xgboost", "catboost")} | {"realmlp": "pytabkit"}


def available_baselines() -> tuple[str, ...]:
    """Return the names of the baselines that are installed; XGBoost, CatBoost and RealMLP are optional."""
    return tuple(name for name in BASELINES if find_spec(_NEEDS.get(name, "sklearn")) is not None)


class BaselineClassifier(ClassifierMixin, BaseEstimator):
    """One of the `BASELINES`, without error bars, with the interface of the classifiers that use them.

    With `uncertainties` the standard deviations √X_var are D more features; otherwise they are ignored. Fitted,
    ``classes_`` has the sorted labels, and ``model_`` is the classifier. The same seed gives the same probabilities.
    """

    def __init__(self, baseline: str = "logistic", *, uncertainties: bool = False, seed: int = 0) -> None:
        self.baseline = baseline
        self.uncertainties = uncertainties
        self.seed = seed

    def fit(self, X: ArrayLike, y: ArrayLike, *, X_var: ArrayLike | None = None) -> BaselineClassifier:
        """Train on inputs (N, D) with labels (N,) and noise variances (N, D).

        Raises ValueError when the baseline is not there, or `X_var` is missing; ClassError when a class has one row.
        """
        if self.baseline not in available_baselines():
            raise ValueError(f"no baseline '{self.baseline}': available are {', '.join(available_baselines())}")
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)  # XGBoost takes numbers only
        model = make_pipeline(StandardScaler(), BASELINES[self.baseline](self.seed))
        folds = getattr(model[-1], "cv", None)  # the SVM is calibrated by them: each class must be in all of them
        if folds is not None:
            fewest = int(np.bincount(labels).min())
            if fewest < _FEWEST_FOLDS:
                raise ClassError(
                    f"the baseline '{self.baseline}' is calibrated on held-out rows and needs {_FEWEST_FOLDS} rows of "
                    f"each class, but one class has {fewest}: leave out that class, or the baseline"
                )
            folds.n_splits = min(folds.n_splits, fewest)
        with threadpool_limits(1):  # so little data is slower on several threads, much slower on a busy machine
            self.model_ = model.fit(self._inputs(X, X_var), labels)
        return self

    def predict_proba(self, X: ArrayLike, *, X_var: ArrayLike | None = None) -> FloatArray:
        """Return class probabilities, ``(n, C)``, in the order of ``classes_``."""
        check_is_fitted(self)
        with threadpool_limits(1):
            p = np.asarray(self.model_.predict_proba(self._inputs(X, X_var)), dtype=np.float64)
        return p / p.sum(axis=1, keepdims=True)  # XGBoost works in single precision

    def predict(self, X: ArrayLike, *, X_var: ArrayLike | None = None) -> NDArray[Any]:
        """Return the most probable classes, ``(n,)``."""
        return self.classes_[np.argmax(self.predict_proba(X, X_var=X_var), axis=1)]

    def _inputs(self, X: ArrayLike, X_var: ArrayLike | None) -> FloatArray:
        X = np.asarray(X, dtype=np.float64)
        if not self.uncertainties:
            return X
        if X_var is None:
            raise ValueError(
                f"baseline '{self.baseline}' takes the uncertainties as features, but X_var is missing: give it"
            )
        return np.hstack([X, np.sqrt(np.asarray(X_var, dtype=np.float64))])
