"""Whether other error bars improve labels: correlated ones, and learned ones for features that have none.

    python docs/development/correlated_errors.py

Photon index, curvature and flux share photons. The correlations R of the errors are those of (z - x̃) / √(V - W) among
the sources of DR1 that DR3 measured again, with later values z of error variance W < V (see true_features.py), clipped
at 3. A source's covariance is √V R √V, which NIMGP_FO takes as it is: ∇mᵀ √V R √V ∇m.

Pivot energy, the significances of the curvature and latitude have no error bars. Their V is learned, one number for
each feature, with a log-normal prior of several medians; the other features keep theirs.

The model of DR1 labels the sources that get a class by DR4. The script prints their mean NLL, and the paired difference
from the model with the catalogue's V.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import tensorflow as tf
from true_features import CATALOGS, index_at

import fermiclass as fc
from fermiclass.evaluation.crossmatch import UNMATCHED, later_classes, match_sources
from fermiclass.nimgp import model as models
from fermiclass.nimgp.inputs.models import FirstOrderInputs
from fermiclass.nimgp.modules import EXP, LogNormal, Parameter
from fermiclass.nimgp.posterior import LatentMoments
from fermiclass.nimgp.prediction import predictor
from fermiclass.nimgp.prediction.predictor import ClassPredictor

MEDIANS = (0.001, 0.01, 0.1)  # of V, for standardised features


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
    z[:, names.index("LP_Index")] = index_at(later[found[rows]], first.column("Pivot_Energy")[rows])
    known = ~one.imputed_value & ~two.imputed_value & (two.X_var > 0) & (two.X_var < 0.95 * one.X_var)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(known, np.clip((z - one.X) / np.sqrt(one.X_var - two.X_var), -3.0, 3.0), np.nan)
    R = pd.DataFrame(t, columns=names).corr(min_periods=200).fillna(0.0)
    print(R.loc[["PL_Index", "LP_Index", "LP_beta", "ln_Flux1000", "ln_Energy_Flux100"]].round(2).T.to_string())
    R = R.to_numpy() * (1 - np.eye(len(names))) + np.eye(len(names))
    values, vectors = np.linalg.eigh(R)  # pairs of sources differ: the nearest matrix that is positive
    return (vectors * np.maximum(values, 1e-3)) @ vectors.T


def correlated(L: np.ndarray, *, training: bool) -> ExitStack:
    """Let predictions, and training if wanted, have the errors √V L Lᵀ √V."""
    factor = tf.constant(L, tf.float32)

    def moments(functions: Any, X: tf.Tensor, scale: tf.Tensor) -> LatentMoments:
        latent, gradient = functions.moments_and_gradient(X)
        steps = tf.linalg.matmul(gradient * scale, tf.cast(factor, X.dtype))
        return LatentMoments(latent.mean, latent.var + tf.reduce_sum(tf.square(steps), axis=-1))

    def terms(_: Any, functions: Any, log_p: Any, batch: Any, seed: tf.Tensor) -> tf.Tensor:
        return log_p(moments(functions, batch.X, tf.sqrt(batch.X_var)), batch.y, seed)

    stack = ExitStack()
    stack.enter_context(patch.object(predictor, "first_order_moments", moments))
    if training:
        stack.enter_context(patch.object(FirstOrderInputs, "source_terms", terms))
    return stack


def learned_where_none(median: float) -> ExitStack:
    """Let models learn V of the features that have no error bar, in training and in prediction."""

    class LearnedWhereNone(models.NoisyInputGP):
        def __init__(self, *parts: Any, **options: Any) -> None:
            super().__init__(*parts, **options)
            dim, dtype = self.posterior.Z.shape[-1], self.posterior.Z.dtype
            self.other_noise = Parameter(np.full(dim, median), dtype=dtype, transform=EXP, prior=LogNormal(median, 1.0))

        def objective(self, batch: Any, seed: tf.Tensor) -> tf.Tensor:
            X_var = tf.where(batch.X_var > 0.0, batch.X_var, tf.convert_to_tensor(self.other_noise))
            return super().objective(batch._replace(X_var=X_var), seed)

    original = ClassPredictor.blocks

    def blocks(self: Any, X: np.ndarray, X_var: np.ndarray, **options: Any) -> Any:
        return original(self, X, np.where(X_var > 0.0, X_var, self.model.other_noise.numpy()), **options)

    stack = ExitStack()
    stack.enter_context(patch.object(models, "NoisyInputGP", LearnedWhereNone))
    stack.enter_context(patch.object(ClassPredictor, "blocks", blocks))
    return stack


def main() -> None:
    """Print the correlations, and the NLL with each choice of the errors."""
    first, third, last = (fc.read_catalog(Path(CATALOGS) / f"4FGL-{name}.fits.gz") for name in ("DR1", "DR3", "DR4"))
    targets, y, _ = later_classes(first, last, first.grouping(None))
    rows, y = targets[y != ""], y[y != ""]

    def nll(model: fc.CatalogModel) -> np.ndarray:
        sources = first[rows]
        P = model.predict(model.features_of(sources), ratios=model.ratios(sources)).probabilities
        return -np.log(P[np.arange(len(rows)), [model.classes.index(name) for name in y]])

    def show(name: str, found: np.ndarray) -> None:
        print(f"{name:32} NLL {found.mean():.4f}, less by {(before - found).mean():.4f} ± ", end="")
        print(f"{pd.Series(before - found).sem():.4f}", flush=True)

    usual = fc.train(first)
    before = nll(usual)
    exact = ~(usual.features_of(first).X_var > 0.0).any(axis=0)
    print(f"{len(rows)} sources")
    show("V of the catalogue", before)
    L = np.linalg.cholesky(correlations(first, third, usual))
    for training in (False, True):
        with correlated(L, training=training):
            model = fc.train(first)  # traces predictions again
            show(f"correlated in {'both' if training else 'prediction'}", nll(model))
    for median in MEDIANS:
        with learned_where_none(median):
            model = fc.train(first)
            show(f"learned where none, from {median}", nll(model))
        parameters = model.estimator.fitted_.parameters
        named = zip(model.features, parameters["other_noise"], exact, strict=True)
        print("  ", ", ".join(f"{name} {V:.2g}" for name, V, none in named if none))


if __name__ == "__main__":
    main()
