"""Upper limits of a made-up X-ray flux of 4FGL-DR4: one-sided, as values, or left out.

    python docs/development/open-world/limits.py [--seed 1]

A survey of half of the sources gives values above its limit, and limits else. Half of the sources with one class teach,
the other half is scored: NLL, and the paired differences to the treatment of `classify`.
"""

import numpy as np
from astropy.table import Table
from halves import arguments, half_to_score, losses, paired

import fermiclass as fc

seed = arguments(__doc__, seed=0).seed
catalog, rng = fc.read_catalog("catalogs/4FGL-DR4.fits.gz"), np.random.default_rng(seed)
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
held_out = half_to_score(catalog, np.random.default_rng(seed))
found = {}
for way, (x, error, upper) in columns.items():
    table = Table({"Source_Name": catalog.names, "XFLUX": x, "XFLUX_err": error, "XFLUX_UL": upper})
    found[way] = losses(fc.join(catalog, table), held_out, "gas,ln_XFLUX")
found["no X-rays"] = losses(catalog, held_out)
reference = found["limits one-sided (classify)"]
for name, mask in {"with a limit": below, "with a value": seen, "not observed": ~observed}.items():
    rows = mask[held_out]
    print(f"{name}, {rows.sum()} sources")
    for way, loss in found.items():
        print(f"    {way:30} {loss[rows].mean():.4f}  {paired(loss[rows], reference[rows])}", flush=True)
