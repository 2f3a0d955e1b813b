"""Are a source's features, given error bars and population, nearer to the truth than the catalogue's values.

    python docs/development/true_features.py DR2 DR3 DR4

The noiseless features x of a source of DR1 have the posterior p(x | x̃) ∝ N(x̃ | x, V) p(x), as in NIMGP. p(x) is the
population of all sources of DR1; that of each feature alone; or a sum of the classes' populations with the
probabilities of the source's label. A later release has another value z of the same feature, with the error variance
W < V, from photons of which the first are those of DR1. Its error then follows that of DR1, with the covariance W, so
that z given x and x̃ is

    N((1 - r) x + r x̃, W (1 - r)),    r = W / V,

and with a flat p(x) z given x̃ is N(x̃, V - W). For faint sources of DR1 the script prints the root mean square of z
minus the mean of x, in standard deviations of the feature among all sources; the parts of the sources whose z is inside
the central 68 % and 90 %; and the mean log density of z. The index of a log-parabola belongs to the pivot energy, which
changes; z is for the one of DR1.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

import fermiclass as fc
from fermiclass.evaluation.crossmatch import UNMATCHED, match_sources
from fermiclass.nimgp.inputs.prior import InputPosterior, InputPrior

CATALOGS = Path(__file__).parents[2] / "catalogs"
FEATURES = (
    "PL_Index",
    "LP_Index",
    "LP_beta",
    "ln_Flux1000",
    "ln_Energy_Flux100",
    "Frac_Variability",
    "HR_34",
    "HR_45",
    "HR_56",
)
FAINT = 8.0  # largest significance in DR1


def index_at(catalog: fc.Catalog, energy: np.ndarray) -> np.ndarray:
    """Return the log-parabola's index at energies in MeV, (n,)."""
    alpha, beta, pivot = (catalog.column(name) for name in ("LP_Index", "LP_beta", "Pivot_Energy"))
    return alpha + 2.0 * beta * np.log(energy / pivot)


def class_posterior(parts: list[InputPosterior], P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of x, (n, D) each, where the classes have the probabilities P (n, C)."""
    means, variances = (np.stack(a, axis=1) for a in zip(*(part.moments() for part in parts), strict=True))
    mean = np.einsum("nc,ncd->nd", P, means)
    return mean, np.einsum("nc,ncd->nd", P, variances + (means - mean[:, None]) ** 2)


def main() -> None:
    """Print a table for each release."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--components", type=int, default=5)
    parser.add_argument("--model", default="DR1.model", help="folder of DR1's model, which is trained if there is none")
    options = parser.parse_args()
    first = fc.read_catalog(CATALOGS / "4FGL-DR1.fits.gz")
    model: Any = fc.load_model(options.model) if Path(options.model).exists() else fc.train(first)
    if not Path(options.model).exists():
        fc.save_model(model, options.model)
    table = model.features_of(first)
    center, scale = np.median(table.X, axis=0), table.X.std(axis=0)
    X, V = (table.X - center) / scale, table.X_var / scale**2
    every = InputPrior.population(X, V, components=options.components)
    posteriors: dict[str, tuple[np.ndarray, ...]] = {"population": every.moments(X, V)}
    P = model.predict(table, ratios=model.ratios(first)).probabilities
    of_class = [table.y == name for name in model.classes]
    own = [InputPrior.population(X[rows], V[rows], components=min(options.components, 3)) for rows in of_class]
    P = np.where(np.isin(table.y, model.classes)[:, None], np.stack(of_class, axis=1), P)
    alone = [
        InputPrior.population(X[:, [j]], V[:, [j]], components=2).moments(X[:, [j]], V[:, [j]])
        for j in range(X.shape[1])
    ]
    posteriors["this feature alone"] = tuple(np.concatenate(a, axis=1) for a in zip(*alone, strict=True))
    posteriors["population of the class"] = class_posterior([prior.condition(X, V) for prior in own], P)
    names = [feature.name for feature in table.features]
    significance = first.column("Signif_Avg")
    for release in options.releases:
        later = fc.read_catalog(CATALOGS / f"4FGL-{release}.fits.gz")
        found, _ = match_sources(first, later)
        rows = np.flatnonzero((found != UNMATCHED) & (significance < FAINT))
        other = fc.extract_features(later, names, imputation=model.imputation)[found[rows]]
        pivot = first.column("Pivot_Energy")
        z_index = index_at(later[found[rows]], pivot[rows])
        print(f"{release}: {len(rows)} sources of DR1 below {FAINT:g} sigma")
        print(f"{'':18s} {'n':>5s} " + " ".join(f"{name:>32s}" for name in ("catalogue", *posteriors)))
        for name in FEATURES:
            j = names.index(name)
            z = z_index if name == "LP_Index" else other.X[:, j]
            w = other.X_var[:, j] / scale[j] ** 2
            z, x, v = (z - center[j]) / scale[j], X[rows, j], V[rows, j]
            good = (
                ~table.imputed_value[rows, j] & ~other.imputed_value[:, j] & (w > 0) & (w < 0.95 * v) & np.isfinite(z)
            )
            z, x, v, w = z[good], x[good], v[good], w[good]
            r = w / v
            cells = []
            for m, s in [(x, v), *((m[rows, j][good], s[rows, j][good]) for m, s in posteriors.values())]:
                mean, var = (1 - r) * m + r * x, (1 - r) ** 2 * s + w * (1 - r)
                t = (z - mean) / np.sqrt(var)
                log_p = norm.logpdf(z, mean, np.sqrt(var)).mean()
                rms, (inner, outer) = np.sqrt(np.mean((z - m) ** 2)), (np.mean(np.abs(t) < k) for k in (1.0, 1.645))
                cells.append(f"{rms:8.3f} {inner:6.2f} {outer:6.2f} {log_p:8.3f}")
            print(f"{name:18s} {good.sum():5d} " + " ".join(f"{cell:>32s}" for cell in cells))


if __name__ == "__main__":
    main()
