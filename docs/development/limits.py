"""Upper limits: one-sided, as values, or left out.

    python docs/development/limits.py

1. A made-up X-ray flux of 4FGL-DR4, of which a survey of half of the sources gives values above its limit, and limits
   else. Half of the sources with one class teach, the other half is scored.
2. Upper limits in the energy bands of the catalogue, in the hardness ratios: the same halves, and what DR4 says of the
   sources that DR1 leaves unassociated.
"""

from typing import Any

import numpy as np
from astropy.table import Table
from scipy.stats import truncnorm
from unknown_values import half_to_score

import fermiclass as fc
from fermiclass.catalog.releases import BAND_EDGES
from fermiclass.evaluation import default_method, evaluate, open_world
from fermiclass.features import inputs

READ = inputs.Band.read


def main() -> None:
    """Print the losses of each treatment, and the paired differences to the treatment of `classify`."""
    catalog = fc.read_catalog("catalogs/4FGL-DR4.fits.gz")
    for seed in (0, 1):
        bands(catalog, seed)
        x_rays(catalog, seed)
    earlier, losses = fc.read_catalog("catalogs/4FGL-DR1.fits.gz"), {}
    for way, read in BANDS.items():
        inputs.Band.read = read  # type: ignore[method-assign]
        losses[way] = evaluate(open_world(earlier, catalog), [default_method()]).losses()["default"].to_numpy()
    show("DR1, what DR4 classifies: bands", losses, "uniform (classify)")
    inputs.Band.read = READ  # type: ignore[method-assign]


def x_rays(catalog: fc.Catalog, seed: int) -> None:
    """Print the losses with a made-up column, as in docs/own-sources.md."""
    rng = np.random.default_rng(seed)
    flux = np.asarray(catalog.table["Flux1000"], float) * np.exp(rng.normal(0, 0.7, len(catalog)))
    flux *= np.where(np.isin(catalog.classes, ("psr", "msp")), 1e-3, 1.0)
    observed, limit = rng.random(len(catalog)) < 0.5, np.nanmedian(flux)
    seen = observed & (flux > limit)
    measured, nothing = flux * np.exp(rng.normal(0, 0.2, len(catalog))), np.full(len(catalog), np.nan)
    value, below = np.where(seen, measured, nothing), observed & ~seen
    columns = {
        "limits one-sided (classify)": (value, 0.2 * value, np.where(below, limit, np.nan)),
        "limits left empty": (value, 0.2 * value, nothing),
        "limits as values": (np.where(below, limit, value), np.where(below, 0.5 * limit, 0.2 * value), nothing),
    }
    losses = {}
    for way, (x, error, upper) in columns.items():
        table = Table({"Source_Name": catalog.names, "XFLUX": x, "XFLUX_err": error, "XFLUX_UL": upper})
        losses[way] = halves(fc.join(catalog, table), seed, "galactic,ln_XFLUX")
    losses["no X-rays"] = halves(catalog, seed, "galactic")
    show(f"halves of DR4, seed {seed}: X-rays, all", losses, "limits one-sided (classify)")
    held_out = half_to_score(catalog, np.random.default_rng(seed))
    for name, mask in {"with a limit": below, "with a value": seen, "not observed": ~observed}.items():
        part = {way: loss[mask[held_out]] for way, loss in losses.items()}
        show(f"  {name}", part, "limits one-sided (classify)")


def bands(catalog: fc.Catalog, seed: int) -> None:
    """Print the losses of treatments of the bands."""
    losses = {}
    for way, read in BANDS.items():
        inputs.Band.read = read  # type: ignore[method-assign]
        losses[way] = halves(catalog, seed, "galactic")
    inputs.Band.read = READ  # type: ignore[method-assign]
    show(f"halves of DR4, seed {seed}: bands", losses, "uniform (classify)")


def halves(catalog: fc.Catalog, seed: int, features: str) -> np.ndarray:
    """Return the losses of half of the sources with one class, by a model of the others."""
    held_out = half_to_score(catalog, np.random.default_rng(seed))
    model = fc.train(catalog[np.setdiff1d(np.arange(len(catalog)), held_out)], features=features)
    test = model.features_of(catalog[held_out])
    P = model.predict(test).probabilities
    return -np.log(np.maximum(P[np.arange(len(P)), [model.classes.index(name) for name in test.y]], 1e-5))


def other_band(way: str) -> Any:
    """Return a function that reads a band with another treatment of limits, in place of `Band.read`."""

    def read(band: inputs.Band, catalog: fc.Catalog) -> inputs.Reading:
        found = READ(band, catalog)
        n_bands = inputs.catalog.column("Flux_Band").shape[1]
        edges = BAND_EDGES[n_bands]
        b = edges.index(band.low)
        weight = edges[b] * edges[b + 1] / (edges[b + 1] - edges[b])
        flux = np.maximum(inputs.catalog.column("Flux_Band")[:, b], 0.0)
        lower, upper = inputs.catalog.column("Unc_Flux_Band").reshape(len(flux), n_bands, 2)[:, b].T
        is_limit = np.isnan(lower) & (upper > 0.0)
        scale = np.where(is_limit, upper, 1.0)
        if way == "value":
            value, sigma = flux, scale
        elif way == "missing":
            value = sigma = np.full(len(flux), np.nan)
        else:  # the likelihood is a Gaussian about the best flux, which is not negative
            mean, variance = truncnorm.stats(-flux / scale, np.inf, loc=flux, scale=scale)
            value, sigma = mean, np.sqrt(variance)
        return found._replace(
            value=np.where(is_limit, weight * value, found.value),
            sigma=np.where(is_limit, weight * sigma, found.sigma),
        )

    return read


BANDS = {
    "uniform (classify)": READ,
    "Gaussian cut off at 0": other_band("cut"),
    "value with its error": other_band("value"),
    "missing": other_band("missing"),
}


def show(what: str, losses: dict[str, np.ndarray], reference: str) -> None:
    """Print the mean losses, and their paired differences to the reference."""
    print(f"{what}, {len(losses[reference])} sources")
    for way, loss in losses.items():
        apart = loss - losses[reference]
        print(
            f"    {way:30} {loss.mean():.4f}  {apart.mean():+.4f} ± {apart.std() / np.sqrt(len(apart)):.4f}", flush=True
        )


if __name__ == "__main__":
    main()
