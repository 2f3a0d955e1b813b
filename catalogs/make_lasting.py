"""Learn which sources last, from what became of the sources of each release.

    python catalogs/make_lasting.py [--later FL16Y.fits]

`vanished.csv` has the facts: the names of sources in even cells that the later list does not have. With --later, the
released 16-year list, the facts are made anew. From them and the slim catalogues, this script makes the coefficients in
`fermiclass/labelling/lasting.json`. The same input gives the same bytes on the same machine.

A source has vanished if the later list has no source within the larger of 0.15 degrees and 1.5 error radii
(Conf_95_SemiMajor). Sources whose circle reaches into an odd cell are left out.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np
from astropy import units as u
from astropy.coordinates import SkyCoord

import fermiclass as fc
from fermiclass.labelling import lasting

HERE = Path(__file__).parent
FACTS = HERE / "vanished.csv"
COEFFICIENTS = Path(lasting.__file__).with_name("lasting.json")
#: Lists that were made anew, and the releases before them.
PAIRS = {"FL16Y": ("4FGL-DR1", "4FGL-DR2", "4FGL-DR3", "4FGL-DR4"), "4FGL-DR1": ("3FGL",)}
#: A later source within this separation in degrees, or within so many error radii, is the same source.
RADIUS_DEG, ERROR_RADII = 0.15, 1.5
#: The inputs that depend on nothing but significance, error radius, status and release.
LEAST = ("ln_Signif_Avg", "Signif_Avg^-2", "ln_Conf_95_SemiMajor", "unassociated", "untyped", *lasting.OLDER)
PENALTY = 0.3  # scikit-learn's C, of standardised inputs: 0.1 to 1 are equally good
FEWEST = 20  # sources that a bit of Flags needs


def has_counterpart(earlier, later):
    """Return whether a later list has each source: any source within the larger of 0.15 degrees and 1.5 error radii.

    Sources may thus move, and get another name. The error radius is Conf_95_SemiMajor; extended sources have none.
    """
    here, there = (
        SkyCoord(*(each.column(name) * u.deg for name in ("RAJ2000", "DEJ2000"))) for each in (earlier, later)
    )
    return here.match_to_catalog_sky(there)[1].deg <= matching_radius(earlier)


def matching_radius(catalog):
    """Return the larger of 0.15 degrees and 1.5 error radii, in degrees."""
    return np.fmax(RADIUS_DEG, ERROR_RADII * catalog.column("Conf_95_SemiMajor"))


def far_from_edges(catalog):
    """Return whether the matching radius of each source lies in its own cell.

    Where it does not, a list of even cells alone cannot say whether the source has a counterpart.
    """
    ra, dec = catalog.column("RAJ2000"), catalog.column("DEJ2000") + 90.0
    cell = lasting.CELL
    across = np.minimum(ra % cell, cell - ra % cell) * np.cos(np.radians(dec - 90.0))
    return np.minimum(across, np.minimum(dec % cell, cell - dec % cell)) > matching_radius(catalog)


def learned_from(catalog):
    """Return the mask of the sources whose fate counts: in even cells, far from their edges."""
    return (lasting.part_of_sky(catalog) < lasting.PARTS) & far_from_edges(catalog)


def make_facts(later_path):
    """Write `vanished.csv`."""
    rows = [("earlier", "later", "Source_Name")]
    for later, releases in PAIRS.items():
        catalogue_of_later = fc.read_catalog(later_path) if later == "FL16Y" else slim(later)
        for earlier in releases:
            catalog = slim(earlier)
            gone = learned_from(catalog) & ~has_counterpart(catalog, catalogue_of_later)
            rows += [(earlier, later, name) for name in catalog.names[gone]]
    with FACTS.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def slim(release):
    """Return a slim catalogue."""
    return fc.read_catalog(HERE / f"{release}.fits.gz")


def scale_of(values):
    """Return least and largest value, mean and standard deviation of an input; truth values stay as they are."""
    if np.isin(values, (0.0, 1.0)).all():
        return [0.0, 1.0, 0.0, 1.0]
    low, high = np.nanpercentile(values, (0.5, 99.5))
    inside = np.clip(values, low, high)
    return [float(f"{x:.6g}") for x in (low, high, np.nanmean(inside), np.nanstd(inside))]


def fit(inputs, names, lasts, part):
    """Return the scales of the inputs, and the coefficients: without each part of the sky in turn, and of all."""
    from sklearn.linear_model import LogisticRegression

    scales = {name: scale_of(inputs[name][inputs["unassociated"] == 1]) for name in names}
    matrix = lasting.design(inputs, scales)
    coefficients = []
    for left_out in range(lasting.PARTS + 1):
        rows = part != left_out
        fitted = LogisticRegression(C=PENALTY, max_iter=2000, tol=1e-8).fit(matrix[rows, 1:], lasts[rows])
        coefficients.append([float(f"{x:.5g}") for x in (*fitted.intercept_, *fitted.coef_[0])])
    return {"inputs": scales, "coefficients": coefficients}


def learn(releases, vanished):
    """Return what `lasting.json` says of a later list; `vanished` has the names by release."""
    catalogs = [catalog[learned_from(catalog)] for catalog in map(slim, releases)]
    found = [lasting.inputs_of(catalog) for catalog in catalogs]
    inputs = {name: np.concatenate([each[name] for each in found]) for name in found[0]}
    gone = [np.isin(catalog.names, vanished[name]) for name, catalog in zip(releases, catalogs, strict=True)]
    lasts = ~np.concatenate(gone)
    part = np.concatenate([lasting.part_of_sky(catalog) for catalog in catalogs])
    flags = [name for name in inputs if name.startswith("Flags_") and inputs[name].sum() >= FEWEST]
    full = (*LEAST, *(name for name in lasting.SPECTRUM if name in inputs), *flags)
    return {
        "sources": {name: len(catalog) for name, catalog in zip(releases, catalogs, strict=True)},
        "vanished": {name: int(each.sum()) for name, each in zip(releases, gone, strict=True)},
        "full": fit(inputs, full, lasts, part),
        "small": fit(inputs, LEAST, lasts, part),
    }


def read_facts():
    """Return the names of the vanished sources of each release."""
    names: dict[str, list[str]] = {}
    with FACTS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            names.setdefault(row["earlier"], []).append(row["Source_Name"])
    return names


def main():
    """Make the facts, if there is a later list, and the coefficients."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--later", type=Path, help="the 16-year list: make the facts anew")
    later = parser.parse_args().later
    if later is not None:
        make_facts(later)
    vanished = read_facts()
    models = [f"{json.dumps(later)}: {json.dumps(learn(releases, vanished))}" for later, releases in PAIRS.items()]
    COEFFICIENTS.write_text("{\n" + ",\n".join(models) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
