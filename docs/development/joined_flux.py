"""What a column of another table does: a made-up X-ray flux, known for a third of the sources of 4FGL-DR4.

    python docs/development/joined_flux.py

ln F_X − ln Energy_Flux100 is drawn from N(−3, 1) for AGN and N(−7, 1) for pulsars and others, with errors of 20 %. A
model learns from half of the sources with one class, and labels the other half.
"""

import numpy as np
from astropy.table import Table
from unknown_values import half_to_score

import fermiclass as fc

AGN, REST, WIDTH, ERROR = -3.0, -7.0, 1.0, 0.2


def main() -> None:
    """Print the NLL with and without the flux, for sources that have it and for those that have not."""
    catalog = fc.read_catalog("catalogs/4FGL-DR4.fits.gz")
    rng = np.random.default_rng(0)
    held_out = half_to_score(catalog, rng)
    ratio = np.where(np.isin(catalog.classes, ["bll", "fsrq"]), AGN, REST) + rng.normal(0.0, WIDTH, len(catalog))
    flux = np.asarray(catalog.table["Energy_Flux100"], float) * np.exp(ratio)
    known = rng.random(len(catalog)) < 1 / 3
    table = Table(
        {
            "Source_Name": catalog.names[known],
            "XFLUX": (flux * rng.normal(1.0, ERROR, len(catalog)).clip(0.3))[known],
            "XFLUX_err": (ERROR * flux)[known],
        }
    )
    for what, sources, features in (
        ("without the flux", catalog, "galactic"),
        ("with the flux", fc.join(catalog, table), "galactic,ln_XFLUX"),
    ):
        model = fc.train(sources[np.setdiff1d(np.arange(len(catalog)), held_out)], features=features)
        test = model.features_of(sources[held_out])
        truth = np.array([model.classes.index(name) for name in test.y])
        loss = -np.log(model.predict(test).probabilities[np.arange(len(truth)), truth])
        has = known[held_out]
        print(f"{what}: NLL of {has.sum()} sources with a flux {loss[has].mean():.3f}, others {loss[~has].mean():.3f}")


if __name__ == "__main__":
    main()
