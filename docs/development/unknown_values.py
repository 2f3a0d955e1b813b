"""Labels of sources with features that are not known: averages over them, medians, and models without them.

    python docs/development/unknown_values.py

A model learns from half of the sources of 4FGL-DR4 that have one class. Features of the other half are then taken away.
"""

from dataclasses import replace
from typing import Any

import numpy as np

import fermiclass as fc
from fermiclass.features import FEATURE_SETS
from fermiclass.nimgp.prediction.predictor import join

NAMES = [feature.name for feature in FEATURE_SETS["galactic"]]
BANDS = [name for name in NAMES if name.startswith("HR_")]
VARIABILITY = ["ln_Variability_Index", "Frac_Variability"]
OWN = [*BANDS, *VARIABILITY, "asinh_PLEC_SigCurv", "ln_Energy_Flux100"]


def main() -> None:
    """Print a row for each treatment of each loss."""
    catalog = fc.read_catalog("catalogs/4FGL-DR4.fits.gz")
    rng = np.random.default_rng(0)
    held_out = half_to_score(catalog, rng)
    learned = catalog[np.setdiff1d(np.arange(len(catalog)), held_out)]
    model = fc.train(learned)
    test = model.features_of(catalog[held_out])
    truth = np.array([model.classes.index(name) for name in test.y])
    print(f"{'':28}{'NLL':>8}{'± paired':>10}{'right':>8}{'mean P':>8}{'P >= 0.9':>10}{'of them wrong':>15}")
    best = show("all features", model.predict(test).probabilities, truth, None)
    random = rng.random(test.X.shape)
    losses: list[tuple[str, Any]] = [("bands", BANDS), ("variability", VARIABILITY), ("own sources'", OWN)]
    losses += [("30 % at random", 0.3), ("60 % at random", 0.6)]
    for what, lost in losses:
        gone = random < lost if isinstance(lost, float) else np.tile(np.isin(NAMES, lost), (len(test), 1))
        show(f"{what}: average", model.predict(replace(test, imputed_value=gone)).probabilities, truth, best)
        median, variance = (
            np.array([getattr(feature, name) for feature in model.imputation.features])
            for name in ("median", "variance")
        )
        blocks = model.estimator.predict_blocks(
            np.where(gone, median, test.X), X_var=np.where(gone, variance, test.X_var)
        )
        show(f"{what}: median", join(list(blocks)).probabilities, truth, best)
        if not isinstance(lost, float):
            common = fc.train(learned, features=",".join(name for name in NAMES if name not in lost))
            show(f"{what}: left out", common.predict(common.features_of(catalog[held_out])).probabilities, truth, best)


def half_to_score(catalog: fc.Catalog, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of half of the sources with one class."""
    grouping = catalog.grouping(None)
    typed = np.flatnonzero(np.isin(grouping.assign(catalog.classes), grouping.names))
    return np.sort(rng.permutation(typed)[: len(typed) // 2])


def show(what: str, P: np.ndarray, truth: np.ndarray, best: np.ndarray | None) -> np.ndarray:
    """Print the losses of one treatment, with the paired error of the difference to the losses `best`; return them."""
    nll = -np.log(P[np.arange(len(P)), truth])
    paired = 0.0 if best is None else np.std(nll - best) / np.sqrt(len(nll))
    sure, right = P.max(axis=1) >= 0.9, P.argmax(axis=1) == truth
    print(
        f"{what:28}{nll.mean():8.4f}{paired:10.4f}{right.mean():8.3f}{P.max(axis=1).mean():8.3f}"
        f"{sure.sum():10}{np.sum(sure & ~right):15}",
        flush=True,
    )
    return nll


if __name__ == "__main__":
    main()
