"""Test sources with larger error bars than those of the training, and values drawn with them.

    python docs/development/input-noise/large_errors.py

For each prior: NLL of three folds of 4FGL-DR4, and the part of the sources with P of 0.9 or more with
the part of these that is right, with the catalogue's errors and with 10 and 1000 times these.
"""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold

import fermiclass as fc

catalog = fc.read_catalog("catalogs/4FGL-DR4.fits.gz")
classes = catalog.grouping("bll,fsrq,psr,other")
table = fc.extract_features(catalog, fc.Recipe().features, classes)
table = table[np.isin(table.y, classes.names)]
rng, folds = np.random.default_rng(0), [*StratifiedKFold(3, shuffle=True, random_state=1).split(table.X, table.y)]
noise = rng.normal(size=table.X.shape) * np.sqrt(table.X_var)
for prior in ("isotropic", "population"):
    settings = {**fc.Recipe().settings.params(), "inputs": {"prior": prior}}
    fits = [fc.NIMGPClassifier(**settings).fit(table.X[a], table.y[a], X_var=table.X_var[a]) for a, _ in folds]
    for k in (1, 10, 1000):
        X, V = table.X + np.sqrt(k**2 - 1) * noise, k**2 * table.X_var
        P = np.concatenate([one.predict_proba(X[b], X_var=V[b]) for one, (_, b) in zip(fits, folds, strict=True)])
        y = np.searchsorted(fits[0].classes_, np.concatenate([table.y[b] for _, b in folds]))
        sure, right = P.max(axis=1) >= 0.9, P.argmax(axis=1) == y
        nll, share = -np.log(P[np.arange(len(y)), y]).mean(), right[sure].mean() if sure.any() else np.nan
        print(f"{prior:10} errors × {k:4}: NLL {nll:.3f}, {sure.mean():.1%} sure, {share:.0%} right")
