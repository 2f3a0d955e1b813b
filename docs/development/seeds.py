"""What must not change the labels of a catalogue, and by how much it does: seed, order of classes and of features.

    python docs/development/seeds.py [catalogs/4FGL-DR4.fits.gz] [--seeds 5]

Prints, for the differences to the default with seed 0, the root mean square and the largest of all P, and the expected
numbers of the classes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from astropy.table import Table

import fermiclass as fc
from fermiclass.labelling.training import default_estimator

CATALOG = Path(__file__).parents[2] / "catalogs" / "4FGL-DR4.fits.gz"


def labelled(catalog: fc.Catalog, seed: int = 0, **choices: Any) -> Table:
    """Return the labels of the unassociated, bcu and unk sources."""
    return fc.classify(catalog, default_estimator(random_state=seed), **choices)


def main() -> None:
    """Label with other seeds, and with classes and features in another order."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("catalog", type=Path, nargs="?", default=CATALOG)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    catalog = fc.read_catalog(arguments.catalog)
    reference = labelled(catalog)
    groups = reference.meta["classes"].split(",")
    classes = [name for name in groups if "|" not in name]
    columns = [f"P_{name}" for name in classes]
    P = np.array([reference[name] for name in columns])
    print("expected:", *(f"{name} {p.sum():.1f}" for name, p in zip(columns, P, strict=True)))
    features = reference.meta["features"].split(",")
    others: dict[str, dict[str, Any]] = {f"seed {seed}": {"seed": seed} for seed in range(1, arguments.seeds + 1)}
    others["features in reverse"] = {"features": ",".join(reversed(features))}
    others["classes in reverse"] = {"classes": ",".join([*reversed(classes), *groups[len(classes) :]])}
    for name, choices in others.items():
        table = labelled(catalog, **choices)
        difference = np.array([table[column] for column in columns]) - P
        numbers = ", ".join(f"{d.sum():+.1f}" for d in difference)
        print(f"{name}: rms {np.sqrt(np.mean(difference**2)):.4f}, largest {np.abs(difference).max():.3f}, {numbers}")


if __name__ == "__main__":
    main()
