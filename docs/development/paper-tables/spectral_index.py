"""Regression of spectral indices on the other features and their errors, from 4FGL-DR1 to the new sources of DR4.

    python docs/development/paper-tables/spectral_index.py
    python docs/development/paper-tables/spectral_index.py boosting linear

Methods learn LP_Index from the other 16 extended features of the DR1 sources. They predict the sources that are new in
DR4, which are fainter and have larger error bars. Rows without LP_Index in the catalogue are omitted.

Features and LP_Index come from the same photons and share their errors. A method that ignores the errors of the
features therefore also predicts the errors of LP_Index. In the second table the features have additional errors with
the variances of the catalogue, which LP_Index does not share. The methods then know the variances of these errors. Only
``nimgp`` uses them. The densities of ``boosting`` and ``linear`` are Gaussian, with the width of their errors on
held-out sources of DR1.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict

import fermiclass as fc
from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources
from fermiclass.features.definitions import FEATURE_SETS

TARGET = "LP_Index"
NUM_INDUCING, BATCH, STEPS = 100, 500, 1500
#: Likelihood and input model of ours.
OURS = {
    "nimgp student-t": ("student-t", "nimgp"),
    "mgp student-t": ("student-t", "mgp"),
    "nimgp gaussian": ("gaussian", "nimgp"),
    "mgp gaussian": ("gaussian", "mgp"),
}
OTHERS = {"boosting": HistGradientBoostingRegressor(random_state=0), "linear": LinearRegression()}
Prediction = tuple[np.ndarray, np.ndarray]  # means, and log densities of the truth


class Rows(NamedTuple):
    """Features ``(n, 16)``, their variances, and the index ``(n,)``."""

    X: np.ndarray
    X_var: np.ndarray
    y: np.ndarray


def load() -> tuple[Rows, Rows]:
    """Return training and test rows."""
    first, last = (fc.read_catalog(f"catalogs/4FGL-{release}.fits.gz") for release in ("DR1", "DR4"))
    names = [feature.name for feature in FEATURE_SETS["extended"] if feature.name != TARGET]
    train = fc.extract_features(first, [*names, TARGET])
    test = fc.extract_features(last, [*names, TARGET], imputation=train.imputation)
    found, _ = match_sources(first, last)
    known, new = ~train.imputed_value[:, -1], ~test.imputed_value[:, -1]
    new &= ~np.isin(np.arange(len(test)), found[found != UNMATCHED])
    return (  # type: ignore[return-value]
        Rows(table.X[rows, :-1], table.X_var[rows, :-1], table.X[rows, -1])
        for table, rows in ((train, known), (test, new))
    )


def ours(name: str, train: Rows, test: Rows) -> Prediction:
    """Train NIMGPRegressor."""
    likelihood, method = OURS[name]
    model = fc.NIMGPRegressor(
        likelihood=likelihood, method=method, num_inducing=NUM_INDUCING, batch_size=BATCH, steps=STEPS, num_draws=64
    )
    model.fit(train.X, train.y, X_var=train.X_var)
    return model.predict(test.X, X_var=test.X_var), model.log_density(test.X, test.y, X_var=test.X_var)


def of_scikit_learn(name: str, train: Rows, test: Rows) -> Prediction:
    """Train a regression of scikit-learn."""
    model: Any = OTHERS[name]
    held_out = cross_val_predict(model, train.X, train.y, cv=KFold(5, shuffle=True, random_state=0))
    mean = model.fit(train.X, train.y).predict(test.X)
    std = np.sqrt(np.mean((held_out - train.y) ** 2))
    return mean, -0.5 * np.log(2 * np.pi * std**2) - 0.5 * ((test.y - mean) / std) ** 2


METHODS = {**dict.fromkeys(OURS, ours), **dict.fromkeys(OTHERS, of_scikit_learn)}


def main() -> None:
    """Print a table for the features as catalogued, and one for features with independent errors."""
    train, test = load()
    rng = np.random.default_rng(8)
    noisy = [
        rows._replace(X=rows.X + rng.standard_normal(rows.X.shape) * np.sqrt(rows.X_var)) for rows in (train, test)
    ]
    for title, (learned, predicted) in {"as catalogued": (train, test), "independent errors": noisy}.items():
        print(f"{title}: {len(learned.y)} sources of DR1, {len(predicted.y)} new ones of DR4")
        for name in sys.argv[1:] or METHODS:
            mean, log_p = METHODS[name](name, learned, predicted)
            rmse = np.sqrt(np.mean((mean - predicted.y) ** 2))
            print(
                f"  {name:16s} RMSE {rmse:.4f}, log density {log_p.mean():.4f} ± {pd.Series(log_p).sem():.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
