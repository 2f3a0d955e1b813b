"""Temperature scaling: one number that makes all probabilities softer or sharper, found on held-out sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fermiclass.features.transforms import FloatArray

if TYPE_CHECKING:
    from fermiclass.estimators import NIMGPClassifier

_MAX_FOLDS = 5
_LN_RANGE = np.log(4.0)  # temperatures from 1/4 to 4
_LN_TOLERANCE = 0.01
_NUM_DRAWS = 64  # of each noisy input: enough for a mean over all sources
_LEAST = 1e-5  # of probabilities, before the logarithm


def fold_temperature(
    estimator: NIMGPClassifier, X: FloatArray, y: np.ndarray, X_var: FloatArray, *, seed: int
) -> float:
    """Return the temperature T that suits sources which the classifier was not trained on.

    It minimises the NLL of ``E_x E_f softmax(f/T)`` over stratified folds, each predicted by a classifier that was
    trained on the others (Guo, Pleiss, Sun & Weinberger 2017, ICML, section 4.2, here inside the expectations).

    Parameters
    ----------
    estimator
        Its settings are used; it is left as it is.
    X, X_var
        Inputs and noise variances, ``(N, D)``.
    y
        Labels, ``(N,)``.
    seed
        Of the folds.

    Raises
    ------
    ValueError
        When a class has a single source.
    """
    from scipy.optimize import minimize_scalar
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    from fermiclass.fitting import fit_many

    labels, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"temperature='folds' needs two sources of every class at least, '{labels[counts.argmin()]}' has one: "
            "leave the class out, or give a number"
        )
    folds = StratifiedKFold(min(_MAX_FOLDS, int(counts.min())), shuffle=True, random_state=seed)
    plain = clone(estimator).set_params(temperature=1.0, num_draws=min(_NUM_DRAWS, estimator.num_draws))
    splits = list(folds.split(X, y))
    fitted = fit_many(plain, [(X[train], y[train], X_var[train]) for train, _ in splits])
    held_out = [(fold, test) for fold, (_, test) in zip(fitted, splits, strict=True)]

    def nll(ln_temperature: float) -> float:
        total = 0.0
        for fold, test in held_out:
            p = fold.at_temperature(np.exp(ln_temperature)).predict_proba(X[test], X_var=X_var[test])
            of_truth = p[np.arange(len(test)), np.searchsorted(fold.classes_, y[test])]
            total -= float(np.sum(np.log(np.maximum(of_truth, _LEAST))))
        return total / len(y)

    found = minimize_scalar(nll, bounds=(-_LN_RANGE, _LN_RANGE), method="bounded", options={"xatol": _LN_TOLERANCE})
    return float(np.exp(found.x))
