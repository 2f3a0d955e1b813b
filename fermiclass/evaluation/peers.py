"""What a user would pick from scikit-learn instead, so that fermiclass can be judged against it.

Settings are the libraries' own where those do well; those of boosting, XGBoost and the MLPs were chosen by the NLL of
three folds of 4FGL-DR1's associated sources, the ones shown being among the best. All standardise the features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from fermiclass.errors import ClassError
from fermiclass.features.transforms import FloatArray


def _logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000, random_state=seed))


def _logistic_squares(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    squares = PolynomialFeatures(degree=2, include_bias=False)
    return make_pipeline(
        StandardScaler(), squares, StandardScaler(), LogisticRegression(max_iter=5000, random_state=seed)
    )


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(
        StandardScaler(), RandomForestClassifier(n_estimators=500, min_samples_leaf=2, random_state=seed)
    )


def _boosting(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(
        StandardScaler(), HistGradientBoostingClassifier(learning_rate=0.05, max_leaf_nodes=8, random_state=seed)
    )


def _xgboost(seed: int) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from xgboost import XGBClassifier

    booster = XGBClassifier(
        n_estimators=300,
        max_depth=3,
        learning_rate=0.03,
        subsample=0.8,
        colsample_bytree=0.8,
        n_jobs=1,
        random_state=seed,
    )
    return make_pipeline(StandardScaler(), booster)


def _svm(seed: int) -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), method="sigmoid", cv=folds, ensemble=False))


def _mlps(seed: int) -> Any:
    from sklearn.ensemble import VotingClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    seeds = np.random.SeedSequence(seed).generate_state(5)
    members = [
        (f"mlp{k}", MLPClassifier((50,), alpha=1.0, max_iter=2000, random_state=int(s))) for k, s in enumerate(seeds)
    ]
    return make_pipeline(StandardScaler(), VotingClassifier(members, voting="soft"))


#: Name to a function of the seed that returns an unfitted scikit-learn classifier.
PEERS: Mapping[str, Callable[[int], Any]] = MappingProxyType(
    {
        "logistic": _logistic,
        "logistic-squares": _logistic_squares,
        "forest": _forest,
        "boosting": _boosting,
        "xgboost": _xgboost,
        "svm": _svm,
        "mlps": _mlps,
    }
)

_FEWEST_FOLDS = 2
_NEEDS = {"xgboost": "xgboost"}


def available_peers() -> tuple[str, ...]:
    """Return the names of the peers that can be used here; XGBoost only where it is installed."""
    return tuple(name for name in PEERS if find_spec(_NEEDS.get(name, "sklearn")) is not None)


class PeerClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that knows nothing of error bars, with the interface of those that do.

    Parameters
    ----------
    peer
        A name in `PEERS`.
    uncertainties : bool
        Whether the standard deviations √X_var become D more features; otherwise they are ignored.
    seed
        The same seed gives the same probabilities.

    Attributes
    ----------
    classes_ : ndarray (C,)
        Class labels, sorted.
    model_
        The fitted classifier.
    """

    def __init__(self, peer: str = "logistic", *, uncertainties: bool = False, seed: int = 0) -> None:
        self.peer = peer
        self.uncertainties = uncertainties
        self.seed = seed

    def fit(self, X: ArrayLike, y: ArrayLike, *, X_var: ArrayLike | None = None) -> PeerClassifier:
        """Train on inputs (N, D) with labels (N,) and noise variances (N, D).

        Raises
        ------
        ValueError
            When the peer is unknown or not installed, or uncertainties are asked for and not given.
        ClassError
            When the peer needs more rows of a class.
        """
        if self.peer not in available_peers():
            raise ValueError(f"no peer '{self.peer}': available are {', '.join(available_peers())}")
        # XGBoost takes numbers only.
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        model = PEERS[self.peer](self.seed)
        folds = getattr(model[-1], "cv", None)  # by which the SVM is calibrated: each class has to be in all of them
        if folds is not None:
            fewest = int(np.bincount(labels).min())
            if fewest < _FEWEST_FOLDS:
                raise ClassError(
                    f"the peer '{self.peer}' is calibrated on held-out rows, so that it needs {_FEWEST_FOLDS} of each "
                    f"class, and a class has {fewest}: leave out that class, or the peer"
                )
            folds.n_splits = min(folds.n_splits, fewest)
        with threadpool_limits(1):  # data this small are slower on several threads, much so on a busy machine
            self.model_ = model.fit(self._inputs(X, X_var), labels)
        return self

    def predict_proba(self, X: ArrayLike, *, X_var: ArrayLike | None = None) -> FloatArray:
        """Class probabilities, ``(n, C)`` in the order of ``classes_``."""
        check_is_fitted(self)
        with threadpool_limits(1):
            p = np.asarray(self.model_.predict_proba(self._inputs(X, X_var)), dtype=np.float64)
        normalised: FloatArray = p / p.sum(axis=1, keepdims=True)  # XGBoost works in single precision
        return normalised

    def predict(self, X: ArrayLike, *, X_var: ArrayLike | None = None) -> NDArray[Any]:
        """Most probable classes, ``(n,)``."""
        best: NDArray[Any] = self.classes_[np.argmax(self.predict_proba(X, X_var=X_var), axis=1)]
        return best

    def _inputs(self, X: ArrayLike, X_var: ArrayLike | None) -> FloatArray:
        X = np.asarray(X, dtype=np.float64)
        if not self.uncertainties:
            return X
        if X_var is None:
            raise ValueError(f"peer '{self.peer}' takes the uncertainties as features, but X_var is missing: give it")
        return np.hstack([X, np.sqrt(np.asarray(X_var, dtype=np.float64))])
