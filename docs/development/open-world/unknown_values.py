"""Labels of sources with features that are not known: averages over them, medians, and models without them.

    python docs/development/open-world/unknown_values.py

A model learns from half of the sources of 4FGL-DR4 that have one class. Features of the other half are then taken away.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from halves import half_to_score, model_of_others

import fermiclass as fc
from fermiclass.features import FEATURE_SETS
from fermiclass.nimgp.prediction.prediction import join

NAMES = [feature.name for feature in FEATURE_SETS["galactic"]]
BANDS = [name for name in NAMES if name.startswith("HR_")]
VARIABILITY = ["ln_Variability_Index", "Frac_Variability"]
OWN = [*BANDS, *VARIABILITY, "asinh_PLEC_SigCurv", "ln_Energy_Flux100"]


def show(what: str, P: np.ndarray, truth: np.ndarray, best: np.ndarray | None) -> np.ndarray:
    """Print the losses of one treatment, with the paired error of the difference to the losses `best`; return them."""
    nll = -np.log(P[np.arange(len(P)), truth])
    error = 0.0 if best is None else np.std(nll - best) / np.sqrt(len(nll))
    sure, right = P.max(axis=1) >= 0.9, P.argmax(axis=1) == truth
    print(f"{what:28}{nll.mean():8.4f}{error:10.4f}{sure.sum():10}{np.sum(sure & ~right):15}", flush=True)
    return nll


catalog, rng = fc.read_catalog("catalogs/4FGL-DR4.fits.gz"), np.random.default_rng(0)
held_out = half_to_score(catalog, rng)
model = model_of_others(catalog, held_out)
test = model.features_of(catalog[held_out])
truth = np.array([model.classes.index(name) for name in test.y])
print(f"{'':28}{'NLL':>8}{'± paired':>10}{'P >= 0.9':>10}{'of them wrong':>15}")
best = show("all features", model.predict(test).probabilities, truth, None)
random = rng.random(test.X.shape)
taken: list[tuple[str, Any]] = [("bands", BANDS), ("variability", VARIABILITY), ("own sources'", OWN)]
taken += [("30 % at random", 0.3), ("60 % at random", 0.6)]
median, variance = (
    np.array([getattr(feature, name) for feature in model.imputation.features]) for name in ("median", "variance")
)
for what, lost in taken:
    gone = random < lost if isinstance(lost, float) else np.tile(np.isin(NAMES, lost), (len(test), 1))
    show(f"{what}: average", model.predict(replace(test, imputed_value=gone)).probabilities, truth, best)
    X, V = np.where(gone, median, test.X), np.where(gone, variance, test.X_var)
    blocks = join(list(model.estimator.predict_blocks(X, X_var=V)))
    show(f"{what}: median", blocks.probabilities, truth, best)
    if not isinstance(lost, float):
        common = model_of_others(catalog, held_out, ",".join(name for name in NAMES if name not in lost))
        show(f"{what}: left out", common.predict(common.features_of(catalog[held_out])).probabilities, truth, best)
