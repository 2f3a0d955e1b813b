"""Which feature makes labels by a model of a longer release worse: 3FGL by models of 3FGL and of 4FGL-DR4.

    python docs/development/open-world/other_exposure.py catalogs/3FGL.fits.gz catalogs/4FGL-DR4.fits.gz

Later classes are read as in ``evaluate --open``. Each feature in turn has the value of the later release, or that of
the earlier one scaled to the years of the later one.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace

import numpy as np

import fermiclass as fc
from fermiclass.catalog import CatalogWarning
from fermiclass.evaluation.crossmatch import match_sources
from fermiclass.evaluation.protocols import open_world
from fermiclass.features import FeatureTable, known_features

warnings.simplefilter("ignore", CatalogWarning)
earlier, later = map(fc.read_catalog, sys.argv[1:3])
targets = open_world(earlier, later)
scored = targets.scored
rows = np.array([earlier.names.tolist().index(name) for name in targets.names[scored]])
sources, counterparts = earlier[rows], later[match_sources(earlier, later)[0][rows]]
truth = targets.truth_of("all")[scored]
pulsars = truth[:, 1] & (truth.sum(axis=1) == 1)


def shown(model: fc.CatalogModel, table: FeatureTable) -> str:
    """Return NLL, and how many of the later pulsars are called so."""
    found = model.predict(table, ratios=model.ratios(sources)).probabilities
    p = np.zeros((len(found), len(targets.classes)))
    p[:, [targets.classes.index(name) for name in model.classes]] = found
    of_group = targets.grouped(p, "all")
    loss = -np.log((of_group * truth).sum(axis=1))
    return f"NLL {loss.mean():.3f}, {np.sum(pulsars & (of_group.argmax(axis=1) == 1))} of {pulsars.sum()} pulsars"


own = fc.train(earlier)
print(f"{earlier.release.name} trained on itself: {shown(own, own.features_of(sources))}, {len(sources)} sources")
model = fc.train(later, features=known_features("galactic", later, earlier)[0])
raw = fc.extract_features(sources, model.features, model.grouping, imputation=model.imputation, unknown=True)
table, theirs = model.features_of(sources), model.features_of(counterparts)
print(f"trained on {later.release.name}: {shown(model, table)}; Variability_Index as it is: {shown(model, raw)}")
print(f"with all features of {later.release.name}: {shown(model, theirs)}")
print(f"with its error bars: {shown(model, replace(table, X_var=theirs.X_var))}")


def with_column(table: FeatureTable, j: int, X: np.ndarray, X_var: np.ndarray) -> FeatureTable:
    """Return the table with another column j, where nothing is missing."""
    columns = np.arange(len(model.features)) == j
    return replace(table, X=np.where(columns, X, table.X), X_var=np.where(columns, X_var, table.X_var))


for j, name in enumerate(model.features):
    print(f"with its {name}: {shown(model, with_column(table, j, theirs.X, theirs.X_var))}")
growth = np.sqrt(later.release.years / earlier.release.years)
scaled = table
for name in ("asinh_LP_SigCurv", "ln_Signif_Avg"):
    j = model.features.index(name)
    grown = np.arcsinh(growth * np.sinh(table.X)) if "asinh" in name else table.X + np.log(growth)
    print(f"with {name} times {growth:.2f}: {shown(model, with_column(table, j, grown, table.X_var))}")
    scaled = with_column(scaled, j, grown, table.X_var)
print(f"with both: {shown(model, scaled)}")
