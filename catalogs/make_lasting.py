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

import fermiclass as fc
from fermiclass.labelling import lasting

HERE = Path(__file__).parent
FACTS = HERE / "vanished.csv"
COEFFICIENTS = Path(lasting.__file__).with_name("lasting.json")
#: Each release, and the next list that was made anew.
PAIRS = {"4FGL-DR1": "FL16Y", "4FGL-DR2": "FL16Y", "4FGL-DR3": "FL16Y", "4FGL-DR4": "FL16Y"}
PENALTY = 0.3  # scikit-learn's C, of standardised inputs: 0.1 to 1 are equally good
FEWEST = 20  # sources that a bit of Flags needs


def learned_from(catalog):
    """Return the mask of the sources whose fate counts: in even cells, far from their edges."""
    return (lasting.part_of_sky(catalog) < lasting.PARTS) & lasting.far_from_edges(catalog)


def make_facts(later_path):
    """Write `vanished.csv`."""
    rows = [("earlier", "later", "Source_Name")]
    for earlier, later in PAIRS.items():
        catalog = slim(earlier)
        found = lasting.has_counterpart(catalog, fc.read_catalog(later_path) if later == "FL16Y" else slim(later))
        rows += [(earlier, later, name) for name in catalog.names[learned_from(catalog) & ~found]]
    with FACTS.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def slim(release):
    """Return a slim catalogue."""
    return fc.read_catalog(HERE / f"{release}.fits.gz")


def scale_of(name, values):
    """Return least and largest value, mean and standard deviation of an input; truth values stay as they are."""
    if name.startswith("Flags_") or name.startswith("un"):
        return [0.0, 1.0, 0.0, 1.0]
    low, high = np.nanpercentile(values, (0.5, 99.5))
    inside = np.clip(values, low, high)
    return [float(f"{x:.6g}") for x in (low, high, np.nanmean(inside), np.nanstd(inside))]


def fit(catalog, lasts, names):
    """Return the scales of the inputs, and the coefficients: without each part of the sky in turn, and of all."""
    from sklearn.linear_model import LogisticRegression

    inputs, chosen, part = lasting.inputs_of(catalog), learned_from(catalog), lasting.part_of_sky(catalog)
    bare = chosen & (catalog.classes == "")
    scales = {name: scale_of(name, inputs[name][bare]) for name in names}
    matrix = lasting.design(inputs, scales)
    coefficients = []
    for left_out in range(lasting.PARTS + 1):
        rows = chosen & (part != left_out)
        fitted = LogisticRegression(C=PENALTY, max_iter=2000, tol=1e-8).fit(matrix[rows, 1:], lasts[rows])
        coefficients.append([float(f"{x:.5g}") for x in (*fitted.intercept_, *fitted.coef_[0])])
    return {"inputs": scales, "coefficients": coefficients}


def learn(earlier, later, vanished):
    """Return what `lasting.json` says of a release."""
    catalog = slim(earlier)
    lasts, chosen = ~np.isin(catalog.names, vanished), learned_from(catalog)
    inputs = lasting.inputs_of(catalog)
    flags = [name for name in inputs if name.startswith("Flags_") and inputs[name][chosen].sum() >= FEWEST]
    full = (*lasting.LEAST, *(name for name in lasting.SPECTRUM if name in inputs), *flags)
    return {
        "later": later,
        "sources": int(chosen.sum()),
        "vanished": int((chosen & ~lasts).sum()),
        "full": fit(catalog, lasts, full),
        "small": fit(catalog, lasts, lasting.LEAST),
    }


def main():
    """Make the facts, if there is a later list, and the coefficients."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--later", type=Path, help="the 16-year list: make the facts anew")
    later = parser.parse_args().later
    if later is not None:
        make_facts(later)
    with FACTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    models = {
        earlier: learn(earlier, later, [row["Source_Name"] for row in rows if row["earlier"] == earlier])
        for earlier, later in PAIRS.items()
    }
    COEFFICIENTS.write_text(
        "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(model)}" for name, model in models.items()) + "\n}\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
