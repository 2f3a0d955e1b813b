"""Whether a full covariance of a source's errors improves labels: photon index, curvature and flux share photons.

    python docs/development/correlated_errors.py --model DR1.model

The correlations R of the errors are those of (z - x̃) / √(V - W) among the sources of DR1 that DR3 measured again, with
later values z of error variance W < V (see true_features.py), clipped at 3. A source's covariance is √V R √V, which
NIMGP_FO takes as it is: ∇mᵀ V ∇m. The model of DR1 then labels the sources that get a class by DR4, with V and with the
covariance; it was trained with V.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from true_features import CATALOGS, index_at

import fermiclass as fc
from fermiclass.evaluation.crossmatch import UNMATCHED, later_classes, match_sources
from fermiclass.features.inputs import column_or_nan
from fermiclass.nimgp.inputs.prior import InputPosterior


def correlations(first: fc.Catalog, later: fc.Catalog, model: fc.CatalogModel) -> np.ndarray:
    """Return the correlations of the errors of the features, (D, D); those of exact features are 0."""
    names = [str(name) for name in model.features]
    found = match_sources(first, later)[0]
    rows = np.flatnonzero(found != UNMATCHED)
    one, two = (
        fc.extract_features(catalog[of], names, imputation=model.imputation)
        for catalog, of in ((first, rows), (later, found[rows]))
    )
    z = two.X.copy()
    z[:, names.index("LP_Index")] = index_at(later[found[rows]], column_or_nan(first, "Pivot_Energy")[rows])
    known = ~one.imputed_value & ~two.imputed_value & (two.X_var > 0) & (two.X_var < 0.95 * one.X_var)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(known, np.clip((z - one.X) / np.sqrt(one.X_var - two.X_var), -3.0, 3.0), np.nan)
    R = pd.DataFrame(t, columns=names).corr(min_periods=200).fillna(0.0)
    print(R.loc[["PL_Index", "LP_Index", "LP_beta", "ln_Flux1000", "ln_Energy_Flux100"]].round(2).T.to_string())
    R = R.to_numpy() * (1 - np.eye(len(names))) + np.eye(len(names))
    values, vectors = np.linalg.eigh(R)  # pairs of sources differ: the nearest matrix that is positive
    return (vectors * np.maximum(values, 1e-3)) @ vectors.T


def main() -> None:
    """Print the correlations, and the NLL with and without them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="DR1.model", help="folder of a model of DR1 (true_features.py makes it)")
    options = parser.parse_args()
    first, third, last = (fc.read_catalog(Path(CATALOGS) / f"4FGL-{name}.fits.gz") for name in ("DR1", "DR3", "DR4"))
    model = fc.load_model(options.model)
    targets, y, _ = later_classes(first, last, first.grouping(None))
    rows, y = targets[y != ""], y[y != ""]
    table, ratio = model.features_of(first[rows]), model.ratios(first[rows])
    truth = [model.classes.index(name) for name in y]

    def nll() -> np.ndarray:
        blocks = model.estimator.predict_blocks(table.X, X_var=table.X_var, ratio=ratio)
        return -np.log(np.concatenate([block.probabilities for block in blocks])[np.arange(len(rows)), truth])

    before = nll()
    L = np.linalg.cholesky(correlations(first, third, model))

    def condition(X: np.ndarray, X_var: np.ndarray) -> InputPosterior:
        return InputPosterior(np.ones((len(X), 1)), X[:, None], (np.sqrt(X_var)[..., None] * L)[:, None])

    model.estimator.fitted_.predictor._input_prior = SimpleNamespace(condition=condition)
    less = before - nll()
    print(f"{len(rows)} sources, NLL {before.mean():.4f}; with correlations less by {less.mean():.4f} ± ", end="")
    print(f"{pd.Series(less).sem():.4f}")


if __name__ == "__main__":
    main()
