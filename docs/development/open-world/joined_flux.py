"""What a column of another table does: a made-up X-ray flux, known for a third of the sources of 4FGL-DR4.

    python docs/development/open-world/joined_flux.py

ln F_X − ln Energy_Flux100 is drawn from N(−3, 1) for AGN and N(−7, 1) for pulsars and others, with errors of 20 %. A
model learns from half of the sources with one class, and labels the other half.
"""

import numpy as np
from astropy.table import Table
from halves import half_to_score, losses

import fermiclass as fc

AGN, REST, WIDTH, ERROR = -3.0, -7.0, 1.0, 0.2


def main() -> None:
    """Print the NLL with and without the flux, for sources that have it and for those that have not."""
    catalog, rng = fc.read_catalog("catalogs/4FGL-DR4.fits.gz"), np.random.default_rng(0)
    held_out = half_to_score(catalog, rng)
    ratio = np.where(np.isin(catalog.classes, ["bll", "fsrq"]), AGN, REST) + rng.normal(0.0, WIDTH, len(catalog))
    flux = np.asarray(catalog.table["Energy_Flux100"], float) * np.exp(ratio)
    known = rng.random(len(catalog)) < 1 / 3
    measured = flux * rng.normal(1.0, ERROR, len(catalog)).clip(0.3)
    columns = {"Source_Name": catalog.names, "XFLUX": measured, "XFLUX_err": ERROR * flux}
    joined = fc.join(catalog, Table({name: column[known] for name, column in columns.items()}))
    for what, loss in {
        "without the flux": losses(catalog, held_out),
        "with the flux": losses(joined, held_out, "galactic,ln_XFLUX"),
    }.items():
        has = known[held_out]
        print(f"{what}: NLL of {has.sum()} sources with a flux {loss[has].mean():.3f}, others {loss[~has].mean():.3f}")


if __name__ == "__main__":
    main()
